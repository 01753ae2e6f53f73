#pragma once
// Explains where two distributions of texts first differ.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iomanip>
#include <map>
#include <ostream>
#include <vector>

#include "augur/testing/enumerate.hpp"
#include "augur/testing/report.hpp"
#include "augur/types/token.hpp"

namespace augur::testing {

/// The conditional probabilities of what follows a text; the end of the text is `no_token`.
using law_row = std::map<token, double>;

/// The smallest text after which two distributions go on differently, or the statement that there is none.
struct explanation {
    bool equal = true;
    std::vector<token> prefix{};  ///< generated tokens; the shortest, and of these the first
    law_row expected{};
    law_row got{};
    double here = 0;     ///< total variation of the two rows
    double overall = 0;  ///< of the distributions
    std::size_t expected_paths = 0;
    std::size_t got_paths = 0;

    friend std::ostream& operator<<(std::ostream& out, const explanation& e) {
        const auto flags = out.flags();
        const auto precision = out.precision();
        const int digits = e.digits();
        out << "total variation " << e.overall << " (" << e.expected_paths << " and " << e.got_paths << " paths)";
        if (!e.equal) {
            out << "\n    after " << describe(e.prefix) << ", total variation " << e.here;
            out << "\n      token  " << std::setw(digits + 2) << "expected"
                << "  " << std::setw(digits + 2) << "got" << std::fixed << std::setprecision(digits);
            for (const auto& [t, probability] : e.expected) {
                out << "\n      ";
                t == no_token ? out << "  end" : out << std::setw(5) << t;
                out << "  " << std::setw(digits + 2) << probability << "  " << std::setw(digits + 2) << e.got.at(t);
            }
        }
        out.flags(flags);
        out.precision(precision);
        return out;
    }

    /// How many after the point tell the two rows apart: six, or more where only they do.
    int digits() const {
        if (here > 1e-4 || !(here > 0)) return 6;
        return std::min(17, 2 + static_cast<int>(std::ceil(-std::log10(here))));
    }
};

namespace detail {

/// The law as a tree: for every text that something follows, the probabilities of what does.
inline std::map<std::vector<token>, law_row> rows_of(const text_distribution& of) {
    std::map<std::vector<token>, law_row> rows;
    for (const auto& [tokens, probability] : of.probability) {
        std::vector<token> before;
        for (token t : tokens) {
            rows[before][t] += probability;
            before.push_back(t);
        }
        rows[before][no_token] += probability;
    }
    for (auto& [before, row] : rows) {
        double total = 0;
        for (const auto& [t, p] : row) total += p;
        if (!(total > 0)) continue;
        for (auto& [t, p] : row) p /= total;
    }
    return rows;
}

/// Gives both rows an entry for every token of either; returns their total variation.
inline double align(law_row& a, law_row& b) {
    for (const auto& [t, p] : a) b.try_emplace(t, 0.0);
    double sum = 0;
    for (const auto& [t, p] : b) sum += std::abs(p - a.try_emplace(t, 0.0).first->second);
    return sum / 2;
}

}  // namespace detail

/// Compares two distributions; equal when they are within `tolerance` of each other. Cost: proportional to their texts.
inline explanation explain(const text_distribution& expected, const text_distribution& got, double tolerance = 1e-12) {
    explanation found{
        .overall = total_variation(expected, got), .expected_paths = expected.paths, .got_paths = got.paths};
    found.equal = found.overall <= tolerance;
    if (found.equal) return found;
    auto rows = detail::rows_of(expected);
    auto others = detail::rows_of(got);
    std::vector<std::vector<token>> order;
    for (const auto& [before, row] : rows) order.push_back(before);
    std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.size() < b.size(); });
    for (const auto& before : order) {
        const double here = detail::align(rows[before], others[before]);
        if (here <= found.here || (found.here > tolerance)) continue;
        found.prefix = before;
        found.here = here;
        found.expected = rows[before];
        found.got = others[before];
    }
    return found;
}

}  // namespace augur::testing
