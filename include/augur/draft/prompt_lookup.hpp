#pragma once
// Guesses that the text will go on as it did the last time these tokens occurred.

#include <algorithm>
#include <cstddef>
#include <ostream>
#include <span>

#include "augur/draft/concept.hpp"
#include "augur/types/error.hpp"

namespace augur::draft {

/// Looks for the longest n-gram, between min_n and max_n tokens, that ends the prefix and occurred in it before (prompt or
/// output); of equally long ones the most recent. What followed there is the proposal, read on into the proposal itself
/// where the match reaches the end, so that a loop is continued. Claims point masses.
/// Effect on the distribution: none. Randomness: none. Cost: one backward scan of the prefix, no model, no state.
/// Source: Saxena 2023, "Prompt lookup decoding"; Yang et al. 2023, "Inference with reference".
class prompt_lookup {
 public:
    struct state_type {};
    using claim_type = point_mass;
    static constexpr bool shows_matches = true;

    /// An earlier occurrence of the prefix's last tokens: how many, and where its continuation starts.
    struct match {
        std::size_t length = 0;  ///< 0: there is none
        std::size_t follows = 0;
    };

    explicit prompt_lookup(std::size_t min_n = 2, std::size_t max_n = 8) : min_n_(min_n), max_n_(max_n) {
        if (min_n == 0) detail::fail("prompt_lookup: min_n is 0; an n-gram has at least one token");
        if (min_n > max_n) detail::fail("prompt_lookup: min_n ", min_n, " exceeds max_n ", max_n);
    }

    std::size_t min_n() const { return min_n_; }
    std::size_t max_n() const { return max_n_; }

    state_type make_state() const { return {}; }

    proposal<point_mass> propose(state_type&, auto& context) const {
        proposal<point_mass> proposed;
        if (!context.wants_more(0)) return proposed;
        const std::span<const token> known = context.prefix().tokens();
        const match found = find(known);
        if (found.length == 0) return proposed;
        context.matched(found.length);
        for (std::size_t at = found.follows; context.wants_more(proposed.size()); ++at) {
            proposed.push(at < known.size() ? known[at] : proposed.tokens()[at - known.size()]);
        }
        return proposed;
    }

    void follow(state_type&, const prefix&) const {}

    /// The longest match, of several the most recent.
    match find(std::span<const token> tokens) const {
        match best{.length = min_n_ - 1};
        for (std::size_t end = tokens.size() - std::min<std::size_t>(tokens.size(), 1); end > best.length; --end) {
            std::size_t length = 0;
            const std::size_t most = std::min(max_n_, end);
            while (length < most && tokens[end - 1 - length] == tokens[tokens.size() - 1 - length]) ++length;
            if (length > best.length) {
                best = {length, end};
                if (length == max_n_) break;
            }
        }
        return best.follows == 0 ? match{} : best;
    }

    friend bool operator==(const prompt_lookup&, const prompt_lookup&) = default;
    friend std::ostream& operator<<(std::ostream& out, const prompt_lookup& d) {
        return out << "prompt_lookup{.min_n=" << d.min_n_ << ", .max_n=" << d.max_n_ << '}';
    }

 private:
    std::size_t min_n_;
    std::size_t max_n_;
};

static_assert(Drafter<prompt_lookup>);

}  // namespace augur::draft
