// Your own draft trees: a drafter that branches, a criterion that judges siblings, and the proof that both keep the
// distribution.
//
// A proposal is nodes with parents. The policy plans a tree, the drafter fills it, the target scores all of it in one
// pass, and one walk goes from the root along accepted nodes. What is left of the target's row after a rejected sibling
// judges the next one.

#include <algorithm>
#include <augur/augur.hpp>
#include <augur/testing/models.hpp>
#include <augur/testing/text_distribution_of.hpp>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

/// Plans the same tree every round.
struct same_tree {
    static constexpr augur::draft_shape plans = augur::draft_shape::tree;
    augur::topology shape;

    augur::draft_plan plan(const augur::observation&) const { return {.tree = &shape}; }
};

/// Fills the tree that is planned with a model's tokens, siblings drawn without replacement. Siblings lie together in
/// the plan.
template <augur::Model M>
class tree_drafter {
 public:
    using draft_distribution_type = augur::distribution;
    static constexpr bool branches = true;
    struct state_type {
        augur::model::cached_sequence<M> cache;
        augur::distribution spare{};
    };

    explicit tree_drafter(const M& model) : model_(&model) {}
    state_type make_state() const { return {augur::model::cached_sequence<M>(*model_)}; }
    std::size_t vocabulary_size() const { return model_->vocabulary_size(); }

    augur::flow::task propose(state_type& state, auto& context,
                              augur::proposal<draft_distribution_type>& proposed) const {
        const auto plan = context.plan();
        augur::model::pass_rows<M> rows;
        for (std::size_t node = 0, sibling = 0; node < plan.size(); ++node) {
            const bool again = node > 0 && plan[node] == plan[node - 1];
            sibling = again ? sibling + 1 : 0;
            const augur::draft::at_node here(context, proposed, plan[node]);
            if (!again) rows = co_await state.cache.ask(context.prefix().tokens(), 1);
            if (draw(rows[0], state, context, proposed, plan[node], sibling) == augur::no_token) co_return;
        }
    }
    void on_commit(state_type& state, const augur::prefix& committed) const { state.cache.rewind(committed.tokens()); }

 protected:
    static augur::token draw(augur::logit_row row, state_type& state, auto& context, auto& proposed,
                             std::int32_t parent, std::size_t sibling) {
        return augur::draft::draw_next(augur::draft::sampled{}, row, context, proposed, state.spare, parent, sibling);
    }

 private:
    const M* model_;
};

/// Accepts x with probability min(1, left(x) / draft(x)), where `left` is the target's row less what siblings before x
/// took of it.
struct tree_sampling {
    using guarantee = augur::guarantee::same_distribution;
    using token_selector = augur::draft::sampled;

    bool accepts(const auto& left, const auto& drafted, auto& draws) const {
        const double ratio = left.probability(drafted.id) / drafted.probability(drafted.id);
        return draws.flip(std::min(1.0, ratio), augur::purpose::accept);
    }
    auto after_rejection(const auto& left, const auto& drafted) const { return augur::accept::residual(left, drafted); }
    augur::token draw(const auto& left, auto& draws) const {
        return static_cast<augur::token>(draws.choose(left, augur::purpose::correction));
    }
};

/// Forgets the number of the sibling, so that all children of a node are drawn with one random number.
template <augur::Model M>
struct forgetful : tree_drafter<M> {
    using tree_drafter<M>::tree_drafter;
    using typename tree_drafter<M>::state_type;

    void propose(state_type& state, auto& context, augur::proposal<augur::distribution>& proposed) const {
        const auto rows = state.cache.score(context.prefix().tokens(), 1);
        for (std::size_t sibling = 0; sibling < 2 && !context.plan().empty(); ++sibling) {
            if (this->draw(rows[0], state, context, proposed, augur::after_prefix, 0) == augur::no_token) return;
        }
    }
};

int main() {
    const auto target = augur::testing::hashed_model(3, 1), small = augur::testing::hashed_model(3, 2);
    const std::vector<augur::token> prompt{0, 1};
    augur::decode::options chosen;
    chosen.stop.max_tokens = 3;
    const auto plain = augur::testing::text_distribution_of(augur::testing::plain_sampling(target), prompt, chosen);

    // Two children of the prefix, two of the first of them, one of the second.
    const same_tree tree{augur::topology{-1, -1, 0, 0, 1}};
    const auto branching = augur::speculate(tree_drafter(small), target, tree, tree_sampling{});
    const double distance =
        augur::testing::total_variation(plain, augur::testing::text_distribution_of(branching, prompt, chosen));
    std::cout << "total variation from plain sampling, draft trees: " << distance << '\n';

    // A chain is the tree whose nodes follow one another: the same text, the same counts.
    chosen.stop.max_tokens = 12;
    bool same = true;
    for (chosen.seed = 0; chosen.seed < 200; ++chosen.seed) {
        const auto of = [&](auto drafter, auto policy) {
            const auto scheme = augur::speculate(std::move(drafter), target, policy, tree_sampling{});
            const auto decoded = augur::decode::generate(scheme, prompt, chosen);
            return std::pair(decoded.tokens, decoded.counts.rounds());
        };
        same =
            same && of(tree_drafter(small), same_tree{augur::topology::chain(3)}) ==
                        of(augur::draft::draft_model(small, augur::draft::sampled{}), augur::policy::fixed_length{3});
    }
    std::cout << "a chain drafted as a tree, 200 seeds: " << (same ? "the chain's text" : "another text") << '\n';

    chosen.stop.max_tokens = 3;
    std::string refused;
    try {
        augur::testing::text_distribution_of(
            augur::speculate(forgetful<augur::testing::function_model>(small), target, tree, tree_sampling{}), prompt,
            chosen);
    } catch (const augur::error& why) {
        refused = why.what();
    }
    std::cout << "siblings that share a number: " << refused << '\n';
    return distance < 1e-12 && same && !refused.empty() ? 0 : 1;
}
