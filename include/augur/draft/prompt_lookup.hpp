#pragma once
// Prompt lookup: drafts the continuation of the last n-gram's earlier occurrences.

#include <algorithm>
#include <cstddef>
#include <ostream>
#include <span>
#include <utility>
#include <vector>

#include "augur/draft/concept.hpp"
#include "augur/draft/ngram_index.hpp"

namespace augur::draft {

/// Looks for the longest n-gram, between min_n and max_n tokens, that ends the prefix and occurred in it before (prompt
/// or output). The latest of its occurrences vote on each token of the proposal, those that went on differently drop
/// out, and ties are the latest's. What is read past the end of the prefix is the proposal itself, so that a loop is
/// continued. Its draft distribution is a point mass.
/// Effect on the distribution: none. Randomness: none. Cost: expected O(max_n + tokens drafted), whatever the prefix's
/// length; no model.
/// Source: Saxena 2023, "Prompt lookup decoding"; Yang et al. 2023, "Inference with reference".
class prompt_lookup {
 public:
    struct state_type {
        ngram_index index;
        std::vector<std::size_t> places{};  ///< where the occurrences that still vote went on
    };
    using draft_distribution_type = point_mass;
    static constexpr bool shows_matches = true;
    static constexpr std::size_t votes = 16;
    static constexpr std::size_t longest = longest_ngram;  ///< of max_n

    explicit prompt_lookup(std::size_t min_n = 1, std::size_t max_n = 8) : min_n_(min_n), max_n_(max_n) {
        check_ngram_lengths("prompt_lookup", min_n, max_n);
    }

    std::size_t min_n() const { return min_n_; }
    std::size_t max_n() const { return max_n_; }

    state_type make_state() const { return {ngram_index(min_n_, max_n_)}; }

    void prepare(state_type& state, const prefix& prompt) const {
        state.index.reserve(prompt.capacity());
        state.places.reserve(votes);
        state.index.follow(prompt.tokens());
    }

    void propose(state_type& state, auto& context, proposal<point_mass>& proposed) const {
        if (!context.wants_more(0)) return;
        state.index.follow(context.prefix().tokens());
        const std::size_t length = state.index.find(votes, state.places);
        if (length == 0) return;
        context.matched(length);
        while (context.wants_more(proposed.size())) proposed.push(elected(state, proposed.tokens()));
    }

    void on_commit(state_type&, const prefix&) const {}  // propose follows the prefix itself

    friend bool operator==(const prompt_lookup&, const prompt_lookup&) = default;
    friend std::ostream& operator<<(std::ostream& out, const prompt_lookup& d) {
        return out << "prompt_lookup{.min_n=" << d.min_n_ << ", .max_n=" << d.max_n_ << '}';
    }

 private:
    /// The token that followed most often; only the places where it did vote on.
    static token elected(state_type& state, std::span<const token> drafted) {
        const std::span<const token> known = state.index.tokens();
        const auto follower = [&](std::size_t place) {
            const std::size_t at = place + drafted.size();
            return at < known.size() ? known[at] : drafted[at - known.size()];
        };
        token best = no_token;
        std::ptrdiff_t most = 0;
        for (std::size_t place : state.places) {
            const auto agrees = [&](std::size_t other) { return follower(other) == follower(place); };
            const std::ptrdiff_t count = std::count_if(state.places.begin(), state.places.end(), agrees);
            if (count <= most) continue;
            best = follower(place);
            most = count;
        }
        std::erase_if(state.places, [&](std::size_t place) { return follower(place) != best; });
        return best;
    }

    std::size_t min_n_;
    std::size_t max_n_;
};

}  // namespace augur::draft
