#pragma once
// Rows that name the only tokens with a logit above -infinity, and the same rows that say nothing.

#include <algorithm>
#include <augur/types/scores.hpp>
#include <cmath>
#include <cstddef>
#include <limits>
#include <random>
#include <vector>

namespace augur::testing {

struct listed_row {
    std::vector<float> logits;
    std::vector<token> possible;

    logit_row named() const { return {logits.data(), logits.size(), possible}; }
    logit_row plain() const { return logits; }
};

/// Kinds of rows: spread; rounded, so that many are equal; mostly impossible; far apart; with NaN; with +infinity; with
/// nothing possible.
inline constexpr int kinds_of_listed_rows = 7;

inline listed_row random_listed_row(std::size_t size, std::size_t count, int kind, std::mt19937& random) {
    constexpr float infinity = std::numeric_limits<float>::infinity();
    std::vector<token> ids(size);
    for (std::size_t i = 0; i < size; ++i) ids[i] = static_cast<token>(i);
    std::shuffle(ids.begin(), ids.end(), random);
    ids.resize(std::min(count, size));
    std::sort(ids.begin(), ids.end());
    listed_row row{std::vector<float>(size, -infinity), ids};
    std::normal_distribution<float> noise(0, kind == 3 ? 60.0f : 3.0f);
    for (const token id : ids) {
        float& logit = row.logits[static_cast<std::size_t>(id)];
        logit = noise(random);
        if (kind == 1) logit = std::round(logit);
        if (kind == 6 || (kind == 2 && random() % 4 != 0)) logit = -infinity;
        if (kind == 4 && random() % 16 == 0) logit = std::numeric_limits<float>::quiet_NaN();
        if (kind == 5 && random() % 16 == 0) logit = infinity;
    }
    return row;
}

/// look(row) for rows of many sizes, that are and are not multiples of 8 and of chunks, and for lists of one token,
/// of a few, and of enough to fill groups of chunks.
template <class Look>
void for_listed_rows(const Look& look) {
    std::mt19937 random(17);
    for (const std::size_t size : {1u, 7u, 8u, 40u, 255u, 256u, 257u, 511u, 515u, 1024u, 2045u, 5000u}) {
        for (const std::size_t count :
             {std::size_t{1}, std::size_t{2}, size / 16, size / 5, size / 4, size / 2, size}) {
            for (int kind = 0; kind < kinds_of_listed_rows; ++kind) {
                if (count > 0) look(random_listed_row(size, count, kind, random));
            }
        }
    }
}

}  // namespace augur::testing
