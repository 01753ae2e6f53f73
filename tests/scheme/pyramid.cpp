#include "augur/scheme/pyramid.hpp"

#include <algorithm>
#include <augur/testing/counting_model.hpp>
#include <augur/testing/explain.hpp>
#include <augur/testing/models.hpp>
#include <augur/testing/scheme_laws.hpp>
#include <augur/testing/text_distribution_of.hpp>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

using namespace augur;
using measure::total_variation;
using scheme::pyramid_options;

BOOST_AUTO_TEST_SUITE(scheme_pyramid)

namespace {
const auto a = testing::hashed_model(3, 1, 1), b = testing::hashed_model(3, 2, 1), c = testing::hashed_model(3, 3, 1);
const std::vector<token> prompt{0, 1};

commit::stop_conditions up_to(std::size_t tokens) {
    commit::stop_conditions stop;
    stop.max_tokens = tokens;
    return stop;
}

auto law(const auto& scheme) {
    decode::options chosen;
    chosen.stop = up_to(2);
    return testing::text_distribution_of(scheme, prompt, chosen);
}
}  // namespace

using policy::fixed_length;
using scheme::model_link;

BOOST_AUTO_TEST_CASE(the_names_are_what_the_paper_calls_them) {
    const pyramid_options chosen{
        .draft_length = 1, .qualifier_length = 2, .qualifier_threshold = 0.1, .target_threshold = 0.3};
    const model_link by_sampling{fixed_length{1}, accept::rejection_sampling{}};
    const model_link at_qualifier{fixed_length{1}, accept::fuzzy<total_variation>(0.1)};
    const model_link at_target{fixed_length{2}, accept::fuzzy<total_variation>(0.3)};
    const model_link of_two{fixed_length{1}, accept::fuzzy<total_variation>(0.3)};
    const auto same = [](const auto& named, const auto& composed) {
        static_assert(std::is_same_v<decltype(named), decltype(composed)>);
        return testing::total_variation(law(named), law(composed)) == 0;
    };
    BOOST_TEST(same(scheme::sd(a, c, chosen), cascaded(a, by_sampling, c)));
    BOOST_TEST(same(scheme::fsd(a, c, chosen), cascaded(a, of_two, c)));
    BOOST_TEST(same(scheme::psd_a(a, b, c, chosen), cascaded(a, by_sampling, b, at_target, c)));
    BOOST_TEST(same(scheme::psd_f(a, b, c, chosen), cascaded(a, at_qualifier, b, at_target, c)));
    BOOST_TEST(
        same(scheme::psd_f_as_published(a, b, c, chosen), cascaded_as_published(a, at_qualifier, b, at_target, c)));
    for (const auto& last : {scheme::psd_a(a, b, c, chosen).policy(), scheme::psd_f(a, b, c, chosen).policy()}) {
        BOOST_TEST(last.tokens == 2u);
    }
    BOOST_TEST(scheme::psd_f_as_published(a, b, c, chosen).policy().tokens == 2u);
    BOOST_TEST(testing::total_variation(law(scheme::psd_f(a, b, c, chosen)), law(plain(c))) > 0);
}

BOOST_AUTO_TEST_CASE(what_they_promise) {
    static_assert(Lossless<decltype(scheme::sd(a, c))>);
    static_assert(!Lossless<decltype(scheme::fsd(a, c))>);
    static_assert(!Lossless<decltype(scheme::psd_a<measure::kl>(a, b, c))>);
    static_assert(std::is_same_v<guarantee_of<decltype(scheme::psd_f_as_published(a, b, c))>, guarantee::none>);
    const pyramid_options exact{
        .draft_length = 2, .qualifier_length = 2, .qualifier_threshold = 0, .target_threshold = 0};
    for (const double distance : {testing::total_variation(law(scheme::sd(a, c, exact)), law(plain(c))),
                                  testing::total_variation(law(scheme::fsd(a, c, exact)), law(plain(c))),
                                  testing::total_variation(law(scheme::psd_a(a, b, c, exact)), law(plain(c))),
                                  testing::total_variation(law(scheme::psd_f(a, b, c, exact)), law(plain(c)))}) {
        BOOST_TEST(distance < 1e-12);
    }
}

/// The largest total variation between the target's row, the same after every text, and the token that follows.
double farthest(const auto& scheme, const std::vector<double>& target) {
    decode::options chosen;
    chosen.stop = up_to(3);
    double most = 0;
    for (const auto& [before, row] : testing::detail::rows_of(testing::text_distribution_of(scheme, prompt, chosen))) {
        if (before.size() == 3) continue;
        double far = 0;
        for (token t = 0; t < 3; ++t) {
            const auto found = row.find(t);
            far += std::abs(target[static_cast<std::size_t>(t)] - (found == row.end() ? 0.0 : found->second)) / 2;
        }
        most = std::max(most, far);
    }
    return most;
}

BOOST_AUTO_TEST_CASE(as_published_both_thresholds_together_bound_a_token_and_the_targets_does_not) {
    // From one to the next 0.25 in total variation, from the first to the last 0.5.
    const auto same_row = [](const std::vector<double>& row) { return testing::markov_model({row, row, row}); };
    const std::vector<double> best{0.625, 0.25, 0.125};
    const auto draft = same_row({0.125, 0.75, 0.125}), qualifier = same_row({0.375, 0.5, 0.125});
    const auto target = same_row(best);
    const auto both = [&](double first, double last) {
        const pyramid_options chosen{
            .draft_length = 2, .qualifier_length = 3, .qualifier_threshold = first, .target_threshold = last};
        return std::pair(farthest(scheme::psd_f(draft, qualifier, target, chosen), best),
                         farthest(scheme::psd_f_as_published(draft, qualifier, target, chosen), best));
    };
    const auto close = boost::test_tools::tolerance(1e-6);
    const auto [ours, published] = both(0.3, 0.3);
    BOOST_TEST(ours < 1e-6);  // what the draft drew is rejected
    BOOST_TEST(published == 0.5, close);
    const auto [strict, strict_published] = both(0.2, 0.3);
    BOOST_TEST(strict == 0.25, close);
    BOOST_TEST(strict_published == 0.25, close);
    BOOST_TEST(both(0.5, 0.2).first < 1e-6);
    BOOST_TEST(both(0.5, 0.2).second < 1e-6);
}

BOOST_AUTO_TEST_CASE(options_that_make_no_pyramid_are_refused_with_their_values) {
    const auto refused = [](const pyramid_options& chosen, const std::string& expected) {
        BOOST_CHECK_EXCEPTION(scheme::psd_f(a, b, c, chosen), error, [&](const error& e) {
            return std::string(e.what()).find(expected) != std::string::npos;
        });
    };
    refused({.draft_length = 0}, "0 and 25");
    refused({.qualifier_length = 0}, "15 and 0");
    refused({.qualifier_threshold = std::numeric_limits<double>::quiet_NaN()}, "nan");
    refused({.qualifier_threshold = -1, .target_threshold = 0.4}, "-1");
}

BOOST_AUTO_TEST_CASE(thresholds_are_checked_where_they_are_used_and_may_have_any_order) {
    const pyramid_options inverted{
        .draft_length = 2, .qualifier_length = 3, .qualifier_threshold = 0.5, .target_threshold = 0.1};
    decode::options chosen;
    chosen.stop.max_tokens = 2;
    const auto texts = [&](const auto& scheme) { return testing::text_distribution_of(scheme, prompt, chosen); };
    BOOST_TEST(texts(scheme::psd_f(a, b, c, inverted)).total() == 1.0, boost::test_tools::tolerance(1e-12));
    const pyramid_options unused{.draft_length = 2, .qualifier_threshold = -1, .target_threshold = 0.1};
    const pyramid_options used{.draft_length = 2, .target_threshold = 0.1};
    BOOST_TEST(testing::total_variation(texts(scheme::sd(a, c, unused)), texts(scheme::sd(a, c, used))) == 0);
    BOOST_TEST(testing::total_variation(texts(scheme::fsd(a, c, unused)), texts(scheme::fsd(a, c, used))) == 0);
}

BOOST_AUTO_TEST_CASE(every_model_of_a_scheme_runs_at_any_length) {
    decode::options chosen;
    chosen.stop.max_tokens = 40;
    for (const std::size_t draft : {1u, 2u, 5u}) {
        for (const std::size_t qualifier : {1u, 2u, 7u}) {
            const pyramid_options lengths{.draft_length = draft, .qualifier_length = qualifier};
            const testing::counting_model small(a), middle(b), large(c);
            const auto ran = [&](const auto& scheme) {
                const auto before = small.counts().calls, between = middle.counts().calls;
                const auto above = large.counts().calls;
                const auto decoded = decode::generate<any_guarantee>(scheme, prompt, chosen);
                BOOST_TEST(small.counts().calls > before + 5, draft << " and " << qualifier);
                BOOST_TEST(middle.counts().calls > between + 5, draft << " and " << qualifier);
                BOOST_TEST(large.counts().calls > above + 1, draft << " and " << qualifier);
                for (const auto& stage : decoded.counts.stages) BOOST_TEST(stage.drafted > 0u);
            };
            ran(scheme::psd_a(small, middle, large, lengths));
            ran(scheme::psd_f(small, middle, large, lengths));
            ran(scheme::psd_f_as_published(small, middle, large, lengths));
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
