// What penalties, masks, randomness and counts have been broken by: docs/conformance.md, 33 to 42.

#include <algorithm>
#include <augur/accept/multipath_block.hpp>
#include <augur/io/text/tokenizer.hpp>
#include <cstdint>
#include <numeric>
#include <set>

#include "accept/bush.hpp"
#include "conformance/laws.hpp"
#include "io/files.hpp"
#include "io/vocabularies.hpp"
#include "llama/small_llama.hpp"
#include "sanitized.hpp"

using namespace augur;
using namespace augur::conformance;

BOOST_AUTO_TEST_SUITE(conformance_state)

const function_model target = testing::hashed_model(3, 1);
const function_model drafting = testing::hashed_model(3, 2);
constexpr policy::fixed_length three{3};

/// Whether the counts are those of the tokens.
bool counts_itself(const prefix& before) {
    prefix again(before.tokens().first(before.prompt_length()));
    for (token t : before.generated()) again.push(t);
    return again.counts().size() == before.counts().size() &&
           std::all_of(before.counts().begin(), before.counts().end(), [&](const auto& entry) {
               const auto found = again.counts().find(entry.first);
               return found != again.counts().end() && found->second.anywhere == entry.second.anywhere &&
                      found->second.generated == entry.second.generated;
           });
}

/// A mask that notes every history it is shown, and what is wrong with one.
struct watcher {
    std::set<std::vector<token>> histories{};
    std::size_t miscounted = 0;

    decode::options watching(decode::options chosen) {
        chosen.sampling.mask = [this](std::span<float>, const prefix& before) {
            histories.insert({before.tokens().begin(), before.tokens().end()});
            if (!counts_itself(before)) ++miscounted;
        };
        return chosen;
    }
};

// Penalties saw one token of each step, not all that had been committed.
BOOST_AUTO_TEST_CASE(invariant_33_every_committed_token_counts_once) {
    for (const auto& penalties : std::vector<transform::penalties>{{1.6f, 0, 0}, {1, 0.8f, 0}, {1, 0, 0.6f}}) {
        check_laws(drafting, target, sampling(testing::unless_sanitized<std::size_t>(4, 3), {.penalties = penalties}));
        const auto plainly = decode::generate(plain(target), prompt, sampling(40, {.penalties = penalties})).tokens;
        each_scheme<accept::coupled>(drafting, target, [&](const auto& scheme) {
            BOOST_TEST(decode::generate(scheme, prompt, sampling(40, {.penalties = penalties})).tokens == plainly);
        });
    }
    every_scheme(drafting, target, [&](const auto& scheme) {
        watcher sees;
        decode::generate(scheme, prompt, sees.watching(greedy(20)));
        BOOST_TEST(sees.miscounted == 0u);
    });
}

// Rejected tokens stayed in penalty counts that draft and target shared.
BOOST_AUTO_TEST_CASE(invariant_34_what_was_rejected_leaves_no_trace) {
    every_scheme(testing::hashed_model(8, 2), testing::hashed_model(8, 1), [&](const auto& scheme) {
        auto chosen = greedy(20);
        chosen.sampling.penalties = {1.2f, 0.3f, 0.1f};
        decode::session session(scheme, prompt, chosen.sampling, chosen.stop, random::philox_chooser(0));
        while (session.finished == finish_reason::running) {
            const std::vector<token> before(session.committed.tokens().begin(), session.committed.tokens().end());
            const auto record = decode::step(scheme, session);
            const auto now = session.committed.tokens();
            BOOST_TEST(counts_itself(session.committed));
            BOOST_REQUIRE(now.size() == before.size() + record.committed.size());
            BOOST_TEST(std::equal(before.begin(), before.end(), now.begin()));
        }
    });
}

// Logits processors were handed a history without the newest token.
BOOST_AUTO_TEST_CASE(invariant_35_every_row_is_transformed_with_all_that_stands_before_it) {
    every_scheme(drafting, target, [&](const auto& scheme) {
        watcher sees;
        auto tokens = prompt;
        for (token t : decode::generate(scheme, prompt, sees.watching(greedy(20))).tokens) {
            BOOST_TEST(sees.histories.contains(tokens));
            tokens.push_back(t);
        }
        for (const auto& history : sees.histories) BOOST_TEST(history.size() >= prompt.size());
    });
    watcher sees;
    decode::generate(plain(target), prompt, sees.watching(greedy(20)));
    BOOST_TEST(sees.histories.size() == 20u);  // plain decoding asks about committed tokens alone
}

/// Once token 2 has been generated, token 0 may not follow; before, token 1 may not.
void switching_grammar(std::span<float> logits, std::span<const token> generated) {
    const bool switched = std::find(generated.begin(), generated.end(), 2) != generated.end();
    logits[switched ? 0 : 1] = -INFINITY;
}

// A grammar that changes within the drafted tokens was applied to all of them as it was before the first.
BOOST_AUTO_TEST_CASE(invariant_36_masks_are_asked_at_every_position) {
    auto chosen = sampling(3);
    chosen.sampling.mask = [](std::span<float> logits, const prefix& before) {
        switching_grammar(logits, before.generated());
    };
    check_laws(drafting, target, chosen);
    // The wrong way: the mask knows only what had been committed when the round began.
    auto stale = chosen;
    std::size_t committed = 0;
    stale.sampling.mask = [&](std::span<float> logits, const prefix& before) {
        switching_grammar(logits, before.generated().first(std::min(committed, before.generated().size())));
    };
    const auto scheme = speculate(drafting, target, three, accept::rejection_sampling{});
    const auto wrong = testing::enumerate([&](const testing::enumerating_chooser& chooser) {
        decode::session session(scheme, prompt, stale.sampling, stale.stop, chooser);
        for (committed = 0; session.finished == finish_reason::running;
             committed = session.committed.generated().size()) {
            decode::step(scheme, session);
        }
        const auto tokens = session.committed.generated();
        return std::vector<token>(tokens.begin(), tokens.end());
    });
    BOOST_TEST(total_variation(text_distribution_of(testing::plain_sampling(target), prompt, chosen), wrong) > clearly);
    // At the nodes of trees: each has the history of its own path.
    const auto on_trees = [&](const auto& drafter, const auto& criterion) {
        return distance(speculate(drafter, target, three, criterion), chosen);
    };
    const std::vector<std::int32_t> two_paths{-1, -1, 0, 1};
    const testing::bush<draft::sampled> drawn{drafting, two_paths};
    BOOST_TEST(on_trees(drawn, accept::rejection_sampling{}) < exactly);
    BOOST_TEST(on_trees(drawn, accept::traversal{}) < exactly);
    BOOST_TEST(on_trees(testing::bush<draft::sampled_with_replacement>{drafting, two_paths},
                        accept::multipath_block{}) < exactly);
    BOOST_TEST(on_trees(testing::bush<draft::argmax>{drafting, two_paths}, accept::coupled{}) < exactly);
}

// Requests that drafted nothing moved the generator of the others; streams shared one state.
BOOST_AUTO_TEST_CASE(invariant_37_a_text_does_not_depend_on_its_neighbours) {
    each_criterion([&](const auto& criterion) {
        const auto speculative = speculate(drafting, target, three, criterion);
        const auto idle = speculate(drafting, target, policy::fixed_length{0}, criterion);
        const float temperature = std::is_same_v<std::remove_cvref_t<decltype(criterion)>, accept::exact> ? 0.0f : 1.0f;
        const auto chosen = sampling(30, {.temperature = {temperature}});
        const auto alone = decode::generate(speculative, prompt, chosen).tokens;
        const auto idle_alone = decode::generate(idle, prompt, chosen).tokens;
        decode::session a(speculative, prompt, chosen.sampling, chosen.stop, random::philox_chooser(0));
        decode::session b(idle, prompt, chosen.sampling, chosen.stop, random::philox_chooser(0));
        while (a.finished == finish_reason::running || b.finished == finish_reason::running) {
            if (b.finished == finish_reason::running) decode::step(idle, b);
            if (a.finished == finish_reason::running) decode::step(speculative, a);
        }
        BOOST_TEST(a.committed.generated() == std::span<const token>(alone), boost::test_tools::per_element());
        BOOST_TEST(b.committed.generated() == std::span<const token>(idle_alone), boost::test_tools::per_element());
    });
    // What a number is depends on its name, not on what was asked before.
    random::philox_chooser fresh(5), used(5);
    const auto row = distribution::weighted(std::vector<float>(50, 1));
    for (std::size_t i = 0; i < 20; ++i) used.choose(row, {i, purpose::draft, 1});
    for (std::size_t i = 20; i > 0; --i) {
        const draw_key key{i, purpose::correction, 7};
        BOOST_TEST(fresh.choose(row, key) == used.choose(row, key));
        BOOST_TEST(fresh.exponential_race(row, i) == used.exponential_race(row, i));
    }
}

// Vocabularies of different sizes went together in silence, and an id equal to the vocabulary's size was let through.
BOOST_AUTO_TEST_CASE(invariant_38_ids_outside_the_vocabulary_are_refused) {
    const auto larger = testing::hashed_model(4, 1);
    each_criterion([&](const auto& criterion) {
        BOOST_CHECK_EXCEPTION(speculate(larger, target, three, criterion), error, testing::says({"4", "3"}));
        BOOST_CHECK_EXCEPTION(speculate(target, larger, three, criterion), error, testing::says({"3", "4"}));
        const auto scheme = speculate(drafting, target, three, criterion);
        for (const token bad : {3, -1}) {
            const std::vector<token> outside{0, bad};
            BOOST_CHECK_EXCEPTION(decode::generate(scheme, outside, greedy(5)), error,
                                  testing::says({"prompt token 1 is " + std::to_string(bad), "3 tokens"}));
        }
        auto biased = greedy(5);
        biased.sampling.bias.added = {{3, 1.0f}};
        BOOST_CHECK_EXCEPTION(decode::generate(scheme, prompt, biased), error, testing::says({"token 3", "has 3"}));
    });
    const auto llama = testing::small_llama().load({.threads = 1});
    auto sequence = llama.make_sequence();
    for (const token bad : {77, -1}) {
        BOOST_CHECK_EXCEPTION(llama.extend(sequence, std::vector<token>{bad}), error,
                              testing::says({std::to_string(bad), "77"}));
    }
    const io::tokenizer words(testing::byte_level_words());
    const auto size = static_cast<token>(words.words().texts.size());
    BOOST_CHECK_EXCEPTION(words.decode(std::vector<token>{size}), error, testing::says({std::to_string(size)}));
}

// Draft text, tokenised again for the target, began with a second start token.
BOOST_AUTO_TEST_CASE(invariant_39_text_and_tokens_make_the_round_trip) {
    auto with_bos = testing::byte_level_words();
    with_bos.add_bos = true;
    for (const auto& vocabulary : {with_bos, testing::sentencepiece_words()}) {
        const io::tokenizer words(vocabulary);
        for (const std::string text : {"", "hello", " hello  world", "日本 hello\n"}) {
            const auto ids = words.encode(text);
            BOOST_TEST(std::count(ids.begin(), ids.end(), vocabulary.bos) == 1);
            BOOST_TEST(words.decode(ids) == text);
            BOOST_TEST(words.encode(words.decode(ids, {.show_control = true}), {.parse_special = true}) == ids,
                       boost::test_tools::per_element());
        }
    }
}

// Under speculation every log-probability was reported as 0.
BOOST_AUTO_TEST_CASE(invariant_40_log_probabilities_are_the_targets) {
    each_criterion([&](const auto& criterion) {
        each_scheme<std::remove_cvref_t<decltype(criterion)>>(drafting, target, [&](const auto& scheme) {
            auto chosen = greedy(12);
            chosen.log_probabilities = true;
            const auto decoded = decode::generate(scheme, prompt, chosen);
            BOOST_REQUIRE(decoded.log_probabilities.size() == decoded.tokens.size());
            auto before = prompt;
            for (std::size_t i = 0; i < decoded.tokens.size(); ++i) {
                const double expected = std::log(row_of(target, before, {}).probability(decoded.tokens[i]));
                BOOST_TEST(decoded.log_probabilities[i] == expected, boost::test_tools::tolerance(1e-5));
                BOOST_TEST(decoded.log_probabilities[i] < -1e-3);
                before.push_back(decoded.tokens[i]);
            }
        });
    });
}

// Tokens behind the end were counted; acceptance rates above 1 were reported.
BOOST_AUTO_TEST_CASE(invariant_41_what_was_counted_was_returned) {
    std::vector<decode::options> all(3, greedy(17));
    all[1].stop.stop_tokens = {2};
    all[2].on_token = [](const commit::committed_token& t) { return t.id != 1; };
    for (const auto& chosen : all) {
        every_scheme(drafting, target, [&](const auto& scheme) {
            std::size_t emitted = 0;
            auto listening = chosen;
            listening.on_token = [&](const commit::committed_token& t) {
                ++emitted;
                return !chosen.on_token || chosen.on_token(t);
            };
            const auto decoded = decode::generate(scheme, prompt, listening);
            const auto& stage = decoded.counts.stages.back();
            BOOST_TEST(emitted == decoded.tokens.size());
            BOOST_TEST(decoded.counts.committed() == decoded.tokens.size());
            BOOST_TEST(decoded.counts.count(origin::accepted) == stage.accepted);
            BOOST_TEST(stage.accepted <= stage.drafted);
            BOOST_TEST(decoded.counts.acceptance() <= 1.0);
            std::size_t drafted = 0, accepted = 0;
            for (const auto& position : stage.positions) {
                BOOST_TEST(position.accepted <= position.drafted);
                drafted += position.drafted;
                accepted += position.accepted;
            }
            BOOST_TEST(drafted == stage.drafted);
            BOOST_TEST(accepted == stage.accepted);
        });
    }
}

BOOST_AUTO_TEST_SUITE_END()
