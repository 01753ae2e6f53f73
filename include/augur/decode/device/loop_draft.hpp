#pragma once
// A draft's row becomes a token on the device: the policy is asked, a drawing picks, what is claimed about the token is
// kept.

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
#include "augur/policy/length_query.hpp"
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

/// What becomes of a draft's row, whoever made it: a token, if the policy still wants it. Memory: where a drawing
/// claims rows, one row of floats per drafted token.
template <class View, class Drawing>
class rows_to_tokens {
    using state_type = typename View::state_type;
    using system_type = typename View::system_type;

 public:
    static constexpr bool claims_rows = std::is_same_v<typename Drawing::claim_type, distribution>;
    static constexpr signals shown = signals::draft_entropy | signals::draft_confidence;

    rows_to_tokens(const system_type& on, const loop_sizes& sizes)
        : vocabulary_(sizes.vocabulary),
          weights_(on, claims_rows ? sizes.most_drafted * sizes.vocabulary : 0),
          totals_(on, claims_rows ? sizes.most_drafted : 0) {
        if (state_type::asks_type::looks_at_row(0)) seen_.emplace(on, sizes.vocabulary, 1);
    }

    /// Launches, for one row of logits: that after the tokens drafted so far.
    void launch(const View& in, const float* logits) const {
        const rows_view made{logits, 1, vocabulary_};
        const scanned_row* const seen = seen_ ? seen_->scan(logits, 1) : nullptr;
        const rows_view of = in.edits.edited(made, in.text, in.state, true);
        in.weighed.prepare(of);
        const float temperature = in.weighed.temperature();
        const kept_rows kept{weights_.data(), totals_.data()};
        if constexpr (claims_rows) {
            const keep_row<state_type> keep{in.state, of, in.weighed.scans(), in.weighed.cuts(), temperature, kept};
            in.on.launch(keep.blocks(), keep);
        }
        in.on.launch(
            1, draft_token<state_type, Drawing>{in.state, Drawing{}, of, in.weighed.scans(), seen, in.weighed.sums(),
                                                in.weighed.cuts(), temperature, in.text, kept});
    }

    auto chain(const token* text) const {
        if constexpr (claims_rows) {
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
template <class View, class Drawing, ResidentModel Draft>
class draft_by_model {
 public:
    static constexpr signals shown = rows_to_tokens<View, Drawing>::shown;

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
    rows_to_tokens<View, Drawing> tokens_;
};

template <ResidentModel Named, class View, class Drawing, class Target>
struct drafting_of<Named, View, Drawing, Target> {
    using type = draft_by_model<View, Drawing, Named>;
};

}  // namespace augur::decode::device
