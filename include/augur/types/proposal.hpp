#pragma once
// A proposal: drafted tokens with the distributions that they were drawn from.

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "augur/detail/host_device.hpp"
#include "augur/types/distribution.hpp"
#include "augur/types/prefix.hpp"
#include "augur/types/token.hpp"
#include "augur/types/topology.hpp"

namespace augur {

/// A draft distribution: the token was picked by a rule (largest, n-gram, beam), not drawn: a deterministic draft.
struct point_mass {};

/// A draft distribution: picked by the rule of the largest weight, as a point_mass, from this row, which is kept for
/// criteria that measure it.
struct mode_of_row : distribution {};

/// One drafted token as a criterion sees it. `DraftDistribution` is point_mass, mode_of_row, or the type of the very
/// row it was drawn from: distribution, or one that lies on a device.
template <class DraftDistribution>
struct drafted_token {
    token id = no_token;
    const DraftDistribution* row = nullptr;

    double probability(token t) const { return row->probability(t); }
};

template <>
struct drafted_token<point_mass> {
    token id = no_token;

    /// The probability with which the drafter proposes t.
    double probability(token t) const { return t == id ? 1.0 : 0.0; }
};

template <>
struct drafted_token<mode_of_row> : drafted_token<point_mass> {
    const mode_of_row* row = nullptr;

    drafted_token() = default;
    drafted_token(token picked, const mode_of_row* from) : drafted_token<point_mass>{picked}, row(from) {}
};

/// Draft distributions of a token that no draw could have made another.
template <class DraftDistribution>
concept DeterministicDistribution = std::derived_from<drafted_token<DraftDistribution>, drafted_token<point_mass>>;

namespace detail {

/// The tokens of a proposal and the parents of its nodes, which are stored from the first on that does not follow the
/// node before it: a chain has none.
class drafted_nodes {
 public:
    std::size_t size() const { return tokens_.size(); }
    bool empty() const { return tokens_.empty(); }
    std::span<const token> tokens() const { return tokens_; }
    /// Of every node; empty where they are a chain.
    std::span<const std::int32_t> parents() const { return parents_; }
    bool is_chain() const { return parents_.empty(); }
    std::int32_t parent(std::size_t node) const { return parents::of(parents_, node); }
    /// parents::aside: what draws for the children of `parent` are named by, beside the position.
    std::size_t aside(std::int32_t parent) const { return parents::aside(parents_, parent); }
    /// The probability that the drafter gives each token after its parent, where it says so; else empty.
    std::span<const float> confidences() const { return confidences_; }
    /// Of the first node that has none yet.
    void add_confidence(float probability) { confidences_.push_back(probability); }
    /// Keeps the first `nodes`: a tree, too, for parents come first.
    void shorten(std::size_t nodes) {
        tokens_.resize(std::min(nodes, size()));
        parents_.resize(std::min(nodes, parents_.size()));
        confidences_.resize(std::min(nodes, confidences_.size()));
    }
    /// Storage is kept.
    void clear() {
        tokens_.clear();
        parents_.clear();
        confidences_.clear();
    }

 protected:
    std::int32_t last() const { return static_cast<std::int32_t>(size()) - 1; }

    void add(token t, std::int32_t parent) {
        if (!is_chain() || parent != last()) branch(parent);
        tokens_.push_back(t);
    }

 private:
    void branch(std::int32_t parent) {
        parents::check(size(), parent);
        if (is_chain()) {
            parents_.resize(size());
            for (std::size_t i = 0; i < parents_.size(); ++i) parents_[i] = static_cast<std::int32_t>(i) - 1;
        }
        parents_.push_back(parent);
    }

    std::vector<token> tokens_;
    std::vector<std::int32_t> parents_;
    std::vector<float> confidences_;
};

}  // namespace detail

/// Drafted tokens: a chain, or a tree whose nodes are added parents first, siblings in the order in which they are to
/// be judged. With point_mass it stores no rows; else what [] returns points into the proposal, until the next push or
/// clear. The row of a sibling is the one that it was drawn from given the siblings before it: the same again where it
/// was drawn with replacement, without them and scaled where not. A parent that is not yet there is refused, and
/// nothing is added then.
template <class DraftDistribution>
class proposal : public detail::drafted_nodes {
 public:
    using draft_distribution_type = DraftDistribution;

    /// After the node before, or beneath `parent` (after_prefix: after the prefix).
    void push(token t, DraftDistribution drawn_from) { push(t, std::move(drawn_from), last()); }
    void push(token t, DraftDistribution drawn_from, std::int32_t parent) {
        next_row() = std::move(drawn_from);
        complete(t, parent);
    }
    /// The row of the token that comes next, to be overwritten, in the storage of one that was cleared; then
    /// complete(token).
    DraftDistribution& next_row() {
        if (rows_.size() == size()) rows_.emplace_back();
        return rows_[size()];
    }
    void complete(token drawn) { complete(drawn, last()); }
    void complete(token drawn, std::int32_t parent) {
        next_row();
        add(drawn, parent);
    }

    drafted_token<DraftDistribution> operator[](std::size_t i) const { return {tokens()[i], &rows_[i]}; }

 private:
    std::vector<DraftDistribution> rows_;  // at least as many as tokens
};

template <>
class proposal<point_mass> : public detail::drafted_nodes {
 public:
    using draft_distribution_type = point_mass;

    void push(token t) { push(t, last()); }
    void push(token t, std::int32_t parent) { add(t, parent); }

    drafted_token<point_mass> operator[](std::size_t i) const { return {tokens()[i]}; }
};

/// A chain whose type says that it does not branch.
template <class DraftDistribution>
struct unbranched {
    using draft_distribution_type = DraftDistribution;
    const proposal<DraftDistribution>& of;

    explicit unbranched(const proposal<DraftDistribution>& chain) : of(chain) {}
    std::size_t size() const { return of.size(); }
    std::span<const token> tokens() const { return of.tokens(); }
    drafted_token<DraftDistribution> operator[](std::size_t i) const { return of[i]; }
};

/// P models drafted tokens with one draft distribution about all: a chain, unless it has `parents()` that say
/// otherwise.
template <class P>
concept ChainProposal = requires(const P& proposed, std::size_t i) {
    typename P::draft_distribution_type;
    { proposed.size() } -> std::convertible_to<std::size_t>;
    { proposed.tokens() } -> std::convertible_to<std::span<const token>>;
    { proposed[i] } -> std::same_as<drafted_token<typename P::draft_distribution_type>>;
};

/// A proposal that makes this very draft distribution about its tokens.
template <class P, class DraftDistribution>
concept ChainProposalOf = ChainProposal<P> && std::same_as<typename P::draft_distribution_type, DraftDistribution>;

/// A proposal whose type admits trees: `parents()` of its nodes, empty for a chain.
template <class P>
concept Branches = ChainProposal<P> && requires(const P& proposed) {
    { proposed.parents() } -> std::convertible_to<std::span<const std::int32_t>>;
};

/// The parents of a proposal's nodes; none where they are a chain.
AUGUR_WHERE_ARGUMENTS_CAN
template <ChainProposal P>
AUGUR_HOST_DEVICE std::span<const std::int32_t> parents_of(const P& proposed) {
    if constexpr (Branches<P>) {
        return proposed.parents();
    } else {
        return {};
    }
}

/// Extends a prefix by the path to a node, that node included; by nothing for after_prefix.
void push_path(speculative_suffix& path, const ChainProposal auto& proposed, std::int32_t node) {
    if (node == after_prefix) return;
    const auto number = static_cast<std::size_t>(node);
    push_path(path, proposed, parents::of(parents_of(proposed), number));
    path.push(proposed.tokens()[number]);
}

/// Throws where nodes with these parents are not a chain, for those who judge nothing else.
inline void require_chain(std::span<const std::int32_t> parents) {
    for (std::size_t node = 0; node < parents.size(); ++node) {
        if (parents[node] == static_cast<std::int32_t>(node) - 1) continue;
        detail::fail("a chain of drafted tokens is wanted here, but of ", parents.size(), " the parent of node ", node,
                     " is ", parents[node]);
    }
}
/// The same of a proposal's.
void require_chain(const ChainProposal auto& proposed) {
    require_chain(parents_of(proposed));
}

}  // namespace augur
