#pragma once
// Proposals, printed and compared with their rows.

#include <concepts>
#include <cstddef>
#include <string>

#include "augur/testing/report.hpp"
#include "augur/types/error.hpp"
#include "augur/types/proposal.hpp"

namespace augur::testing {

inline bool same_row(const distribution& a, const distribution& b) {
    if (a.size() != b.size() || a.total() != b.total()) return false;
    for (std::size_t i = 0; i < a.size(); ++i) {
        if (a[i] != b[i]) return false;
    }
    return true;
}

/// What is different about `got`: its tokens, or a claimed row. Empty when nothing is.
template <class Claim>
std::string difference(const proposal<Claim>& expected, const proposal<Claim>& got) {
    if (describe(expected.tokens()) != describe(got.tokens())) {
        return "proposes " + describe(got.tokens()) + " instead of " + describe(expected.tokens());
    }
    if constexpr (std::same_as<Claim, distribution>) {
        for (std::size_t i = 0; i < expected.size(); ++i) {
            if (!same_row(*expected[i].row, *got[i].row)) {
                return augur::detail::message("proposes ", describe(got.tokens()), " with another row at ", i);
            }
        }
    }
    return "";
}

}  // namespace augur::testing
