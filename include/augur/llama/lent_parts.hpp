#pragma once
// Lends a target's embedding and head to a layer that drafts for it and has none.

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "augur/backend/host/packed_matrix.hpp"
#include "augur/llama/host_model.hpp"
#include "augur/llama/memory.hpp"
#include "augur/llama/score_rule.hpp"
#include "augur/llama/weight_format.hpp"
#include "augur/llama/weights.hpp"
#include "augur/types/error.hpp"

namespace augur::llama {

/// Shares the target's embedding. Throws, with `origin`, the file's name, where the target scales it otherwise than the
/// layer.
inline void lend_embedding(const host_model& target, float scale, const std::string& origin, weights& out) {
    if (const float of = target.configuration().embedding_scale; of != scale) {
        augur::detail::fail(origin, ": the target's embedding, which it has not, is scaled by ", of,
                            ", and its own by ", scale);
    }
    out.embedding_is_lent = true;
    out.embedding = target.parameters().embedding;
}

/// Copies the target's head, where it is not the embedding. Throws, with `origin`, where the head has not a row for
/// every token, its logits are scaled or capped, or there is no memory for the copy.
inline void lend_head(const host_model& target, const std::string& origin, weights& out) {
    const config& of = target.configuration();
    if (!logit_rule(of).is_plain()) {
        augur::detail::fail(origin, ": its target's head, which it has not, is followed by a scale of ", of.logit_scale,
                            " and a cap of ", of.logit_cap, ", which no layer that drafts has");
    }
    if (!target.parameters().head_tokens.empty()) {
        augur::detail::fail(origin, ": its target's head does not have a row for every token");
    }
    const backend::host::packed_matrix& whole = target.parameters().output();
    if (&whole == out.embedding.get()) return;  // which stands for it
    std::vector<std::size_t> rows(whole.rows());
    std::iota(rows.begin(), rows.end(), std::size_t{0});
    check_weights(origin, stored_bytes(whole.format(), std::uint64_t{rows.size()} * whole.depth()));
    out.head = whole.selected(rows);
}

}  // namespace augur::llama
