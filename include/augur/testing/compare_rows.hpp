#pragma once
// Copies rows of logits and compares them bit for bit.

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "augur/model/concepts.hpp"
#include "augur/types/error.hpp"

namespace augur::testing {

/// Rows that stay what they are when the model goes on.
using row_copies = std::vector<std::vector<float>>;

row_copies copy_of(const LogitRows auto& rows) {
    row_copies copies;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const logit_row row = rows[i];
        copies.emplace_back(row.begin(), row.end());
    }
    return copies;
}

inline void append(row_copies& rows, const row_copies& more) {
    rows.insert(rows.end(), more.begin(), more.end());
}

inline row_copies last_of(const row_copies& rows, std::size_t count) {
    return {rows.end() - static_cast<std::ptrdiff_t>(count), rows.end()};
}

/// Equal bits; or, with a tolerance above 0, closer than that relative to 1 or the larger of them.
inline bool same_logit(float a, float b, double tolerance) {
    if (std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b)) return true;
    const double scale = 1 + std::fmax(std::abs(static_cast<double>(a)), std::abs(static_cast<double>(b)));
    return std::abs(static_cast<double>(a) - static_cast<double>(b)) < tolerance * scale;
}

/// Names the first logit that differs; empty when none does.
inline std::string difference(const row_copies& expected, const row_copies& got, double tolerance = 0) {
    if (expected.size() != got.size()) return augur::detail::message(got.size(), " rows instead of ", expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
        if (expected[i].size() != got[i].size()) {
            return augur::detail::message("row ", i, " has ", got[i].size(), " logits instead of ", expected[i].size());
        }
        for (std::size_t t = 0; t < expected[i].size(); ++t) {
            if (same_logit(expected[i][t], got[i][t], tolerance)) continue;
            return augur::detail::message("row ", i, ", token ", t, ": ", got[i][t], " instead of ", expected[i][t]);
        }
    }
    return "";
}

}  // namespace augur::testing
