#pragma once
// The row that a criterion judges at a tree node in a kernel: the target's distribution, or its residual after rejected
// siblings.

#include <cstddef>
#include <cstdint>
#include <span>

#include "augur/accept/rejection_sampling.hpp"
#include "augur/accept/typical.hpp"
#include "augur/backend/device/scan_rows.hpp"
#include "augur/backend/device/team.hpp"
#include "augur/backend/device/walking_block.hpp"
#include "augur/detail/chunks.hpp"
#include "augur/detail/host_device.hpp"
#include "augur/measure/divergence.hpp"
#include "augur/types/proposal.hpp"
#include "augur/types/token.hpp"

namespace augur::backend::device {

/// Drafted nodes in a system's memory: tokens with their draft distributions, as of a chain (certain_chain,
/// drawn_chain), and the parent of each.
template <class Nodes>
struct drafted_tree {
    using draft_distribution_type = draft_row;

    Nodes nodes;
    const std::int32_t* above = nullptr;  ///< null: they are a chain
    std::size_t vocabulary_size = 0;

    AUGUR_HOST_DEVICE std::size_t size() const { return nodes.size; }
    AUGUR_HOST_DEVICE std::span<const token> tokens() const { return {nodes.tokens, nodes.size}; }
    AUGUR_HOST_DEVICE std::span<const std::int32_t> parents() const {
        return {above, above == nullptr ? 0 : nodes.size};
    }
    AUGUR_HOST_DEVICE drafted_token<draft_row> operator[](std::size_t i) const { return nodes.at(i, vocabulary_size); }
};

/// What a rejected sibling takes from the target's row.
struct taken_away {
    accept::subtraction left;
    draft_row drafted;
};

/// Shared memory of a block that judges a row of a tree, after that of a walking_block: what siblings have taken away,
/// and what a criterion keeps for each row or depth.
struct tree_memory {
    std::size_t taken = 0, kept = 0, end = 0;

    AUGUR_HOST_DEVICE tree_memory(std::size_t vocabulary_size, std::size_t nodes, std::size_t kept_bytes) {
        taken = chunk_tile::shared_bytes + 2 * augur::detail::chunks_in(vocabulary_size) * sizeof(double);
        kept = taken + nodes * sizeof(taken_away);
        end = kept + (nodes + 1) * kept_bytes;
    }
};

/// A row of the target's that siblings are judged by: a chain_row, or one that cannot be drawn from.
template <class Team>
class tree_row : public chain_row<Team> {
 public:
    AUGUR_KERNEL tree_row(const chain_row<Team>& of, bool possible) : chain_row<Team>(of), possible_(possible) {}

    AUGUR_KERNEL bool empty() const { return !possible_; }
    AUGUR_KERNEL taken_away* taken() const {
        return this->block().team().template shared<taken_away>(tree_memory(this->size(), 0, 0).taken);
    }
    /// The weight of a token after rejected siblings, number `first` to `end` of what was taken.
    AUGUR_KERNEL double left_of(std::size_t token, std::size_t first, std::size_t end) const {
        double weight = (*this)[token];
        for (; first < end; ++first) weight = taken()[first].left(weight, taken()[first].drafted[token]);
        return weight;
    }
    AUGUR_KERNEL void take(std::size_t number, const taken_away& what) const {
        this->block().team().each([&](unsigned thread) {
            if (thread == 0) taken()[number] = what;
        });
    }

 private:
    bool possible_;
};

/// Found by accept::typical and measure::divergence: the same terms, added up by the blocks. O(vocabulary).
template <class Team>
AUGUR_KERNEL double sum_of(const accept::entropy_terms<tree_row<Team>>& terms) {
    const walking_block<Team>& block = terms.target.block();
    return block.add_up(terms, block.sums_of_terms());
}
template <class D, class Team>
AUGUR_KERNEL double sum_of(const measure::divergence_terms<D, tree_row<Team>, drafted_token<draft_row>>& terms) {
    const walking_block<Team>& block = terms.target.block();
    return block.add_up(terms, block.sums_of_terms());
}

/// What is kept for each row or depth, in shared memory.
template <class Team, class Value>
class values_of_block {
 public:
    AUGUR_KERNEL values_of_block(const Team& team, std::size_t offset)
        : team_(team), values_(team.template shared<Value>(offset)) {}

    AUGUR_KERNEL void reset(std::size_t rows) {
        team_.each([&](unsigned thread) {
            for (std::size_t i = thread; i < rows; i += team_.threads()) values_[i] = Value{};
        });
    }
    AUGUR_KERNEL void put(std::size_t at, const Value& value) {
        team_.each([](unsigned) {});  // until all have read what was there
        team_.each([&](unsigned thread) {
            if (thread == 0) values_[at] = value;
        });
    }
    AUGUR_KERNEL Value operator[](std::size_t at) const { return values_[at]; }

 private:
    const Team& team_;
    Value* values_;
};

}  // namespace augur::backend::device

namespace augur::accept {

/// The same weights in a kernel, of a row that several siblings can be rejected from: what each takes away is kept in
/// shared memory, and a weight goes through all of them. The sums of the chunks are those of the last.
template <class Team>
class residual_weights<backend::device::draft_row, backend::device::tree_row<Team>> {
 public:
    using row = backend::device::tree_row<Team>;
    using drafted = drafted_token<backend::device::draft_row>;

    AUGUR_KERNEL residual_weights(const row& target, const drafted& rejected, or_target) : target_(&target) {
        take_away(rejected, target.total());
    }
    AUGUR_KERNEL residual_weights(const residual_weights& before, const drafted& rejected, or_target)
        : target_(before.target_), count_(before.count_) {
        take_away(rejected, before.total_);
    }

    AUGUR_KERNEL std::size_t size() const { return target_->size(); }
    AUGUR_KERNEL double operator[](std::size_t i) const { return target_->left_of(i, 0, count_); }
    AUGUR_KERNEL double total() const { return total_; }
    AUGUR_KERNEL double probability(token of) const { return (*this)[static_cast<std::size_t>(of)] / total_; }
    AUGUR_KERNEL const double* sums() const { return target_->block().sums_of_residual(); }

 private:
    AUGUR_KERNEL void take_away(const drafted& rejected, double before) {
        ++count_;
        add_up({{1 / before, 1 / rejected.row.total}, rejected.row});
        if (!(total_ > 0)) add_up({{1, 0}, rejected.row});
    }
    AUGUR_KERNEL void add_up(const backend::device::taken_away& last) {
        target_->take(count_ - 1, last);
        total_ = target_->block().add_up(*this, target_->block().sums_of_residual());
    }

    const row* target_;
    std::size_t count_ = 0;
    double total_ = 0;
};

/// The same weights in a kernel.
template <class Team>
class likely_tokens<backend::device::tree_row<Team>> {
 public:
    using row = backend::device::tree_row<Team>;

    AUGUR_KERNEL likely_tokens(const row& of, double least) : target_(of), least_(least) {
        total_ = of.block().add_up(*this, of.block().sums_of_residual());
    }

    AUGUR_KERNEL std::size_t size() const { return target_.size(); }
    AUGUR_KERNEL double operator[](std::size_t i) const {
        return target_[i] / target_.total() >= least_ ? target_[i] : 0;
    }
    AUGUR_KERNEL double total() const { return total_; }
    AUGUR_KERNEL const double* sums() const { return target_.block().sums_of_residual(); }

 private:
    const row& target_;
    double least_;
    double total_ = 0;
};

}  // namespace augur::accept
