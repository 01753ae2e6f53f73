// Every criterion over whole texts that are drafted by trees, siblings with and without replacement and fixed ones.

#include <augur/accept/coupled.hpp>
#include <augur/accept/exact.hpp>
#include <augur/accept/fuzzy.hpp>
#include <augur/accept/multipath_block.hpp>
#include <augur/accept/rejection_sampling.hpp>
#include <augur/accept/rejection_then_fuzzy.hpp>
#include <augur/accept/traversal.hpp>
#include <augur/testing/explain.hpp>
#include <augur/testing/promise.hpp>
#include <augur/testing/random_inputs.hpp>
#include <augur/testing/text_distribution_of.hpp>
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "accept/bush.hpp"
#include "accept/fuzzy_laws.hpp"

using namespace augur;
using testing::bush;
using testing::hashed_model;

BOOST_AUTO_TEST_SUITE(accept_every_tree)

const std::vector<token> prompt{0, 1};

/// Two or three paths, of which some part from others after the prefix or later.
const std::vector<std::int32_t> shapes[] = {{-1, -1}, {-1, -1, -1}, {-1, -1, 0, 1}, {-1, 0, 0}, {-1, -1, 0, 0}};

std::vector<transform::settings> settings() {
    std::vector<transform::settings> all(4);
    all[1].temperature.value = 0.6f;
    all[1].top_k.k = 2;
    all[2].penalties = {1.3f, 0.4f, 0.2f};
    all[2].bias.added = {{0, 0.8f}};
    all[3].temperature.value = 1.5f;
    all[3].mask = testing::avoid_repeating;
    return all;
}

/// What the criterion promises of texts of three tokens, over all of these.
template <class TokenSelector, class Criterion>
void check_texts(const Criterion& criterion, bool greedy = false) {
    for (const auto& shape : shapes) {
        for (auto chosen : settings()) {
            if (greedy) chosen.temperature.value = 0;
            const auto target = hashed_model(3, 5), small = hashed_model(3, 6);
            decode::options options;
            options.sampling = chosen;
            options.stop.max_tokens = 3;
            const auto scheme =
                speculate(bush<TokenSelector>{small, shape}, target, policy::fixed_length{2}, criterion);
            const std::string found = testing::broken_promise(scheme, prompt, options);
            BOOST_TEST(found == "", testing::describe(std::span<const std::int32_t>(shape))
                                        << ", " << testing::describe_settings(chosen) << ": " << found);
        }
    }
}

BOOST_AUTO_TEST_CASE(rejection_sampling_with_and_without_replacement_and_of_fixed_siblings) {
    check_texts<draft::sampled>(accept::rejection_sampling{});
    check_texts<draft::sampled_with_replacement>(accept::rejection_sampling{});
    check_texts<draft::argmax>(accept::rejection_sampling{});
}

BOOST_AUTO_TEST_CASE(traversal_with_and_without_replacement_and_of_fixed_siblings) {
    check_texts<draft::sampled>(accept::traversal{});
    check_texts<draft::sampled_with_replacement>(accept::traversal{});
    check_texts<draft::argmax>(accept::traversal{});
}

BOOST_AUTO_TEST_CASE(multipath_block_of_independent_siblings) {
    check_texts<draft::sampled_with_replacement>(accept::multipath_block{});
}

// The child that plain sampling would have written, on all noise.
BOOST_AUTO_TEST_CASE(coupled_writes_the_text_of_plain_sampling) {
    check_texts<draft::argmax>(accept::coupled{});
    check_texts<draft::shared_noise>(accept::coupled{});
    check_texts<draft::sampled>(accept::coupled{});
}

BOOST_AUTO_TEST_CASE(exact_writes_the_text_of_greedy_decoding) {
    check_texts<draft::argmax>(accept::exact{}, true);
    check_texts<draft::sampled>(accept::exact{}, true);
    check_texts<draft::sampled>(accept::traversal{}, true);
    check_texts<draft::sampled_with_replacement>(accept::multipath_block{}, true);
}

/// Each token of a text, given those before it, is from a row within the threshold of the target's.
template <class Criterion>
void check_threshold(const Criterion& criterion, const auto& drafter, double threshold, std::size_t& apart) {
    const std::vector<std::vector<double>> rows{{1, 2, 3}, {4, 0, 1}, {2, 2, 2}};
    const auto target = testing::markov_model(rows);
    decode::options options;
    options.stop.max_tokens = 3;
    const auto law =
        testing::text_distribution_of(speculate(drafter, target, policy::fixed_length{2}, criterion), prompt, options);
    BOOST_TEST(std::abs(law.total() - 1) < 1e-12);
    for (const auto& [before, row] : testing::detail::rows_of(law)) {
        if (before.size() == 3) continue;
        const auto& weights = rows[static_cast<std::size_t>(before.empty() ? prompt.back() : before.back())];
        std::vector<double> got(3);
        for (const auto& [t, p] : row) got[static_cast<std::size_t>(t)] = p;
        const auto wanted = distribution::weighted({weights.begin(), weights.end()});
        const double far = fuzzy_laws::distance<measure::total_variation>(wanted, got);
        BOOST_TEST(far <= threshold + 1e-6);  // rows of logits are rounded to float
        apart += far > 1e-6 ? 1 : 0;
    }
}

BOOST_AUTO_TEST_CASE(fuzzy_rules_keep_their_bound) {
    const auto small = testing::markov_model({{1, 2, 2}, {3, 0, 2}, {0, 1, 1}});
    std::size_t apart = 0;
    for (const auto& shape : shapes) {
        const auto check = [&]<class TokenSelector>(const TokenSelector&) {
            const bush<TokenSelector> drafter{small, shape};
            for (const double threshold : {0.1, 0.25, 0.5}) {
                check_threshold(accept::fuzzy<measure::total_variation>(threshold), drafter, threshold, apart);
                check_threshold(accept::rejection_then_fuzzy<measure::total_variation>(threshold), drafter, threshold,
                                apart);
            }
        };
        check(draft::sampled{});
        check(draft::sampled_with_replacement{});
        check(draft::argmax{});
    }
    BOOST_TEST(apart > 100u);
}

BOOST_AUTO_TEST_SUITE_END()
