#pragma once
// Drafters that draw from a model's rows, and are wrong in a later round, in a long text, or in what they show.

#include <algorithm>
#include <augur/draft/calls.hpp>
#include <augur/draft/draw_next.hpp>
#include <augur/testing/models.hpp>
#include <augur/types/proposal.hpp>
#include <augur/types/token_selector.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace wrong_drafters {

using augur::distribution;
using augur::prefix;
using augur::proposal;
using augur::token;

inline const auto model = augur::testing::hashed_model(4, 3, 2, 1024);

struct counts {
    std::size_t rounds = 0;
    std::size_t abandoned = 0;
};

/// `Self` says which row it draws from, by what it has counted, the text and where the draft began.
template <class Self>
struct selecting_drafter {
    using state_type = counts;
    using draft_distribution_type = distribution;
    static constexpr bool shows_rows = true;

    std::size_t vocabulary_size() const { return model.vocabulary_size(); }
    state_type make_state() const { return {}; }
    void propose(state_type& state, auto& context, proposal<distribution>& out) const {
        while (true) {
            const auto text = text_of(context, out);
            const auto row = self().row_of(state, text);
            if (!context.wants_more(out.size(), self().shown(row, context))) break;
            if (!draw(row, context, out)) break;
        }
        ++state.rounds;
    }
    void on_commit(state_type& state, const prefix&) const { state.abandoned = 0; }

    std::vector<float> row_of(const state_type&, std::span<const token> text) const { return row(text); }
    std::vector<float> shown(const std::vector<float>& drawn_from, auto&) const { return drawn_from; }

 protected:
    static std::vector<float> row(std::span<const token> text) {
        std::vector<float> logits(model.vocabulary_size());
        model.fill_row(text, logits);
        return logits;
    }
    static std::vector<token> text_of(auto& context, const proposal<distribution>& out) {
        std::vector<token> text(context.prefix().tokens().begin(), context.prefix().tokens().end());
        text.insert(text.end(), out.tokens().begin(), out.tokens().end());
        return text;
    }
    static bool draw(const std::vector<float>& from, auto& context, proposal<distribution>& out) {
        distribution spare;
        const auto parent = static_cast<std::int32_t>(out.size()) - 1;
        const augur::draft::at_node path(context, out, parent);
        return augur::draft::draw_next(augur::draft::sampled{}, from, context, out, spare, parent, 0) !=
               augur::no_token;
    }

 private:
    const Self& self() const { return static_cast<const Self&>(*this); }
};

struct sound : selecting_drafter<sound> {};

/// After five rounds its history shows.
struct wrong_after_five_rounds : selecting_drafter<wrong_after_five_rounds> {
    std::vector<float> row_of(const counts& state, std::span<const token> text) const {
        auto logits = row(text);
        if (state.rounds > 4) logits[0] += 1;
        return logits;
    }
};

/// In a text of more than 20 tokens it is its first round that shows.
struct wrong_in_long_texts : selecting_drafter<wrong_in_long_texts> {
    std::vector<float> row_of(const counts& state, std::span<const token> text) const {
        auto logits = row(text);
        if (text.size() > 20 && state.rounds > 0) logits[0] += 1;
        return logits;
    }
};

/// Proposes one token more wherever it has four.
struct one_more_than_four : selecting_drafter<one_more_than_four> {
    void propose(counts& state, auto& context, proposal<distribution>& out) const {
        selecting_drafter::propose(state, context, out);
        if (out.size() > 3) out.push(0, distribution::weighted({1, 1, 1, 1}));
    }
};

/// Learns while it proposes, until the next commit, and does not forget it when the round is abandoned.
struct learns_of_abandoned : selecting_drafter<learns_of_abandoned> {
    void abandon(counts&) const {}
    void propose(counts& state, auto& context, proposal<distribution>& out) const {
        selecting_drafter::propose(state, context, out);
        ++state.abandoned;
    }
    std::vector<float> row_of(const counts& state, std::span<const token> text) const {
        auto logits = row(text);
        if (state.abandoned > 0) logits[0] += 3;
        return logits;
    }
};

/// Shows the row after the prefix, whatever it draws from.
struct shows_the_first_row : selecting_drafter<shows_the_first_row> {
    std::vector<float> shown(const std::vector<float>&, auto& context) const { return row(context.prefix().tokens()); }
};

/// Shows the row after the token that it has drawn, and drops that token where the policy then wants no more.
struct drops_by_the_next_row : selecting_drafter<drops_by_the_next_row> {
    void propose(counts&, auto& context, proposal<distribution>& out) const {
        while (context.wants_more(out.size())) {
            proposal<distribution> tried = out;
            if (!draw(row(text_of(context, out)), context, tried)) break;
            if (!context.wants_more(out.size(), row(text_of(context, tried)))) break;
            out = tried;
        }
    }
};

/// Drafters that are wrong far out only.
namespace far_out {

/// What a drafter proposes of a model over a wide vocabulary, changed by `Change`: a token, or its draft row.
template <class Inner, class Change>
struct changed {
    using state_type = typename Inner::state_type;
    using draft_distribution_type = typename Inner::draft_distribution_type;
    static constexpr bool shows_rows = augur::shows_rows<Inner>;
    static constexpr bool shows_matches = augur::shows_matches<Inner>;
    static constexpr bool branches = augur::branches<Inner>;
    static constexpr bool fills_trees = augur::fills_trees<Inner>;
    Inner inner;
    Change change;

    std::size_t vocabulary_size() const requires requires(const Inner& of) { of.vocabulary_size(); }
    { return inner.vocabulary_size(); }
    state_type make_state() const { return inner.make_state(); }
    void propose(state_type& state, auto& context, proposal<draft_distribution_type>& out) const {
        const auto right = augur::draft::propose(inner, state, context);
        for (std::size_t node = 0; node < right.size(); ++node) {
            if constexpr (std::is_same_v<draft_distribution_type, augur::point_mass>) {
                out.push(change(right[node].id), right.parent(node));
            } else {
                token drawn = right[node].id;
                distribution stated = *right[node].row;
                change(drawn, stated);
                out.push(drawn, std::move(stated), right.parent(node));
            }
        }
    }
    void on_commit(state_type& state, const prefix& committed) const { inner.on_commit(state, committed); }
};
template <class Inner, class Change>
changed(Inner, Change) -> changed<Inner, Change>;

/// The draft row without its tokens from `kept(size)` on, unless that leaves nothing.
inline void cut_draft_row(distribution& row, std::size_t kept) {
    if (row.is_point()) return;
    std::vector<float> weights(row.weights().begin(), row.weights().end());
    std::fill(weights.begin() + static_cast<std::ptrdiff_t>(std::min(kept, weights.size())), weights.end(), 0.0f);
    distribution cut = distribution::weighted(std::move(weights));
    if (!cut.empty()) row = std::move(cut);
}

/// Finds matches by tokens cut to `Id`: looks as prompt_lookup does for the last token, and proposes what followed it.
template <class Id>
struct lookup_of_cut_ids {
    struct state_type {};
    using draft_distribution_type = augur::point_mass;
    state_type make_state() const { return {}; }
    void propose(state_type&, auto& context, proposal<augur::point_mass>& out) const {
        const auto text = context.prefix().tokens();
        for (std::size_t i = text.size() - 1; i-- > 0;) {
            if (static_cast<Id>(text[i]) != static_cast<Id>(text.back())) continue;
            for (++i; i < text.size() && context.wants_more(out.size()); ++i) out.push(text[i]);
            return;
        }
    }
    void on_commit(state_type&, const prefix&) const {}
};

/// Drops a token from a number on, and ends its draft there.
template <class Inner>
struct drops_far_tokens {
    using state_type = typename Inner::state_type;
    using draft_distribution_type = typename Inner::draft_distribution_type;
    Inner inner;
    token first;

    std::size_t vocabulary_size() const { return inner.vocabulary_size(); }
    state_type make_state() const { return inner.make_state(); }
    void propose(state_type& state, auto& context, proposal<draft_distribution_type>& out) const {
        const auto right = augur::draft::propose(inner, state, context);
        for (std::size_t node = 0; node < right.size(); ++node) {
            if (right[node].id >= first) return;
            out.push(right[node].id, *right[node].row);
        }
    }
    void on_commit(state_type& state, const prefix& committed) const { inner.on_commit(state, committed); }
};

}  // namespace far_out

}  // namespace wrong_drafters
