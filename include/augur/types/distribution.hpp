#pragma once
// A probability distribution over the vocabulary, as made from one row of logits.

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "augur/detail/chunks.hpp"
#include "augur/types/token.hpp"

namespace augur {

/// Weights over the vocabulary with their sum; probability(t) is weight over sum, in double precision. The float weights
/// *are* the distribution: whatever is drawn, accepted or subtracted uses them and this one sum, so a law that holds for
/// real numbers holds here to double precision.
/// A distribution that came from greedy decoding stores its single token only.
class distribution {
 public:
    distribution() = default;

    /// All mass on one token.
    static distribution point(token on, std::size_t vocabulary_size) {
        distribution made;
        made.become_point(on, vocabulary_size);
        return made;
    }
    /// In proportion to the weights, which must be finite and nonnegative.
    static distribution weighted(std::vector<float> weights) {
        distribution made;
        made.weights_ = std::move(weights);
        made.size_ = made.weights_.size();
        made.sum_up();
        return made;
    }

    std::size_t size() const { return size_; }
    /// True when no token can be drawn: the row had no finite logit, or one that is NaN or +infinity.
    bool empty() const { return !(total_ > 0); }
    bool is_point() const { return point_ != no_token; }

    double operator[](std::size_t i) const {
        return is_point() ? (static_cast<std::size_t>(point_) == i ? 1.0 : 0.0) : static_cast<double>(weights_[i]);
    }
    double total() const { return total_; }
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
        size_ = vocabulary_size;
        point_ = no_token;
        total_ = 0;
        weights_.assign(size_, 0.0f);
    }
    /// Gives the storage for `size` weights to `fill(std::span<float>)`, then takes their sum. If `fill` throws, the
    /// distribution is empty.
    template <class Fill>
    void refill(std::size_t size, Fill&& fill) {
        size_ = size;
        point_ = no_token;
        total_ = 0;
        weights_.resize(size);
        fill(std::span<float>(weights_));
        sum_up();
    }

 private:
    void sum_up() { total_ = detail::sum_in_chunks(weights_, weights_.size()); }

    std::vector<float> weights_;
    std::size_t size_ = 0;
    double total_ = 0;
    token point_ = no_token;
};

}  // namespace augur
