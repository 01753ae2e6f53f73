#pragma once
// accept::walk for chains as a kernel: blocks judge all rows at once, with the host's own criterion.

#include <cstddef>
#include <cstdint>

#include "augur/accept/walk.hpp"
#include "augur/backend/device/team.hpp"
#include "augur/backend/device/walking_block.hpp"
#include "augur/backend/device/weighed_rows.hpp"
#include "augur/types/token.hpp"

namespace augur::backend::device {

/// What a walk leaves in device memory: a verdict in sixteen bytes.
struct alignas(16) chain_verdict {
    std::uint32_t drafted = 0;
    std::uint32_t accepted = 0;
    token next = no_token;
    std::uint32_t valid = 0;  ///< 0 where the row after the accepted tokens could not be drawn from
};

/// Kernel: accept::walk along a chain. A block per row and tile. What is judged of a row depends on no other row, so
/// that all are judged at once; the last block of all walks along the outcomes, up to the first token that is drawn.
template <class Criterion, class Chain>
struct accept_chain {
    static constexpr unsigned threads = 256;

    Criterion criterion;
    Chain proposed;
    weighed_view rows;  ///< one more than drafted tokens, or more, which are not looked at
    std::uint64_t seed;
    std::size_t position;  ///< of the first drafted token
    std::size_t round;
    chain_verdict* decided;

    std::size_t blocks() const { return rows.blocks(); }
    std::size_t shared_bytes() const { return rows.shared_bytes(); }

    template <class Team>
    AUGUR_KERNEL void operator()(const Team& team) const {
        const std::size_t row = rows.row_of(team.block());
        if (row > proposed.size) return;
        const walking_block<Team> block = rows.block(team);
        const row_outcome outcome = judge(block, row);
        if (!block.decides()) return;
        team.each([&](unsigned thread) {
            if (thread != 0) return;
            rows.outcomes[row] = outcome;
            writes_are_out();
            if (arrives_last(rows.finished, static_cast<std::uint32_t>(proposed.size + 1))) *decided = walked();
        });
    }

 private:
    /// Of the drafted token that follows the row; of the last row, the token that does.
    template <class Team>
    AUGUR_KERNEL row_outcome judge(const walking_block<Team>& block, std::size_t row) const {
        if (!rows.possible(row)) return {};
        const chain_row<Team> target = rows.target(block, row);
        chain_draws<Team> draws(block, seed, position + row, round);
        const token drawn =
            row == proposed.size
                ? criterion.draw(target, draws)
                : accept::accept_or_draw(criterion, target, proposed.at(row, rows.of.vocabulary_size), draws);
        return {drawn, 1};
    }

    AUGUR_KERNEL chain_verdict walked() const {
        chain_verdict verdict{.drafted = static_cast<std::uint32_t>(proposed.size)};
        row_outcome now = load_near(rows.outcomes);
        while (now.possible != 0 && now.drawn == no_token && verdict.accepted < proposed.size) {
            now = load_near(rows.outcomes + ++verdict.accepted);
        }
        verdict.next = now.drawn;
        verdict.valid = now.possible;
        return verdict;
    }
};

}  // namespace augur::backend::device
