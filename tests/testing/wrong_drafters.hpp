#pragma once
// Drafters that draw from a model's rows, and are wrong in a later round, in a long text, or in what they show.

#include <augur/draft/concept.hpp>
#include <augur/draft/draw_next.hpp>
#include <augur/testing/models.hpp>
#include <augur/types/drawing.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
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
struct drawing_drafter {
    using state_type = counts;
    using claim_type = distribution;
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
        std::vector<float> made(model.vocabulary_size());
        model.fill_row(text, made);
        return made;
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

struct sound : drawing_drafter<sound> {};

/// After five rounds its history shows.
struct wrong_after_five_rounds : drawing_drafter<wrong_after_five_rounds> {
    std::vector<float> row_of(const counts& state, std::span<const token> text) const {
        auto made = row(text);
        if (state.rounds > 4) made[0] += 1;
        return made;
    }
};

/// In a text of more than 20 tokens it is its first round that shows.
struct wrong_in_long_texts : drawing_drafter<wrong_in_long_texts> {
    std::vector<float> row_of(const counts& state, std::span<const token> text) const {
        auto made = row(text);
        if (text.size() > 20 && state.rounds > 0) made[0] += 1;
        return made;
    }
};

/// Proposes one token more wherever it has four.
struct one_more_than_four : drawing_drafter<one_more_than_four> {
    void propose(counts& state, auto& context, proposal<distribution>& out) const {
        drawing_drafter::propose(state, context, out);
        if (out.size() > 3) out.push(0, distribution::weighted({1, 1, 1, 1}));
    }
};

/// Learns while it proposes, until the next commit, and does not forget it when the round is abandoned.
struct learns_of_abandoned : drawing_drafter<learns_of_abandoned> {
    void abandon(counts&) const {}
    void propose(counts& state, auto& context, proposal<distribution>& out) const {
        drawing_drafter::propose(state, context, out);
        ++state.abandoned;
    }
    std::vector<float> row_of(const counts& state, std::span<const token> text) const {
        auto made = row(text);
        if (state.abandoned > 0) made[0] += 3;
        return made;
    }
};

/// Shows the row after the prefix, whatever it draws from.
struct shows_the_first_row : drawing_drafter<shows_the_first_row> {
    std::vector<float> shown(const std::vector<float>&, auto& context) const { return row(context.prefix().tokens()); }
};

/// Shows the row after the token that it has drawn, and drops that token where the policy then wants no more.
struct drops_by_the_next_row : drawing_drafter<drops_by_the_next_row> {
    void propose(counts&, auto& context, proposal<distribution>& out) const {
        while (context.wants_more(out.size())) {
            proposal<distribution> tried = out;
            if (!draw(row(text_of(context, out)), context, tried)) break;
            if (!context.wants_more(out.size(), row(text_of(context, tried)))) break;
            out = tried;
        }
    }
};

}  // namespace wrong_drafters
