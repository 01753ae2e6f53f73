#pragma once
// What changes single logits of a row in device memory: bias and penalties, from the few tokens that they name, and bit
// masks.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "augur/backend/device/execution.hpp"
#include "augur/transform/bias.hpp"
#include "augur/transform/penalties.hpp"
#include "augur/types/prefix.hpp"
#include "augur/types/token.hpp"

namespace augur::backend::device {

struct biased_token {
    token id = no_token;
    float by = 0;
};

/// Each run of one token is one worker's, so that repeated biases add up in their order.
struct add_bias {
    const biased_token* added;
    std::size_t count;
    float* logits;

    AUGUR_HOST_DEVICE void operator()(std::size_t i) const {
        const token id = added[i].id;
        if (i > 0 && added[i - 1].id == id) return;
        for (; i < count && added[i].id == id; ++i) logits[id] += added[i].by;
    }
};

/// The biases, by token, in device memory: once for all rows.
inline memory<biased_token> upload(const transform::bias& bias) {
    std::vector<biased_token> sorted;
    for (const auto& [id, by] : bias.added) sorted.push_back({id, by});
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const biased_token& a, const biased_token& b) { return a.id < b.id; });
    return {sorted.begin(), sorted.end()};
}

struct counted_token {
    token id = no_token;
    float generated = 0;
};

/// transform::penalties, for one token of the prefix.
struct penalise {
    const counted_token* seen;
    transform::penalties by;
    float* logits;

    AUGUR_HOST_DEVICE void operator()(std::size_t i) const {
        float logit = logits[seen[i].id];
        by.apply(logit, seen[i].generated);
        logits[seen[i].id] = logit;
    }
};

/// Distinct tokens of the prefix that the vocabulary has, with how often they were generated.
inline memory<counted_token> upload(const prefix& before, std::size_t vocabulary_size) {
    std::vector<counted_token> seen;
    for (const auto& [id, count] : before.counts()) {
        if (static_cast<std::size_t>(id) < vocabulary_size) seen.push_back({id, static_cast<float>(count.generated)});
    }
    return {seen.begin(), seen.end()};
}

/// Removes the tokens whose bit is 0: bit t % 32 of word t / 32, as grammars write them. The words lie in device
/// memory.
struct keep_allowed {
    const std::uint32_t* allowed;
    float* logits;

    AUGUR_HOST_DEVICE void operator()(std::size_t i) const {
        if ((allowed[i / 32] >> (i % 32) & 1u) == 0) logits[i] = -std::numeric_limits<float>::infinity();
    }
};

}  // namespace augur::backend::device
