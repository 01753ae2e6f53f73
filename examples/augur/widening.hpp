#pragma once
// Widens a Llama to a larger shape with the same output: its weights in a corner of each matrix. See
// docs/llama/widened.md.

#include <algorithm>
#include <augur/llama/config.hpp>
#include <augur/types/error.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include "llama_shape.hpp"

namespace augur::program {

/// What a dimension of a tensor counts. `fixed` stays as it is: tokens, ranks. `attended`: values, for each head of
/// queries.
enum class axis { fixed, width, feed_forward, queries, keys, values, attended };

/// What a tensor is, as far as widening goes.
struct tensor_role {
    axis rows = axis::fixed;
    axis columns = axis::fixed;
    bool is_norm = false;
    bool writes_residual =
        false;  ///< or the padding of hidden states in another way: filled with zeros, else with noise
};

/// Where the numbers of a Llama lie in a larger one, and what lies beside them, so that the larger one makes the same
/// logits up to rounding, and hidden states that begin with the same numbers and end with zeros:
/// - the residual's padding is zero: embeddings, attention's outputs and feed-forward outputs are padded with zeros;
/// - norms are scaled by sqrt(narrow / wide), and their epsilon by narrow / wide, because they divide by the wide
///   width;
/// - whole heads are added, each group keeps its query heads first, so that a query meets the keys that it met;
/// - where heads grow r times, rotary pair i becomes pair r i, which turns as fast; queries are scaled by sqrt(r);
///   added components of keys are zero;
/// - layers are added whose outputs are zero.
/// All else is noise of the size of weights, so that nothing is free. Rotary pairs lie beside each other, as in GGUF.
class widening {
 public:
    static constexpr std::size_t noise = std::numeric_limits<std::size_t>::max();
    static constexpr std::size_t zero = noise - 1;

    /// Throws augur::error, with both shapes, unless `to` has room for each of these.
    widening(llama::config narrow, const llama_shape& to) : narrow_(std::move(narrow)), wide_(to.sized(narrow_)) {
        check();
        wide_.norm_epsilon = narrow_.norm_epsilon * static_cast<float>(share());
        if (heads_grow() > 1) {
            wide_.rotary_size = wide_.head_size;
            std::vector<float> factors(narrow_.rotary_factors.empty() ? 0 : wide_.rotary_size / 2, 1.0f);
            for (std::size_t i = 0; i < narrow_.rotary_factors.size(); ++i) {
                factors[i * heads_grow()] = narrow_.rotary_factors[i];
            }
            wide_.rotary_factors = std::move(factors);
        }
    }

    const llama::config& narrow() const { return narrow_; }
    const llama::config& wide() const { return wide_; }

    /// Size of a dimension of the wide tensor that is `narrow` in the narrow one. Several widths may lie side by side.
    std::size_t size(axis of, std::size_t narrow) const {
        if (of == axis::fixed) return narrow;
        const auto [from, to] = sizes(of);
        if (narrow % from != 0 || (of != axis::width && narrow != from)) {
            augur::detail::fail("to widen: a dimension of ", narrow, " where ", from, " was expected");
        }
        return narrow / from * to;
    }

    /// Of each index of a wide dimension the narrow index whose number lies there, `zero` or `noise`.
    std::vector<std::size_t> sources(axis of, std::size_t narrow) const {
        std::vector<std::size_t> out(size(of, narrow), noise);
        for (std::size_t i = 0; i < narrow; ++i) out[place(of, i)] = i;
        if (of == axis::keys) {
            const std::size_t used = narrow_.key_value_heads * wide_.head_size;
            std::replace(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(used), noise, zero);
        }
        return out;
    }

    /// By which a narrow number is multiplied.
    float scale(const tensor_role& role) const {
        if (role.is_norm) return static_cast<float>(std::sqrt(share()));
        return role.rows == axis::queries ? static_cast<float>(std::sqrt(static_cast<double>(heads_grow()))) : 1.0f;
    }

 private:
    double share() const { return static_cast<double>(narrow_.width) / static_cast<double>(wide_.width); }
    std::size_t heads_grow() const { return wide_.head_size / narrow_.head_size; }

    void check() const {
        const llama::config &a = narrow_, &b = wide_;
        const auto refuse = [&](std::string_view why) {
            augur::detail::fail("a Llama of ", shape_of(a).text(), " cannot be widened to ", shape_of(b).text(), ": ",
                                why);
        };
        llama::validate(a, "the shape to widen");
        llama::check_is_llama(a, "widening");
        llama::stored_layout dense = a.stored;
        dense.experts = {};  // it has none
        if (dense != llama::stored_layout{}) refuse("its file stores queries and keys otherwise than a Llama's");
        llama::validate(b, "the wider shape");
        if (b.width < a.width || b.feed_forward < a.feed_forward || b.layers < a.layers) refuse("it is smaller");
        if (b.key_value_heads < a.key_value_heads || b.heads / b.key_value_heads < a.heads / a.key_value_heads) {
            refuse("it has fewer heads, or fewer that share keys");
        }
        if (b.head_size % a.head_size != 0) refuse("its heads are no multiple");
        if (b.head_size != a.head_size && a.rotary_size != a.head_size) refuse("a part of each head does not turn");
    }

    std::pair<std::size_t, std::size_t> sizes(axis of) const {
        switch (of) {
            case axis::width:
                return {narrow_.width, wide_.width};
            case axis::feed_forward:
                return {narrow_.feed_forward, wide_.feed_forward};
            case axis::queries:
            case axis::attended:
                return {narrow_.heads * narrow_.head_size, wide_.heads * wide_.head_size};
            case axis::keys:
            case axis::values:
                return {narrow_.key_value_heads * narrow_.head_size, wide_.key_value_heads * wide_.head_size};
            case axis::fixed:
                break;
        }
        return {1, 1};
    }

    std::size_t place(axis of, std::size_t index) const {
        if (of == axis::fixed || of == axis::feed_forward) return index;
        if (of == axis::width) return index / narrow_.width * wide_.width + index % narrow_.width;
        const std::size_t head = index / narrow_.head_size, component = index % narrow_.head_size;
        const bool turns = of == axis::queries || of == axis::keys;
        return wide_head(of, head) * wide_.head_size + (turns ? turned(component) : component);
    }
    std::size_t wide_head(axis of, std::size_t head) const {
        if (of != axis::queries && of != axis::attended) return head;
        const std::size_t group = narrow_.heads / narrow_.key_value_heads;
        return head / group * (wide_.heads / wide_.key_value_heads) + head % group;
    }
    /// Where a component lies whose pair keeps its frequency.
    std::size_t turned(std::size_t component) const { return component / 2 * 2 * heads_grow() + component % 2; }

    llama::config narrow_, wide_;
};

}  // namespace augur::program
