#pragma once
// What the tests of both fuzzy criteria share.

#include <augur/accept/walk.hpp>
#include <augur/decode/generate.hpp>
#include <augur/draft/prompt_lookup.hpp>
#include <augur/policy/fixed_length.hpp>
#include <augur/testing/criterion_laws.hpp>
#include <augur/testing/explain.hpp>
#include <augur/testing/models.hpp>
#include <augur/testing/text_distribution_of.hpp>
#include <augur/testing/tree_round.hpp>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstddef>
#include <limits>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "augur/measure/divergence.hpp"
#include "measure/literal_divergence.hpp"
#include "sanitized.hpp"

namespace fuzzy_laws {

using namespace augur;

constexpr double exactly = 1e-12;
constexpr double infinity = std::numeric_limits<double>::infinity();

/// Visits a value of each divergence's type.
template <class Visit>
void each_divergence(const Visit& visit) {
    const std::tuple<measure::kl, measure::reverse_kl, measure::jensen_shannon, measure::total_variation,
                     measure::hellinger>
        all;
    std::apply([&](const auto&... d) { (visit(d), ...); }, all);
}

inline decode::options sampling(std::size_t max_tokens) {
    decode::options chosen;
    chosen.stop.max_tokens = max_tokens;
    return chosen;
}

inline const std::vector<token> prompt{0, 1, 0};

/// Weights in {0, ..., 4}: zeros and ties are common.
inline std::vector<float> random_weights(std::mt19937& random, std::size_t size) {
    std::vector<float> weights(size);
    for (float& w : weights) w = static_cast<float>(random() % 5);
    weights[random() % size] += 1;
    return weights;
}

/// The probabilities of the token that comes of one drafted token; of a drawn one, or of a certain one.
template <class Criterion>
std::vector<double> law_of_a_judgement(const Criterion& criterion, const distribution& target,
                                       const distribution& draft_row) {
    const auto law = testing::enumerate([&](testing::enumerating_chooser chooser) {
        position_draws draws(chooser, 0, 0);
        const drafted_token<distribution> drafted{draft::sampled{}.pick(draft_row, draws), &draft_row};
        const token drawn = accept::accept_or_draw(criterion, target, drafted, draws);
        return std::vector<token>{drawn == no_token ? drafted.id : drawn};
    });
    std::vector<double> row(target.size());
    for (const auto& [tokens, probability] : law.probability) row[static_cast<std::size_t>(tokens[0])] = probability;
    return row;
}

template <class Criterion>
std::vector<double> law_of_a_judgement(const Criterion& criterion, const distribution& target, token certain) {
    const auto law = testing::enumerate([&](testing::enumerating_chooser chooser) {
        position_draws draws(chooser, 0, 0);
        const token drawn = accept::accept_or_draw(criterion, target, drafted_token<point_mass>{certain}, draws);
        return std::vector<token>{drawn == no_token ? certain : drawn};
    });
    std::vector<double> row(target.size());
    for (const auto& [tokens, probability] : law.probability) row[static_cast<std::size_t>(tokens[0])] = probability;
    return row;
}

/// How far the token's law is from the target's row, by the definition.
template <class D>
double distance(const distribution& target, const std::vector<double>& law) {
    literal::probabilities p(target.size());
    for (std::size_t i = 0; i < p.size(); ++i) p[i] = target.probability(static_cast<token>(i));
    return literal::divergence<D>(literal::normalised(p), literal::normalised({law.begin(), law.end()}));
}

/// The bound, on rows with zeros, for drafts that are drawn and for point masses. `Criterion` is a template of a
/// divergence.
template <template <class> class Criterion>
void check_bound() {
    std::mt19937 random(1);
    std::size_t apart = 0;
    for (std::size_t i = 0; i < 400; ++i) {
        const std::size_t size = 2 + random() % 4;
        const auto target = distribution::weighted(random_weights(random, size));
        const auto draft_row = distribution::weighted(random_weights(random, size));
        each_divergence([&]<class D>(const D&) {
            for (const double threshold : {0.0, 0.05, 0.2, 0.5, 0.9}) {
                const Criterion<D> criterion(threshold);
                const double bound = criterion.promised().bound + exactly;
                const double drawn = distance<D>(target, law_of_a_judgement(criterion, target, draft_row));
                BOOST_TEST(drawn <= bound, D::name << ": " << drawn);
                apart += drawn > exactly;
                for (token t = 0; t < static_cast<token>(size); ++t) {
                    const double certain = distance<D>(target, law_of_a_judgement(criterion, target, t));
                    BOOST_TEST(certain <= bound, D::name << " of a certain token: " << certain);
                    apart += certain > exactly;
                }
            }
        });
    }
    BOOST_TEST(apart > 1000u);
}

/// The bound for each token of a whole text, given those before it.
template <template <class> class Criterion>
void check_bound_in_texts() {
    const std::vector<std::vector<double>> rows{{1, 2, 3}, {4, 0, 1}, {2, 2, 2}};
    const auto target = testing::markov_model(rows);
    const auto drafter = testing::markov_model({{1, 2, 2}, {3, 0, 2}, {0, 1, 1}});
    each_divergence([&]<class D>(const D&) {
        for (const double threshold : {0.02, 0.2, 0.4}) {
            const auto scheme = speculate(drafter, target, policy::fixed_length{2}, Criterion<D>(threshold));
            const auto law = testing::text_distribution_of(scheme, prompt, sampling(3));
            BOOST_TEST(std::abs(law.total() - 1) < exactly);
            for (const auto& [before, row] : testing::detail::rows_of(law)) {
                if (before.size() == 3) continue;
                const auto last = static_cast<std::size_t>(before.empty() ? prompt.back() : before.back());
                const auto expected = distribution::weighted({rows[last].begin(), rows[last].end()});
                std::vector<double> got(3);
                for (const auto& [t, p] : row) got[static_cast<std::size_t>(t)] = p;
                // Rows of logits are rounded to float.
                BOOST_TEST(distance<D>(expected, got) <= threshold + 1e-6, D::name << " after " << before.size());
            }
        }
    });
}

/// The bound for the token of a position with two siblings, or three, and for those beneath them.
template <template <class> class Criterion>
void check_bound_among_siblings() {
    std::mt19937 random(3);
    std::size_t apart = 0;
    for (std::size_t i = 0; i < 40; ++i) {
        std::vector<std::vector<double>> target(3), draft(3);
        for (auto* rows : {&target, &draft}) {
            for (auto& row : *rows) {
                const auto weights = random_weights(random, 3);
                row.assign(weights.begin(), weights.end());
            }
        }
        testing::tree_round round{testing::markov_model(target), testing::markov_model(draft), {-1, -1, 0}};
        if (i % 2 == 1) round.shape = {-1, -1, -1};
        round.replacement = i % 4 < 2;
        each_divergence([&]<class D>(const D&) {
            const Criterion<D> criterion(0.2);
            const auto law = testing::enumerate([&](const testing::enumerating_chooser& chooser) {
                return round.text(criterion, draft::sampled{}, chooser);
            });
            for (const auto& [before, row] : testing::detail::rows_of(law)) {
                if (before.size() == round.length()) continue;
                const auto& weights = target[static_cast<std::size_t>(before.empty() ? 0 : before.back())];
                std::vector<double> got(3);
                for (const auto& [t, p] : row) got[static_cast<std::size_t>(t)] = p;
                const double far = distance<D>(distribution::weighted({weights.begin(), weights.end()}), got);
                BOOST_TEST(far <= 0.2 + 1e-6, D::name << " after " << before.size());
                apart += far > exactly;
            }
        });
    }
    BOOST_TEST(apart > 100u);
}

/// At threshold 0 the text has the target's distribution; on one vocabulary, with zeros, with n-grams.
template <class Criterion>
void check_lossless(const Criterion& criterion) {
    const auto check = [&](const auto& drafter, const auto& target, std::size_t length) {
        const auto scheme = speculate(drafter, target, policy::fixed_length{length}, criterion);
        const auto expected = testing::text_distribution_of(testing::plain_sampling(target), prompt, sampling(3));
        const auto found =
            testing::explain(expected, testing::text_distribution_of(scheme, prompt, sampling(3)), exactly);
        BOOST_TEST(found.equal, found);
    };
    const auto target = testing::hashed_model(3, 1);
    const auto zeros = testing::markov_model({{0, 2, 3}, {4, 0, 1}, {0, 0, 2}});
    for (std::size_t length = 0; length <= 3; ++length) {
        check(testing::hashed_model(3, 2), target, length);
        check(testing::markov_model({{1, 0, 1}, {4, 0, 1}, {0, 1, 2}}), zeros, length);
        check(draft::prompt_lookup(1, 3), target, length);
    }
}

/// The law of `drafted` tokens of one model, then of the other's, up to `length`: what comes of keeping every drafted
/// token.
inline testing::text_distribution law_in_turn(const testing::function_model& drafter,
                                              const testing::function_model& target, std::size_t drafted,
                                              std::size_t length) {
    return testing::enumerate([&](testing::enumerating_chooser chooser) {
        std::vector<token> text = prompt;
        const transform::pipeline transform({}, target.vocabulary_size());
        while (text.size() < prompt.size() + length) {
            const auto& model = (text.size() - prompt.size()) % (drafted + 1) < drafted ? drafter : target;
            auto sequence = model.make_sequence();
            const auto row = transform(model.extend(sequence, text).back(), prefix(text));
            text.push_back(static_cast<token>(chooser.choose(row, draw_key{text.size(), purpose::draft, 0})));
        }
        return std::vector<token>(text.begin() + static_cast<std::ptrdiff_t>(prompt.size()), text.end());
    });
}

/// At infinity every drafted token stays, and the token after them is the target's.
template <class Criterion>
void check_keeps_everything(const Criterion& criterion) {
    const auto target = testing::hashed_model(3, 1);
    const auto drafter = testing::hashed_model(3, 2);
    for (std::size_t length = 1; length <= 2; ++length) {
        const auto scheme = speculate(drafter, target, policy::fixed_length{length}, criterion);
        const auto expected = law_in_turn(drafter, target, length, length + 1);
        const auto found =
            testing::explain(expected, testing::text_distribution_of(scheme, prompt, sampling(length + 1)), exactly);
        BOOST_TEST(found.equal, found);
        const auto decoded = decode::generate<any_guarantee>(scheme, prompt, sampling(40));
        BOOST_TEST(decoded.counts.acceptance() == 1.0);
    }
}

/// At temperature 0 rows are certain, so that nothing but the target's choice can be accepted.
template <class Criterion>
void check_greedy(const Criterion& criterion) {
    const auto target = testing::hashed_model(5, 3);
    auto chosen = sampling(30);
    chosen.sampling.temperature.value = 0;
    const auto expected = decode::generate(plain(target), prompt, chosen).tokens;
    const auto check = [&](const auto& scheme) {
        BOOST_TEST(decode::generate<any_guarantee>(scheme, prompt, chosen).tokens == expected);
    };
    check(speculate(testing::hashed_model(5, 4), target, policy::fixed_length{3}, criterion));
    check(speculate(draft::prompt_lookup(1, 3), target, policy::fixed_length{3}, criterion));
    const auto agreeing = speculate(target, target, policy::fixed_length{3}, criterion);
    BOOST_TEST(decode::generate<any_guarantee>(agreeing, prompt, chosen).counts.acceptance() == 1.0);
}

template <template <class> class Criterion>
void check_refusals() {
    const auto refuses = [](double threshold, const std::string& message) {
        BOOST_CHECK_EXCEPTION(Criterion<measure::hellinger>{threshold}, error,
                              [&](const error& e) { return e.what() == message; });
    };
    refuses(-0.25, "a threshold of the divergence hellinger must be 0 or more, but it is -0.25");
    refuses(-infinity, "a threshold of the divergence hellinger must be 0 or more, but it is -inf");
    refuses(std::nan(""), "a threshold of the divergence hellinger must be 0 or more, but it is nan");
    for (const double fine : {0.0, 0.3, 7.0, infinity}) {
        BOOST_TEST(Criterion<measure::hellinger>{fine}.promised().bound == fine);
    }
}

template <template <class> class Criterion>
void check_criterion_laws() {
    each_divergence([&]<class D>(const D&) {
        for (const double threshold : {0.0, 0.3, infinity}) {
            if (testing::sanitized && threshold != 0.3) continue;
            const auto r = testing::criterion_laws(
                Criterion<D>(threshold), {.cases = testing::unless_sanitized<std::size_t>(60, 5), .widest = 300});
            BOOST_TEST(r.kept(), r);
            BOOST_TEST(r.checked.size() == 10u);
            BOOST_TEST(r.skipped.size() == 2u);  // a bound is no equality
        }
    });
}

}  // namespace fuzzy_laws
