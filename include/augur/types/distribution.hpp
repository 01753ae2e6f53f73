#pragma once
// A probability distribution over the vocabulary, made from one row of logits.

#include <algorithm>
#include <cstddef>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "augur/detail/chunks.hpp"
#include "augur/detail/listed.hpp"
#include "augur/detail/selection.hpp"
#include "augur/types/token.hpp"

namespace augur {

/// Weights over the vocabulary with their sum; probability(t) is weight over sum, in double precision. The float
/// weights *are* the distribution: whatever is drawn, accepted or subtracted uses them and this one sum, so a law that
/// holds for real numbers holds here to double precision. With them go the sums of their chunks (detail/chunks.hpp), so
/// that draws, races and differences pass over chunks without weight, which are nearly all after a cut.
/// A distribution that came from greedy decoding stores its single token only.
class distribution {
 public:
    distribution() = default;

    /// All mass on one token.
    static distribution point(token on, std::size_t vocabulary_size) {
        distribution result;
        result.become_point(on, vocabulary_size);
        return result;
    }
    /// In proportion to the weights, which must be finite and nonnegative.
    static distribution weighted(std::vector<float> weights) {
        distribution result;
        result.weights_ = std::move(weights);
        result.size_ = result.weights_.size();
        result.sums_.resize(detail::chunks_in(result.size_));
        result.sum_up();
        return result;
    }

    std::size_t size() const { return size_; }
    /// True when no token can be drawn: the row had no finite logit, or one that is NaN or +infinity.
    bool empty() const { return !(total_ > 0); }
    bool is_point() const { return point_ != no_token; }

    double operator[](std::size_t i) const {
        return is_point() ? (static_cast<std::size_t>(point_) == i ? 1.0 : 0.0) : static_cast<double>(weights_[i]);
    }
    double total() const { return total_; }
    /// What [] gives, and the sums of its chunks. Both mean nothing for a point.
    std::span<const float> weights() const { return weights_; }
    std::span<const double> sums() const { return sums_; }
    double probability(token of) const { return (*this)[static_cast<std::size_t>(of)] / total_; }

    /// The most probable token; of several, the one with the lowest id.
    token mode() const {
        if (is_point()) return point_;
        std::size_t best = 0;
        for (std::size_t i = 1; i < weights_.size(); ++i) {
            if (weights_[i] > weights_[best]) best = i;
        }
        return static_cast<token>(best);
    }

    /// Storage is kept between uses: these overwrite in place.
    void become_point(token on, std::size_t vocabulary_size) {
        size_ = vocabulary_size;
        point_ = on;
        total_ = 1;
    }
    void become_empty(std::size_t vocabulary_size) {
        reset(vocabulary_size);
        clear_weights();
    }
    /// Gives the storage for `size` weights to `fill(std::span<float>)`, then takes their sum. If `fill` throws, the
    /// distribution is empty.
    template <class Fill>
    void refill(std::size_t size, Fill&& fill) {
        fill(lend(size));
        sum_up();
    }
    /// The same for few tokens among many: `fill(detail::selection&)` says which, and all others have no weight.
    /// Cost: O(size / chunk size + tokens), beside what `fill` costs.
    template <class Fill>
    void refill_few(std::size_t size, Fill&& fill) {
        reset(size);
        fill(selection_);
        clear_weights();
        for (const detail::weighted_token& t : selection_.kept) {
            weights_[t.index] = t.weight;
            sums_[t.index / detail::chunk_size] = 1;  // is to be added up
        }
        for (std::size_t chunk = 0; chunk < sums_.size(); ++chunk) {
            if (sums_[chunk] > 0) sums_[chunk] = detail::chunk_sums<std::vector<float>>{weights_, size_}[chunk];
            total_ += sums_[chunk];
        }
    }
    /// The same for tokens that a list names, ascending, each once: `weigh(weights, some)` fills the weights of some of
    /// them, and throws nothing. All others have none. Cost: O(size / chunk size + tokens), where the list is that of
    /// the last time.
    template <class Weigh>
    void refill_listed(std::size_t size, std::span<const token> tokens, const Weigh& weigh) {
        if (size != weights_.size() || listed_.empty() || !std::ranges::equal(tokens, listed_)) {
            reset(size);
            clear_weights();
            listed_.assign(tokens.begin(), tokens.end());
        }
        reset(size);
        std::fill(sums_.begin(), sums_.end(), 0);
        detail::for_listed_groups(tokens, size, [&](std::span<const token> some, const auto& parts) {
            float weights[detail::chunk_size];
            weigh(weights, some);
            for (std::size_t i = 0; i < some.size(); ++i) weights_[static_cast<std::size_t>(some[i])] = weights[i];
            for (const detail::listed_part& part : parts) {
                const double sum = detail::sums_of_part<1>({weights}, some, part)[0];
                sums_[part.begin / detail::chunk_size] = sum;
                total_ += sum;
            }
        });
    }
    /// Takes a token's weight away; empty where no other has one.
    void exclude(token t) {
        if (is_point()) {
            if (t == point_) become_empty(size_);
            return;
        }
        const std::size_t chunk = static_cast<std::size_t>(t) / detail::chunk_size;
        weights_[static_cast<std::size_t>(t)] = 0;
        sums_[chunk] = detail::chunk_sums<std::vector<float>>{weights_, size_}[chunk];
        total_ = 0;
        for (const double sum : sums_) total_ += sum;
    }
    /// Storage for so many numbers, until the distribution becomes something; it is empty so far.
    std::span<float> lend(std::size_t size) {
        reset(size);
        listed_.clear();
        weights_.resize(size);
        sums_.assign(detail::chunks_in(size), std::numeric_limits<double>::infinity());
        return weights_;
    }

 private:
    void reset(std::size_t size) {
        size_ = size;
        point_ = no_token;
        total_ = 0;
    }

    /// Where the sum of a chunk is 0, so are its weights.
    void clear_weights() {
        listed_.clear();
        weights_.resize(size_);
        sums_.resize(detail::chunks_in(size_));
        for (std::size_t begin = 0; begin < size_; begin += detail::chunk_size) {
            double& sum = sums_[begin / detail::chunk_size];
            if (sum == 0) continue;
            std::fill(weights_.begin() + static_cast<std::ptrdiff_t>(begin),
                      weights_.begin() + static_cast<std::ptrdiff_t>(detail::end_of_chunk(begin, size_)), 0.0f);
            sum = 0;
        }
    }

    void sum_up() {
        const detail::chunk_sums<std::vector<float>> added{weights_, size_};
        for (std::size_t chunk = 0; chunk < sums_.size(); ++chunk) {
            sums_[chunk] = added[chunk];
            total_ += sums_[chunk];
        }
    }

    std::vector<float> weights_;
    std::vector<double> sums_;
    std::size_t size_ = 0;
    double total_ = 0;
    token point_ = no_token;
    std::vector<token> listed_;    // unless empty: of refill_listed, which filled all weights that may not be 0
    detail::selection selection_;  // storage only
};

}  // namespace augur
