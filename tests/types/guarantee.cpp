#include "augur/types/guarantee.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <string_view>
#include <type_traits>

using namespace augur::guarantee;

namespace {

struct some_divergence {};
struct other_divergence {};
using bounded = bounded_divergence<some_divergence>;
using near = greedy_within<some_divergence>;

template <class... G>
struct list {
    template <class H>
    static constexpr bool all(H holds) {
        return (holds.template operator()<G>() && ...);
    }
};
using exact_guarantees =
    list<same_greedy_text, same_seeded_text, same_distribution, bounded, near, minimum_probability, none>;
using all_guarantees =
    list<same_greedy_text, same_seeded_text, same_distribution, bounded, near, minimum_probability, none,
         within_numerics<same_greedy_text>, within_numerics<same_seeded_text>, within_numerics<same_distribution>,
         within_numerics<bounded>, within_numerics<near>, within_numerics<minimum_probability>>;

template <class A, class B>
constexpr bool same = std::is_same_v<A, B>;

constexpr bool commutes() {
    return all_guarantees::all(
        []<class A>() { return all_guarantees::all([]<class B>() { return same<meet_t<A, B>, meet_t<B, A>>; }); });
}
constexpr bool associates() {
    return all_guarantees::all([]<class A>() {
        return all_guarantees::all([]<class B>() {
            return all_guarantees::all(
                []<class C>() { return same<meet_t<A, meet_t<B, C>>, meet_t<meet_t<A, B>, C>>; });
        });
    });
}

template <class G>
struct scheme {
    using guarantee = G;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(types_guarantee)

static_assert(commutes());
static_assert(associates());
static_assert(all_guarantees::all([]<class A>() { return same<meet_t<A, A>, A>; }));
static_assert(exact_guarantees::all([]<class A>() { return same<meet_t<A, none>, none>; }));

// Of two lossless guarantees the weaker stays; a lossless part takes nothing away from another; two that differ and
// lose something have nothing in common.
static_assert(same<meet_t<same_seeded_text, same_distribution>, same_distribution>);
static_assert(same<meet_t<same_seeded_text, same_greedy_text>, same_greedy_text>);
static_assert(same<meet_t<same_distribution, same_greedy_text>, same_greedy_text>);
static_assert(same<meet_t<bounded, minimum_probability>, none>);
static_assert(same<meet_t<bounded, bounded_divergence<other_divergence>>, none>);
static_assert(same<meet_t<bounded, near>, none>);
static_assert(list<same_greedy_text, same_seeded_text, same_distribution>::all([]<class A>() {
    return same<meet_t<A, bounded>, bounded> && same<meet_t<A, minimum_probability>, minimum_probability>;
}));

// Rounding in one part is rounding in the whole.
static_assert(exact_guarantees::all([]<class A>() {
    return exact_guarantees::all([]<class B>() {
        using whole = up_to_rounding_t<meet_t<A, B>>;
        return same<meet_t<within_numerics<A>, B>, whole> &&
               same<meet_t<within_numerics<A>, within_numerics<B>>, whole>;
    });
}));

// It is rounding once, and nothing rounded is nothing.
static_assert(same<up_to_rounding_t<bounded>, within_numerics<bounded>>);
static_assert(same<up_to_rounding_t<within_numerics<bounded>>, within_numerics<bounded>>);
static_assert(same<up_to_rounding_t<none>, none> && same<up_to_rounding_t<within_numerics<none>>, none>);
static_assert(same<meet_t<within_numerics<bounded>, minimum_probability>, none>);
static_assert(same<meet_t<within_numerics<none>, same_seeded_text>, none>);

static_assert(all_guarantees::all([]<class A>() { return augur::Guarantee<A>; }));
static_assert(augur::Guarantee<within_numerics<none>>);
static_assert(!augur::Guarantee<int> && !augur::Guarantee<void> && !augur::Guarantee<scheme<none>> &&
              !augur::Guarantee<within_numerics<scheme<none>>>);

static_assert(list<same_greedy_text, same_seeded_text, same_distribution>::all([]<class A>() {
    return augur::Lossless<scheme<A>> && !augur::Lossless<scheme<within_numerics<A>>> && augur::lossless::admits<A> &&
           !augur::lossless::admits<within_numerics<A>> && augur::lossless_within_numerics::admits<A> &&
           augur::lossless_within_numerics::admits<within_numerics<A>>;
}));
static_assert(list<bounded, minimum_probability, none>::all([]<class A>() {
    return !augur::Lossless<scheme<A>> && !augur::lossless::admits<A> && !augur::lossless_within_numerics::admits<A> &&
           !augur::lossless_within_numerics::admits<within_numerics<A>>;
}));
static_assert(all_guarantees::all([]<class A>() { return augur::any_guarantee::admits<A>; }));

static_assert(same<augur::guarantee_of<const scheme<none>&>, none>);
static_assert(!augur::Lossless<int>);

BOOST_AUTO_TEST_CASE(names_tell_guarantees_apart) {
    const std::string_view names[] = {same_greedy_text::name,
                                      same_seeded_text::name,
                                      same_distribution::name,
                                      bounded::name,
                                      minimum_probability::name,
                                      none::name,
                                      within_numerics<same_greedy_text>::name,
                                      within_numerics<same_seeded_text>::name,
                                      within_numerics<same_distribution>::name,
                                      within_numerics<bounded>::name,
                                      within_numerics<minimum_probability>::name};
    for (std::size_t i = 0; i < std::size(names); ++i) {
        BOOST_TEST(!names[i].empty());
        for (std::size_t j = 0; j < i; ++j) BOOST_TEST(names[i] != names[j]);
    }
}

BOOST_AUTO_TEST_CASE(a_name_within_numerics_says_what_is_inside) {
    BOOST_TEST(within_numerics<same_distribution>::name == "same distribution as plain sampling, within numerics");
    BOOST_TEST(within_numerics<bounded>::name == "bounded divergence per token, within numerics");
    BOOST_TEST(within_numerics<none>::name == "none");
}

BOOST_AUTO_TEST_CASE(a_minimum_probability_falls_with_entropy_from_epsilon_on) {
    const minimum_probability promised{.epsilon = 0.1, .delta = 0.4};
    BOOST_TEST(promised.bound(0) == 0.1);
    BOOST_TEST(promised.bound(std::log(4.0)) == 0.1, boost::test_tools::tolerance(1e-12));
    BOOST_TEST(promised.bound(std::log(8.0)) == 0.05, boost::test_tools::tolerance(1e-12));
    BOOST_TEST(minimum_probability{}.bound(0) == 0);
}

BOOST_AUTO_TEST_SUITE_END()
