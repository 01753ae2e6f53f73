#include "augur/testing/drafter_laws.hpp"

#include <augur/draft/draft_model.hpp>
#include <augur/draft/no_draft.hpp>
#include <augur/draft/prompt_lookup.hpp>
#include <augur/testing/models.hpp>
#include <augur/testing/refined_models.hpp>
#include <boost/test/unit_test.hpp>
#include <cstdint>

#include "every_law.hpp"
#include "sanitized.hpp"
#include "wrong_drafters.hpp"

using namespace augur;
using testing::drafter_laws;

BOOST_AUTO_TEST_SUITE(testing_drafter_laws)

const auto model = testing::hashed_model(3, 2, 2, 9);  // a context that drafts reach the end of
using sampling = draft::draft_model<const testing::function_model&, draft::sampled>;
using certain = draft::draft_model<const testing::function_model&, draft::argmax>;
using sharing = draft::draft_model<const testing::function_model&, draft::shared_noise>;

/// Proposes by the last state that it has been told of; `Wrong` keeps the first one of each call.
template <bool Wrong>
struct follows_states {
    struct state_type {
        std::vector<float> last;
        std::size_t tokens = 0;
    };
    using draft_distribution_type = point_mass;
    state_type make_state() const { return {}; }
    void propose(state_type& state, auto& context, proposal<point_mass>& proposed) const {
        if (context.prefix().size() != state.tokens + 1 || state.last.empty()) return;
        const auto next = std::max_element(state.last.begin(), state.last.end()) - state.last.begin();
        while (context.wants_more(proposed.size())) proposed.push(static_cast<token>(next));
    }
    void on_commit(state_type& state, const prefix&, const auto& states) const {
        const logit_row last = states[Wrong ? 0 : states.size() - 1];
        state.last.assign(last.begin(), last.end());
        state.tokens = states.first() + states.size();
    }
};

template <class... Arguments>
void keeps(std::size_t laws, const Arguments&... arguments) {
    const auto r = drafter_laws(arguments...);
    BOOST_TEST(r.kept(), r);
    BOOST_TEST(r.checked.size() == laws, r);
}

BOOST_AUTO_TEST_CASE(the_librarys_drafters_keep_them) {
    keeps(7, draft::no_draft{}, std::size_t{3});
    keeps(9 + 10, draft::prompt_lookup(1, 3), std::size_t{3});
    keeps(9 + 10, draft::prompt_lookup(2, 2), std::size_t{2});
    keeps(12 + 13, sampling(model));
    keeps(8 + 9, certain(model));
    keeps(8 + 9, sharing(model));
    keeps(6, follows_states<false>{}, testing::hidden_state_mock(testing::hashed_model(3, 2)));
}

BOOST_AUTO_TEST_CASE(large_vocabularies_are_enumerated_far_out) {
    const auto r = drafter_laws(draft::prompt_lookup(1, 3), 50'000);
    BOOST_TEST(r.kept(), r);
    BOOST_TEST(r.skipped.empty(), r);
}

/// Draws a tree from a model's rows, in the shape that is wanted, without replacement.
template <class TokenSelector>
struct tree_drafter {
    struct state_type {};
    using draft_distribution_type = typename TokenSelector::draft_distribution_type;
    static constexpr bool branches = true;
    static constexpr bool shows_rows = true;

    std::size_t vocabulary_size() const { return ::testing_drafter_laws::model.vocabulary_size(); }
    state_type make_state() const { return {}; }
    void propose(state_type&, auto& context, proposal<draft_distribution_type>& out) const {
        distribution spare;
        if (!context.wants_more(0, row_after(context.prefix()))) return;
        const auto plan = context.plan();
        const topology chain = topology::chain(context.wanted());
        std::vector<std::int32_t> numbers;
        for (const std::int32_t planned : plan.empty() ? chain.parents() : plan) {
            const std::int32_t parent = planned == after_prefix ? planned : numbers[static_cast<std::size_t>(planned)];
            numbers.push_back(parent == missing ? missing : add(context, out, spare, parent));
        }
    }
    void on_commit(state_type&, const prefix&) const {}

 private:
    static constexpr std::int32_t missing = -2;

    static std::vector<float> row_after(const prefix& before) {
        std::vector<float> row(::testing_drafter_laws::model.vocabulary_size());
        ::testing_drafter_laws::model.fill_row(before.tokens(), row);
        return row;
    }
    static std::int32_t add(auto& context, proposal<draft_distribution_type>& out, distribution& spare,
                            std::int32_t parent) {
        std::size_t sibling = 0;
        for (std::size_t node = 0; node < out.size(); ++node) sibling += out.parent(node) == parent ? 1 : 0;
        const draft::at_node path(context, out, parent);
        const auto row = row_after(context.prefix());
        if (!context.wants_more(parents::depth_of(out.parents(), parent), row)) return missing;
        const token drawn = draft::draw_next(TokenSelector{}, row, context, out, spare, parent, sibling);
        return drawn == no_token ? missing : static_cast<std::int32_t>(out.size()) - 1;
    }
};

BOOST_AUTO_TEST_CASE(drafters_of_trees_keep_them) {
    keeps(13, tree_drafter<draft::sampled>{});
    keeps(9, tree_drafter<draft::argmax>{});
    keeps(9, tree_drafter<draft::shared_noise>{});
}

/// A tree as it was proposed, with what `each(node)` says of the row of every node.
template <class Each>
proposal<distribution> with_rows(const proposal<distribution>& proposed, const Each& each) {
    proposal<distribution> drafted;
    for (std::size_t i = 0; i < proposed.size(); ++i) drafted.push(proposed[i].id, each(i), proposed.parent(i));
    return drafted;
}

/// A drafter that changes what another proposes.
template <class Inner, class Wrong>
struct wrong_drafter {
    using state_type = typename Inner::state_type;
    using draft_distribution_type = typename Inner::draft_distribution_type;
    static constexpr bool shows_rows = augur::shows_rows<Inner>;
    static constexpr bool shows_matches = augur::shows_matches<Inner>;
    static constexpr bool branches = augur::branches<Inner>;
    static constexpr bool fills_trees = augur::fills_trees<Inner>;
    Inner inner;
    Wrong error;
    state_type make_state() const { return inner.make_state(); }
    void propose(state_type& state, auto& context, proposal<draft_distribution_type>& out) const {
        out = error(draft::propose(inner, state, context), context);
    }
    void on_commit(state_type& state, const prefix& committed) const { inner.on_commit(state, committed); }
};
template <class Inner, class Wrong>
wrong_drafter(Inner, Wrong) -> wrong_drafter<Inner, Wrong>;

/// Answers what it has seen committed most recently, and forgets nothing.
struct remembers_rejected {
    using state_type = std::vector<token>;
    using draft_distribution_type = point_mass;
    state_type make_state() const { return {}; }
    void propose(state_type& state, auto& context, proposal<point_mass>& proposed) const {
        if (!context.wants_more(0)) return;
        proposed.push(state.empty() ? 0 : state.back());
        state.push_back(1);
    }
    void on_commit(state_type&, const prefix&) const {}
};

/// Says that it shows its rows, and does not.
struct hides_rows : draft::prompt_lookup<> {
    static constexpr bool shows_rows = true;
    hides_rows() : prompt_lookup(1, 3) {}
};

/// Says that it shows its matches, and does not.
struct hides_matches : certain {
    static constexpr bool shows_matches = true;
    hides_matches() : certain(::testing_drafter_laws::model) {}
};

/// Draws by the noise of the position, and proposes the row as if it had been drawn from it anew.
struct race_with_row {
    using draft_distribution_type = distribution;
    token pick(const auto& row, auto& draws) const { return static_cast<token>(draws.exponential_race(row)); }
};

/// Draws by the coin that will judge, or by what is drawn where it is rejected.
template <purpose Why>
struct drawn_as_judged : draft::sampled {
    token pick(const auto& row, auto& draws) const { return static_cast<token>(draws.choose(row, Why)); }
};

BOOST_AUTO_TEST_CASE(every_law_is_broken_by_a_wrong_drafter) {
    every_law::watch all;
    all.holds(drafter_laws(sampling(model)));
    all.holds(drafter_laws(draft::prompt_lookup(1, 3), 3));
    all.holds(drafter_laws(tree_drafter<draft::sampled>{}));

    all.breaks(drafter_laws(wrong_drafter{draft::prompt_lookup(1, 3),
                                          [](auto proposed, auto&) {
                                              proposed.push(0);
                                              return proposed;
                                          }},
                            3),
               "never more tokens than are wanted, all of the vocabulary");
    all.breaks(drafter_laws(wrong_drafter{draft::prompt_lookup(1, 3),
                                          [](auto proposed, auto& context) {
                                              for (token t : proposed.tokens()) context.prefix().push(t);
                                              return proposed;
                                          }},
                            3),
               "the prefix is left as it was");
    all.breaks(drafter_laws(remembers_rejected{}, 3), "after on_commit, proposals are a fresh state's");
    all.breaks(drafter_laws(follows_states<true>{}, testing::hidden_state_mock(testing::hashed_model(3, 2))),
               "after on_commit, proposals are a fresh state's");
    all.breaks(drafter_laws(wrong_drafter{sampling(model),
                                          [](const auto& proposed, auto&) {
                                              proposal<distribution> kept;
                                              for (std::size_t i = 0; i < proposed.size(); ++i) {
                                                  if (proposed[i].probability(proposed[i].id) < 0.3) break;
                                                  kept.push(proposed[i].id, *proposed[i].row);
                                              }
                                              return kept;
                                          }},
                            3),
               "the length does not depend on the value of a drawn token");
    all.breaks(drafter_laws(wrong_drafter{sampling(model),
                                          [](const auto& proposed, auto&) {
                                              proposal<distribution> stated;  // one row for all: the last one made
                                              for (std::size_t i = 0; i < proposed.size(); ++i) {
                                                  stated.push(proposed[i].id, *proposed[proposed.size() - 1].row);
                                              }
                                              return stated;
                                          }},
                            3),
               "a draft row is the one that the token was drawn from");
    all.breaks(drafter_laws(wrong_drafter{sampling(model),
                                          [](const auto& proposed, auto&) {
                                              proposal<distribution> stated;  // the rows before the transform
                                              for (token t : proposed.tokens()) {
                                                  stated.push(t, distribution::weighted({1, 1, 1}));
                                              }
                                              return stated;
                                          }},
                            3),
               "draft rows are transformed");
    all.breaks(drafter_laws(draft::draft_model(model, race_with_row{})), "a token is drawn anew in each round");
    all.breaks(drafter_laws(draft::draft_model(model, drawn_as_judged<purpose::accept>{})),
               "the numbers that judge are left to it");
    all.breaks(drafter_laws(draft::draft_model(model, drawn_as_judged<purpose::correction>{})),
               "the numbers that judge are left to it");
    all.breaks(drafter_laws(tree_drafter<drawn_as_judged<purpose::accept>>{}), "the numbers that judge are left to it");
    // Siblings were drawn one without the other, and propose the row that holds both.
    all.breaks(drafter_laws(wrong_drafter{tree_drafter<draft::sampled>{},
                                          [](const auto& proposed, auto&) {
                                              return with_rows(proposed, [&](std::size_t i) {
                                                  const std::size_t first = parents::next_child(
                                                      proposed.parents(), proposed.size(), proposed.parent(i), 0);
                                                  return *proposed[first].row;
                                              });
                                          }},
                            3),
               "a draft row is the one that the token was drawn from");
    // Drops a node that turned out improbable, and what is beneath it.
    all.breaks(drafter_laws(wrong_drafter{tree_drafter<draft::sampled>{},
                                          [](const auto& proposed, auto&) {
                                              proposal<distribution> kept;
                                              for (std::size_t i = 0; i < proposed.size() && i < 2; ++i) {
                                                  if (i == 1 && proposed[i].probability(proposed[i].id) < 0.3) break;
                                                  kept.push(proposed[i].id, *proposed[i].row, proposed.parent(i));
                                              }
                                              return kept;
                                          }},
                            3),
               "the length does not depend on the value of a drawn token");
    const auto one_more = [](auto proposed, auto&) {
        proposed.push(0, after_prefix);
        return proposed;
    };
    all.breaks(drafter_laws(wrong_drafter{tree_drafter<draft::argmax>{}, one_more}, 3),
               "never more nodes than are wanted, nor deeper ones");
    all.breaks(drafter_laws(wrong_drafter{draft::prompt_lookup(1, 3), one_more}, 3),
               "never more tokens than are wanted, all of the vocabulary");  // and is no chain
    all.breaks(drafter_laws(wrong_drafters::learns_of_abandoned{}), "an abandoned round leaves no trace");
    all.breaks(drafter_laws(wrong_drafters::drops_by_the_next_row{}),
               "nor does it where the policy reads what is shown");
    all.breaks(drafter_laws(wrong_drafters::shows_the_first_row{}),
               "a shown row is the one that the token was drawn from");
    all.breaks(drafter_laws(wrong_drafters::far_out::lookup_of_cut_ids<std::uint8_t>{}, 3),
               "tokens are treated alike, whatever their numbers");
    all.breaks(drafter_laws(hides_rows{}, 3), "each row is shown to the policy");
    all.breaks(drafter_laws(hides_matches{}), "matches are shown to the policy");
}

/// By any seed, and a sound one by none.
template <class Wrong>
void is_found(const std::string& law) {
    for (std::uint64_t seed = 1; seed <= testing::unless_sanitized<std::uint64_t>(8, 2); ++seed) {
        const auto r = drafter_laws(Wrong{}, {.seed = seed, .shrinks = 0});
        BOOST_TEST(r.breaks(law), "seed " << seed << ", " << law << ": " << r);
        const auto sound = drafter_laws(wrong_drafters::sound{}, {.seed = seed, .shrinks = 0});
        BOOST_TEST(sound.kept(), sound);
    }
}

BOOST_AUTO_TEST_CASE(a_drafter_that_is_wrong_late_or_in_what_it_shows_is_found) {
    using namespace wrong_drafters;
    is_found<wrong_after_five_rounds>("after on_commit, proposals are a fresh state's");
    is_found<wrong_in_long_texts>("an abandoned round leaves no trace");
    is_found<one_more_than_four>("never more tokens than are wanted, all of the vocabulary");
    is_found<learns_of_abandoned>("an abandoned round leaves no trace");
    is_found<drops_by_the_next_row>("nor does it where the policy reads what is shown");
    is_found<shows_the_first_row>("a shown row is the one that the token was drawn from");
}

BOOST_AUTO_TEST_SUITE_END()
