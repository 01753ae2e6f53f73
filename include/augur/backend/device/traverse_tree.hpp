#pragma once
// accept::traversal as a kernel: one block walks a tree from its leaves to its root.

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

#include "augur/accept/block.hpp"
#include "augur/accept/traversal.hpp"
#include "augur/backend/device/accept_tree.hpp"
#include "augur/backend/device/team.hpp"
#include "augur/backend/device/tree_row.hpp"
#include "augur/backend/device/walking_block.hpp"
#include "augur/backend/device/weighed_rows.hpp"
#include "augur/detail/host_device.hpp"
#include "augur/types/token.hpp"
#include "augur/types/topology.hpp"

namespace augur::backend::device {

/// Judges by accept::traversal_walk: whole trees, or chains, of which it says what accept::block does, bit for bit. Not
/// what derives from them, which may judge otherwise.
template <class C>
concept JudgesFromLeaves = std::same_as<C, accept::traversal> || std::same_as<C, accept::block>;

/// What some children have left of a row of the target's: what they have taken away, from `first` on, lies in shared
/// memory.
struct left_of_row {
    std::uint32_t row = 0;
    std::uint32_t first = 0, end = 0;
    double sum = 0;

    AUGUR_HOST_DEVICE double total() const { return sum; }
};

/// The target's rows for accept::traversal_walk in a block that is alone; `on_path` names those of a chain that is a
/// path of a tree.
template <class Team>
class traversed_rows {
 public:
    using left_type = left_of_row;

    AUGUR_KERNEL traversed_rows(const weighed_view& rows, const walking_block<Team>& block,
                                const std::uint32_t* on_path = nullptr)
        : rows_(rows), block_(block), on_path_(on_path) {}

    AUGUR_KERNEL left_of_row begin(std::size_t row, const left_of_row& above) const {
        if (on_path_ != nullptr) row = on_path_[row];
        const double total = rows_.possible(row) ? rows_.target(block_, row).total() : 0;
        return {static_cast<std::uint32_t>(row), above.end, above.end, total};
    }
    AUGUR_KERNEL bool can_follow(const left_of_row& left) const { return rows_.possible(left.row); }
    AUGUR_KERNEL double probability(const left_of_row& left, token id) const {
        return weights_of(left)[static_cast<std::size_t>(id)] / left.sum;
    }
    AUGUR_KERNEL left_of_row after(const left_of_row& before, const drafted_token<draft_row>& rejected, double worth,
                                   std::size_t /*depth*/) const {
        left_of_row left = before;
        block_.team().each([](unsigned) {});  // until all have read what another child has taken
        row_of(left).take(left.end++, {{worth / left.sum, 1 / rejected.row.total}, rejected.row});
        left.sum = added_up(left);
        if (!(left.sum > 0) && before.first != before.end) added_up(before);  // which is drawn from, if anything is
        return left;
    }
    /// From what was left last.
    template <class Criterion, class Draws>
    AUGUR_KERNEL token drawn(const Criterion& criterion, const left_of_row& left, Draws& draws) const {
        if (left.first == left.end) return criterion.draw(rows_.target(block_, left.row), draws);
        return criterion.draw(weights_of(left), draws);
    }

 private:
    /// As a criterion sees them that draws from them.
    struct weights_left {
        tree_row<Team> target;
        left_of_row left;

        AUGUR_KERNEL std::size_t size() const { return target.size(); }
        AUGUR_KERNEL double operator[](std::size_t i) const { return target.left_of(i, left.first, left.end); }
        AUGUR_KERNEL double total() const { return left.sum; }
        AUGUR_KERNEL const double* sums() const { return target.block().sums_of_residual(); }
    };

    AUGUR_KERNEL tree_row<Team> row_of(const left_of_row& left) const {
        return {rows_.target(block_, left.row), rows_.possible(left.row)};
    }
    AUGUR_KERNEL weights_left weights_of(const left_of_row& left) const { return {row_of(left), left}; }
    /// Its total; the sums of its chunks stay, for who draws from it.
    AUGUR_KERNEL double added_up(const left_of_row& left) const {
        return block_.add_up(weights_of(left), block_.sums_of_residual());
    }

    const weighed_view& rows_;
    const walking_block<Team>& block_;
    const std::uint32_t* on_path_;
};

using traversal_level = accept::traversal_level<left_of_row>;

/// What accept::traversal_walk says; its levels lie in shared memory from `offset` on.
template <class Team, class Criterion, class Tree, class Draws>
AUGUR_KERNEL tree_verdict walked_from_leaves(const Team& team, const Criterion& criterion,
                                             const traversed_rows<Team>& targets, const Tree& proposed,
                                             std::span<const std::int32_t> parents, const Draws& draws,
                                             std::size_t offset) {
    values_of_block<Team, traversal_level> levels(team, offset);
    accept::traversal_walk walk(targets, levels, proposed, parents, draws);
    const left_of_row left = walk.run();
    const std::int32_t last = levels[walk.depth()].node;
    tree_verdict decided{last, static_cast<std::uint32_t>(walk.depth())};
    if (targets.can_follow(left)) {
        auto after = draws(last, 0);
        decided.next = targets.drawn(criterion, left, after);
        decided.valid = 1;
    }
    return decided;
}

/// Kernel: a tree, or a chain, judged by accept::traversal_walk. One block, for what is judged of a row depends on what
/// was before; a pass over the vocabulary for each rejected node.
template <class Criterion, class Tree>
struct traverse_tree : judged_tree<Criterion, Tree> {
    tree_verdict* decided;

    using judged_tree<Criterion, Tree>::criterion;
    using judged_tree<Criterion, Tree>::proposed;
    using judged_tree<Criterion, Tree>::rows;

    static constexpr std::size_t blocks() { return 1; }
    std::size_t shared_bytes() const { return memory().end; }

    template <class Team>
    AUGUR_KERNEL void operator()(const Team& team) const {
        const walking_block<Team> block(team, rows.of.vocabulary_size);
        const traversed_rows<Team> targets(rows, block);
        const auto draws = [&](std::int32_t parent, std::size_t sibling) {
            auto named = this->draws_after(block, parent);
            named.at_sibling(sibling);
            return named;
        };
        const tree_verdict verdict =
            walked_from_leaves(team, criterion, targets, proposed, proposed.parents(), draws, memory().kept);
        team.each([&](unsigned thread) {
            if (thread == 0) *decided = verdict;
        });
    }

 private:
    AUGUR_HOST_DEVICE tree_memory memory() const {
        return {rows.of.vocabulary_size, proposed.size(), sizeof(traversal_level)};
    }
};

}  // namespace augur::backend::device
