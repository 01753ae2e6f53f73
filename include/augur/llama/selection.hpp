#pragma once
// Selects the part of a file's model to load: some of its layers, some rows of its head.

#include <algorithm>
#include <cstddef>
#include <limits>
#include <numeric>
#include <span>
#include <string_view>
#include <vector>

#include "augur/types/error.hpp"
#include "augur/types/token.hpp"

namespace augur::llama {

/// The layers to read of a file that has `count`: those that are wanted, in that order; all if none is named. `origin`
/// opens the messages: the file's name.
inline std::vector<std::size_t> chosen_layers(std::vector<std::size_t> wanted, std::size_t count,
                                              std::string_view origin) {
    for (const std::size_t layer : wanted) {
        if (layer >= count) {
            augur::detail::fail(origin, ": layer ", layer, " was asked for, but there are ", count, ", from 0 on");
        }
    }
    if (wanted.empty()) {
        wanted.resize(count);
        std::iota(wanted.begin(), wanted.end(), std::size_t{0});
    }
    return wanted;
}

/// Throws unless the taps are ascending and of a model with so many layers.
inline std::vector<std::size_t> checked_taps(std::vector<std::size_t> taps, std::size_t layers) {
    for (std::size_t i = 0; i < taps.size(); ++i) {
        if (taps[i] > layers) {
            augur::detail::fail("the state after ", taps[i], " layers was asked for, but there are ", layers);
        }
        if (i > 0 && taps[i] <= taps[i - 1]) {
            augur::detail::fail("the states after ", taps[i - 1], " and ", taps[i],
                                " layers were asked for in this order, which is not ascending");
        }
    }
    return taps;
}

/// The tokens whose rows a head keeps, ascending, each once.
inline std::vector<token> chosen_tokens(std::vector<token> wanted, std::size_t vocabulary, std::string_view origin) {
    for (const token id : wanted) {
        if (id < 0 || static_cast<std::size_t>(id) >= vocabulary) {
            augur::detail::fail(origin, ": the head is to keep the token ", id, ", outside the vocabulary of ",
                                vocabulary);
        }
    }
    std::sort(wanted.begin(), wanted.end());
    const auto twice = std::adjacent_find(wanted.begin(), wanted.end());
    if (twice != wanted.end()) augur::detail::fail(origin, ": the head is to keep the token ", *twice, " twice");
    return wanted;
}

/// Moves the logits of ascending `ids`, which lie together at the start of a row, each to its place. Every other token
/// gets -infinity, which is probability 0.
inline void spread_logits(std::span<const token> ids, std::span<float> row) {
    const float impossible = -std::numeric_limits<float>::infinity();
    std::size_t end = row.size();
    for (std::size_t i = ids.size();
         i-- > 0;) {  // from the back: an id is never below its index, so none is overwritten
        const auto id = static_cast<std::size_t>(ids[i]);
        row[id] = row[i];
        std::fill(row.data() + id + 1, row.data() + end, impossible);
        end = id;
    }
    std::fill(row.data(), row.data() + end, impossible);
}

}  // namespace augur::llama
