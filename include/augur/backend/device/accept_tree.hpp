#pragma once
// accept::walk as a kernel, for trees: each row is judged by a block, with a criterion of the host's own source; the
// last block follows what they say.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "augur/accept/walk.hpp"
#include "augur/backend/device/accept_chain.hpp"
#include "augur/backend/device/row_weights.hpp"
#include "augur/backend/device/scan_rows.hpp"
#include "augur/backend/device/system.hpp"
#include "augur/backend/device/team.hpp"
#include "augur/backend/device/tree_row.hpp"
#include "augur/detail/host_device.hpp"
#include "augur/detail/row_scan.hpp"
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

/// What a block says of its row: which of the nodes after it is accepted, or what is drawn in their place.
struct alignas(16) tree_outcome {
    double total = 0;  ///< of the target's weights; 0 where nothing can be drawn
    double above = 0;  ///< the threshold, where the criterion has one
    float largest = 0;
    std::uint32_t first = 0;  ///< logit that is so large
    std::int32_t accepted = after_prefix;
    token drawn = no_token;

    /// Of another block, in the same launch.
    static AUGUR_KERNEL tree_outcome load(const tree_outcome* from) {
        struct alignas(16) half {
            std::uint64_t words[2];
        };
        struct halves {
            half first, second;
        };
        const auto* const at = reinterpret_cast<const half*>(from);
        return std::bit_cast<tree_outcome>(halves{load_near(at), load_near(at + 1)});
    }
};

/// What a walk through a tree leaves in device memory: the accepted path by its last node, in sixteen bytes.
struct alignas(16) tree_verdict {
    std::int32_t last = after_prefix;
    std::uint32_t accepted = 0;  ///< nodes on the path
    token next = no_token;
    std::uint32_t valid = 0;  ///< 0 where the row after the path could not be drawn from
};

/// Kernel: accept::walk through a tree, or along a chain, after scan_rows and, above temperature 0, weigh_rows. A block
/// per row judges what follows it, whatever became of the nodes before; the last of them follows the accepted ones.
template <class Criterion, class Tree>
struct accept_tree {
    static constexpr unsigned threads = 256;

    Criterion criterion;
    Tree proposed;
    rows_view of;  ///< the row after the prefix, then that after each node and its path
    const augur::detail::row_scan* scans;
    const double* sums;  ///< not looked at where the temperature is 0
    float temperature;
    const row_cut* cuts;  ///< of each row, or null
    std::uint64_t seed;
    std::size_t position;  ///< after the prefix
    std::size_t round;
    tree_outcome* outcomes;   ///< of each row
    std::uint32_t* arrivals;  ///< 0, and again afterwards
    tree_verdict* decided;

    std::size_t blocks() const { return of.count; }
    std::size_t shared_bytes() const { return memory().end; }

    template <class Team>
    AUGUR_KERNEL void operator()(const Team& team) const {
        const walking_block<Team> block(team, of.vocabulary_size);
        const tree_outcome judged = judge(block, team.block());
        auto* const is_last = team.template shared<std::uint32_t>(memory().word);
        team.each([&](unsigned thread) {
            if (thread != 0) return;
            outcomes[team.block()] = judged;
            writes_are_out();
            *is_last = arrives_last(arrivals, static_cast<std::uint32_t>(of.count)) ? 1 : 0;
        });
        if (*is_last == 0) return;
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
        return {of.vocabulary_size, proposed.size(), path_bytes};
    }

    /// By what was seen of the row.
    template <class Team>
    AUGUR_KERNEL tree_row<Team> row_of(const walking_block<Team>& block, std::size_t row, float largest,
                                       std::size_t first, double total) const {
        if (!(temperature > 0) && total > 0) return tree_row(chain_row<Team>(block, static_cast<token>(first)));
        const row_weights weights(of.row(row), largest, temperature, cuts == nullptr ? nullptr : cuts + row);
        return tree_row(chain_row<Team>(block, weights, sums + row * of.chunks(), total));
    }

    /// The target's rows as blocks have seen them.
    template <class Team>
    struct seen_rows {
        const accept_tree& of;
        const walking_block<Team>& block;

        AUGUR_KERNEL tree_row<Team> operator[](std::size_t row) const {
            const tree_outcome seen = tree_outcome::load(of.outcomes + row);
            return of.row_of(block, row, seen.largest, seen.first, seen.total);
        }
    };

    /// In the order of the row's chunks.
    AUGUR_KERNEL double total_of(std::size_t row) const {
        if (!(temperature > 0)) return 1;
        double total = 0;
        for (std::size_t chunk = 0; chunk < of.chunks(); ++chunk) total += sums[row * of.chunks() + chunk];
        return total;
    }

    template <class Team>
    AUGUR_KERNEL tree_outcome judge(const walking_block<Team>& block, std::size_t row) const {
        tree_outcome out;
        const augur::detail::row_scan seen = whole_scan(block.team(), scans + row * of.chunks(), of.chunks());
        out.total = seen.possible() ? total_of(row) : 0;
        out.largest = seen.largest;
        out.first = static_cast<std::uint32_t>(seen.first);
        const tree_row<Team> target = row_of(block, row, seen.largest, seen.first, out.total);
        if (target.empty()) return out;
        const auto parents = proposed.parents();
        const std::int32_t parent = static_cast<std::int32_t>(row) - 1;
        const std::size_t depth = parents::depth_of(parents, parent);
        chain_draws<Team> draws(block, seed, position + depth, round, parents::aside(parents, parent));
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
            paths_of_block<Team, typename Criterion::path_type> paths(block.team(), memory().paths);
            const auto above = [this](std::size_t row) { return tree_outcome::load(outcomes + row).above; };
            last = criterion.end_of_path(seen_rows<Team>{*this, block}, above, proposed, paths);
        } else {
            std::int32_t next = last;
            do {
                last = next;
                next = tree_outcome::load(outcomes + last + 1).accepted;
            } while (next != after_prefix);
        }
        const token drawn = tree_outcome::load(outcomes + last + 1).drawn;
        const auto accepted = static_cast<std::uint32_t>(parents::depth_of(proposed.parents(), last));
        return {last, accepted, drawn, drawn == no_token ? 0u : 1u};
    }
};

}  // namespace augur::backend::device
