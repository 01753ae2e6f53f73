#pragma once
// accept::walk as a kernel: one block walks a chain with a criterion of the host's own source.

#include <cstddef>
#include <cstdint>

#include "augur/accept/rejection_sampling.hpp"
#include "augur/accept/walk.hpp"
#include "augur/backend/device/row_weights.hpp"
#include "augur/backend/device/scan_rows.hpp"
#include "augur/backend/device/system.hpp"
#include "augur/backend/device/team.hpp"
#include "augur/detail/chunks.hpp"
#include "augur/detail/host_device.hpp"
#include "augur/detail/row_scan.hpp"
#include "augur/measure/divergence.hpp"
#include "augur/random/chooser.hpp"
#include "augur/random/exponential_race.hpp"
#include "augur/types/proposal.hpp"
#include "augur/types/token.hpp"
#include "augur/types/verdict.hpp"

namespace augur::backend::device {

/// What is claimed of a drafted token whose row lies in device memory: weights, or certainty.
struct claimed_row {
    const float* weights = nullptr;
    double total = 1;
    token point = no_token;

    AUGUR_HOST_DEVICE double operator[](std::size_t i) const {
        if (point != no_token) return static_cast<std::size_t>(point) == i ? 1.0 : 0.0;
        return static_cast<double>(weights[i]);
    }
    AUGUR_HOST_DEVICE double probability(token of) const { return (*this)[static_cast<std::size_t>(of)] / total; }
};

}  // namespace augur::backend::device

namespace augur {

/// A drafted token as a criterion sees it in a kernel.
template <>
struct drafted_token<backend::device::claimed_row> {
    token id = no_token;
    backend::device::claimed_row row;

    AUGUR_HOST_DEVICE double probability(token t) const { return row.probability(t); }
};

}  // namespace augur

namespace augur::backend::device {

/// The block that walks a chain, and its shared memory: a tile, the sums of a residual's chunks, those of a
/// divergence's, and the totals of the rows.
template <class Team>
class walking_block {
 public:
    AUGUR_KERNEL walking_block(const Team& team, std::size_t size) : team_(team), size_(size) {}

    AUGUR_KERNEL const Team& team() const { return team_; }
    AUGUR_KERNEL std::size_t size() const { return size_; }
    AUGUR_KERNEL double* sums_of_residual() const { return team_.template shared<double>(chunk_tile::shared_bytes); }
    AUGUR_KERNEL double* sums_of_terms() const { return sums_of_residual() + augur::detail::chunks_in(size_); }
    AUGUR_KERNEL double* totals() const { return sums_of_terms() + augur::detail::chunks_in(size_); }

    /// The sum of all, chunk by chunk; the sums of the chunks are left in `sums`. O(vocabulary).
    template <class Indexed>
    AUGUR_KERNEL double add_up(const Indexed& values, double* sums) const {
        for (std::size_t tile = 0; tile < chunk_tile::tiles_in(size_); ++tile) {
            visit_chunks<double>(team_, values, size_, tile,
                                 [&](std::size_t chunk, const double* kept, std::size_t count) {
                                     sums[chunk] = augur::detail::sum_of_chunk(kept, 0, count);
                                 });
        }
        double total = 0;
        for (std::size_t chunk = 0; chunk < augur::detail::chunks_in(size_); ++chunk) total += sums[chunk];
        return total;
    }

    /// part(what the thread has so far, begin, end) of four elements at a time; then what all threads have, joined.
    /// O(vocabulary).
    template <class T, class Part, class Join>
    AUGUR_KERNEL T fold(const Part& part, const Join& join) const {
        T* const slots = team_.template shared<T>();
        team_.each([&](unsigned thread) {
            T mine;
            for (std::size_t begin = 4 * thread; begin < size_; begin += 4 * team_.threads()) {
                mine = part(mine, begin, size_ - begin < 4 ? size_ : begin + 4);
            }
            slots[thread] = mine;
        });
        return combined(team_, slots, join);
    }

 private:
    const Team& team_;
    std::size_t size_;
};

/// The target's distribution at one place of a chain: augur::distribution's interface and numbers, for criteria in a
/// kernel. Every thread asks for the same and gets the same answer; only where `Cost` says so does the block share a
/// pass.
template <class Team>
class chain_row {
 public:
    /// With weigh_rows' sums, and their sum.
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

/// Found by measure::divergence: the same terms, added up by the block. O(vocabulary).
template <class D, class Team>
AUGUR_KERNEL double sum_of(const measure::divergence_terms<D, chain_row<Team>, drafted_token<claimed_row>>& terms) {
    const walking_block<Team>& block = terms.target.block();
    return block.add_up(terms, block.sums_of_terms());
}

/// What a walk leaves in device memory: a verdict in sixteen bytes.
struct alignas(16) chain_verdict {
    std::uint32_t drafted = 0;
    std::uint32_t accepted = 0;
    token next = no_token;
    std::uint32_t valid = 0;  ///< 0 where the row after the accepted tokens could not be drawn from
};

/// Kernel: accept::walk along a chain, by one block, after scan_rows and, above temperature 0, weigh_rows.
template <class Criterion, class Chain>
struct accept_chain {
    static constexpr unsigned threads = 256;

    Criterion criterion;
    Chain proposed;
    rows_view of;  ///< one more than drafted tokens
    const augur::detail::row_scan* scans;
    const double* sums;  ///< not looked at where the temperature is 0
    float temperature;
    std::uint64_t seed;
    std::size_t position;  ///< of the first drafted token
    std::size_t round;
    chain_verdict* decided;
    const row_cut* cuts = nullptr;  ///< of each row, or null

    /// walking_block's.
    std::size_t shared_bytes() const {
        return chunk_tile::shared_bytes + (2 * of.chunks() + of.count) * sizeof(double);
    }

    template <class Team>
    AUGUR_KERNEL void operator()(const Team& team) const {
        const walking_block<Team> block(team, of.vocabulary_size);
        if (temperature > 0) add_totals(team, block.totals());
        chain_verdict walked{.drafted = static_cast<std::uint32_t>(proposed.size)};
        while (judge_next(block, walked)) ++walked.accepted;
        team.each([&](unsigned thread) {
            if (thread == 0) *decided = walked;
        });
    }

 private:
    /// A thread per row, for each is a sum in the order of its chunks.
    template <class Team>
    AUGUR_KERNEL void add_totals(const Team& team, double* totals) const {
        team.each([&](unsigned thread) {
            for (std::size_t row = thread; row < of.count; row += threads) {
                double total = 0;
                for (std::size_t chunk = 0; chunk < of.chunks(); ++chunk) total += sums[row * of.chunks() + chunk];
                totals[row] = total;
            }
        });
    }

    /// Whether the next drafted token is accepted. Where none is, the walk's next token is drawn, if it can be.
    template <class Team>
    AUGUR_KERNEL bool judge_next(const walking_block<Team>& block, chain_verdict& walked) const {
        const std::size_t at = walked.accepted, chunks = of.chunks();
        const augur::detail::row_scan seen = whole_scan(block.team(), scans + at * chunks, chunks);
        if (!seen.possible() || (temperature > 0 && !(block.totals()[at] > 0))) return false;
        const row_weights weights(of.row(at), seen.largest, temperature, cuts == nullptr ? nullptr : cuts + at);
        const chain_row<Team> target = temperature > 0
                                           ? chain_row<Team>(block, weights, sums + at * chunks, block.totals()[at])
                                           : chain_row<Team>(block, static_cast<token>(seen.first));
        chain_draws<Team> draws(block, seed, position + at, round);
        const token drawn = at == proposed.size
                                ? criterion.draw(target, draws)
                                : accept::accept_or_draw(criterion, target, proposed.at(at, of.vocabulary_size), draws);
        if (drawn == no_token) return true;
        walked.next = drawn;
        walked.valid = 1;
        return false;
    }
};

}  // namespace augur::backend::device

namespace augur::accept {

/// The same weights in a kernel. The sums of the chunks stay in shared memory until the next residual is made.
template <class Team>
class residual_weights<backend::device::claimed_row, backend::device::chain_row<Team>> {
 public:
    using row = backend::device::chain_row<Team>;

    AUGUR_KERNEL residual_weights(const row& target, const drafted_token<backend::device::claimed_row>& drafted,
                                  double scale = 1)
        : target_(target), drafted_(drafted), left_{scale / target.total(), 1 / drafted.row.total} {
        add_up();
    }
    AUGUR_KERNEL residual_weights(const row& target, const drafted_token<backend::device::claimed_row>& drafted,
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
    drafted_token<backend::device::claimed_row> drafted_;
    subtraction left_;
    double total_ = 0;
};

}  // namespace augur::accept
