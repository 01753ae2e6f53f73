#pragma once
// accept::walk for trees as a kernel: each block judges a row with the host's own criterion; the last block to finish
// walks the verdicts.

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "augur/accept/walk.hpp"
#include "augur/backend/device/team.hpp"
#include "augur/backend/device/tree_row.hpp"
#include "augur/backend/device/walking_block.hpp"
#include "augur/backend/device/weighed_rows.hpp"
#include "augur/detail/host_device.hpp"
#include "augur/types/token.hpp"
#include "augur/types/topology.hpp"

namespace augur::backend::device {

/// Judges a whole tree by finding the last node of the accepted path: `end_of_path(targets, above, proposed, paths)`,
/// `threshold(target)` of each row, and `draw`; paths are of `path_type` (accept::typical).
template <class C>
concept EndsPath = requires {
    typename C::path_type;
    requires std::is_trivially_copyable_v<typename C::path_type>;
};

/// What is said of a row: which of the nodes after it is accepted, or what is drawn in their place.
struct alignas(16) tree_outcome {
    double above = 0;  ///< the threshold, where the criterion has one
    std::int32_t accepted = after_prefix;
    token drawn = no_token;  ///< also where nothing can be drawn from the row
};

/// What a walk through a tree leaves in device memory: the accepted path by its last node, in sixteen bytes.
struct alignas(16) tree_verdict {
    std::int32_t last = after_prefix;
    std::uint32_t accepted = 0;  ///< nodes on the path
    token next = no_token;
    std::uint32_t valid = 0;  ///< 0 where the row after the path could not be drawn from
};

/// A tree, or a chain, with the target's rows, for a kernel that judges it.
template <class Criterion, class Tree>
struct judged_tree {
    static constexpr unsigned threads = 256;

    Criterion criterion;
    Tree proposed;
    weighed_view rows;  ///< the row after the prefix, then that after each node and its path
    std::uint64_t seed;
    std::size_t position;  ///< after the prefix
    std::size_t round;

    /// Of the children of `parent`; names are the host's.
    template <class Team>
    AUGUR_KERNEL chain_draws<Team> draws_after(const walking_block<Team>& block, std::int32_t parent) const {
        const auto parents = proposed.parents();
        return {block, seed, position + parents::depth_of(parents, parent), round, parents::aside(parents, parent)};
    }
};

/// Kernel: accept::walk through a tree, or along a chain. A block per row and tile, as accept_chain: what follows a row
/// is judged whatever became of the nodes before it; the last block of all goes along the accepted ones.
template <class Criterion, class Tree>
struct accept_tree : judged_tree<Criterion, Tree> {
    tree_outcome* outcomes;  ///< of each row
    tree_verdict* decided;

    using judged_tree<Criterion, Tree>::criterion;
    using judged_tree<Criterion, Tree>::proposed;
    using judged_tree<Criterion, Tree>::rows;

    std::size_t blocks() const { return rows.blocks(); }
    std::size_t shared_bytes() const { return memory().end; }

    template <class Team>
    AUGUR_KERNEL void operator()(const Team& team) const {
        const std::size_t row = rows.row_of(team.block());
        const walking_block<Team> block = rows.block(team);
        const tree_outcome outcome = judge(block, row);
        if (!block.decides()) return;
        team.each([&](unsigned thread) {
            if (thread == 0) outcomes[row] = outcome;
        });
        if (!is_last_block(team, rows.finished, rows.of.count, team.template shared<std::uint32_t>())) return;
        const tree_verdict walked = follow(block);
        team.each([&](unsigned thread) {
            if (thread == 0) *decided = walked;
        });
    }

 private:
    static constexpr bool ends_path = EndsPath<Criterion>;

    AUGUR_HOST_DEVICE tree_memory memory() const {
        std::size_t path_bytes = 0;
        if constexpr (ends_path) path_bytes = sizeof(typename Criterion::path_type);
        return {rows.of.vocabulary_size, proposed.size(), path_bytes};
    }

    /// The target's rows.
    template <class Team>
    struct every_row {
        const weighed_view& rows;
        const walking_block<Team>& block;

        AUGUR_KERNEL tree_row<Team> operator[](std::size_t row) const {
            return {rows.target(block, row), rows.possible(row)};
        }
    };

    template <class Team>
    AUGUR_KERNEL tree_outcome judge(const walking_block<Team>& block, std::size_t row) const {
        tree_outcome out;
        if (!rows.possible(row)) return out;
        const tree_row<Team> target = every_row<Team>{rows, block}[row];
        const auto parents = proposed.parents();
        const std::int32_t parent = static_cast<std::int32_t>(row) - 1;
        chain_draws<Team> draws = this->draws_after(block, parent);
        const std::size_t child = parents::next_child(parents, proposed.size(), parent, row);
        if constexpr (ends_path) {
            if (child < proposed.size()) out.above = criterion.threshold(target);
            out.drawn = criterion.draw(target, draws);
        } else if (child == proposed.size()) {
            out.drawn = criterion.draw(target, draws);
        } else if (criterion.accepts(target, proposed[child], draws)) {
            out.accepted = static_cast<std::int32_t>(child);
        } else {
            settle_others(accept::left_after(criterion, target, proposed[child]), parent, child, draws, out);
        }
        return out;
    }

    /// accept::settle for the siblings after `child`, without recursion: `left` is what those before have left.
    template <class Left, class Draws>
    AUGUR_KERNEL void settle_others(Left left, std::int32_t parent, std::size_t child, Draws& draws,
                                    tree_outcome& out) const {
        for (std::size_t sibling = 1;; ++sibling) {
            child = parents::next_child(proposed.parents(), proposed.size(), parent, child + 1);
            if (child == proposed.size()) break;
            draws.at_sibling(sibling);
            if (criterion.accepts(left, proposed[child], draws)) {
                out.accepted = static_cast<std::int32_t>(child);
                return;
            }
            if constexpr (requires { criterion.after_rejection(left, proposed[child]); }) {
                left = criterion.after_rejection(left, proposed[child]);
            }
        }
        out.drawn = criterion.draw(left, draws);
    }

    template <class Team>
    AUGUR_KERNEL tree_verdict follow(const walking_block<Team>& block) const {
        std::int32_t last = after_prefix;
        if constexpr (ends_path) {
            values_of_block<Team, typename Criterion::path_type> paths(block.team(), memory().kept);
            const auto above = [this](std::size_t row) { return load_near(outcomes + row).above; };
            last = criterion.end_of_path(every_row<Team>{rows, block}, above, proposed, paths);
        } else {
            std::int32_t next = last;
            do {
                last = next;
                next = load_near(outcomes + last + 1).accepted;
            } while (next != after_prefix);
        }
        const token drawn = load_near(outcomes + last + 1).drawn;
        const auto accepted = static_cast<std::uint32_t>(parents::depth_of(proposed.parents(), last));
        return {last, accepted, drawn, drawn == no_token ? 0u : 1u};
    }
};

}  // namespace augur::backend::device
