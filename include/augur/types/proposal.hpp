#pragma once
// Drafted tokens, and what is claimed about where they came from.

#include <concepts>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "augur/types/distribution.hpp"
#include "augur/types/token.hpp"

namespace augur {

/// A claim: the token was picked by a rule (largest, n-gram, beam), not drawn: a deterministic draft.
struct point_mass {};

/// One drafted token as a criterion sees it. `Claim` is point_mass, or the type of the very row it was drawn from:
/// distribution, or one that lies on a device.
template <class Claim>
struct drafted_token {
    token id = no_token;
    const Claim* row = nullptr;

    double probability(token t) const { return row->probability(t); }
};

template <>
struct drafted_token<point_mass> {
    token id = no_token;

    /// The probability with which the drafter proposes t.
    double probability(token t) const { return t == id ? 1.0 : 0.0; }
};

/// A chain of drafted tokens. With point_mass it stores no rows; else what [] returns points into the proposal, until the
/// next push or clear.
template <class Claim>
class proposal {
 public:
    using claim_type = Claim;

    void push(token t, Claim drawn_from) {
        next_row() = std::move(drawn_from);
        complete(t);
    }
    /// The row of the token that comes next, to be overwritten, in the storage of one that was cleared; then complete(token).
    Claim& next_row() {
        if (rows_.size() == tokens_.size()) rows_.emplace_back();
        return rows_[tokens_.size()];
    }
    void complete(token drawn) {
        next_row();
        tokens_.push_back(drawn);
    }
    /// Storage is kept.
    void clear() { tokens_.clear(); }

    std::size_t size() const { return tokens_.size(); }
    bool empty() const { return tokens_.empty(); }
    std::span<const token> tokens() const { return tokens_; }
    drafted_token<Claim> operator[](std::size_t i) const { return {tokens_[i], &rows_[i]}; }

 private:
    std::vector<token> tokens_;
    std::vector<Claim> rows_;  // at least as many
};

template <>
class proposal<point_mass> {
 public:
    using claim_type = point_mass;

    void push(token t) { tokens_.push_back(t); }
    void clear() { tokens_.clear(); }

    std::size_t size() const { return tokens_.size(); }
    bool empty() const { return tokens_.empty(); }
    std::span<const token> tokens() const { return tokens_; }
    drafted_token<point_mass> operator[](std::size_t i) const { return {tokens_[i]}; }

 private:
    std::vector<token> tokens_;
};

/// P models a proposal of a chain.
template <class P>
concept ChainProposal = requires(const P& proposed, std::size_t i) {
    typename P::claim_type;
    { proposed.size() } -> std::convertible_to<std::size_t>;
    { proposed.tokens() } -> std::convertible_to<std::span<const token>>;
    { proposed[i] } -> std::same_as<drafted_token<typename P::claim_type>>;
};

/// A chain that makes this very claim about its tokens.
template <class P, class Claim>
concept ChainProposalOf = ChainProposal<P> && std::same_as<typename P::claim_type, Claim>;

}  // namespace augur
