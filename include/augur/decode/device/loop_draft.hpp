#pragma once
// A draft's row becomes a token on the device: the policy is asked, a drawing picks, what is claimed about the token is
// kept.

#include <cstddef>
#include <cstdint>

#include "augur/backend/device/accept_chain.hpp"
#include "augur/backend/device/row_weights.hpp"
#include "augur/backend/device/scan_rows.hpp"
#include "augur/backend/device/team.hpp"
#include "augur/decode/device/loop_state.hpp"
#include "augur/measure/entropy.hpp"
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
template <class State, class Drawing>
struct draft_token {
    static constexpr unsigned threads = 256;

    State* state;
    Drawing drawing;
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
        if (decltype(s.asks)::looks_at_row(s.drafted)) {
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
        return drawing.pick(drawn_from, draws);
    }
};

/// Kernel: accept_chain on what the state says was drafted. There may be more rows than that.
template <class State, class Criterion, class Chain>
struct judge_round {
    static constexpr unsigned threads = 256;

    accept_chain<Criterion, Chain> judge;  ///< without what the state says
    const State* state;

    std::size_t blocks() const { return judge.blocks(); }
    std::size_t shared_bytes() const { return judge.shared_bytes(); }

    AUGUR_WHERE_ARGUMENTS_CAN
    template <class Team>
    AUGUR_KERNEL void operator()(const Team& team) const {
        accept_chain<Criterion, Chain> now = judge;
        now.proposed.tokens = judge.proposed.tokens + state->length;
        now.proposed.size = state->drafted;
        now.seed = state->seed;
        now.position = state->length;
        now.round = state->next.round;
        now(team);
    }
};

}  // namespace augur::decode::device
