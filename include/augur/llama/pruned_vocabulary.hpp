#pragma once
// The part of a target's vocabulary that a published draft's head has, by its tensors d2t and t2d.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "augur/io/files/safetensors.hpp"
#include "augur/types/error.hpp"
#include "augur/types/token.hpp"

namespace augur::llama {

struct pruned_vocabulary {
    std::vector<token> ids;         ///< of the target, ascending; none: all
    std::vector<std::size_t> rows;  ///< of the head, which belong to them
};

namespace detail {

/// t2d says the same as d2t.
inline void check_mask(const io::safetensors_folder& file, const std::vector<token>& ids) {
    if (!file.has("t2d")) return;
    const std::vector<std::int64_t> mask = file.integers("t2d");
    std::vector<token> marked;
    for (std::size_t i = 0; i < mask.size(); ++i) {
        if (mask[i] != 0) marked.push_back(static_cast<token>(i));
    }
    if (marked == ids) return;
    const auto first = std::mismatch(marked.begin(), marked.end(), ids.begin(), ids.end());
    augur::detail::fail(file.path().string(), ": t2d marks ", marked.size(), " tokens, d2t has ", ids.size(),
                        "; the first that only one of them has is ",
                        first.first == marked.end() ? *first.second
                        : first.second == ids.end() ? *first.first
                                                    : std::min(*first.first, *first.second));
}

}  // namespace detail

/// Of a file by its tensors d2t (the i-th token of the draft is the target's i + d2t[i]) and t2d (which of the target's
/// are among them; it may be left out). `said`: how many config.json says there are, 0 if it does not. Throws where
/// they contradict each other.
inline pruned_vocabulary read_pruned_vocabulary(const io::safetensors_folder& file, std::size_t said,
                                                std::size_t vocabulary) {
    if (!file.has("d2t")) {
        if (said != 0 && said != vocabulary) {
            augur::detail::fail(file.path().string(), ": draft_vocab_size is ", said, ", the target has ", vocabulary,
                                " tokens, and no tensor d2t says which they are");
        }
        return {};
    }
    const std::vector<std::int64_t> offsets = file.integers("d2t");
    const auto all = static_cast<std::int64_t>(vocabulary);
    if (said != 0 && said != offsets.size()) {
        augur::detail::fail(file.path().string(), ": d2t has ", offsets.size(), " tokens, but draft_vocab_size is ",
                            said);
    }
    pruned_vocabulary out;
    std::vector<token>& ids = out.ids;
    std::vector<std::size_t>& order = out.rows;
    for (std::size_t i = 0; i < offsets.size(); ++i) {
        const auto at = static_cast<std::int64_t>(i);
        if (offsets[i] < -at || offsets[i] >= all - at) {
            augur::detail::fail(file.path().string(), ": d2t makes of the draft's token ", i, ", ", offsets[i],
                                " further, none of the target's ", vocabulary, " tokens");
        }
        ids.push_back(static_cast<token>(at + offsets[i]));
    }
    order.resize(ids.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return ids[a] < ids[b]; });
    std::sort(ids.begin(), ids.end());
    if (const auto twice = std::adjacent_find(ids.begin(), ids.end()); twice != ids.end()) {
        augur::detail::fail(file.path().string(), ": d2t has two tokens for the target's ", *twice);
    }
    detail::check_mask(file, ids);
    return out;
}

}  // namespace augur::llama
