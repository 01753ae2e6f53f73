#pragma once
// The hyper-parameters of a Llama, validated before anything is built from them.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "augur/types/error.hpp"

namespace augur::llama {

/// A decoder-only transformer with RMS norms, rotary positions, grouped-query attention and a SiLU-gated feed-forward.
struct config {
    std::size_t layers = 0;
    std::size_t width = 0;  ///< of the hidden state
    std::size_t heads = 0;
    std::size_t key_value_heads = 0;  ///< divides heads
    std::size_t head_size = 0;
    std::size_t feed_forward = 0;
    std::size_t vocabulary = 0;
    std::size_t context = 0;      ///< tokens the model was trained for
    std::size_t rotary_size = 0;  ///< even, at most head_size: the leading components that turn
    double rotary_base = 10000.0;
    std::vector<float> rotary_factors;  ///< divisors of the frequencies, one per pair; empty means 1
    float norm_epsilon = 1e-5f;
    bool tied_head = false;              ///< the head is the embedding
    std::string vocabulary_fingerprint;  ///< of the file's tokens (io/text/token_texts.hpp); empty where it holds none
    std::size_t padded_vocabulary = 0;   ///< rows of embedding and head in the file, where they are more; else 0
    std::vector<std::string> notes{};    ///< what was taken otherwise than the file says it, one sentence each

    /// Rows of embedding and head in the file, those of no token included.
    std::size_t stored_rows() const { return std::max(vocabulary, padded_vocabulary); }
};

/// Angular frequency of each rotary pair, in radians per position.
inline std::vector<double> rotary_frequencies(const config& c) {
    std::vector<double> out(c.rotary_size / 2);
    for (std::size_t i = 0; i < out.size(); ++i) {
        const double exponent = -2.0 * static_cast<double>(i) / static_cast<double>(c.rotary_size);
        out[i] = std::pow(c.rotary_base, exponent);
        if (!c.rotary_factors.empty()) out[i] /= static_cast<double>(c.rotary_factors[i]);
    }
    return out;
}

/// Llama 3's stretching of long wavelengths, as divisors of the frequencies.
struct llama3_scaling {
    double factor = 1, low_frequency_factor = 1, high_frequency_factor = 1, original_context = 1;
};

inline std::vector<float> rotary_factors(const config& c, const llama3_scaling& scaling) {
    const double pi = 3.14159265358979323846;
    std::vector<float> out;
    for (const double frequency : rotary_frequencies(c)) {
        const double turns = scaling.original_context * frequency / (2 * pi);
        const double between =
            (turns - scaling.low_frequency_factor) / (scaling.high_frequency_factor - scaling.low_frequency_factor);
        double share = 1 / scaling.factor;  // of the frequency that is kept
        if (turns > scaling.high_frequency_factor)
            share = 1;
        else if (turns >= scaling.low_frequency_factor)
            share = (1 - between) / scaling.factor + between;
        out.push_back(static_cast<float>(1 / share));
    }
    return out;
}

/// Throws unless every number makes sense alone and with the others. `origin` opens the messages: the file's name.
inline void validate(const config& c, std::string_view origin) {
    const auto within = [&](std::string_view name, std::size_t value, std::size_t least, std::size_t most) {
        if (value < least || value > most) {
            detail::fail(origin, ": ", name, " is ", value, ", not within ", least, "..", most);
        }
    };
    within("the number of layers", c.layers, 1, 1024);
    within("the width", c.width, 1, 1u << 20);
    within("the number of heads", c.heads, 1, 4096);
    within("the number of key-value heads", c.key_value_heads, 1, c.heads);
    if (c.heads % c.key_value_heads != 0) {
        detail::fail(origin, ": ", c.heads, " heads cannot share ", c.key_value_heads, " key-value heads equally");
    }
    within("the head size", c.head_size, 1, 4096);
    within("the size of all queries (heads by head size)", c.heads * c.head_size, 1, 1u << 18);
    within("the size of all keys (key-value heads by head size)", c.key_value_heads * c.head_size, 1, 1u << 16);
    within("the feed-forward width", c.feed_forward, 1, 1u << 22);
    within("the vocabulary size", c.vocabulary, 1, std::numeric_limits<std::int32_t>::max());
    within("the context length", c.context, 1, std::numeric_limits<std::int32_t>::max());
    within("the rotary size", c.rotary_size, 2, c.head_size);
    if (c.rotary_size % 2 != 0) detail::fail(origin, ": the rotary size ", c.rotary_size, " is odd");
    if (!std::isfinite(c.rotary_base) || c.rotary_base <= 0) {
        detail::fail(origin, ": the rotary base ", c.rotary_base, " is not a positive number");
    }
    if (!std::isfinite(c.norm_epsilon) || c.norm_epsilon < 0) {
        detail::fail(origin, ": the norm's epsilon ", c.norm_epsilon, " is not a number of at least 0");
    }
    if (!c.rotary_factors.empty() && c.rotary_factors.size() != c.rotary_size / 2) {
        detail::fail(origin, ": ", c.rotary_factors.size(), " rotary factors for ", c.rotary_size / 2, " pairs");
    }
    for (const float factor : c.rotary_factors) {
        if (!std::isfinite(factor) || factor <= 0) detail::fail(origin, ": a rotary factor is ", factor);
    }
}

}  // namespace augur::llama
