#pragma once
// accept::walk as a kernel, for trees: each row is judged by a block, with a criterion of the host's own source; the
// last block follows what they say.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "augur/accept/rejection_sampling.hpp"
#include "augur/accept/typical.hpp"
#include "augur/accept/walk.hpp"
#include "augur/backend/device/accept_chain.hpp"
#include "augur/backend/device/row_weights.hpp"
#include "augur/backend/device/scan_rows.hpp"
#include "augur/backend/device/system.hpp"
#include "augur/backend/device/team.hpp"
#include "augur/detail/chunks.hpp"
#include "augur/detail/host_device.hpp"
#include "augur/detail/row_scan.hpp"
#include "augur/types/proposal.hpp"
#include "augur/types/token.hpp"
#include "augur/types/topology.hpp"

namespace augur::backend::device {

/// Drafted nodes in a system's memory: tokens with what is claimed of them, as of a chain (certain_chain, drawn_chain),
/// and the parent of each.
template <class Nodes>
struct drafted_tree {
    using claim_type = claimed_row;

    Nodes nodes;
    const std::int32_t* above = nullptr;  ///< null: they are a chain
    std::size_t vocabulary_size = 0;

    AUGUR_HOST_DEVICE std::size_t size() const { return nodes.size; }
    AUGUR_HOST_DEVICE std::span<const token> tokens() const { return {nodes.tokens, nodes.size}; }
    AUGUR_HOST_DEVICE std::span<const std::int32_t> parents() const {
        return {above, above == nullptr ? 0 : nodes.size};
    }
    AUGUR_HOST_DEVICE drafted_token<claimed_row> operator[](std::size_t i) const {
        return nodes.at(i, vocabulary_size);
    }
};

/// Judges a whole tree by finding the last node of the accepted path: `end_of_path(targets, above, proposed, paths)`,
/// `threshold(target)` of each row, and `draw`; paths are of `path_type` (accept::typical).
template <class C>
concept EndsPath = requires {
    typename C::path_type;
    requires std::is_trivially_copyable_v<typename C::path_type>;
};

/// What a rejected sibling takes from the target's row.
struct taken_away {
    accept::subtraction left;
    claimed_row drafted;
};

/// Shared memory of a block that judges a row of a tree, after that of a walking_block: what siblings have taken away,
/// paths, a word.
struct tree_memory {
    std::size_t taken = 0, paths = 0, word = 0, end = 0;

    AUGUR_HOST_DEVICE tree_memory(std::size_t vocabulary_size, std::size_t nodes, std::size_t path_bytes) {
        taken = chunk_tile::shared_bytes + 2 * augur::detail::chunks_in(vocabulary_size) * sizeof(double);
        paths = taken + nodes * sizeof(taken_away);
        word = paths + (nodes + 1) * path_bytes;
        end = word + sizeof(double);
    }
};

/// A row of the target's that siblings are judged by: a chain_row, or one that cannot be drawn from.
template <class Team>
class tree_row : public chain_row<Team> {
 public:
    AUGUR_KERNEL explicit tree_row(const chain_row<Team>& of) : chain_row<Team>(of) {}

    AUGUR_KERNEL bool empty() const { return !(this->total() > 0); }
    AUGUR_KERNEL taken_away* taken() const {
        return this->block().team().template shared<taken_away>(tree_memory(this->size(), 0, 0).taken);
    }
};

/// Found by accept::typical: the same terms, added up by the block. O(vocabulary).
template <class Team>
AUGUR_KERNEL double sum_of(const accept::entropy_terms<tree_row<Team>>& terms) {
    const walking_block<Team>& block = terms.target.block();
    return block.add_up(terms, block.sums_of_terms());
}

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

/// A criterion's storage of paths, in shared memory.
template <class Team, class Path>
class paths_of_block {
 public:
    AUGUR_KERNEL paths_of_block(const Team& team, std::size_t offset)
        : team_(team), paths_(team.template shared<Path>(offset)) {}

    AUGUR_KERNEL void reset(std::size_t rows) {
        team_.each([&](unsigned thread) {
            for (std::size_t i = thread; i < rows; i += team_.threads()) paths_[i] = Path{};
        });
    }
    AUGUR_KERNEL void put(std::size_t row, const Path& path) {
        team_.each([](unsigned) {});  // until all have read what was there
        team_.each([&](unsigned thread) {
            if (thread == 0) paths_[row] = path;
        });
    }
    AUGUR_KERNEL Path operator[](std::size_t row) const { return paths_[row]; }

 private:
    const Team& team_;
    Path* paths_;
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

namespace augur::accept {

/// The same weights in a kernel, of a row that several siblings can be rejected from: what each takes away is kept in
/// shared memory, and a weight goes through all of them. The sums of the chunks are those of the last.
template <class Team>
class residual_weights<backend::device::claimed_row, backend::device::tree_row<Team>> {
 public:
    using row = backend::device::tree_row<Team>;
    using drafted = drafted_token<backend::device::claimed_row>;

    AUGUR_KERNEL residual_weights(const row& target, const drafted& rejected, or_target) : target_(&target) {
        take_away(rejected, target.total());
    }
    AUGUR_KERNEL residual_weights(const residual_weights& before, const drafted& rejected, or_target)
        : target_(before.target_), count_(before.count_) {
        take_away(rejected, before.total_);
    }

    AUGUR_KERNEL std::size_t size() const { return target_->size(); }
    AUGUR_KERNEL double operator[](std::size_t i) const {
        double weight = (*target_)[i];
        for (std::size_t n = 0; n < count_; ++n) {
            weight = target_->taken()[n].left(weight, target_->taken()[n].drafted[i]);
        }
        return weight;
    }
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
        target_->block().team().each([&](unsigned thread) {
            if (thread == 0) target_->taken()[count_ - 1] = last;
        });
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
