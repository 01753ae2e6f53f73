// What whole decodings by draft trees, and in batches, have been broken by: docs/conformance.md, 11, 16, 42 and 62.

#include <augur/accept/coupled.hpp>
#include <augur/accept/rejection_sampling.hpp>
#include <augur/accept/typical.hpp>
#include <augur/decode/generate.hpp>
#include <augur/draft/draft_model.hpp>
#include <augur/draft/draw_next.hpp>
#include <augur/model/run.hpp>
#include <augur/scheme/speculator.hpp>
#include <augur/testing/choices.hpp>
#include <augur/testing/enumerate.hpp>
#include <augur/testing/models.hpp>
#include <augur/testing/text_distribution_of.hpp>
#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "accept/bush.hpp"
#include "llama/small_llama.hpp"

using namespace augur;

BOOST_AUTO_TEST_SUITE(conformance_draft_trees)

namespace {

const std::vector<token> prompt{0, 1};

/// The most probable children of each node of a tree, by a model's rows: nothing is drawn.
struct top_children {
    using draft_distribution_type = point_mass;
    static constexpr bool branches = true;
    struct state_type {
        model::cached_sequence<testing::function_model> cache;
        distribution spare{};
    };

    const testing::function_model& source;
    std::vector<std::int32_t> parents;

    state_type make_state() const { return {model::cached_sequence<testing::function_model>(source)}; }
    void propose(state_type& state, auto& context, proposal<point_mass>& proposed) const {
        for (std::size_t node = 0, sibling = 0; node < parents.size(); ++node) {
            sibling = node > 0 && parents[node] == parents[node - 1] ? sibling + 1 : 0;
            const draft::at_node here(context, proposed, parents[node]);
            const auto rows = state.cache.score(context.prefix().tokens(), 1);
            if (draft::draw_next(draft::argmax{}, rows[0], context, proposed, state.spare, parents[node], sibling) ==
                no_token) {
                return;
            }
        }
    }
    void on_commit(state_type& state, const prefix& committed) const { state.cache.rewind(committed.tokens()); }
};

/// How far the texts of three tokens are from plain sampling's.
template <class Criterion>
double distance(const Criterion& criterion, const std::vector<std::int32_t>& parents) {
    const auto target = testing::hashed_model(3, 1), drafting = testing::hashed_model(3, 2);
    decode::options chosen;
    chosen.stop.max_tokens = 3;
    const auto scheme = speculate(top_children{drafting, parents}, target, policy::fixed_length{2}, criterion);
    return testing::total_variation(testing::text_distribution_of(testing::plain_sampling(target), prompt, chosen),
                                    testing::text_distribution_of(scheme, prompt, chosen));
}

/// The law of one token where `decide(chooser)` draws it.
template <class Decide>
testing::text_distribution of_one_token(const Decide& decide) {
    return testing::enumerate([&](auto chooser) { return std::vector<token>{decide(chooser)}; });
}

}  // namespace

// Sibling paths of a tree each drew their own acceptance.
BOOST_AUTO_TEST_CASE(invariant_11_siblings_share_one_draw) {
    BOOST_TEST(distance(accept::coupled{}, {-1, -1, 0, 0, 1}) < 1e-12);
    const auto target = distribution::weighted({0.5f, 0.3f, 0.2f});
    const auto drawn = [&](auto& chooser, std::size_t sibling) {
        position_draws draws(chooser, 2, 0);
        draws.at_sibling(sibling);
        return static_cast<token>(draws.choose(target, purpose::correction));
    };
    const auto plain = of_one_token([&](auto& chooser) { return drawn(chooser, 0); });
    // Token 0 is the first sibling and token 1 the second; each path draws for itself, and the first that agrees is
    // taken.
    const auto wrong = of_one_token([&](auto& chooser) {
        const token first = drawn(chooser, 0), second = drawn(chooser, 1);
        return first == 0 ? first : second == 1 ? second : first;
    });
    BOOST_TEST(testing::total_variation(plain, wrong) > 0.05);
}

// Fixed siblings, zeroed and renormalised one after another, were called lossy.
BOOST_AUTO_TEST_CASE(invariant_16_fixed_siblings_keep_the_law) {
    BOOST_TEST(distance(accept::rejection_sampling{}, {-1, -1}) < 1e-12);
    BOOST_TEST(distance(accept::rejection_sampling{}, {-1, -1, -1, 0, 0, 1, 1}) < 1e-12);
}

/// A mode of typical acceptance, with drafts of this kind.
template <class TokenSelector>
void check_typical(const accept::typical& rule, float temperature) {
    const auto target = testing::hashed_model(5, 1), drafting = testing::hashed_model(5, 1, 2);
    decode::options chosen;
    chosen.sampling.temperature.value = temperature;
    chosen.stop.max_tokens = 12;
    const auto plainly = decode::generate(plain(target), prompt, chosen).tokens;
    std::size_t accepted = 0;
    const auto check = [&](const auto& scheme) {
        const auto decoded = decode::generate<any_guarantee>(scheme, prompt, chosen);
        BOOST_TEST(decoded.tokens.size() == 12u);
        BOOST_TEST((temperature > 0 || decoded.tokens == plainly));
        accepted += decoded.counts.stages[0].accepted;
    };
    const draft::draft_model<const testing::function_model&, TokenSelector> chain(drafting);
    check(speculate(chain, target, policy::fixed_length{3}, rule));
    check(speculate(testing::bush<TokenSelector>{drafting}, target, policy::fixed_length{3}, rule));
    BOOST_TEST(accepted > 0u);
}

// A mode of typical acceptance called a function with an argument too many: nobody had run it.
BOOST_AUTO_TEST_CASE(invariant_42_every_mode_of_typical_acceptance_runs) {
    for (const accept::typical_next next : {accept::typical_next::most_probable, accept::typical_next::drawn}) {
        for (const float temperature : {0.0f, 0.7f, 1.0f}) {
            const accept::typical rule({.next = next});
            check_typical<draft::argmax>(rule, temperature);
            check_typical<draft::argmax_with_row>(rule, temperature);
            check_typical<draft::sampled>(rule, temperature);
            check_typical<draft::sampled_with_replacement>(rule, temperature);
            check_typical<draft::shared_noise>(rule, temperature);
        }
    }
}

// Sequences of one batch had to share positions.
BOOST_AUTO_TEST_CASE(invariant_62_sequences_of_a_batch_stand_where_they_like) {
    const auto model = testing::small_llama(io::tensor_type::q8_0).load({.threads = 2});
    std::vector<llama::sequence> batch;
    std::vector<std::vector<token>> texts;
    for (std::size_t i = 0; i < 5; ++i) {
        batch.push_back(model.make_sequence());
        texts.push_back(testing::some_tokens(1 + 70 * i, model.vocabulary_size()));
        if (i > 0) model.extend(batch.back(), std::span(texts.back()).first(70 * i), 0);
    }
    std::vector<pass<llama::sequence>> passes;
    for (std::size_t i = 0; i < 5; ++i)
        passes.push_back({.sequence = &batch[i], .tokens = std::span(texts[i]).last(1)});
    std::vector<model::pass_rows<llama::host_model>> results(5);
    model::run<llama::host_model>(model, passes, results);
    for (std::size_t i = 0; i < 5; ++i) {
        auto alone = model.make_sequence();
        const auto rows = model.extend(alone, texts[i], 1);
        BOOST_TEST(std::vector<float>(results[i][0].begin(), results[i][0].end()) ==
                       std::vector<float>(rows[0].begin(), rows[0].end()),
                   boost::test_tools::per_element());
    }
    passes[4].sequence = &batch[1];  // checked before the call
    BOOST_CHECK_EXCEPTION((model::run<llama::host_model>(model, passes, results)), error, [](const error& e) {
        return std::string(e.what()) == "run: the sequence of pass 4 is that of pass 1";
    });
    BOOST_TEST(model.length(batch[0]) == 1u);
}

BOOST_AUTO_TEST_SUITE_END()
