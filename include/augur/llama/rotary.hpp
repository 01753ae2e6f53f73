#pragma once
// The frequencies by which rotary pairs turn, and what stretches them.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string_view>
#include <vector>

#include "augur/llama/config.hpp"
#include "augur/types/error.hpp"

namespace augur::llama {

/// Angular frequency of each pair of `size` components, in radians per position; `factors` divide them, if there are
/// any.
inline std::vector<double> rotary_frequencies(std::size_t size, double base, const std::vector<float>& factors) {
    std::vector<double> out(size / 2);
    for (std::size_t i = 0; i < out.size(); ++i) {
        const double exponent = -2.0 * static_cast<double>(i) / static_cast<double>(size);
        out[i] = std::pow(base, exponent);
        if (!factors.empty()) out[i] /= static_cast<double>(factors[i]);
    }
    return out;
}

/// Of layers that turn as most do.
inline std::vector<double> rotary_frequencies(const config& c) {
    return rotary_frequencies(c.rotary_size, c.rotary_base, c.rotary_factors);
}

/// The same, followed by those of layers that turn locally, if there are any.
inline std::vector<double> all_rotary_frequencies(const config& c) {
    auto out = rotary_frequencies(c);
    if (c.local_rotary_base == 0) return out;
    const auto local = rotary_frequencies(c.rotary_size, c.local_rotary_base, {});
    out.insert(out.end(), local.begin(), local.end());
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

/// YaRN: pairs that turn more than `fast` times within the original context keep their frequency, those that turn less
/// than `slow` times have it divided by `factor`, and those between take some of both.
struct yarn_scaling {
    double factor = 1, original_context = 1, fast = 32, slow = 1;
    bool whole = true;  ///< the bounds are rounded outwards to whole pairs
};

/// Throws unless the numbers make sense. `origin` opens the message: the file's name.
inline void check_yarn(const yarn_scaling& scaling, const config& c, std::string_view origin) {
    const bool is_sound = scaling.factor > 0 && scaling.original_context > 0 && scaling.slow > 0 &&
                          scaling.slow < scaling.fast && c.rotary_base > 1;
    if (is_sound) return;
    augur::detail::fail(origin, ": YaRN needs a factor and an original context above 0, 0 < slow < fast, and a base ",
                        "above 1, not ", scaling.factor, ", ", scaling.original_context, ", ", scaling.slow, ", ",
                        scaling.fast, " and ", c.rotary_base);
}

inline std::vector<float> rotary_factors(const config& c, const yarn_scaling& scaling) {
    const auto size = static_cast<double>(c.rotary_size);
    const auto pair_that_turns = [&](double turns) {
        const double pi = 3.14159265358979323846;
        return size * std::log(scaling.original_context / (turns * 2 * pi)) / (2 * std::log(c.rotary_base));
    };
    double low = pair_that_turns(scaling.fast), high = pair_that_turns(scaling.slow);
    if (scaling.whole) {
        low = std::floor(low);
        high = std::ceil(high);
    }
    low = std::max(low, 0.0);
    high = std::min(high, size - 1);
    if (low == high) high += 0.001;
    std::vector<float> out;
    for (std::size_t i = 0; i < c.rotary_size / 2; ++i) {
        const double stretched = std::clamp((static_cast<double>(i) - low) / (high - low), 0.0, 1.0);
        out.push_back(static_cast<float>(1 / (stretched / scaling.factor + 1 - stretched)));
    }
    return out;
}

/// What YaRN scales cosines and sines by unless the file says otherwise; `weight` is 1 but in DeepSeek's form.
inline double yarn_magnitude(double factor, double weight = 1) {
    return factor <= 1 ? 1.0 : 0.1 * weight * std::log(factor) + 1;
}

/// The same of LongRoPE.
inline double longrope_magnitude(double factor, double original_context) {
    return factor <= 1 ? 1.0 : std::sqrt(1 + std::log(factor) / std::log(original_context));
}

/// LongRoPE turns by short factors within a context of short_context tokens, and by long ones in longer contexts, which
/// are to be asked for (0: not). A context is the most that a sequence may hold, so no token turns twice.
inline config with_rotary_factors(config c, std::size_t asked_context) {
    if (c.short_context == 0) return c;
    if (asked_context > c.short_context) {
        c.rotary_factors = c.long_rotary_factors;
        c.notes.push_back(augur::detail::message("a context of more than ", c.short_context,
                                                 " tokens: all positions turn by LongRoPE's long factors"));
    } else if (c.context > c.short_context) {
        c.notes.push_back(augur::detail::message("the context is ", c.short_context, ", that of LongRoPE's short ",
                                                 "factors; one of up to ", c.context, " is to be asked for"));
        c.context = c.short_context;
    }
    c.short_context = 0;
    c.long_rotary_factors.clear();
    return c;
}

}  // namespace augur::llama
