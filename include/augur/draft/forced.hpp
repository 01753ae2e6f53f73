#pragma once
// The forced drafter: drafts the tokens that a mask leaves no choice about.

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "augur/draft/concept.hpp"
#include "augur/transform/pipeline.hpp"
#include "augur/types/error.hpp"
#include "augur/types/prefix.hpp"
#include "augur/types/proposal.hpp"
#include "augur/types/token.hpp"

namespace augur::draft {

/// Drafts for as long as the settings' mask, with bias and penalties, leaves one token: whatever the target's row, that
/// one is accepted, unless the row makes it impossible. With `text_of` also where the tokens that are left all begin
/// the text of the longest of them, and there are at most `most_spellings`: one string that can be cut in several ways.
/// The longest is drafted, of equals the lowest id, and the target judges it. A token without a text is no beginning of
/// one. Without a mask it proposes nothing. Its draft distribution is a point mass.
/// Effect on the distribution: none. Randomness: none. Cost: per position the mask and a few passes over a row, no
/// model; a mask that remembers what it said of a prefix is asked about it again by the target's row.
/// Composes: draft::fallback(draft::forced(text_of), draft::prompt_lookup(2)).
class forced {
 public:
    using text_function = std::function<std::string(token)>;
    struct state_type {
        std::vector<float> row{};   ///< of zeros
        std::vector<float> work{};  ///< what the mask left of it
        std::vector<token> left{};  ///< the tokens that are possible, one more than `most_spellings` at most
        std::vector<std::string> texts{};
    };
    using draft_distribution_type = point_mass;
    static constexpr bool shows_matches = true;
    static constexpr std::size_t most_spellings = 32;

    forced() = default;
    /// `text_of`: the bytes that a token writes; depends on the token only.
    explicit forced(text_function text_of) : text_of_(std::move(text_of)) {
        if (!text_of_) augur::detail::fail("forced: there is no function that says a token's text");
    }

    /// Of keys and values: none.
    std::size_t cache_bytes(std::size_t) const { return 0; }
    state_type make_state() const { return {}; }

    void propose(state_type& state, auto& context, proposal<point_mass>& proposed) const {
        const transform::pipeline& by = context.transform();
        if (!by.chosen().mask || !context.wants_more(0)) return;
        state.row.assign(by.vocabulary_size(), 0.0f);
        speculative_suffix path(context.prefix());
        while (proposed.size() == 0 || context.wants_more(proposed.size())) {
            const token next = only_one(state, by, context.prefix());
            if (next == no_token) return;
            if (proposed.size() == 0) {
                context.matched(1);
                if (!context.wants_more(0)) return;
            }
            proposed.push(next);
            path.push(next);
        }
    }

    void on_commit(state_type&, const prefix&) const {}

 private:
    token only_one(state_type& state, const transform::pipeline& by, const prefix& before) const {
        by.rank({state.row.data(), state.row.size()}, before, text_of_ ? most_spellings + 1 : 2, state.left,
                state.work);
        if (state.left.size() == 1) return state.left.front();
        if (!text_of_ || state.left.empty() || state.left.size() > most_spellings) return no_token;
        return longest(state);
    }

    /// no_token where they are not all beginnings of one text.
    token longest(state_type& state) const {
        state.texts.clear();
        std::size_t best = 0;
        for (std::size_t i = 0; i < state.left.size(); ++i) {
            state.texts.push_back(text_of_(state.left[i]));
            const std::size_t size = state.texts[i].size(), most = state.texts[best].size();
            if (size > most || (size == most && state.left[i] < state.left[best])) best = i;
        }
        for (const std::string& text : state.texts) {
            if (text.empty() || !std::string_view(state.texts[best]).starts_with(text)) return no_token;
        }
        return state.left[best];
    }

    text_function text_of_;
};

}  // namespace augur::draft
