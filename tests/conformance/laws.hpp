#pragma once
// How far a scheme's exact distribution is from plain sampling's, and drafters that say something untrue.

#include <augur/testing/text_distribution_of.hpp>
#include <cstddef>
#include <utility>
#include <vector>

#include "conformance/schemes.hpp"

namespace augur::conformance {

/// What rounding may leave between two laws that are equal.
inline constexpr double exactly = 1e-12;
/// What the wrong variants in these tests exceed.
inline constexpr double clearly = 0.01;

template <class Scheme>
double distance(const Scheme& scheme, const decode::options& chosen) {
    return testing::total_variation(
        testing::text_distribution_of(testing::plain_sampling(scheme.target()), prompt, chosen),
        testing::text_distribution_of(scheme, prompt, chosen));
}

/// Every drafter and policy, under every criterion that draws by independent randomness, keeps the target's
/// distribution.
inline void check_laws(const function_model& drafting, const function_model& target, const decode::options& chosen) {
    const auto expected = testing::text_distribution_of(testing::plain_sampling(target), prompt, chosen);
    each_selecting_criterion([&](const auto& criterion) {
        each_scheme<std::remove_cvref_t<decltype(criterion)>>(drafting, target, [&](const auto& scheme) {
            const auto got = testing::text_distribution_of(scheme, prompt, chosen);
            BOOST_TEST(std::abs(got.total() - 1) < exactly);
            BOOST_TEST(testing::total_variation(expected, got) < exactly);
        });
    });
}

/// The same for `coupled`: its law is plain sampling's, in every way in which noise can make rows agree.
inline void check_shared_noise(const function_model& drafting, const function_model& target,
                               const decode::options& chosen) {
    const auto expected = testing::text_distribution_of(testing::plain_sampling(target), prompt, chosen);
    each_scheme<accept::coupled>(drafting, target, [&](const auto& scheme) {
        BOOST_TEST(testing::total_variation(expected, testing::text_distribution_of(scheme, prompt, chosen)) < exactly);
    });
}

/// Drafts as `TokenSelector` does, but proposes draft_distribution(tokens before, true row) in place of the row that
/// was drawn from.
template <class TokenSelector, class DraftDistribution>
struct misstating {
    using inner_type = draft_by<function_model, TokenSelector>;
    using state_type = typename inner_type::state_type;
    using draft_distribution_type = distribution;
    inner_type inner;
    DraftDistribution draft_distribution;

    state_type make_state() const { return inner.make_state(); }
    void propose(state_type& state, auto& context, proposal<distribution>& stated) const {
        const auto drafted = draft::propose(inner, state, context);
        std::vector<token> before(context.prefix().tokens().begin(), context.prefix().tokens().end());
        for (std::size_t i = 0; i < drafted.size(); ++i) {
            const token id = drafted.tokens()[i];
            if constexpr (std::is_same_v<typename inner_type::draft_distribution_type, distribution>) {
                stated.push(id, draft_distribution(before, *drafted[i].row));
            } else {
                stated.push(id, draft_distribution(before, distribution{}));
            }
            before.push_back(id);
        }
    }
    void on_commit(state_type& state, const prefix& committed) const { inner.on_commit(state, committed); }
};

template <class TokenSelector, class DraftDistribution>
auto drafting_falsely(const function_model& model, DraftDistribution draft_distribution) {
    return misstating<TokenSelector, DraftDistribution>{draft_by<function_model, TokenSelector>(model),
                                                        std::move(draft_distribution)};
}

/// The model's row after `before`, transformed by `settings`.
inline distribution row_of(const function_model& model, const std::vector<token>& before,
                           const transform::settings& settings) {
    auto sequence = model.make_sequence();
    return transform::pipeline(settings, model.vocabulary_size())(model.extend(sequence, before, 1)[0], prefix(before));
}

}  // namespace augur::conformance
