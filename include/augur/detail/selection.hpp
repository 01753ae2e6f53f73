#pragma once
// Selects the tokens that top-k, top-p and min-p keep, without sorting or rewriting the row.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <vector>

#include "augur/detail/chunks.hpp"
#include "augur/detail/listed.hpp"
#include "augur/detail/mass.hpp"
#include "augur/detail/row_scan.hpp"

namespace augur::detail {

struct weighted_token {
    float weight = 0;
    std::size_t index = 0;

    /// In order of falling weight; ties: the lower index first.
    bool operator<(const weighted_token& other) const {
        return weight != other.weight ? weight > other.weight : index < other.index;
    }
};

/// Brings the most probable of `tokens` to the end, the most probable last, until they hold so many units of mass;
/// returns how many that takes, 0 where all of them do not hold it.
inline std::size_t rank_until(std::span<weighted_token> tokens, std::uint64_t mass) {
    const auto later = [](const weighted_token& a, const weighted_token& b) { return b < a; };
    std::make_heap(tokens.begin(), tokens.end(), later);
    std::uint64_t cumulative = 0;
    for (auto end = tokens.end(); end != tokens.begin();) {
        std::pop_heap(tokens.begin(), end, later);
        cumulative += mass_of((--end)->weight);
        if (cumulative >= mass) return static_cast<std::size_t>(tokens.end() - end);
    }
    return 0;
}

/// Tokens that are kept of one row, with the storage for finding them. Its memory is reused from row to row.
class selection {
 public:
    /// Looks at a row, which must outlive what follows. Where some of it is listed (listed.hpp) at that only: until
    /// put_back() an index is one of the list.
    row_extent scan(std::span<const float> logits, listed_places listed = {}) {
        if (!listed.empty()) {
            together_.resize(listed.size());
            gather(logits, listed, together_.data());
            logits = together_;
        }
        logits_ = logits;
        heads_.clear();
        kept.clear();
        kept.reserve(chunk_size);
        ordered_.reserve(chunk_size);
        row_extent seen;
        for (std::size_t begin = 0; begin < logits.size(); begin += chunk_size) {
            const row_extent here = extent_of_chunk(chunk(begin));
            heads_.push_back(here.largest);
            seen.valid = seen.valid && here.valid;
            seen.largest = here.largest > seen.largest ? here.largest : seen.largest;
        }
        return seen;
    }

    /// Keeps what is possible and not below the floor once it is sharpened.
    void keep_from(float floor, const sharpening& by) {
        by_ = by;
        kept.clear();
        floor = std::max(floor, std::numeric_limits<float>::lowest());
        for (std::size_t begin = 0; begin < logits_.size(); begin += chunk_size) {
            if (by.sharpened(heads_[begin / chunk_size]) < floor) continue;
            for (std::size_t i = begin; i < end_of_chunk(begin, logits_.size()); ++i) {
                if (by.sharpened(logits_[i]) >= floor) kept.push_back({by.weight(logits_[i]), i});
            }
        }
    }

    /// Keeps the k largest and ties with the k-th; 1 <= k. The k-th largest of the chunks' largest is exceeded
    /// by no more than belongs to k chunks, so that few logits are looked at twice.
    void keep_largest(std::size_t k, const sharpening& by) {
        if (k >= logits_.size()) return keep_from(std::numeric_limits<float>::lowest(), by);
        ordered_ = heads_;
        if (k > ordered_.size()) ordered_.assign(logits_.begin(), logits_.end());
        keep_from(by.sharpened(largest_but(k)), by);
        if (kept.size() <= k) return;
        ordered_.clear();
        for (const weighted_token& t : kept) ordered_.push_back(by.sharpened(logits_[t.index]));
        drop_below(largest_but(k));
    }

    /// Keeps the most probable tokens of the whole row until they hold this share of its mass.
    void keep_mass(double share, const sharpening& by) {
        by_ = by;
        std::uint64_t total = 0;
        for (std::size_t begin = 0; begin < logits_.size(); begin += chunk_size) {
            float weights[chunk_size];
            by.weigh(chunk(begin), weights);
            total += mass_of(weights, chunk(begin).size());
        }
        // Most of the mass is in few tokens, mostly. Tokens below the second floor hold less than is left out; the last
        // floor is for what rounding makes of that.
        const double second = (1 - share) * 0x1p-44 * static_cast<double>(total) / static_cast<double>(logits_.size());
        for (const float floor : {0x1.0p-10f, static_cast<float>(second), 0.0f}) {
            keep_weights_from(floor);
            if (cut_to_mass(units_in_share(share, total))) return;
        }
    }

    /// Keeps the most probable of the kept until they hold this share of their mass.
    void cut_to_share(double share) {
        std::uint64_t total = 0;
        for (const weighted_token& t : kept) total += mass_of(t.weight);
        cut_to_mass(units_in_share(share, total));
    }

    /// Of the kept, once it is sharpened. It may be less than the row's: of equal weights the lower index stays, and
    /// logits that differ may have equal weights.
    float largest_kept() const {
        float largest = -std::numeric_limits<float>::infinity();
        for (const weighted_token& t : kept) largest = std::max(largest, by_.sharpened(logits_[t.index]));
        return largest;
    }

    /// Drops what is below the floor once it is sharpened.
    void drop_below(float floor) {
        std::erase_if(kept, [&](const weighted_token& t) { return by_.sharpened(logits_[t.index]) < floor; });
    }

    /// Makes indices of this list those of the row.
    void put_back(listed_places listed) {
        for (weighted_token& t : kept) t.index = static_cast<std::size_t>(listed[t.index]);
    }

    std::vector<weighted_token> kept;

 private:
    std::span<const float> chunk(std::size_t begin) const {
        return logits_.subspan(begin, end_of_chunk(begin, logits_.size()) - begin);
    }

    /// The k-th largest of ordered_.
    float largest_but(std::size_t k) {
        const auto at = ordered_.begin() + static_cast<std::ptrdiff_t>(k - 1);
        std::nth_element(ordered_.begin(), at, ordered_.end(), std::greater<>());
        return *at;
    }

    /// Positive weights that are not below the floor. The exponential keeps the order of logits up to its rounding
    /// only.
    void keep_weights_from(float floor) {
        kept.clear();
        for (std::size_t begin = 0; begin < logits_.size(); begin += chunk_size) {
            if (by_.weight(heads_[begin / chunk_size]) * 1.00001f < floor) continue;
            float weights[chunk_size];
            by_.weigh(chunk(begin), weights);
            for (std::size_t i = 0; i < chunk(begin).size(); ++i) {
                if (weights[i] > 0 && weights[i] >= floor) kept.push_back({weights[i], begin + i});
            }
        }
    }

    /// Whether the kept hold the mass; if not, all stay.
    bool cut_to_mass(std::uint64_t mass) {
        const std::size_t needed = rank_until(kept, mass);
        if (needed > 0) kept.erase(kept.begin(), kept.end() - static_cast<std::ptrdiff_t>(needed));
        return needed > 0;
    }

    std::span<const float> logits_;
    sharpening by_;
    std::vector<float> heads_;  // the largest logit of each chunk
    std::vector<float> ordered_;
    std::vector<float> together_;  // what is listed of a row
};

}  // namespace augur::detail
