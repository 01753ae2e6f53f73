// What caches and positions have been broken by: docs/conformance.md, 17 to 28, 63 and 74.

#include <algorithm>
#include <augur/llama/host_model.hpp>
#include <augur/testing/model_laws.hpp>
#include <augur/testing/trace.hpp>
#include <map>
#include <memory>

#include "conformance/schemes.hpp"
#include "llama/dense_case.hpp"
#include "llama/small_llama.hpp"

using namespace augur;
using namespace augur::conformance;

BOOST_AUTO_TEST_SUITE(conformance_cache)

/// A target, and drafts that agree with it always, often or seldom; all of one vocabulary.
struct mocks {
    function_model target = testing::hashed_model(6, 1);
    function_model other = testing::hashed_model(6, 2);
    function_model often{6, 1024, [this](std::span<const token> before, std::span<float> row) {
                             const auto& source = before.size() % 4 == 0 ? other : target;
                             auto sequence = source.make_sequence();
                             const auto rows = source.extend(sequence, before, 1);
                             std::copy(rows[0].begin(), rows[0].end(), row.begin());
                         }};
};

/// The same of bundled Llamas: trained on stories, and the same weights rounded to bfloat16.
struct llamas {
    static llama::host_model load(llama::weight_format format, std::size_t context = 0) {
        return llama::host_model::load(AUGUR_TEST_DATA "/llama/stories260K.gguf",
                                       {.weights = format, .threads = 1, .context_length = context});
    }
    llama::host_model target = load(llama::weight_format::f32);
    llama::host_model often = load(llama::weight_format::bf16);
    llama::host_model other = testing::small_llama(io::tensor_type::f32, 64, 8, 2, 96, 512).load({.threads = 1});
};

bool same(logit_row a, logit_row b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

/// After `rounds` rounds the cache scores the prefix as a fresh sequence of its model does, bit for bit.
template <class M>
void check_replay(model::cached_sequence<M>& cache, const prefix& committed) {
    const auto held = cache.tokens();
    BOOST_REQUIRE(held.size() <= committed.size());
    BOOST_TEST(std::equal(held.begin(), held.end(), committed.tokens().begin()));
    BOOST_TEST(cache.model().length(cache.sequence()) == held.size());
    auto fresh = cache.model().make_sequence();
    const auto expected = cache.model().extend(fresh, committed.tokens());
    const auto got = cache.score(committed.tokens(), 1);
    BOOST_TEST(same(got[got.size() - 1], expected[expected.size() - 1]));
}

/// Both caches after each number of rounds, each time from a new start, for asking may mend what it asks about.
template <class M, class Criterion, class Policy>
void check_rounds(const M& drafting, const M& target, const Criterion& criterion, const Policy& policy,
                  const decode::options& chosen, std::size_t at_most = 6) {
    const auto scheme = speculate(drafting, target, policy, criterion);
    for (std::size_t rounds = 0; rounds <= at_most; ++rounds) {
        decode::session session(scheme, prompt, chosen.sampling, chosen.stop, random::philox_chooser(rounds));
        for (std::size_t i = 0; i < rounds && session.finished == finish_reason::running; ++i) {
            decode::step(scheme, session);
        }
        BOOST_TEST_CONTEXT(rounds << " rounds") {
            check_replay(session.target, session.committed);
            check_replay(session.drafter_state, session.committed);
        }
    }
}

template <class Models>
void check_criteria(const Models& models, const auto& drafting) {
    each_criterion([&](const auto& criterion) {
        for (std::size_t length : {1u, 2u, 4u}) {
            check_rounds(drafting, models.target, criterion, policy::fixed_length{length}, greedy(40));
        }
        check_rounds(drafting, models.target, criterion, every_other_round{}, greedy(40));
    });
    each_selecting_criterion([&](const auto& criterion) {
        check_rounds(drafting, models.target, criterion, policy::fixed_length{3}, sampling(40));
    });
    check_rounds(drafting, models.target, accept::coupled{}, policy::fixed_length{3}, sampling(40));
}

// The bonus token after several drafted ones was missing from the draft's cache, or in it twice.
BOOST_AUTO_TEST_CASE(invariant_17_a_drafts_rows_are_those_of_a_replay_from_scratch) {
    const mocks on_mocks;
    check_criteria(on_mocks, on_mocks.often);
    check_criteria(on_mocks, on_mocks.other);
    const llamas on_llamas;
    check_criteria(on_llamas, on_llamas.often);
    check_criteria(on_llamas, on_llamas.other);
}

// When every token was accepted, the last one had never been through the draft model.
BOOST_AUTO_TEST_CASE(invariant_18_full_acceptance_leaves_no_hole) {
    const mocks on_mocks;
    check_criteria(on_mocks, on_mocks.target);
    const llamas on_llamas;
    check_criteria(on_llamas, on_llamas.target);
    const auto all = speculate(on_llamas.target, on_llamas.target, policy::fixed_length{4}, accept::exact{});
    const auto decoded = decode::generate(all, prompt, greedy(40));
    BOOST_TEST(decoded.counts.acceptance() == 1.0);
    BOOST_TEST(decoded.counts.rounds() == 8u);
}

// The draft was rewound by two tokens too many.
BOOST_AUTO_TEST_CASE(invariant_19_the_length_after_a_rewind_is_known_for_every_accepted_count) {
    const std::vector<token> wanted{0, 1, 2, 3, 4, 5, 1, 2, 3};
    const auto target = testing::scripted_model(6, wanted);
    for (std::size_t drafted = 1; drafted <= 5; ++drafted) {
        for (std::size_t accepted = 0; accepted <= drafted; ++accepted) {
            auto script = wanted;
            script[2 + accepted] = 0;  // wrong there, if that far is drafted
            const auto drafting = testing::scripted_model(6, script);
            const auto check = [&](const auto& criterion) {
                const auto scheme = speculate(drafting, target, policy::fixed_length{drafted}, criterion);
                decode::session session(scheme, std::vector<token>{0, 1}, {.temperature = {0}}, {.max_tokens = 7},
                                        random::philox_chooser(0));
                BOOST_TEST(decode::step(scheme, session).decided.accepted == accepted);
                // The token that ends the block has been through neither model, the last drafted one not through the
                // draft.
                BOOST_TEST(target.length(session.target.sequence()) == 2 + accepted);
                BOOST_TEST(drafting.length(session.drafter_state.sequence()) == 2 + std::min(accepted, drafted - 1));
            };
            each_criterion(check);
        }
    }
}

/// A model that notes which token was put at which position last.
template <class M>
class position_recorder {
 public:
    using sequence_type = typename M::sequence_type;
    static constexpr bool bitwise_rows = has_bitwise_rows<M>;
    explicit position_recorder(const M& model) : model_(&model) {}

    std::size_t vocabulary_size() const { return model_->vocabulary_size(); }
    std::size_t context_length() const { return model_->context_length(); }
    sequence_type make_sequence() const { return model_->make_sequence(); }
    std::size_t length(const sequence_type& sequence) const { return model_->length(sequence); }
    auto extend(sequence_type& sequence, std::span<const token> tokens) const {
        for (std::size_t i = 0; i < tokens.size(); ++i) (*seen_)[length(sequence) + i] = tokens[i];
        return model_->extend(sequence, tokens);
    }
    void truncate(sequence_type& sequence, std::size_t length) const { model_->truncate(sequence, length); }

    const std::map<std::size_t, token>& seen() const { return *seen_; }

 private:
    const M* model_;
    std::shared_ptr<std::map<std::size_t, token>> seen_ = std::make_shared<std::map<std::size_t, token>>();
};

template <class M>
void check_positions(const M& drafting, const M& target) {
    each_criterion([&](const auto& criterion) {
        const position_recorder<M> draft_positions(drafting), target_positions(target);
        const auto scheme = speculate(draft_positions, target_positions, policy::fixed_length{3}, criterion);
        decode::session session(scheme, prompt, {.temperature = {0}}, {.max_tokens = 30}, random::philox_chooser(0));
        while (session.finished == finish_reason::running) {
            decode::step(scheme, session);
            const auto tokens = session.committed.tokens();
            const auto stands = [&](const auto& recorder, std::size_t length) {
                for (std::size_t at = 0; at < length; ++at) BOOST_TEST(recorder.seen().at(at) == tokens[at]);
            };
            stands(draft_positions, session.drafter_state.tokens().size());
            stands(target_positions, session.target.tokens().size());
        }
        BOOST_TEST(draft_positions.seen().size() > prompt.size());
    });
}

// The draft's rotary positions were one too high, which only acceptance showed.
BOOST_AUTO_TEST_CASE(invariant_22_every_token_is_at_its_position) {
    const mocks on_mocks;
    check_positions(on_mocks.often, on_mocks.target);
    const llamas on_llamas;
    check_positions(on_llamas.often, on_llamas.target);
    // A position too far is another row: the check by rows above would have seen it.
    auto sequence = on_llamas.target.make_sequence(), moved = on_llamas.target.make_sequence();
    const auto row = testing::copied(on_llamas.target.extend(sequence, prompt, 1));
    on_llamas.target.extend(moved, std::vector<token>{1}, 0);
    BOOST_TEST(!same(row, on_llamas.target.extend(moved, prompt, 1)[0]));
}

// A round without a draft left an index behind that the next round read.
BOOST_AUTO_TEST_CASE(invariant_26_nothing_drafted_is_a_round_like_any_other) {
    const mocks models;
    const auto expected = decode::generate(plain(models.target), prompt, greedy(30)).tokens;
    const auto bins_of_nothing = policy::entropy_bins({0.5}, {0, 0});
    each_criterion([&](const auto& criterion) {
        const auto check = [&](const auto& scheme) {
            BOOST_TEST(decode::generate(scheme, prompt, greedy(30)).tokens == expected);
        };
        check(speculate(models.often, models.target, policy::fixed_length{0}, criterion));
        check(speculate(models.often, models.target, bins_of_nothing, criterion));
        check(speculate(models.often, models.target, every_other_round{}, criterion));
        check(speculate(draft::prompt_lookup(20, 20), models.target, policy::fixed_length{3}, criterion));
        const auto none = speculate(models.often, models.target, policy::fixed_length{0}, criterion);
        decode::session session(none, prompt, {.temperature = {0}}, {}, random::philox_chooser(0));
        const auto line = "draft 0 | verify 1 | accept 0 | plain " + std::to_string(expected[0]) + " | commit 1";
        BOOST_TEST(testing::trace(decode::step(none, session)) == line);
    });
}

// The first drafted token was taken without a look at the target's row.
BOOST_AUTO_TEST_CASE(invariant_27_a_wrong_draft_of_one_token_is_rejected) {
    const auto target = testing::scripted_model(6, {0, 1, 0, 4});
    const auto drafting = testing::scripted_model(6, {0, 1, 0, 3});
    each_criterion([&](const auto& criterion) {
        const auto scheme = speculate(drafting, target, policy::fixed_length{1}, criterion);
        decode::session session(scheme, prompt, {.temperature = {0}}, {}, random::philox_chooser(0));
        BOOST_TEST(testing::trace(decode::step(scheme, session)) ==
                   "draft 1 | verify 2 | accept 0 | correct 4 | commit 1");
    });
}

template <class M>
void check_short_context(const M& target, const M& drafting) {
    const auto expected = decode::generate(plain(target), prompt, greedy(30)).tokens;
    each_criterion([&](const auto& criterion) {
        const auto scheme = speculate(drafting, target, policy::fixed_length{4}, criterion);
        const auto decoded = decode::generate(scheme, prompt, greedy(30));
        BOOST_TEST(decoded.tokens == expected);
        decode::session session(scheme, prompt, {.temperature = {0}}, {.max_tokens = 30}, random::philox_chooser(0));
        while (session.finished == finish_reason::running) {
            decode::step(scheme, session);
            BOOST_TEST(session.drafter_state.tokens().size() <= drafting.context_length());
        }
    });
}

// The draft ran past its own, shorter context.
BOOST_AUTO_TEST_CASE(invariant_28_a_draft_ends_with_its_own_context) {
    for (std::size_t context : {1u, 2u, 3u, 4u, 5u, 9u, 20u}) {
        check_short_context(testing::hashed_model(6, 1), testing::hashed_model(6, 1, 2, context));
        check_short_context(llamas::load(llama::weight_format::f32), llamas::load(llama::weight_format::bf16, context));
    }
}

/// Takes back at most two tokens, and says nothing.
struct takes_back_two : function_model {
    using function_model::function_model;
    void truncate(sequence_type& sequence, std::size_t length) const {
        const std::size_t held = sequence.tokens.size();
        function_model::truncate(sequence, std::max(length, held < 2 ? 0 : held - 2));
    }
};

// A rollback that is bounded was cut short in silence.
BOOST_AUTO_TEST_CASE(invariant_63_a_rollback_is_whole_or_refused) {
    const auto exact = testing::hashed_model(6, 1);
    BOOST_TEST(testing::model_laws(exact).kept());
    const takes_back_two bounded(6, 64, [&](auto before, auto row) { exact.fill_row(before, row); });
    const auto r = testing::model_laws(bounded);
    BOOST_TEST(r.breaks("truncating and extending equals a fresh sequence"), r);
}

/// Keeps its last four tokens, and rewinds behind them without a word.
struct keeps_a_window : function_model {
    using function_model::function_model;
    void truncate(sequence_type& sequence, std::size_t length) const {
        const std::size_t held = sequence.tokens.size(), lost = std::min(length, held < 4 ? 0 : held - 4);
        function_model::truncate(sequence, length);
        std::fill_n(sequence.tokens.begin(), lost, token{0});
    }
};

// A rewind behind a sliding window was said to work, and the tokens there were gone.
BOOST_AUTO_TEST_CASE(invariant_74_a_rewind_behind_a_window_is_whole) {
    for (const char* const name : {"mistral_odd", "gemma3_odd"}) {
        const auto windowed = testing::read_dense_case(name);
        const testing::temporary_directory folder;
        const auto model = llama::host_model::load(windowed.write_gguf(folder / "model.gguf"), {.threads = 1});
        BOOST_TEST(model.configuration().positions_of(0).window < windowed.ids.size() / 2);
        BOOST_TEST(model.configuration().positions_of(0).window > 0u);
        auto fresh = model.make_sequence(), rewound = model.make_sequence();
        const std::span<const token> ids(windowed.ids);
        const auto expected = model.extend(fresh, ids, 1);
        model.extend(rewound, ids, 1);
        for (std::size_t length = 1; length < ids.size(); length += 5) {
            model.truncate(rewound, length);
            BOOST_TEST(same(model.extend(rewound, ids.subspan(length), 1)[0], expected[0]), name << " to " << length);
        }
    }
    const auto exact = testing::hashed_model(6, 1);
    const auto r =
        testing::model_laws(keeps_a_window(6, 64, [&](auto before, auto row) { exact.fill_row(before, row); }));
    BOOST_TEST(r.breaks("truncating and extending equals a fresh sequence"), r);
}

BOOST_AUTO_TEST_SUITE_END()
