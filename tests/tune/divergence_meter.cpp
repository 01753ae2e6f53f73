#include "augur/tune/divergence_meter.hpp"

#include <augur/accept/fuzzy.hpp>
#include <augur/accept/rejection_sampling.hpp>
#include <augur/accept/rejection_then_fuzzy.hpp>
#include <augur/decode/generate.hpp>
#include <augur/policy/fixed_length.hpp>
#include <augur/scheme/cascade.hpp>
#include <augur/testing/models.hpp>
#include <augur/types/round_view.hpp>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <vector>

using namespace augur;
using fuzzy = accept::fuzzy<measure::total_variation>;
namespace tt = boost::test_tools;

BOOST_AUTO_TEST_SUITE(tune_divergence_meter)

using scheme::model_link;

/// The meter after one round: a drafted token with its row, committed; the logits are the logarithms of the target's
/// weights.
template <class Criterion>
auto metered(const Criterion& criterion, const std::vector<float>& target, const distribution& draft, token id) {
    tune::divergence_meter meter(criterion, {}, target.size());
    std::vector<float> logits(2 * target.size());
    for (std::size_t i = 0; i < logits.size(); ++i) logits[i] = std::log(target[i % target.size()]);
    const scores rows(logits.data(), 2, target.size());
    prefix text(std::vector<token>{0});
    text.push(id);
    proposal<distribution> proposed;
    proposed.push(id, draft);
    const verdict decided{.drafted = 1, .accepted = 1, .next = no_token};
    const std::vector<commit::committed_token> committed{{id, origin::accepted}};
    const observation none;
    const time_spent seconds;
    const no_states states;
    meter.watch(round_view{text, 1, proposed, rows, states, decided, committed, none, seconds});
    return meter;
}

BOOST_AUTO_TEST_CASE(what_is_accepted_within_the_threshold_is_as_far_as_the_drafts_row) {
    const std::vector<float> target{0.5f, 0.5f, 0};
    const auto draft = distribution::weighted({0.75f, 0.25f, 0});
    BOOST_TEST(metered(fuzzy(0.3), target, draft, 0).divergence() == 0.25, tt::tolerance(1e-6));
    const accept::rejection_then_fuzzy<measure::total_variation> second(0.3);
    BOOST_TEST(metered(second, target, draft, 0).divergence() == 0.25, tt::tolerance(1e-6));
    BOOST_TEST(metered(fuzzy(0.2), target, draft, 0).divergence() == 0);
    BOOST_TEST(metered(accept::rejection_sampling{}, target, draft, 0).divergence() == 0);
    BOOST_TEST(metered(fuzzy(0.2), target, draft, 0).judged() == 1u);
}

BOOST_AUTO_TEST_CASE(a_row_that_cannot_be_drawn_from_is_not_judged) {
    const auto draft = distribution::weighted({0.5f, 0.25f, 0.25f});
    BOOST_TEST(metered(fuzzy(1), {0, 0, 0}, draft, 0).judged() == 0u);
}

BOOST_AUTO_TEST_CASE(what_the_target_excludes_is_drawn_from_the_target) {
    const auto draft = distribution::weighted({0.5f, 0.25f, 0.25f});
    // of the draft's quarter on the third token each of the others gets an eighth
    BOOST_TEST(metered(fuzzy(1), {0.5f, 0.5f, 0}, draft, 0).divergence() == 0.125, tt::tolerance(1e-6));
}

/// Settings under which a row depends on all tokens before it.
transform::settings sampling() {
    transform::settings chosen;
    chosen.penalties.repetition = 1.3f;
    chosen.penalties.frequency = 0.3f;
    chosen.top_k.k = 6;
    return chosen;
}

BOOST_AUTO_TEST_CASE(a_decoding_is_watched_and_goes_on_as_it_would) {
    const auto draft = testing::hashed_model(8, 1, 2), target = testing::hashed_model(8, 2, 2);
    decode::options options{.seed = 4, .sampling = sampling()};
    options.stop.max_tokens = 400;
    const fuzzy rule(0.4);
    const auto scheme = cascaded(draft, model_link{policy::fixed_length{3}, rule}, target);
    tune::divergence_meter meter(rule, sampling(), 8);
    const std::vector<token> prompt{1};
    const auto plain = decode::generate<any_guarantee>(scheme, prompt, options);
    const auto watched = decode::generate<any_guarantee>(scheme, prompt, options, meter);
    BOOST_TEST(plain.tokens == watched.tokens, tt::per_element());
    const auto& counts = watched.counts;
    BOOST_TEST(meter.judged() == counts.count(origin::accepted) + counts.count(origin::correction));
    BOOST_TEST(meter.divergence() > 0);
    BOOST_TEST(meter.divergence() <= 0.4 * static_cast<double>(meter.judged()));
}

/// What the meter must have added up, from the model's rows alone: every drafted row, on its own prefix.
struct by_hand {
    const testing::function_model& target;
    const fuzzy& rule;
    double sum = 0;

    void watch(const auto& view) {
        const transform::pipeline transform(sampling(), target.vocabulary_size());
        for (std::size_t i = 0; i < view.committed.size() && i < view.proposed.size(); ++i) {
            const auto written = view.prefix.tokens().first(view.length_before + i);
            prefix before(written.first(view.prefix.prompt_length()));
            for (token t : written.subspan(view.prefix.prompt_length())) before.push(t);
            std::vector<float> row(target.vocabulary_size());
            target.fill_row(written, row);
            distribution own, mixed;
            transform.apply(row, before, own);
            const distribution& from = rule.drawn_from(own, view.proposed[i], mixed);
            if (&from != &own) sum += measure::divergence<measure::total_variation>(own, from);
        }
    }
};

BOOST_AUTO_TEST_CASE(every_row_is_measured_on_its_own_prefix) {
    const auto draft = testing::hashed_model(8, 1, 2), target = testing::hashed_model(8, 2, 2);
    decode::options options{.seed = 9, .sampling = sampling()};
    options.stop.max_tokens = 100;
    const fuzzy rule(0.4);
    tune::divergence_meter meter(rule, sampling(), 8);
    by_hand expected{target, rule};
    const auto scheme = cascaded(draft, model_link{policy::fixed_length{3}, rule}, target);
    decode::generate<any_guarantee>(scheme, std::vector<token>{1}, options, meter, expected);
    BOOST_TEST(meter.divergence() == expected.sum, tt::tolerance(1e-12));
    BOOST_TEST(expected.sum > 0);
}

BOOST_AUTO_TEST_SUITE_END()
