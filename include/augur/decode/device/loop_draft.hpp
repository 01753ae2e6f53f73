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

/// Kernel: the weights of a draft's row, kept for its token. A block per tile, after scan_rows.
template <class State>
struct keep_row {
    static constexpr unsigned threads = 256;

    const State* state;
    rows_view of;  ///< one row
    const augur::detail::row_scan* scans;
    const row_cut* cut;  ///< or null
    float temperature;
    kept_rows kept;

    std::size_t blocks() const { return chunk_tile::tiles_in(of.vocabulary_size); }
    static constexpr std::size_t shared_bytes() { return threads * sizeof(augur::detail::row_scan); }

    template <class Team>
    AUGUR_KERNEL void operator()(const Team& team) const {
        const augur::detail::row_scan seen = whole_scan(team, scans, of.chunks());
        const row_weights weights(of.row(0), seen.largest, temperature > 0 ? temperature : 1, cut);
        float* const to = kept.weights + state->drafted * of.vocabulary_size;
        const std::size_t begin = team.block() * chunk_tile::elements;
        const std::size_t end =
            of.vocabulary_size - begin < chunk_tile::elements ? of.vocabulary_size : begin + chunk_tile::elements;
        team.each([&](unsigned thread) {
            for (std::size_t i = begin + thread; i < end; i += threads) {
                to[i] = temperature > 0 ? weights[i] : (i == seen.first ? 1.0f : 0.0f);
            }
        });
    }
};

/// Kernel: what draft_model does with a row. One block, after scan_rows, join_scans_of_rows where the policy looks at
/// rows, and weigh_rows above temperature 0.
template <class State, class Drawing>
struct draft_token {
    static constexpr unsigned threads = 256;

    State* state;
    Drawing drawing;
    rows_view of;  ///< one row
    const augur::detail::row_scan* scans;
    const scanned_row* scanned;  ///< not looked at where the policy does not look at rows
    const double* sums;          ///< not looked at where the temperature is 0
    const row_cut* cut;          ///< or null
    float temperature;
    token* text;
    kept_rows kept;

    /// walking_block's.
    std::size_t shared_bytes() const { return chunk_tile::shared_bytes + (2 * of.chunks() + 1) * sizeof(double); }

    AUGUR_WHERE_ARGUMENTS_CAN
    template <class Team>
    AUGUR_KERNEL void operator()(const Team& team) const {
        State s = *state;
        team.each([](unsigned) {});  // until all have read it
        s.held = s.length + s.drafted;
        const token picked = wanted(s) ? pick(team, s) : no_token;
        const std::size_t number = s.drafted, place = s.length + s.drafted;
        if (picked != no_token) ++s.drafted;
        s.aim();
        if (picked == no_token) s.wants_more = s.behind = 0;
        team.each([&](unsigned thread) {
            if (thread != 0) return;
            if (picked != no_token) {
                text[place] = picked;
                if (kept.totals != nullptr) kept.totals[number] = total_of_row();
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
    AUGUR_KERNEL token pick(const Team& team, const State& s) const {
        const augur::detail::row_scan seen = whole_scan(team, scans, of.chunks());
        if (!seen.possible()) return no_token;
        const walking_block<Team> block(team, of.vocabulary_size);
        const row_weights weights(of.row(0), seen.largest, temperature, cut);
        const chain_row<Team> row = temperature > 0 ? chain_row<Team>(block, weights, sums, total_of_row())
                                                    : chain_row<Team>(block, static_cast<token>(seen.first));
        chain_draws<Team> draws(block, s.seed, s.length + s.drafted, s.next.round);
        return drawing.pick(row, draws);
    }

    /// In the order of the chunks.
    AUGUR_KERNEL double total_of_row() const {
        if (!(temperature > 0)) return 1;
        double total = 0;
        for (std::size_t chunk = 0; chunk < of.chunks(); ++chunk) total += sums[chunk];
        return total;
    }
};

/// Kernel: accept_chain on what the state says was drafted. `of` may hold more rows than that.
template <class State, class Criterion, class Chain>
struct judge_round {
    static constexpr unsigned threads = 256;

    accept_chain<Criterion, Chain> judge;  ///< without what the state says
    const State* state;

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
