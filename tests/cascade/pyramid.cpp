#include "augur/cascade/pyramid.hpp"

#include <augur/testing/counting_model.hpp>
#include <augur/testing/models.hpp>
#include <augur/testing/scheme_laws.hpp>
#include <boost/test/unit_test.hpp>
#include <limits>
#include <string>
#include <type_traits>

using namespace augur;
using cascade::pyramid_options;
using measure::total_variation;

BOOST_AUTO_TEST_SUITE(cascade_pyramid)

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
    return testing::law_of(scheme, prompt, chosen);
}
}  // namespace

using cascade::model_link;
using policy::fixed_length;

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
    BOOST_TEST(same(cascade::sd(a, c, chosen), cascaded(a, by_sampling, c)));
    BOOST_TEST(same(cascade::fsd(a, c, chosen), cascaded(a, of_two, c)));
    BOOST_TEST(same(cascade::psd_a(a, b, c, chosen), cascaded(a, by_sampling, b, at_target, c)));
    BOOST_TEST(same(cascade::psd_f(a, b, c, chosen), cascaded(a, at_qualifier, b, at_target, c)));
    BOOST_TEST(testing::total_variation(law(cascade::psd_f(a, b, c, chosen)), law(plain(c))) > 0);
}

BOOST_AUTO_TEST_CASE(what_they_promise) {
    static_assert(Lossless<decltype(cascade::sd(a, c))>);
    static_assert(!Lossless<decltype(cascade::fsd(a, c))>);
    static_assert(!Lossless<decltype(cascade::psd_a<measure::kl>(a, b, c))>);
    const pyramid_options exact{
        .draft_length = 2, .qualifier_length = 2, .qualifier_threshold = 0, .target_threshold = 0};
    for (const double distance : {testing::total_variation(law(cascade::sd(a, c, exact)), law(plain(c))),
                                  testing::total_variation(law(cascade::fsd(a, c, exact)), law(plain(c))),
                                  testing::total_variation(law(cascade::psd_a(a, b, c, exact)), law(plain(c))),
                                  testing::total_variation(law(cascade::psd_f(a, b, c, exact)), law(plain(c)))}) {
        BOOST_TEST(distance < 1e-12);
    }
}

BOOST_AUTO_TEST_CASE(options_that_make_no_pyramid_are_refused_with_their_values) {
    const auto refused = [](const pyramid_options& chosen, const std::string& expected) {
        BOOST_CHECK_EXCEPTION(cascade::psd_f(a, b, c, chosen), error, [&](const error& e) {
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
    const auto texts = [&](const auto& scheme) { return testing::law_of(scheme, prompt, chosen); };
    BOOST_TEST(texts(cascade::psd_f(a, b, c, inverted)).total() == 1.0, boost::test_tools::tolerance(1e-12));
    const pyramid_options unused{.draft_length = 2, .qualifier_threshold = -1, .target_threshold = 0.1};
    const pyramid_options used{.draft_length = 2, .target_threshold = 0.1};
    BOOST_TEST(testing::total_variation(texts(cascade::sd(a, c, unused)), texts(cascade::sd(a, c, used))) == 0);
    BOOST_TEST(testing::total_variation(texts(cascade::fsd(a, c, unused)), texts(cascade::fsd(a, c, used))) == 0);
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
                const auto made = decode::generate<any_guarantee>(scheme, prompt, chosen);
                BOOST_TEST(small.counts().calls > before + 5, draft << " and " << qualifier);
                BOOST_TEST(middle.counts().calls > between + 5, draft << " and " << qualifier);
                for (const auto& stage : made.counts.stages) BOOST_TEST(stage.drafted > 0u);
            };
            ran(cascade::psd_a(small, middle, large, lengths));
            ran(cascade::psd_f(small, middle, large, lengths));
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
