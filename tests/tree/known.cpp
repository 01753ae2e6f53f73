#include "augur/tree/known.hpp"

#include <augur/policy/tree_static.hpp>
#include <augur/tree/paths.hpp>
#include <boost/test/unit_test.hpp>
#include <vector>

using namespace augur;

BOOST_AUTO_TEST_SUITE(tree_known)

constexpr auto small = tree::known({{0}, {1}, {0, 1}, {0, 0}, {1, 0}, {0, 1, 0}});

static_assert(small.size() == 6 && small.depth() == 3);
static_assert(small.parents()[0] == after_prefix && small.parents()[3] == 0 && small.parents()[5] == 3);
static_assert(small.depth(0) == 1 && small.depth(4) == 2 && small.depth(5) == 3);
static_assert(small.mask_words == 1 && small.mask(0)[0] == 0b1 && small.mask(4)[0] == 0b010010);
static_assert(small.mask(5)[0] == 0b101001);
static_assert(small.path_to(5).size() == 3 && small.path_to(5)[0] == 0 && small.path_to(5)[1] == 3);
static_assert(small.path_to(5)[2] == 5 && small.path_to(1).size() == 1);
static_assert(small.leaves() == 3 && small.is_leaf(2) && small.is_leaf(4) && small.is_leaf(5));
static_assert(!small.is_leaf(0) && !small.is_leaf(3));
static_assert(tree::known({{0}}).leaves() == 1);

// A topology itself serves in constant expressions, as long as it ends there.
static_assert(topology{-1, -1, 0}.depth() == 2 && topology::chain(3).is_chain());
static_assert(topology{-1, 0, 0}.within(1) == topology{-1});
static_assert(topology(small) == topology{-1, -1, 0, 0, 1, 3});
static_assert(parents::aside(small.parents(), 3) == 2);

/// More nodes than a word has bits: a chain.
constexpr auto long_chain = [] { return tree::known_topology<70>(topology::chain(70)); }();
static_assert(long_chain.mask_words == 2 && long_chain.mask(69)[0] == ~std::uint64_t{0});
static_assert(long_chain.mask(69)[1] == 0b111111 && long_chain.mask(63)[1] == 0 && long_chain.mask(64)[1] == 1);

BOOST_AUTO_TEST_CASE(it_is_the_topology_of_its_paths) {
    const topology same = topology::of_paths({{0}, {1}, {0, 1}, {0, 0}, {1, 0}, {0, 1, 0}});
    BOOST_TEST((topology(small) == same));
    const policy::tree_static planned(small);
    BOOST_TEST((planned.topology(observation{}) == same));
}

BOOST_AUTO_TEST_CASE(a_path_is_handed_on_as_a_span) {
    const auto path = small.path_to(5);
    const std::span<const std::size_t> kept = path;
    BOOST_TEST(std::vector(kept.begin(), kept.end()) == (std::vector<std::size_t>{0, 3, 5}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()
