#pragma once
// accept::multipath_block as a kernel: one block picks the greatest path of a tree and judges it from its end.

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

#include "augur/accept/multipath_block.hpp"
#include "augur/backend/device/accept_tree.hpp"
#include "augur/backend/device/sort_ranked.hpp"
#include "augur/backend/device/team.hpp"
#include "augur/backend/device/traverse_tree.hpp"
#include "augur/backend/device/tree_row.hpp"
#include "augur/backend/device/walking_block.hpp"
#include "augur/detail/chunks.hpp"
#include "augur/detail/host_device.hpp"
#include "augur/tree/greatest_path.hpp"
#include "augur/types/token.hpp"
#include "augur/types/topology.hpp"

namespace augur::backend::device {

/// Judges the greatest path of a tree. Not what derives from it, which may judge otherwise.
template <class C>
concept JudgesGreatest = std::same_as<C, accept::multipath_block>;

/// In a system's memory: two rows that are sorted, and the distribution of each token on the path.
struct greatest_workspace {
    tree::ranked_token* order = nullptr;
    double* chances = nullptr;
};

/// The greatest path as a chain that accept::traversal_walk judges.
struct picked_chain {
    const tree::picked_token* picked;
    std::size_t count;
    const double* chances;
    std::size_t vocabulary_size;

    AUGUR_HOST_DEVICE std::size_t size() const { return count; }
    AUGUR_HOST_DEVICE drafted_token<draft_row> operator[](std::size_t i) const {
        return {picked[i].id, {.chances = chances + i * vocabulary_size}};
    }
};

/// Shared memory: the walk's, in which the path is picked before; then the path.
struct greatest_memory {
    tree_memory walk;
    std::size_t sorting, coefficients, begins, picked, depths, rows, end;

    AUGUR_HOST_DEVICE greatest_memory(std::size_t vocabulary_size, std::size_t nodes, std::size_t level_bytes)
        : walk(vocabulary_size, nodes, level_bytes), sorting(walk.taken) {
        coefficients = sorting + sort_shared_bytes;
        begins = coefficients + tree::doubles_for(nodes) * sizeof(double);
        const std::size_t picking = begins + tree::depths_for(nodes) * sizeof(std::uint32_t);
        picked = (std::max(picking, walk.end) + 15) / 16 * 16;
        depths = picked + nodes * sizeof(tree::picked_token);
        rows = depths + nodes * sizeof(std::uint32_t);
        end = rows + 2 * (nodes + 1) * sizeof(std::uint32_t);
    }
};

/// Kernel: a tree, or a chain, of drawn tokens, at temperatures above 0. One block: what is asked of a row depends on
/// what was picked before. For each token of the path the vocabulary is sorted, and passed over a few times.
template <class Criterion, class Tree>
struct judge_greatest : judged_tree<Criterion, Tree> {
    greatest_workspace workspace;
    tree_verdict* decided;

    using judged_tree<Criterion, Tree>::criterion;
    using judged_tree<Criterion, Tree>::proposed;
    using judged_tree<Criterion, Tree>::rows;

    static constexpr std::size_t blocks() { return 1; }
    std::size_t shared_bytes() const { return memory().end; }

    template <class Team>
    AUGUR_KERNEL void operator()(const Team& team) const {
        const walking_block<Team> block(team, vocabulary_size());
        const std::size_t length = pick_all(block);
        const rows_of_path along = name_rows(team, length);
        const picked_chain chain{picked(team), length, workspace.chances, vocabulary_size()};
        const traversed_rows<Team> targets(rows, block, along.picked);
        const auto draws = [&](std::int32_t parent, std::size_t /*sibling*/) {
            return this->draws_after(block, node_before(along.path[parent + 1]));
        };
        tree_verdict verdict = walked_from_leaves(team, criterion, targets, chain, {}, draws, memory().walk.kept);
        verdict.last = node_before(along.path[verdict.accepted]);
        team.each([&](unsigned thread) {
            if (thread == 0) *decided = verdict;
        });
    }

 private:
    struct rows_of_path {
        const std::uint32_t *picked, *path;
    };

    static AUGUR_HOST_DEVICE std::int32_t node_before(std::uint32_t row) { return static_cast<std::int32_t>(row) - 1; }
    AUGUR_HOST_DEVICE std::size_t vocabulary_size() const { return rows.of.vocabulary_size; }
    AUGUR_HOST_DEVICE greatest_memory memory() const {
        return {vocabulary_size(), proposed.size(), sizeof(traversal_level)};
    }
    template <class Team>
    AUGUR_KERNEL tree::picked_token* picked(const Team& team) const {
        return team.template shared<tree::picked_token>(memory().picked);
    }

    /// Of the path; returns how many tokens it has.
    template <class Team>
    AUGUR_KERNEL std::size_t pick_all(const walking_block<Team>& block) const {
        const Team& team = block.team();
        auto* const depths = team.template shared<std::uint32_t>(memory().depths);
        team.each([&](unsigned thread) {
            for (std::size_t node = thread; node < proposed.size(); node += team.threads()) depths[node] = 0;
        });
        tree::greatest_path<Tree> path{proposed, proposed.parents(), depths, picked(team)};
        for (std::size_t row = 0; rows.possible(row); row = path.picked[path.size - 1].node + 1) {
            const std::size_t first = path.competitor(0);
            if (first == proposed.size()) break;
            pick(block, path, first, row);
            if (!(path.picked[path.size++].ratio > 0)) break;  // what follows is not accepted
        }
        return path.size;
    }

    template <class Team>
    AUGUR_KERNEL void pick(const walking_block<Team>& block, const tree::greatest_path<Tree>& path, std::size_t first,
                           std::size_t row) const {
        const Team& team = block.team();
        const chain_row<Team> target = rows.target(block, row);
        const draft_row draft = proposed[first].row;
        const auto rank = [&](token t) {
            return tree::ranked_token{static_cast<float>(target.probability(t) / draft.probability(t)), t};
        };
        auto* const count = team.template shared<std::size_t>();
        auto* const coefficients = team.template shared<double>(memory().coefficients);
        team.each([](unsigned) {});  // until all know who competes
        team.each([&](unsigned thread) {
            if (thread != 0) return;
            path.pick(first, rank);
            *count = path.next_above(coefficients, team.template shared<std::uint32_t>(memory().begins)).count;
        });
        const tree::none_above above{coefficients, *count};
        team.each([&](unsigned thread) {  // of equal ones the lower id is greater
            for (std::size_t i = thread; i < block.size(); i += team.threads()) {
                const auto t = static_cast<token>(block.size() - 1 - i);
                workspace.order[i] = draft.probability(t) > 0 ? rank(t) : tree::ranked_token{ratio_after_all(), t};
            }
        });
        ranked_sort<Team>(team, memory().sorting)(workspace.order, workspace.order + block.size(), block.size());
        weigh(block, draft, above, path.picked[path.size], workspace.chances + path.size * block.size());
    }

    /// picked_path::weigh on the host.
    template <class Team>
    AUGUR_KERNEL void weigh(const walking_block<Team>& block, const draft_row& draft, const tree::none_above& above,
                            tree::picked_token& picked, double* chances) const {
        const Team& team = block.team();
        double* const before = block.sums_of_terms();
        const auto each_chunk = [&](const auto& body) {
            team.each([&](unsigned thread) {
                for (std::size_t chunk = thread; chunk < augur::detail::chunks_in(block.size());
                     chunk += team.threads()) {
                    const std::size_t begin = chunk * augur::detail::chunk_size;
                    body(workspace.order + begin, workspace.order + augur::detail::end_of_chunk(begin, block.size()),
                         chunk);
                }
            });
        };
        each_chunk([&](const tree::ranked_token* begin, const tree::ranked_token* end, std::size_t chunk) {
            before[chunk] = accept::weight_of(begin, end, draft);
        });
        team.each([&](unsigned thread) {
            if (thread != 0) return;
            double sum = 0;
            for (std::size_t i = 0; i < augur::detail::chunks_in(block.size()); ++i) {
                const double here = before[i];
                before[i] = sum;
                sum += here;
            }
        });
        each_chunk([&](const tree::ranked_token* begin, const tree::ranked_token* end, std::size_t chunk) {
            accept::weigh_ranked(begin, end, before[chunk], draft, above, picked, chances);
        });
        const double sum = block.add_up(chances, block.sums_of_residual());
        team.each([&](unsigned thread) {
            for (std::size_t i = thread; i < block.size(); i += team.threads()) chances[i] /= sum;
        });
    }

    /// The row after so many tokens of the path, 0 after none, as they were picked, and as they lead to its last node:
    /// two nodes may have the same tokens.
    template <class Team>
    AUGUR_KERNEL rows_of_path name_rows(const Team& team, std::size_t length) const {
        auto* const picked_rows = team.template shared<std::uint32_t>(memory().rows);
        auto* const path_rows = picked_rows + proposed.size() + 1;
        team.each([&](unsigned thread) {
            if (thread != 0) return;
            picked_rows[0] = path_rows[0] = 0;
            for (std::size_t i = 0; i < length; ++i) picked_rows[i + 1] = picked(team)[i].node + 1;
            std::uint32_t row = picked_rows[length];
            for (std::size_t i = length; i > 0; --i) {
                path_rows[i] = row;
                row = static_cast<std::uint32_t>(parents::of(proposed.parents(), row - 1) + 1);
            }
        });
        return {picked_rows, path_rows};
    }
};

}  // namespace augur::backend::device
