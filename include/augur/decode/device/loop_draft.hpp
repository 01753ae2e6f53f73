#pragma once
// Drafts one token in the on-device loop: asks the policy, selects a token from the row, keeps its draft distribution.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>

#include "augur/backend/device/accept_chain.hpp"
#include "augur/backend/device/round.hpp"
#include "augur/backend/device/row_weights.hpp"
#include "augur/backend/device/scan_rows.hpp"
#include "augur/backend/device/system.hpp"
#include "augur/backend/device/team.hpp"
#include "augur/decode/device/loop_drafter.hpp"
#include "augur/decode/device/loop_state.hpp"
#include "augur/measure/entropy.hpp"
#include "augur/policy/plan_query.hpp"
#include "augur/types/error.hpp"
#include "augur/types/observation.hpp"
#include "augur/types/token.hpp"

namespace augur::decode::device {

using namespace backend::device;  // what kernels are made of

/// Rows that tokens of a round were drawn from, by number of the token; null where tokens are certain.
struct kept_rows {
    float* weights = nullptr;  ///< most drafted x vocabulary
    double* totals = nullptr;
};

/// Kernel: the weights of a draft's row, kept for its token. A block per tile, after weigh_rows, at temperature 0 after
/// scan_rows.
template <class State>
struct keep_row {
    static constexpr unsigned threads = 256;

    const State* state;
    weighed_view row;  ///< one
    kept_rows kept;

    std::size_t blocks() const { return row.blocks(); }
    static constexpr std::size_t shared_bytes() { return 0; }

    template <class Team>
    AUGUR_KERNEL void operator()(const Team& team) const {
        const bool sampled = row.temperature > 0;
        const row_weights weights = sampled ? row.weights(0) : row_weights{};
        const std::size_t size = row.of.vocabulary_size, begin = team.block() * chunk_tile::elements;
        const std::size_t end = size - begin < chunk_tile::elements ? size : begin + chunk_tile::elements;
        float* const to = kept.weights + state->drafted * size;
        team.each([&](unsigned thread) {
            for (std::size_t i = begin + thread; i < end; i += threads) {
                to[i] = sampled ? weights[i] : (i == row.whole[0].first ? 1.0f : 0.0f);
            }
        });
    }
};

/// Kernel: what draft_model does with a row. A block per tile, of which the last draws (walking_block), after
/// weighed_rows' launches, and row_scanner's where the policy looks at rows.
template <class State, class TokenSelector>
struct draft_token {
    static constexpr unsigned threads = 256;

    State* state;
    TokenSelector token_selector;
    weighed_view row;            ///< one
    const scanned_row* scanned;  ///< not looked at where the policy does not look at rows
    token* text;
    kept_rows kept;

    std::size_t blocks() const { return row.blocks(); }
    std::size_t shared_bytes() const { return row.shared_bytes(); }

    AUGUR_WHERE_ARGUMENTS_CAN
    template <class Team>
    AUGUR_KERNEL void operator()(const Team& team) const {
        State s = *state;
        const walking_block<Team> block = row.block(team);
        s.held = s.length + s.drafted;
        const token picked = wanted(s) ? pick(block, s) : no_token;
        if (!block.decides()) return;  // else all others have read the state
        const std::size_t number = s.drafted, place = s.length + s.drafted;
        if (picked != no_token) ++s.drafted;
        s.aim();
        if (picked == no_token) s.wants_more = s.behind = 0;
        team.each([&](unsigned thread) {
            if (thread != 0) return;
            if (picked != no_token) {
                text[place] = picked;
                if (kept.totals != nullptr) kept.totals[number] = row.temperature > 0 ? row.totals[0] : 1;
            }
            *state = s;
        });
    }

 private:
    AUGUR_WHERE_ARGUMENTS_CAN
    AUGUR_KERNEL bool wanted(State& s) const {
        if (s.asks.looks_at_row(s.drafted)) {
            s.asks.see_row(s.policy, s.drafted, scanned->entropy_nats, measure::confidence(scanned->moments));
        }
        return s.drafted < s.asks.wanted();
    }

    AUGUR_WHERE_ARGUMENTS_CAN
    template <class Team>
    AUGUR_KERNEL token pick(const walking_block<Team>& block, const State& s) const {
        if (!row.possible(0)) return no_token;
        const chain_row<Team> drawn_from = row.target(block, 0);
        chain_draws<Team> draws(block, s.seed, s.length + s.drafted, s.next.round);
        return token_selector.pick(drawn_from, draws);
    }
};

/// What becomes of a draft's row, whoever made it: a token, if the policy still wants it. Memory: where a token
/// selector keeps rows, one row of floats per drafted token.
template <class View, class TokenSelector>
class rows_to_tokens {
    using state_type = typename View::state_type;
    using system_type = typename View::system_type;

 public:
    static constexpr bool keeps_rows = std::is_same_v<typename TokenSelector::draft_distribution_type, distribution>;
    static constexpr signals shown = signals::draft_entropy | signals::draft_confidence;

    rows_to_tokens(const system_type& on, const loop_sizes& sizes)
        : vocabulary_(sizes.vocabulary),
          weights_(on, keeps_rows ? sizes.most_drafted * sizes.vocabulary : 0),
          totals_(on, keeps_rows ? sizes.most_drafted : 0) {
        if (state_type::asks_type::reads_rows) seen_.emplace(on, sizes.vocabulary, 1);
    }

    /// Launches, for one row of logits: that after the tokens drafted so far.
    void launch(const View& in, const float* logits) const {
        const rows_view rows{logits, 1, vocabulary_};
        const scanned_row* const seen = seen_ ? seen_->scan(logits, 1) : nullptr;
        const rows_view of = in.edits.edited(rows, in.text, in.state, true);
        const weighed_view row = in.weighed.prepare(of);
        const kept_rows kept{weights_.data(), totals_.data()};
        if constexpr (keeps_rows) {
            const keep_row<state_type> keep{in.state, row, kept};
            in.on.launch(keep.blocks(), keep);
        }
        const draft_token<state_type, TokenSelector> pick{in.state, TokenSelector{}, row, seen, in.text, kept};
        in.on.launch(pick.blocks(), pick);
    }

    auto chain(const token* text) const {
        if constexpr (keeps_rows) {
            return drawn_chain{text, 0, weights_.data(), totals_.data()};
        } else {
            return certain_chain{text};
        }
    }

 private:
    std::size_t vocabulary_;
    std::optional<row_scanner<system_type>> seen_;  ///< where the policy looks at rows
    buffer<float, system_type> weights_;
    buffer<double, system_type> totals_;
};

/// Models LoopDrafter: a model's rows, of a token a turn. After rounds without a draft it first takes what was
/// committed since. It must outlive this.
template <class View, class TokenSelector, ResidentModel Draft>
class draft_by_model {
 public:
    static constexpr signals shown = rows_to_tokens<View, TokenSelector>::shown;

    template <class Target>
    draft_by_model(const Draft& draft, const Target& target, const loop_sizes& sizes)
        : draft_(draft), drafts_(sizes.most_drafted > 0), tokens_(target.system(), sizes) {
        if (drafts_ && draft.most_rows() < 2) {
            augur::detail::fail("drafts of ", sizes.most_drafted, " tokens need launches of 2 rows of the draft, but ",
                                "they take ", draft.most_rows());
        }
        if (draft.capacity() > sizes.capacity) {
            augur::detail::fail("the draft's text has room for ", draft.capacity(), " tokens, the target's for ",
                                sizes.capacity);
        }
    }

    std::size_t capacity() const { return draft_.capacity(); }

    void start(const token* text, std::size_t count) const {
        if (drafts_ && count <= capacity()) draft_.fill(text, count - 1);
    }

    void launch(const View& in) const {
        if (!drafts_) return;
        auto* const s = in.state;
        in.on.repeat_while(&s->behind, [&] {
            draft_.launch(in.text, &s->held, 1, 0);
            in.change(catch_up{});
        });
        in.on.repeat_while(&s->wants_more, [&] {
            in.on.choose(&s->lag, 2, [&](std::uint32_t lag) { draft_.launch(in.text, &s->draft_from, 1 + lag, 1); });
            tokens_.launch(in, draft_.logits());
        });
    }

    auto chain(const token* text) const { return tokens_.chain(text); }

 private:
    const Draft& draft_;
    bool drafts_;
    rows_to_tokens<View, TokenSelector> tokens_;
};

template <ResidentModel Named, class View, class TokenSelector, class Target>
struct drafting_of<Named, View, TokenSelector, Target> {
    using type = draft_by_model<View, TokenSelector, Named>;
};

}  // namespace augur::decode::device
