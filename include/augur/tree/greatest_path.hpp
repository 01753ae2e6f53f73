#pragma once
// The greatest path of a draft tree in lexicographic order, and its distribution.

#include <cstddef>
#include <cstdint>
#include <span>

#include "augur/detail/host_device.hpp"
#include "augur/types/token.hpp"
#include "augur/types/topology.hpp"

namespace augur::tree {

/// A token, by target / draft; of equal ones the lower id is greater.
struct ranked_token {
    float ratio;
    token id;
    AUGUR_HOST_DEVICE friend bool operator<(const ranked_token& a, const ranked_token& b) {
        return a.ratio != b.ratio ? a.ratio < b.ratio : a.id > b.id;
    }
};

/// A token on the greatest path: the draft draws lower ones with probability `below`, and it with probability `here`.
struct picked_token {
    token id = no_token;
    std::uint32_t node = 0;  ///< the first that has it
    float ratio = 0;         ///< target / draft
    double below = 0, here = 0;
};

/// The probability that no path is greater than the one so far with one more token: a polynomial in the probability
/// that one draw of that token is not greater.
struct none_above {
    const double* coefficients;  ///< from the constant on
    std::size_t count;

    /// (value at b - value at a) / (b - a), without a difference.
    AUGUR_HOST_DEVICE double slope(double a, double b) const {
        double value = coefficients[count - 1], found = 0;
        for (std::size_t i = count - 1; i > 0; --i) {
            found = found * b + value;
            value = value * a + coefficients[i - 1];
        }
        return found;
    }
};

/// Doubles, and numbers of depths, that greatest_path::next_above works in, for a tree of so many nodes.
AUGUR_HOST_DEVICE constexpr std::size_t doubles_for(std::size_t nodes) {
    return 2 * nodes + 2;
}
AUGUR_HOST_DEVICE constexpr std::size_t depths_for(std::size_t nodes) {
    return nodes + 1;
}

/// The greatest path of a tree in lexicographic order, by target / draft of each token: its first `size` tokens are
/// picked, and the next one is asked for. On the host and in kernels; what it knows lies with somebody else.
template <class Tree>
struct greatest_path {
    const Tree& proposed;
    std::span<const std::int32_t> parents;
    std::uint32_t* depths;  ///< of nodes whose path is the path, or a part of it; else 0
    picked_token* picked;
    std::size_t size = 0;

    /// The first node from `from` on that competes for the next token: the path to its parent has the path's tokens.
    /// The tree's size where there is none.
    AUGUR_WHERE_ARGUMENTS_CAN
    AUGUR_HOST_DEVICE std::size_t competitor(std::size_t from) const {
        const auto competes = [this](std::int32_t parent) {
            return parent == after_prefix ? size == 0 : size > 0 && depths[parent] == size;
        };
        while (from < proposed.size() && !competes(parents::of(parents, from))) ++from;
        return from;
    }

    /// The greatest of those that compete, from the first on, by `rank(token)`.
    AUGUR_WHERE_ARGUMENTS_CAN
    AUGUR_HOST_DEVICE void pick(std::size_t first, const auto& rank) const {
        const auto tokens = proposed.tokens();
        ranked_token best = rank(tokens[first]);
        picked[size].node = static_cast<std::uint32_t>(first);
        for (std::size_t node = competitor(first + 1); node < proposed.size(); node = competitor(node + 1)) {
            const ranked_token other = rank(tokens[node]);
            if (!(best < other)) continue;
            best = other;
            picked[size].node = static_cast<std::uint32_t>(node);
        }
        picked[size].id = best.id;
        picked[size].ratio = best.ratio;
        for (std::size_t node = competitor(first); node < proposed.size(); node = competitor(node + 1)) {
            if (tokens[node] == best.id) depths[node] = static_cast<std::uint32_t>(size + 1);
        }
    }

    /// For the next token. Through the tree in depth: each node of the path so far has a product over its children, the
    /// innermost last in `all`; `begins` by depth.
    AUGUR_WHERE_ARGUMENTS_CAN
    AUGUR_HOST_DEVICE none_above next_above(double* all, std::uint32_t* begins) const {
        std::size_t depth = 0, end = 0, from = 0;
        std::int32_t node = after_prefix;
        begins[0] = 0;
        all[end++] = 1;
        while (true) {
            const std::size_t child = parents::next_child(parents, proposed.size(), node, from);
            if (child < proposed.size()) {
                from = child + 1;
                if (depth == size) {
                    times_x(all + begins[depth], all + end++);
                } else {
                    node = static_cast<std::int32_t>(child);
                    begins[++depth] = static_cast<std::uint32_t>(end);
                    all[end++] = 1;
                }
            } else if (depth == 0) {
                return {all, end};
            } else {
                double* const own = all + begins[depth--];
                for (double* each = own; each != all + end; ++each) *each *= picked[depth].here;
                *own += picked[depth].below;
                end = static_cast<std::size_t>(multiply(all + begins[depth], own, all + end) - all);
                from = static_cast<std::size_t>(node) + 1;
                node = parents::of(parents, static_cast<std::size_t>(node));
            }
        }
    }

 private:
    static AUGUR_HOST_DEVICE void times_x(double* begin, double* end) {
        for (; end != begin; --end) *end = end[-1];
        *begin = 0;
    }

    /// [a, b) becomes its product with [b, end), whose end is returned.
    static AUGUR_HOST_DEVICE double* multiply(double* a, double* b, double* end) {
        const auto count = (end - a) - 1;
        for (double* each = end; each != end + count; ++each) *each = 0;
        for (auto i = 0 * count; i < b - a; ++i) {
            for (auto k = 0 * count; k < end - b; ++k) end[i + k] += a[i] * b[k];
        }
        for (auto i = 0 * count; i < count; ++i) a[i] = end[i];
        return a + count;
    }
};

}  // namespace augur::tree
