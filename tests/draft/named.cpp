#include "augur/draft/named.hpp"

#include <augur/accept/block.hpp>
#include <augur/accept/coupled.hpp>
#include <augur/accept/exact.hpp>
#include <augur/accept/rejection_sampling.hpp>
#include <augur/decode/generate.hpp>
#include <augur/draft/fallback.hpp>
#include <augur/draft/ngram_store.hpp>
#include <augur/draft/prompt_lookup.hpp>
#include <augur/scheme/cascade.hpp>
#include <augur/testing/models.hpp>
#include <augur/testing/promise.hpp>
#include <augur/testing/refined_models.hpp>
#include <boost/test/unit_test.hpp>
#include <memory>

using namespace augur;
using accept::rejection_sampling;
using draft::draft_model;
using draft::fallback;
using draft::prompt_lookup;
using policy::fixed_length;
using testing::function_model;

BOOST_AUTO_TEST_SUITE(draft_named)

namespace {

const auto small = testing::hashed_model(3, 1, 1), other = testing::hashed_model(3, 2, 1),
           target = testing::hashed_model(3, 3, 1);
const std::vector<token> prompt{1, 0, 1};
const fixed_length two{2};

std::string promised(const auto& scheme, float temperature = 1) {
    decode::options chosen;
    chosen.stop.max_tokens = 2;
    chosen.sampling.temperature.value = temperature;
    return testing::broken_promise(scheme, prompt, chosen);
}

template <class Expected>
void drafts_with(const auto& scheme) {
    using found = typename std::remove_cvref_t<decltype(scheme)>::drafter_type;
    static_assert(std::is_same_v<found, Expected>);
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_criterion_says_how_to_draw) {
    const draft_model named(small);
    static_assert(draft::AwaitsSelector<draft_model<const function_model&>> &&
                  !Drafter<draft_model<const function_model&>>);
    static_assert(std::is_same_v<decltype(named), const draft_model<const function_model&, draft::as_asked>>);
    using sampling = draft_model<const function_model&, draft::sampled>;
    using sharing = draft_model<const function_model&, draft::shared_noise>;
    using certain = draft_model<const function_model&, draft::argmax>;
    drafts_with<sampling>(speculate(named, target, two, rejection_sampling{}));
    drafts_with<sampling>(speculate(draft_model(small), target, two, accept::block{}));
    drafts_with<sampling>(speculate(draft_model<const function_model&>(small), target, two, rejection_sampling{}));
    drafts_with<sampling>(speculate(small, target, two, rejection_sampling{}));
    drafts_with<sharing>(speculate(named, target, two, accept::coupled{}));
    drafts_with<certain>(speculate(named, target, two, accept::exact{}));
    drafts_with<draft_model<function_model, draft::sampled>>(
        speculate(draft_model(testing::hashed_model(3, 1)), target, two, rejection_sampling{}));
    // Who says how is not overruled.
    drafts_with<certain>(speculate(draft_model(small, draft::argmax{}), target, two, rejection_sampling{}));
    drafts_with<sharing>(speculate(draft_model(small, draft::shared_noise{}), target, two, rejection_sampling{}));
}

BOOST_AUTO_TEST_CASE(layers_and_heads_too) {
    const testing::hidden_state_mock states(testing::hashed_model(4, 1));
    const testing::fused_mock layer(testing::hashed_model(4, 2), 4);
    drafts_with<draft::eagle<const testing::fused_mock&, draft::sampled>>(
        speculate(draft::eagle(layer), states, two, rejection_sampling{}));
    drafts_with<draft::eagle<const testing::fused_mock&, draft::shared_noise>>(
        speculate(layer, states, two, accept::coupled{}));
    drafts_with<draft::eagle<const testing::fused_mock&, draft::argmax>>(
        speculate(draft::eagle(layer, draft::argmax{}), states, two, rejection_sampling{}));
    drafts_with<fallback<prompt_lookup<>, draft::eagle<const testing::fused_mock&, draft::sampled>>>(
        speculate(fallback(prompt_lookup(2), layer), states, two, rejection_sampling{}));
    BOOST_TEST(promised(speculate(fallback(prompt_lookup(2), layer), states, two, rejection_sampling{})) == "");
}

BOOST_AUTO_TEST_CASE(among_several_as_well) {
    using sampling = draft_model<const function_model&, draft::sampled>;
    const auto named = fallback(prompt_lookup(2), small);
    static_assert(std::is_same_v<decltype(named), const fallback<prompt_lookup<>, draft_model<const function_model&>>>);
    static_assert(draft::AwaitsSelector<fallback<prompt_lookup<>, draft_model<const function_model&>>>);
    drafts_with<fallback<prompt_lookup<>, sampling>>(speculate(named, target, two, rejection_sampling{}));
    drafts_with<fallback<prompt_lookup<>, sampling>>(
        speculate(fallback(prompt_lookup(2), draft_model(small)), target, two, rejection_sampling{}));
    drafts_with<fallback<prompt_lookup<>, fallback<prompt_lookup<>, sampling>>>(
        speculate(fallback(prompt_lookup(3), named), target, two, rejection_sampling{}));
    for (const std::size_t n : {1u, 2u}) {
        BOOST_TEST(promised(speculate(fallback(prompt_lookup(n), small), target, two, rejection_sampling{})) == "");
        BOOST_TEST(promised(speculate(fallback(prompt_lookup(n), small), target, two, accept::block{})) == "");
        BOOST_TEST(promised(speculate(fallback(prompt_lookup(n), small), target, two, accept::coupled{})) == "");
        BOOST_TEST(promised(speculate(fallback(prompt_lookup(n), small), target, two, accept::exact{}), 0) == "");
    }
}

BOOST_AUTO_TEST_CASE(in_cascades_by_the_first_link) {
    const scheme::model_link by{two, rejection_sampling{}};
    const scheme::model_link raced{two, accept::coupled{}};
    using inner = draft_model<const function_model&, draft::shared_noise>;
    const auto scheme = cascaded(fallback(prompt_lookup(2), draft_model(small)), raced, other, by, target);
    static_assert(
        std::is_same_v<std::remove_cvref_t<decltype(scheme.drafter().inner())>, fallback<prompt_lookup<>, inner>>);
    BOOST_TEST(promised(scheme) == "");
}

BOOST_AUTO_TEST_CASE(schemes_among_several) {
    const auto inside = speculate(small, other, two, rejection_sampling{});
    const auto scheme = speculate(fallback(prompt_lookup(2), inside), target, two, rejection_sampling{});
    BOOST_TEST(promised(scheme) == "");
}

/// A model that cannot be copied.
struct unique_model {
    using sequence_type = function_model::sequence_type;
    static constexpr bool bitwise_rows = true;
    std::unique_ptr<function_model> of = std::make_unique<function_model>(testing::hashed_model(3, 1, 1));
    std::size_t vocabulary_size() const { return of->vocabulary_size(); }
    std::size_t context_length() const { return of->context_length(); }
    auto make_sequence() const { return of->make_sequence(); }
    std::size_t length(const sequence_type& s) const { return of->length(s); }
    auto extend(sequence_type& s, std::span<const token> tokens, std::size_t last) const {
        return of->extend(s, tokens, last);
    }
    auto extend(sequence_type& s, std::span<const token> tokens) const { return of->extend(s, tokens); }
    void truncate(sequence_type& s, std::size_t length) const { of->truncate(s, length); }
};
static_assert(Model<unique_model> && !std::copyable<unique_model>);

BOOST_AUTO_TEST_CASE(what_is_given_away_is_kept_and_never_copied) {
    const auto alone = speculate(draft_model(unique_model{}), target, two, rejection_sampling{});
    const auto several = speculate(fallback(prompt_lookup(2), unique_model{}), target, two, rejection_sampling{});
    const auto nested = speculate(speculate(unique_model{}, unique_model{}, two, rejection_sampling{}), target, two,
                                  rejection_sampling{});
    BOOST_TEST(promised(alone) == "");
    BOOST_TEST(promised(several) == "");
    BOOST_TEST(promised(nested) == "");
}

BOOST_AUTO_TEST_SUITE_END()
