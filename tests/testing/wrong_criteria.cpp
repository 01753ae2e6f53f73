// Criteria and drafters that look right and are not: how far each is from the target's distribution, and where that
// shows first.

#include "testing/wrong_criteria.hpp"

#include <augur/accept/coupled.hpp>
#include <augur/accept/walk.hpp>
#include <augur/testing/explain.hpp>
#include <augur/testing/promise.hpp>
#include <augur/testing/text_distribution_of.hpp>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <string>

using namespace augur;
using accept::rejection_sampling;
using accept::residual_weights;
using wrong::own_noise;

BOOST_AUTO_TEST_SUITE(testing_wrong_criteria)

constexpr double exactly = 1e-12;
constexpr double clearly = 0.01;
const std::vector<token> prompt{0};

// Sixteenths, so that all quotients that are compared are exact up to the rounding of logits.
const auto target = testing::markov_model({{0.5, 0.25, 0.25}, {0.125, 0.125, 0.75}, {0.25, 0.75, 0}});
const auto drafter = testing::markov_model({{0.25, 0.5, 0.25}, {0.25, 0.5, 0.25}, {0.5, 0.25, 0.25}});

decode::options sampling(float temperature = 1) {
    decode::options chosen;
    chosen.sampling.temperature.value = temperature;
    chosen.stop.max_tokens = 3;
    return chosen;
}

/// The law of drafting by `drafting`, against the target's.
template <class Criterion, class Drafting>
testing::explanation explained(const Criterion& criterion, const Drafting& drafting, const decode::options& chosen) {
    const auto scheme = speculate(drafting, target, policy::fixed_length{2}, criterion);
    return explain(text_distribution_of(testing::plain_sampling(target), prompt, chosen),
                   text_distribution_of(scheme, prompt, chosen));
}

/// It is far from the target's distribution, and the explanation names the first text that shows it.
void caught(const testing::explanation& found, const std::vector<token>& prefix) {
    BOOST_TEST_MESSAGE(found);
    BOOST_TEST(!found.equal);
    BOOST_TEST(found.overall > clearly);
    BOOST_TEST(found.here > clearly);
    BOOST_TEST(found.prefix == prefix, boost::test_tools::per_element());
}

template <class Criterion>
void caught(const Criterion& criterion, const std::vector<token>& prefix = {}, float temperature = 1) {
    const auto found = explained(criterion, drafter, sampling(temperature));
    caught(found, prefix);
}

BOOST_AUTO_TEST_CASE(the_right_one_is_not) {
    for (float temperature : {1.0f, 0.5f}) {
        BOOST_TEST(explained(rejection_sampling{}, drafter, sampling(temperature)).overall < exactly);
    }
}

/// Judges every token by the row that the round began with.
struct stale_row : accept::block {
    template <ChainProposal Proposal, class Draws>
    verdict judge_block(std::span<const distribution> targets, const Proposal& proposed, const Draws& draws) const {
        for (std::size_t i = 0; i < proposed.size(); ++i) {
            auto here = draws(i);
            const token drawn = accept::accept_or_draw(rejection_sampling{}, targets[0], proposed[i], here);
            if (drawn != no_token) return {proposed.size(), i, drawn};
        }
        auto next = draws(proposed.size());
        return {proposed.size(), proposed.size(), draw(targets[proposed.size()], next)};
    }
};

BOOST_AUTO_TEST_CASE(a_stale_row) {
    caught(stale_row{}, {1});  // after 0 the stale row is the right one
}

/// A row as it was before temperature 0.5.
distribution untransformed(const distribution& row) {
    std::vector<float> weights;
    for (std::size_t i = 0; i < row.size(); ++i) weights.push_back(static_cast<float>(std::sqrt(row[i])));
    return distribution::weighted(std::move(weights));
}

/// Judges by the draft's row as it was before the transform; the target's is after it.
struct draft_before_transform : rejection_sampling {
    static inline distribution before;  // what is left of the target is made of it

    bool accepts(const auto& row, const drafted_token<distribution>& drafted, auto& draws) const {
        before = untransformed(*drafted.row);
        return rejection_sampling::accepts(row, drafted_token<distribution>{drafted.id, &before}, draws);
    }
    auto after_rejection(const auto& row, const drafted_token<distribution>& drafted) const {
        return accept::residual(row, drafted_token<distribution>{drafted.id, &before});
    }
};

BOOST_AUTO_TEST_CASE(a_draft_row_from_before_the_transform) {
    caught(draft_before_transform{}, {}, 0.5f);
}

/// The residual as it is, without division by its mass: what is missing to 1 falls on the last token.
struct not_renormalised {
    residual_weights<distribution> residual;
    std::size_t size() const { return residual.size(); }
    double operator[](std::size_t i) const { return residual[i] + (i + 1 == size() ? 1 - residual.total() : 0); }
    double total() const { return 1; }
    double probability(token t) const { return (*this)[static_cast<std::size_t>(t)]; }
};
struct residual_not_renormalised : rejection_sampling {
    not_renormalised after_rejection(const distribution& row, const drafted_token<distribution>& drafted) const {
        return {{row, drafted}};
    }
    not_renormalised after_rejection(const not_renormalised& left, const drafted_token<distribution>&) const {
        return left;
    }
    bool accepts(const auto& row, const drafted_token<distribution>& drafted, auto& draws) const {
        return rejection_sampling::accepts(row, drafted, draws);
    }
};

BOOST_AUTO_TEST_CASE(a_residual_that_is_not_renormalised) {
    caught(residual_not_renormalised{});
}

BOOST_AUTO_TEST_CASE(a_correction_from_the_target) {
    caught(wrong::no_residual{});
}

/// Compares a uniform number of four bits with the ratio: below it, or, `Inclusive`, at it too.
template <bool Inclusive>
struct four_bit_coin : rejection_sampling {
    bool accepts(const auto& row, const drafted_token<distribution>& drafted, auto& draws) const {
        const double ratio = row.probability(drafted.id) / drafted.probability(drafted.id);
        const double below = std::round(16 * ratio) / 16;  // a whole number of 16ths, if logits were not rounded
        return draws.flip(std::min(1.0, below + (Inclusive ? 1.0 / 16 : 0)), purpose::accept);
    }
};

BOOST_AUTO_TEST_CASE(acceptance_where_the_number_is_the_ratio) {
    BOOST_TEST(explained(four_bit_coin<false>{}, drafter, sampling()).overall < 1e-6);
    const auto found = explained(four_bit_coin<true>{}, drafter, sampling());
    caught(found, {});
    // After token 2, token 2 is impossible; its ratio is 0 and the number, once in 16 times, too.
    const auto scheme = speculate(drafter, target, policy::fixed_length{2}, four_bit_coin<true>{});
    const auto after_two = text_distribution_of(scheme, std::vector<token>{2}, sampling());
    double impossible = 0;
    for (const auto& [text, p] : after_two.probability) impossible += text[0] == 2 ? p : 0;
    BOOST_TEST(impossible == 0.25 / 16, boost::test_tools::tolerance(1e-6));
}

/// Treats a drawn token as if it had been certain, but corrects for the row it came from.
struct certain_draft : rejection_sampling {
    bool accepts(const auto& row, const drafted_token<distribution>& drafted, auto& draws) const {
        return draws.flip(row.probability(drafted.id), purpose::accept);
    }
};

BOOST_AUTO_TEST_CASE(a_drawn_token_taken_for_certain) {
    caught(certain_draft{});
}

// Numbers that are taken for two and are one.

auto named_twice(const std::string& question) {
    return [question](const error& thrown) {
        const std::string said = thrown.what();
        return said.find("is asked for twice: first by " + question) != std::string::npos;
    };
}

BOOST_AUTO_TEST_CASE(two_coins_of_one_name) {
    BOOST_CHECK_EXCEPTION(explained(wrong::two_coins{}, drafter, sampling()), error, named_twice("flip("));
}

BOOST_AUTO_TEST_CASE(a_drawer_that_draws_again) {
    const draft::draft_model<const testing::function_model&, wrong::draws_again> again(drafter);
    BOOST_CHECK_EXCEPTION(explained(rejection_sampling{}, again, sampling()), error,
                          named_twice("choose among 3 weights, then by choose among 3 weights"));
}

// Shared noise where it must be independent, and independent where it must be shared.

/// Draws with the noise of the position, but proposes the row as if the noise were its own.
struct states_the_row : draft::shared_noise {
    using draft_distribution_type = distribution;
};
/// Draws the correction with the noise of the position.
struct races_for_the_correction : rejection_sampling {
    using rejection_sampling::draw;
    token draw(const residual_weights<distribution>& left, auto& draws) const {
        return static_cast<token>(draws.exponential_race(left));
    }
};

BOOST_AUTO_TEST_CASE(a_correction_with_the_noise_that_drew_the_draft) {
    const std::vector<double> low{0.125, 0.125, 0.75};  // leaves several tokens in the residual
    const auto far = testing::markov_model({low, low, low});
    const draft::draft_model<const testing::function_model&, states_the_row> raced(far);
    BOOST_TEST(explained(rejection_sampling{}, raced, sampling()).overall < exactly);
    BOOST_TEST(explained(races_for_the_correction{}, far, sampling()).overall < exactly);
    caught(explained(races_for_the_correction{}, raced, sampling()), {});
}

/// One noise for the whole text.
struct one_noise {
    testing::enumerating_chooser inner;
    std::size_t choose(const Weights auto& weights, draw_key key) { return inner.choose(weights, key); }
    bool flip(double probability, draw_key key) { return inner.flip(probability, key); }
    std::size_t exponential_race(const Weights auto& weights, std::size_t) {
        return inner.exponential_race(weights, 0);
    }
};

BOOST_AUTO_TEST_CASE(one_noise_for_all_positions) {
    const auto expected = text_distribution_of(testing::plain_sampling(target), prompt, sampling());
    const auto scheme = speculate(drafter, target, policy::fixed_length{2}, accept::coupled{});
    BOOST_TEST(total_variation(expected, text_distribution_of(scheme, prompt, sampling())) < exactly);
    const auto got = testing::enumerate([&](const testing::enumerating_chooser& chooser) {
        return decode::generate_with(one_noise{chooser}, scheme, prompt, sampling()).tokens;
    });
    caught(explain(expected, got), {0});  // one token alone has the right law
}

BOOST_AUTO_TEST_CASE(noise_of_its_own_keeps_the_law_and_not_the_text) {
    BOOST_TEST(explained(own_noise{}, drafter, sampling()).overall < exactly);
    const auto right = speculate(drafter, target, policy::fixed_length{2}, accept::coupled{});
    const auto other = speculate(drafter, target, policy::fixed_length{2}, own_noise{});
    BOOST_TEST(testing::broken_text(right, prompt, sampling()) == "");
    BOOST_TEST(testing::broken_text(other, prompt, sampling()).find("with the same noise, expected") == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
