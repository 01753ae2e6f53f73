#pragma once
// A target row and its random numbers, given to a host-source criterion by the blocks of a kernel.

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "augur/accept/rejection_sampling.hpp"
#include "augur/backend/device/row_weights.hpp"
#include "augur/backend/device/scan_rows.hpp"
#include "augur/backend/device/team.hpp"
#include "augur/detail/chunks.hpp"
#include "augur/detail/host_device.hpp"
#include "augur/detail/row_scan.hpp"
#include "augur/measure/divergence.hpp"
#include "augur/random/chooser.hpp"
#include "augur/random/exponential_race.hpp"
#include "augur/types/proposal.hpp"
#include "augur/types/token.hpp"

namespace augur::backend::device {

/// The draft distribution of a drafted token whose row lies in device memory: weights, certainty, or the distribution
/// of a picked one.
struct draft_row {
    const float* weights = nullptr;
    double total = 1;
    token point = no_token;
    const double* chances = nullptr;

    AUGUR_HOST_DEVICE double operator[](std::size_t i) const {
        if (point != no_token) return static_cast<std::size_t>(point) == i ? 1.0 : 0.0;
        return chances != nullptr ? chances[i] : static_cast<double>(weights[i]);
    }
    AUGUR_HOST_DEVICE double probability(token of) const { return (*this)[static_cast<std::size_t>(of)] / total; }
};

}  // namespace augur::backend::device

namespace augur {

/// A drafted token as a criterion sees it in a kernel.
template <>
struct drafted_token<backend::device::draft_row> {
    token id = no_token;
    backend::device::draft_row row;

    AUGUR_HOST_DEVICE double probability(token t) const { return row.probability(t); }
};

}  // namespace augur

namespace augur::backend::device {

/// What a block has found in its tile of a row.
struct alignas(16) part_of_pass {
    std::byte bytes[16];
};

/// Where the blocks of a row, one for each tile, leave what each has found.
struct shared_pass {
    std::size_t tile = 0;               ///< this block's
    double* sums = nullptr;             ///< of each chunk
    part_of_pass* parts = nullptr;      ///< of each tile
    std::uint32_t* arrivals = nullptr;  ///< 0, and left so
};

/// A block that judges a row, alone or with others, and its shared memory: a tile, the sums of a residual's chunks, and
/// those of a divergence's. Blocks that share a row all ask the same of it, since they ask by the same source with the
/// same values. Each does its tile of the first pass that is asked for; the last to be done has the answer and goes on,
/// alone from then on. The others get answers that mean nothing, and no more is done for them.
template <class Team>
class walking_block {
 public:
    /// Alone.
    AUGUR_KERNEL walking_block(const Team& team, std::size_t size) : team_(team), size_(size), role_(alone) {}
    AUGUR_KERNEL walking_block(const Team& team, std::size_t size, const shared_pass& with)
        : team_(team), size_(size), with_(with), role_(sharing) {}

    AUGUR_KERNEL const Team& team() const { return team_; }
    AUGUR_KERNEL std::size_t size() const { return size_; }
    AUGUR_KERNEL double* sums_of_residual() const { return team_.template shared<double>(chunk_tile::shared_bytes); }
    AUGUR_KERNEL double* sums_of_terms() const { return sums_of_residual() + augur::detail::chunks_in(size_); }

    /// Whether another block has the answers.
    AUGUR_KERNEL bool left() const { return role_ == leaving; }
    /// Asked once, at the end: whether this block has the row's outcome, and all others are done.
    AUGUR_KERNEL bool decides() const { return role_ == sharing ? goes_on() : role_ == alone; }

    /// The sum of all, chunk by chunk; the sums of the chunks are left in `sums`. O(vocabulary).
    template <class Indexed>
    AUGUR_KERNEL double add_up(const Indexed& values, double* sums) const {
        if (left()) return 0;
        const std::size_t chunks = augur::detail::chunks_in(size_);
        if (role_ == sharing) {
            add_tile(values, with_.tile, with_.sums);
            if (!goes_on()) return 0;
            team_.each([&](unsigned thread) {
                for (std::size_t i = thread; i < chunks; i += team_.threads()) sums[i] = load_near(with_.sums + i);
            });
        } else {
            for (std::size_t tile = 0; tile < chunk_tile::tiles_in(size_); ++tile) add_tile(values, tile, sums);
        }
        double total = 0;
        for (std::size_t chunk = 0; chunk < chunks; ++chunk) total += sums[chunk];
        return total;
    }

    /// part(what the thread has so far, begin, end) of four elements at a time; then what all threads have, joined.
    /// O(vocabulary).
    template <class T, class Part, class Join>
    AUGUR_KERNEL T fold(const Part& part, const Join& join) const {
        static_assert(sizeof(T) == sizeof(part_of_pass) && std::is_trivially_copyable_v<T>);
        if (left()) return T{};
        if (role_ == alone) return folded<T>(part, join, 0, size_);
        const std::size_t begin = with_.tile * chunk_tile::elements;
        const T mine = folded<T>(part, join, begin, end_of_tile(begin));
        T* const parts = reinterpret_cast<T*>(with_.parts);
        team_.each([&](unsigned thread) {
            if (thread == 0) parts[with_.tile] = mine;
        });
        if (!goes_on()) return T{};
        T* const slots = team_.template shared<T>();
        team_.each([&](unsigned thread) {
            T all;
            for (std::size_t i = thread; i < tiles(); i += team_.threads()) all = join(all, load_near(parts + i));
            slots[thread] = all;
        });
        return combined(team_, slots, join);
    }

 private:
    enum role { sharing, alone, leaving };

    AUGUR_KERNEL std::size_t tiles() const { return chunk_tile::tiles_in(size_); }
    AUGUR_KERNEL std::size_t end_of_tile(std::size_t begin) const {
        return size_ - begin < chunk_tile::elements ? size_ : begin + chunk_tile::elements;
    }

    AUGUR_KERNEL bool goes_on() const {
        const bool last = is_last_block(team_, with_.arrivals, tiles(), team_.template shared<std::uint32_t>());
        role_ = last ? alone : leaving;
        return last;
    }

    template <class Indexed>
    AUGUR_KERNEL void add_tile(const Indexed& values, std::size_t tile, double* sums) const {
        visit_chunks<double>(team_, values, size_, tile, [&](std::size_t chunk, const double* kept, std::size_t count) {
            sums[chunk] = augur::detail::sum_of_chunk(kept, 0, count);
        });
    }

    template <class T, class Part, class Join>
    AUGUR_KERNEL T folded(const Part& part, const Join& join, std::size_t from, std::size_t to) const {
        T* const slots = team_.template shared<T>();
        team_.each([&](unsigned thread) {
            T mine;
            for (std::size_t begin = from + 4 * thread; begin < to; begin += 4 * team_.threads()) {
                mine = part(mine, begin, to - begin < 4 ? to : begin + 4);
            }
            slots[thread] = mine;
        });
        return combined(team_, slots, join);
    }

    const Team& team_;
    std::size_t size_;
    shared_pass with_{};
    mutable role role_;  // the same in all threads
};

/// The target's distribution at one place of a chain: augur::distribution's interface and numbers, for criteria in a
/// kernel. Every thread asks for the same and gets the same answer; only where `Cost` says so is there a pass.
template <class Team>
class chain_row {
 public:
    /// With weigh_rows' sums and total.
    AUGUR_KERNEL chain_row(const walking_block<Team>& block, const row_weights& weights, const double* sums,
                           double total)
        : block_(block), weights_(weights), sums_(sums), total_(total) {}
    /// Of temperature 0: all mass on one token.
    AUGUR_KERNEL chain_row(const walking_block<Team>& block, token point) : block_(block), point_(point) {}

    AUGUR_KERNEL const walking_block<Team>& block() const { return block_; }
    AUGUR_KERNEL std::size_t size() const { return block_.size(); }
    AUGUR_KERNEL bool is_point() const { return point_ != no_token; }
    AUGUR_KERNEL double operator[](std::size_t i) const {
        if (is_point()) return static_cast<std::size_t>(point_) == i ? 1.0 : 0.0;
        return static_cast<double>(weights_[i]);
    }
    AUGUR_KERNEL double total() const { return total_; }
    AUGUR_KERNEL const double* sums() const { return sums_; }
    AUGUR_KERNEL double probability(token of) const { return (*this)[static_cast<std::size_t>(of)] / total_; }

    /// The most probable token; of several, the one with the lowest id. Cost: O(1) at temperature 0, else a pass.
    AUGUR_KERNEL token mode() const {
        if (is_point()) return point_;
        const auto best_of = [&](augur::detail::row_scan best, std::size_t begin, std::size_t end) {
            for (; begin < end; ++begin) best = join_extents{}(best, {{weights_[begin], true}, begin});
            return best;
        };
        return static_cast<token>(block_.template fold<augur::detail::row_scan>(best_of, join_extents{}).first);
    }

 private:
    const walking_block<Team>& block_;
    row_weights weights_;
    const double* sums_ = nullptr;
    double total_ = 1;
    token point_ = no_token;
};

/// Of two parts of a race; ties: the lower index.
struct join_arrivals {
    AUGUR_HOST_DEVICE random::arrival operator()(const random::arrival& a, const random::arrival& b) const {
        return b.time < a.time || (b.time == a.time && b.index < a.index) ? b : a;
    }
};

/// position_draws over random::philox_chooser, for criteria in a kernel: the same names, hence the same numbers.
template <class Team>
class chain_draws : random::philox_chooser {
 public:
    /// `node` as in draw_key: 0 in a chain.
    AUGUR_KERNEL chain_draws(const walking_block<Team>& block, std::uint64_t seed, std::size_t position,
                             std::size_t round, std::size_t node = 0)
        : philox_chooser(seed), block_(block), position_(position), round_(round), node_(node) {}

    AUGUR_KERNEL void at_sibling(std::size_t sibling) { sibling_ = sibling; }

    /// Of a row, or of a residual. Cost: a walk over the chunks' sums, then over one chunk.
    template <class W>
    AUGUR_KERNEL std::size_t choose(const W& weights, purpose why) const {
        if constexpr (requires { weights.is_point(); }) {
            if (weights.is_point()) return static_cast<std::size_t>(weights.mode());
        }
        if (block_.left()) return 0;
        const double threshold = uniform({position_, why, round_, node_, sibling_}) * weights.total();
        return augur::detail::find_in_chunks(weights, weights.size(), weights.sums(), threshold);
    }

    AUGUR_KERNEL bool flip(double probability, purpose why) const {
        return philox_chooser::flip(probability, {position_, why, round_, node_, sibling_});
    }

    /// Cost: a pass, with one Philox call per four tokens.
    template <class W>
    AUGUR_KERNEL std::size_t exponential_race(const W& weights) const {
        if constexpr (requires { weights.is_point(); }) {
            if (weights.is_point()) return static_cast<std::size_t>(weights.mode());
        }
        const auto first_between = [&](const random::arrival& before, std::size_t begin, std::size_t end) {
            return random::first_arrival(weights, begin, end, position_, key_, before);
        };
        return block_.template fold<random::arrival>(first_between, join_arrivals{}).index;
    }

    /// The winner of the first race that is run so.
    template <class W>
    AUGUR_KERNEL std::size_t exponential_race_once(const W& weights) {
        if (winner_ == not_raced) winner_ = exponential_race(weights);
        return winner_;
    }

 private:
    static constexpr std::size_t not_raced = static_cast<std::size_t>(-1);

    const walking_block<Team>& block_;
    std::size_t position_;
    std::size_t round_;
    std::size_t node_;
    std::size_t sibling_ = 0;
    std::size_t winner_ = not_raced;
};

/// Found by measure::divergence: the same terms, added up by the blocks. O(vocabulary).
template <class D, class Team>
AUGUR_KERNEL double sum_of(const measure::divergence_terms<D, chain_row<Team>, drafted_token<draft_row>>& terms) {
    const walking_block<Team>& block = terms.target.block();
    return block.add_up(terms, block.sums_of_terms());
}

}  // namespace augur::backend::device

namespace augur::accept {

/// The same weights in a kernel. The sums of the chunks stay in shared memory until the next residual is made.
template <class Team>
class residual_weights<backend::device::draft_row, backend::device::chain_row<Team>> {
 public:
    using row = backend::device::chain_row<Team>;

    AUGUR_KERNEL residual_weights(const row& target, const drafted_token<backend::device::draft_row>& drafted,
                                  double scale = 1)
        : target_(target), drafted_(drafted), left_{scale / target.total(), 1 / drafted.row.total} {
        add_up();
    }
    AUGUR_KERNEL residual_weights(const row& target, const drafted_token<backend::device::draft_row>& drafted,
                                  or_target)
        : residual_weights(target, drafted) {
        if (total_ > 0) return;
        left_ = {1, 0};
        add_up();
    }

    AUGUR_KERNEL std::size_t size() const { return target_.size(); }
    AUGUR_KERNEL double operator[](std::size_t i) const { return left_(target_[i], drafted_.row[i]); }
    AUGUR_KERNEL double total() const { return total_; }
    AUGUR_KERNEL const double* sums() const { return target_.block().sums_of_residual(); }

 private:
    AUGUR_KERNEL void add_up() { total_ = target_.block().add_up(*this, target_.block().sums_of_residual()); }

    const row& target_;
    drafted_token<backend::device::draft_row> drafted_;
    subtraction left_;
    double total_ = 0;
};

}  // namespace augur::accept
