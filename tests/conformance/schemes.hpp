#pragma once
// What the conformance tests run over: every criterion with every drafter and policy that it can be composed with.

#include <algorithm>
#include <augur/accept/block.hpp>
#include <augur/accept/coupled.hpp>
#include <augur/accept/exact.hpp>
#include <augur/accept/rejection_sampling.hpp>
#include <augur/accept/traversal.hpp>
#include <augur/decode/generate.hpp>
#include <augur/draft/draft_model.hpp>
#include <augur/draft/no_draft.hpp>
#include <augur/draft/prompt_lookup.hpp>
#include <augur/policy/cost_aware.hpp>
#include <augur/policy/entropy_bins.hpp>
#include <augur/policy/fixed_length.hpp>
#include <augur/testing/models.hpp>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstddef>
#include <type_traits>
#include <vector>

namespace augur::conformance {

using testing::function_model;

inline const std::vector<token> prompt{0, 1, 0};

template <class M, class TokenSelector>
using draft_by = draft::draft_model<const M&, TokenSelector>;

/// Drafts while the draft's rows are uncertain: the shape of a user's policy that is asked at every row.
struct while_uncertain {
    static constexpr signals_read reads{.required = signals::draft_confidence};
    std::size_t length(const observation& seen) const { return seen.draft_confidence < 0.6 ? 3 : seen.drafted; }
};

/// Drafts one token more than was accepted in the round before: the shape of a policy that learns from outcomes.
struct after_acceptance {
    std::size_t more = 1;
    std::size_t length(const observation& seen) const { return std::min<std::size_t>(seen.last_accepted + more, 3); }
    void learn(const outcome& happened) { more = happened.accepted < happened.drafted ? 0 : 1; }
};

/// Drafts in every other round.
struct every_other_round {
    std::size_t length(const observation& seen) const { return seen.round % 2 == 0 ? 3 : 0; }
};

/// Calls visit(policy) for every policy that the drafter can have.
template <class Drafter, class Visit>
void each_policy(const Visit& visit) {
    for (std::size_t length : {1u, 2u, 3u}) {
        BOOST_TEST_CONTEXT("fixed_length " << length) {
            visit(policy::fixed_length{length});
        }
    }
    BOOST_TEST_CONTEXT("target_entropy_bins") {
        visit(policy::target_entropy_bins({0.8, 0.95}, {3, 1, 2}));
    }
    BOOST_TEST_CONTEXT("after_acceptance") {
        visit(after_acceptance{});
    }
    if constexpr (shows_rows<Drafter>) {
        BOOST_TEST_CONTEXT("entropy_bins") {
            visit(policy::entropy_bins({0.8, 0.95, 1.05}, {3, 2, 1, 0}));
        }
        BOOST_TEST_CONTEXT("while_uncertain") {
            visit(while_uncertain{});
        }
    }
}

/// Calls visit(drafter) for every drafter; those with a model use `model`, which must outlive the call.
template <class M, class Visit>
void each_drafter(const M& model, const Visit& visit) {
    BOOST_TEST_CONTEXT("prompt_lookup") {
        visit(draft::prompt_lookup(1, 3));
    }
    BOOST_TEST_CONTEXT("argmax") {
        visit(draft_by<M, draft::argmax>(model));
    }
    BOOST_TEST_CONTEXT("sampled") {
        visit(draft_by<M, draft::sampled>(model));
    }
}

/// Calls visit(scheme) for every drafter and policy under one criterion.
template <class Criterion, class M, class Visit>
void each_scheme(const M& drafting, const M& target, const Visit& visit) {
    BOOST_TEST_CONTEXT("nothing") {
        visit(speculate(draft::no_draft{}, target, policy::fixed_length{0}, Criterion{}));
    }
    each_drafter(drafting, [&](const auto& drafter) {
        each_policy<std::remove_cvref_t<decltype(drafter)>>(
            [&](const auto& policy) { visit(speculate(drafter, target, policy, Criterion{})); });
    });
}

/// Calls visit(Criterion{}) for those that draw by independent randomness and keep the distribution.
template <class Visit>
void each_selecting_criterion(const Visit& visit) {
    BOOST_TEST_CONTEXT("rejection_sampling") {
        visit(accept::rejection_sampling{});
    }
    BOOST_TEST_CONTEXT("block") {
        visit(accept::block{});
    }
    BOOST_TEST_CONTEXT("traversal") {
        visit(accept::traversal{});
    }
}

/// What a criterion decides about a chain whose rows are at hand: the token that follows where it judges it at once,
/// else the one in place of the first.
token judged_by(const auto& criterion, const std::vector<distribution>& rows, const proposal<distribution>& proposed,
                const auto& draws) {
    using type = std::remove_cvref_t<decltype(criterion)>;
    if constexpr (ReturnsVerdict<type, distribution>) {
        return criterion.judge_block(rows, proposed, draws).next;
    } else if constexpr (JudgesTrees<type, distribution>) {
        std::vector<std::size_t> path;
        const auto of_node = [&](std::int32_t parent, std::size_t) {
            return draws(static_cast<std::size_t>(parent + 1));
        };
        return criterion.judge_tree(rows, proposed, of_node, path);
    } else {
        auto here = draws(0);
        return accept::accept_or_draw(criterion, rows[0], proposed[0], here);
    }
}

/// Calls visit(Criterion{}) for every criterion.
template <class Visit>
void each_criterion(const Visit& visit) {
    BOOST_TEST_CONTEXT("exact") {
        visit(accept::exact{});
    }
    BOOST_TEST_CONTEXT("coupled") {
        visit(accept::coupled{});
    }
    each_selecting_criterion(visit);
}

/// Calls visit(scheme) for every criterion, drafter and policy there is; those whose lengths depend on the clock are
/// among them, so it is for texts, not for laws.
template <class M, class Visit>
void every_scheme(const M& drafting, const M& target, const Visit& visit) {
    each_criterion(
        [&](const auto& criterion) { each_scheme<std::remove_cvref_t<decltype(criterion)>>(drafting, target, visit); });
}

inline decode::options sampling(std::size_t max_tokens, transform::settings settings = {}) {
    decode::options chosen;
    chosen.sampling = std::move(settings);
    chosen.stop.max_tokens = max_tokens;
    return chosen;
}

/// Temperature 0, where every lossless scheme has one text: plain greedy decoding's.
inline decode::options greedy(std::size_t max_tokens) {
    return sampling(max_tokens, {.temperature = {0}});
}

/// Transforms that change the row in every way there is.
inline std::vector<transform::settings> transforms() {
    std::vector<transform::settings> all(7);
    all[0].temperature.value = 0.5f;
    all[1].top_k.k = 2;
    all[2].top_p.p = 0.7f;
    all[3].min_p.p = 0.4f;
    all[4].penalties = {1.3f, 0.4f, 0.2f};
    all[5].bias.added = {{0, 1.5f}, {1, -INFINITY}};
    all[6].temperature.value = 1.7f;
    all[6].top_k.k = 3;
    all[6].top_p.p = 0.9f;
    all[6].min_p.p = 0.1f;
    all[6].penalties = {1.5f, 0.0f, 0.7f};
    all[6].bias.added = {{2, -0.8f}};
    return all;
}

}  // namespace augur::conformance
