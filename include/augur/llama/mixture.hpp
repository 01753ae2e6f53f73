#pragma once
// The shape of a mixture of experts, and how a row's experts are weighed.

#include <cstddef>
#include <string_view>
#include <vector>

#include "augur/types/error.hpp"

namespace augur::llama {

/// Feed-forwards of which each row goes through some. A router scores all of them; the `used` best are chosen, of equal
/// ones the first; what they answer is summed by weights, in the order of their scores. There may be one more, through
/// which every row goes: what it answers is added, times the sigmoid of a score of its own.
struct mixture {
    std::size_t count = 0;                ///< experts of a layer; 0: none
    std::size_t used = 0;                 ///< by a row
    std::size_t feed_forward = 0;         ///< of one expert
    bool shares_of_chosen = true;         ///< weights: the softmax of the chosen scores; else their part of that of all
    bool biased = false;                  ///< router, gate, up and down of each expert
    std::size_t shared_feed_forward = 0;  ///< of the expert of all rows; 0: there is none
    std::vector<bool> is_dense{};         ///< layers with one feed-forward instead; empty: none

    bool is_in(std::size_t layer) const { return count != 0 && (is_dense.empty() || !is_dense[layer]); }

    bool operator==(const mixture&) const = default;
};

/// Throws unless every number makes sense alone and with the others. `origin` opens the messages.
inline void validate(const mixture& m, std::size_t layers, std::size_t width, std::string_view origin) {
    using augur::detail::fail;
    if (m.count == 0) return;
    const auto within = [&](std::string_view name, std::size_t value, std::size_t most) {
        if (value < 1 || value > most) fail(origin, ": ", name, " is ", value, ", not within 1..", most);
    };
    within("the number of experts", m.count, 4096);
    if (m.used < 1 || m.used > m.count) {
        fail(origin, ": a row uses ", m.used, " experts of the ", m.count, " that there are");
    }
    within("the feed-forward width of an expert", m.feed_forward, 1u << 22);
    if (m.shared_feed_forward != 0)
        within("the feed-forward width of the shared expert", m.shared_feed_forward, 1u << 22);
    within("the size of all that a row's experts hold (experts used by feed-forward width)", m.used * m.feed_forward,
           1u << 22);
    within("the size of all that a row's experts answer (experts used by width)", m.used * width, 1u << 22);
    if (!m.is_dense.empty() && m.is_dense.size() != layers) {
        fail(origin, ": it is said of ", m.is_dense.size(), " layers whether they have experts, of ", layers);
    }
}

}  // namespace augur::llama
