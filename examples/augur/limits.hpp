#pragma once
// The largest values that settings may have, whether a flag or a file says them. The least are for those to say who use
// them.

#include <augur/draft/prompt_lookup.hpp>
#include <augur/io/files/json.hpp>
#include <augur/types/error.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <type_traits>

namespace augur::program::most {

inline constexpr std::size_t length = 1024;  ///< tokens of a draft
inline constexpr std::size_t dynamic = 64;   ///< depth of a dynamic tree, and nodes of a depth that are expanded
inline constexpr std::size_t ngram = draft::prompt_lookup<>::longest;
inline constexpr std::size_t window = 4096;          ///< tokens, ead
inline constexpr std::size_t dwell = 1u << 24;       ///< tokens, ead
inline constexpr double threshold = 1000;            ///< of divergence or entropy, in whatever unit
inline constexpr std::size_t repetitions = 1000000;  ///< of a measurement
inline constexpr std::size_t together = 1024;        ///< texts of answer
inline constexpr std::size_t factor = 1000000;       ///< of tune

inline constexpr std::size_t tokens = 1u << 30;  ///< of all runs of a setting; and prompts
inline constexpr double seconds = 1e7;           ///< the same: four months
inline constexpr double speedup = 1e6;           ///< over plain decoding
inline constexpr double divergence = 1.001;      ///< per token: a total variation, and how it is rounded

inline constexpr std::uint64_t text_bytes = 1u << 28;                                              ///< of prompts
inline constexpr io::json_limits line{.bytes = 1u << 24, .depth = 16, .values = 1u << 16};         ///< of JSON
inline constexpr io::json_limits calibration{.bytes = 1u << 24, .depth = 16, .values = 1u << 18};  ///< a whole file
inline constexpr io::json_limits growth{.bytes = 1u << 26, .depth = 16, .values = 1u << 22};       ///< of a shard

template <class Number>
inline constexpr Number any = std::numeric_limits<Number>::max();

/// Throws where the value is larger; infinity stands for no threshold at all.
template <class Number>
void check(std::string_view name, Number value, Number limit) {
    if constexpr (std::is_floating_point_v<Number>) {
        if (std::isinf(value) && value > 0) return;
    }
    if (value > limit) detail::fail(name, " is ", value, "; it must be at most ", limit);
}

}  // namespace augur::program::most
