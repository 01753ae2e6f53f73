#pragma once
// The options of an exit head: which parts are trainable, and their offsets among its parameters.

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "augur/train/matrix.hpp"
#include "augur/types/error.hpp"

namespace augur::train {

/// What is done to a hidden state before the product. The model's own final norm is the one to clone.
enum class norm_kind { rms, layer, none };
/// What logits are multiplied by: a learned number, one for each class, or nothing.
enum class scale_kind { global, per_class, none };
/// How W_exit differs from the model's head W.
enum class update_kind {
    state,   ///< W (I + up down): up is width by rank. Few numbers, all of which every token trains
    output,  ///< W + up down: up is classes by rank
    full,    ///< a matrix of its own, which starts as W
    none     ///< not at all: norm, scale and bias are all that is learned
};

constexpr std::string_view name_of(norm_kind of) {
    return of == norm_kind::rms ? "rms" : of == norm_kind::layer ? "layer" : "none";
}
constexpr std::string_view name_of(scale_kind of) {
    return of == scale_kind::global ? "global" : of == scale_kind::per_class ? "per_class" : "none";
}
constexpr std::string_view name_of(update_kind of) {
    constexpr std::array<std::string_view, 4> names{"state", "output", "full", "none"};
    return names[static_cast<std::size_t>(of)];
}

struct head_options {
    norm_kind norm = norm_kind::rms;
    double epsilon = 1e-5;  ///< of the norm, the model's own
    bool learn_norm = true;
    scale_kind scale = scale_kind::global;
    update_kind update = update_kind::state;
    std::size_t rank = 16;       ///< of `state` and `output`
    std::size_t layer_rank = 0;  ///< of the last drafting layer's projections, by a layer_head; 0: they do not learn
    bool weight_norm = false;    ///< each row of W_exit has a learned length and a direction
    bool bias = false;
    double clamp = 0;        ///< |W_exit| stays within so many times |W| (Frobenius norms); 0: unbounded
    std::uint64_t seed = 0;  ///< of `down` at first; `up` starts at 0, so that the head starts as the model's

    friend bool operator==(const head_options&, const head_options&) = default;
};

/// Of an attending_head.
struct attending_options : head_options {
    std::size_t attention_rank = 0;  ///< of updates of queries, keys and values; layer_rank is that of the other four

    friend bool operator==(const attending_options&, const attending_options&) = default;
};

/// All parameters are one array, in these blocks. Blocks that are not there are empty.
struct head_layout {
    head_block norm_weight, norm_bias, up, down, full, gain, scale, bias;
    std::size_t size = 0;

    head_layout(const head_options& chosen, std::size_t classes, std::size_t width) {
        check(chosen, classes, width);
        const auto add = [&](head_block& block, std::string_view name, bool there, std::size_t rows,
                             std::size_t columns, bool decays) {
            block = {name, size, there ? rows : 0, columns, decays};
            size += block.size();
        };
        const bool low_rank = chosen.update == update_kind::state || chosen.update == update_kind::output;
        const std::size_t outputs = chosen.update == update_kind::state ? width : classes;
        add(norm_weight, "norm_weight", chosen.norm != norm_kind::none && chosen.learn_norm, width, 1, false);
        add(norm_bias, "norm_bias", chosen.norm == norm_kind::layer && chosen.learn_norm, width, 1, false);
        add(up, "up", low_rank, outputs, chosen.rank, true);
        add(down, "down", low_rank, chosen.rank, width, true);
        add(full, "full", chosen.update == update_kind::full, classes, width, true);
        add(gain, "gain", chosen.weight_norm, classes, 1, false);
        add(scale, "scale", chosen.scale != scale_kind::none, chosen.scale == scale_kind::global ? 1 : classes, 1,
            false);
        add(bias, "bias", chosen.bias, classes, 1, false);
    }

    std::array<head_block, 8> blocks() const { return {norm_weight, norm_bias, up, down, full, gain, scale, bias}; }

 private:
    static void check(const head_options& chosen, std::size_t classes, std::size_t width) {
        if (!(chosen.epsilon >= 0 && std::isfinite(chosen.epsilon))) {
            detail::fail("state_head: epsilon is ", chosen.epsilon, "; it must be finite, and 0 or more");
        }
        if (chosen.layer_rank != 0) {
            detail::fail("state_head: layer_rank is ", chosen.layer_rank, "; it has no layer, a layer_head has one");
        }
        if (chosen.clamp != 0 && !(chosen.clamp >= 1 && std::isfinite(chosen.clamp))) {
            detail::fail("state_head: clamp is ", chosen.clamp, "; it must be 1 or more, or 0 for none");
        }
        if (chosen.clamp != 0 && chosen.weight_norm) {
            detail::fail("state_head: clamp is ", chosen.clamp,
                         " and weight_norm is on; rows of a learned length are not clamped");
        }
        const bool low_rank = chosen.update == update_kind::state || chosen.update == update_kind::output;
        const std::size_t most = chosen.update == update_kind::state || width < classes ? width : classes;
        if (low_rank && (chosen.rank == 0 || chosen.rank > most)) {
            detail::fail("state_head: rank is ", chosen.rank, "; it must be between 1 and ", most);
        }
    }
};

}  // namespace augur::train
