#pragma once
// The dimensions of a Llama, which decide what a pass over it costs.

#include <augur/llama/config.hpp>
#include <augur/types/error.hpp>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace augur::program {

/// The sizes of a config that decide how many weights there are, vocabulary aside.
struct llama_shape {
    std::size_t width = 0, feed_forward = 0, heads = 0, key_value_heads = 0, head_size = 0, layers = 0;

    bool operator==(const llama_shape&) const = default;
    std::string text() const {
        return augur::detail::message(width, " x ", feed_forward, ", ", heads, " heads (", key_value_heads, ") of ",
                                      head_size, ", ", layers, " layers");
    }
    /// The config of that size with everything else as here.
    llama::config sized(llama::config c) const {
        c.width = width;
        c.feed_forward = feed_forward;
        c.heads = heads;
        c.key_value_heads = key_value_heads;
        c.head_size = head_size;
        c.layers = layers;
        return c;
    }
};

inline llama_shape shape_of(const llama::config& c) {
    return {c.width, c.feed_forward, c.heads, c.key_value_heads, c.head_size, c.layers};
}

/// Of models that people run: SmolLM2-360M, a TinyLlama with 30 layers, Llama 3.2 3B with 30, Llama 3.1 8B.
inline constexpr std::pair<std::string_view, llama_shape> named_shapes[] = {
    {"360m", {960, 2560, 15, 5, 64, 32}},
    {"1b", {2048, 5632, 32, 8, 64, 30}},
    {"3b", {3072, 8192, 24, 8, 128, 30}},
    {"8b", {4096, 14336, 32, 8, 128, 32}},
};

/// One of the names, or six numbers: "2048,5632,32,8,64,30". Throws augur::error, with what was given and what there
/// is.
inline llama_shape parse_shape(std::string_view text) {
    for (const auto& [name, sizes] : named_shapes) {
        if (text == name) return sizes;
    }
    const auto refuse = [&] {
        std::string names;
        for (const auto& [name, sizes] : named_shapes) names += std::string(name) + ", ";
        augur::detail::fail("the shape '", text, "' is none of ", names,
                            "nor width,feed_forward,heads,key_value_heads,head_size,layers");
    };
    std::size_t numbers[6] = {};
    std::size_t count = 0, digits = 0;
    for (const char c : text) {
        if (c == ',' && digits > 0 && count < 5) {
            ++count;
            digits = 0;
        } else if (c >= '0' && c <= '9' && ++digits < 8) {
            numbers[count] = numbers[count] * 10 + static_cast<std::size_t>(c - '0');
        } else {
            refuse();
        }
    }
    if (count != 5 || digits == 0) refuse();
    return {numbers[0], numbers[1], numbers[2], numbers[3], numbers[4], numbers[5]};
}

}  // namespace augur::program
