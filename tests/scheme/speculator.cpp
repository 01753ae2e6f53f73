#include "augur/scheme/speculator.hpp"

#include <augur/accept/exact.hpp>
#include <augur/accept/rejection_sampling.hpp>
#include <augur/draft/prompt_lookup.hpp>
#include <augur/policy/entropy_bins.hpp>
#include <augur/testing/models.hpp>
#include <boost/test/unit_test.hpp>

using namespace augur;

BOOST_AUTO_TEST_SUITE(scheme_speculator)

using mock = testing::function_model;

/// An engine whose rows depend on how many are computed together, and which says so.
struct batch_dependent : mock {
    using mock::mock;
    static constexpr bool bitwise_rows = false;
};

template <class D, class M, class P, class C>
using scheme_t = decltype(speculate(std::declval<D>(), std::declval<M>(), std::declval<P>(), std::declval<C>()));

using greedy = scheme_t<mock&, mock&, policy::fixed_length, accept::exact>;
using sampled = scheme_t<mock&, mock&, policy::entropy_bins, accept::rejection_sampling>;
using seeded = scheme_t<draft::prompt_lookup<>, mock&, policy::fixed_length, accept::coupled>;
using numeric = scheme_t<mock&, batch_dependent&, policy::fixed_length, accept::rejection_sampling>;

static_assert(std::is_same_v<guarantee_of<greedy>, guarantee::same_greedy_text>);
static_assert(std::is_same_v<guarantee_of<sampled>, guarantee::same_distribution>);
static_assert(std::is_same_v<guarantee_of<seeded>, guarantee::same_seeded_text>);
static_assert(std::is_same_v<guarantee_of<decltype(plain(std::declval<mock&>()))>, guarantee::same_seeded_text>);
static_assert(std::is_same_v<guarantee_of<numeric>, guarantee::within_numerics<guarantee::same_distribution>>);
static_assert(Lossless<greedy> && Lossless<sampled> && Lossless<seeded> && !Lossless<numeric>);
/// One that does not say.
struct silent {
    using sequence_type = mock::sequence_type;
    std::size_t vocabulary_size() const;
    std::size_t context_length() const;
    sequence_type make_sequence() const;
    std::size_t length(const sequence_type&) const;
    scores extend(sequence_type&, std::span<const token>) const;
    void truncate(sequence_type&, std::size_t) const;
};
using unsaid = scheme_t<mock&, silent&, policy::fixed_length, accept::exact>;
static_assert(std::is_same_v<guarantee_of<unsaid>, guarantee::within_numerics<guarantee::same_greedy_text>>);
// Who drafts decides nothing about the text, but where a criterion rests on nothing there is nothing to round.
using drafted = scheme_t<silent&, mock&, policy::fixed_length, accept::rejection_sampling>;
static_assert(std::is_same_v<guarantee_of<drafted>, guarantee::same_distribution>);
struct promises_nothing : accept::rejection_sampling {
    using guarantee = augur::guarantee::none;
};
using nothing = scheme_t<mock&, silent&, policy::fixed_length, promises_nothing>;
static_assert(std::is_same_v<guarantee_of<nothing>, guarantee::none>);
static_assert(!lossless::admits<guarantee_of<numeric>> && lossless_within_numerics::admits<guarantee_of<numeric>>);

// A model drafts in the way that the criterion asks for.
static_assert(std::is_same_v<greedy::drafter_type::draft_distribution_type, point_mass>);
static_assert(std::is_same_v<sampled::drafter_type::draft_distribution_type, distribution>);

BOOST_AUTO_TEST_CASE(lvalues_are_referred_to_and_rvalues_kept) {
    const mock model = testing::hashed_model(4, 1);
    const auto referring = speculate(draft::no_draft{}, model, policy::fixed_length{}, accept::coupled{});
    BOOST_TEST(&referring.target() == &model);
    const auto keeping =
        speculate(testing::hashed_model(4, 2), testing::hashed_model(4, 1), policy::fixed_length{}, accept::coupled{});
    BOOST_TEST(keeping.target().vocabulary_size() == 4u);
    BOOST_TEST(keeping.drafter().model().vocabulary_size() == 4u);
}

BOOST_AUTO_TEST_SUITE_END()
