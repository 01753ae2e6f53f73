// Criteria that refuse settings, keep too much from round to round, or are wrong among siblings of many tokens.

#include "augur/testing/criterion_inputs.hpp"

#include <algorithm>
#include <augur/accept/exact.hpp>
#include <augur/accept/rejection_sampling.hpp>
#include <augur/testing/criterion_laws.hpp>
#include <boost/test/unit_test.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

#include "sanitized.hpp"

using namespace augur;
using accept::rejection_sampling;
using testing::criterion_laws;

BOOST_AUTO_TEST_SUITE(testing_criterion_inputs)

const std::string siblings = "keeps its promise among siblings";

/// Refuses settings; a decoding under them throws.
template <bool (*Refused)(const transform::settings&)>
struct refuses_some : rejection_sampling {
    void check(const transform::settings& chosen) const {
        if (Refused(chosen)) augur::detail::fail("not under these settings");
    }
};
bool greedy(const transform::settings& chosen) {
    return chosen.temperature.value == 0;
}
bool penalised(const transform::settings& chosen) {
    return chosen.penalties.presence != 0;
}
bool transformed(const transform::settings& chosen) {
    return chosen.temperature.value != 1 || chosen.top_k.k != 0 || chosen.top_p.p != 1 || chosen.min_p.p != 0 ||
           penalised(chosen) || chosen.penalties.repetition != 1 || chosen.penalties.frequency != 0 ||
           !chosen.bias.added.empty() || chosen.mask;
}
bool untransformed(const transform::settings& chosen) {
    return chosen.top_k.k != 2;
}
bool anything(const transform::settings&) {
    return true;
}

BOOST_AUTO_TEST_CASE(settings_are_those_that_a_criterion_takes) {
    BOOST_TEST(testing::accepted_settings(refuses_some<greedy>{})->temperature.value == 1.0f);
    BOOST_TEST(testing::accepted_settings(accept::exact{})->temperature.value == 0.0f);
    BOOST_TEST(testing::accepted_settings(refuses_some<untransformed>{})->top_k.k == 2u);
    BOOST_TEST(!testing::accepted_settings(refuses_some<anything>{}));
    std::size_t transforms = 0;
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
        testing::choices from(seed);
        const refuses_some<penalised> rule;
        const auto got = testing::settings_for(from, rule, 3, *testing::accepted_settings(rule));
        BOOST_TEST(!penalised(got));
        transforms += transformed(got) ? 1 : 0;
    }
    BOOST_TEST(transforms > 90u);
    testing::choices from(std::uint64_t{1});
    const refuses_some<transformed> rule;
    BOOST_TEST(!transformed(testing::settings_for(from, rule, 3, *testing::accepted_settings(rule))));
}

BOOST_AUTO_TEST_CASE(a_criterion_is_not_blamed_under_settings_that_it_refuses) {
    const auto keeps = [](const auto& criterion) {
        const auto r =
            criterion_laws(criterion, {.cases = testing::unless_sanitized<std::size_t>(100, 10), .widest = 300});
        BOOST_TEST(r.kept(), r);
        BOOST_TEST(r.checked.size() == 16u, r);
    };
    keeps(refuses_some<greedy>{});
    keeps(refuses_some<penalised>{});
    keeps(refuses_some<untransformed>{});
}

BOOST_AUTO_TEST_CASE(a_criterion_that_refuses_all_settings_is_not_checked) {
    const auto r = criterion_laws(refuses_some<anything>{});
    BOOST_TEST(!r.kept());
    BOOST_TEST(r.broken.empty(), r);
    BOOST_TEST(r.checked.empty(), r);
    BOOST_TEST_REQUIRE(r.skipped.size() == 2u, r);
    BOOST_TEST(r.skipped[0].law == "every law (drawn drafts)");
    BOOST_TEST(r.skipped[0].what == "its check refuses all settings that were tried");
}

/// Takes the wrong token off from the fifth rejection on that its storage has seen.
struct keeps_too_much : rejection_sampling {
    using storage_type = std::pair<accept::residual_storage, std::size_t>;
    template <class DraftDistribution>
    auto after_rejection(const auto& target, const drafted_token<DraftDistribution>& drafted) const {
        return rejection_sampling::after_rejection(target, drafted);
    }
    template <class DraftDistribution>
    auto after_rejection(const auto& target, drafted_token<DraftDistribution> drafted, storage_type& workspace) const {
        if (++workspace.second > 4) drafted.id = 0;
        return accept::residual(target, drafted, workspace.first);
    }
};

BOOST_AUTO_TEST_CASE(storage_that_leaks_from_round_to_round_is_found) {
    const auto r = criterion_laws(keeps_too_much{}, {.cases = 500, .widest = 0});
    BOOST_TEST(r.breaks(siblings + " (point masses)"), r);
    BOOST_TEST(!r.breaks("keeps its promise (point masses)"), r);  // chains leave nothing for a next sibling
}

/// Takes the wrong token off for the second time, where there are more than three.
struct wrong_of_many : rejection_sampling {
    using rejection_sampling::after_rejection;
    template <class DraftDistribution, class Row>
    auto after_rejection(const accept::residual_weights<DraftDistribution, Row>& left,
                         drafted_token<DraftDistribution> drafted, accept::residual_storage& workspace) const {
        if (left.size() > 3) drafted.id = 0;
        return accept::residual(left, drafted, workspace);
    }
};

/// By as many inputs as there are by default.
BOOST_AUTO_TEST_CASE(what_is_wrong_among_siblings_of_many_tokens_is_found,
                     *boost::unit_test::enable_if<!testing::sanitized>()) {
    const auto r = criterion_laws(wrong_of_many{}, {.cases = 500, .widest = 0});
    BOOST_TEST(r.breaks(siblings + " (point masses)"), r);
    BOOST_TEST(!r.breaks("keeps its promise (point masses)"), r);
}

BOOST_AUTO_TEST_CASE(siblings_of_many_tokens_are_few) {
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
        testing::choices five(seed), nine(seed), three(seed);
        BOOST_TEST(testing::some_siblings(five, 5).size() <= 3u);
        BOOST_TEST(testing::some_siblings(five, 5).depth() == 1u);
        BOOST_TEST(testing::some_siblings(nine, 9).size() == 2u);
        const topology tree = testing::some_siblings(three, 3);
        BOOST_TEST(tree.size() <= 4u);
        BOOST_TEST(std::count(tree.parents().begin(), tree.parents().end(), after_prefix) >= 2);
    }
}

BOOST_AUTO_TEST_SUITE_END()
