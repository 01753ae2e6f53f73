#include "augur/round/device_verifier.hpp"

#include <algorithm>
#include <augur/accept/block.hpp>
#include <augur/accept/coupled.hpp>
#include <augur/accept/exact.hpp>
#include <augur/accept/fuzzy.hpp>
#include <augur/accept/multipath_block.hpp>
#include <augur/accept/rejection_sampling.hpp>
#include <augur/accept/traversal.hpp>
#include <augur/accept/typical.hpp>
#include <augur/decode/generate.hpp>
#include <augur/draft/prompt_lookup.hpp>
#include <augur/model/any_model.hpp>
#include <augur/policy/entropy_bins.hpp>
#include <augur/policy/fixed_length.hpp>
#include <augur/testing/models.hpp>
#include <boost/test/unit_test.hpp>
#include <cstddef>
#include <limits>
#include <set>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "accept/bush.hpp"
#include "backend/device/rows_on_device.hpp"

using namespace augur;

namespace {

struct run {
    std::vector<token> tokens;
    std::vector<double> log_probabilities;
    std::vector<std::size_t> accepted;
    finish_reason finish;
    std::string detail;

    bool operator==(const run&) const = default;
};

template <class Target, class Drafter, class Policy, class Criterion>
run run_of(const Target& target, const Drafter& drafter, const Policy& policy, const Criterion& criterion,
           const decode::options& chosen) {
    const auto scheme = speculate(drafter, target, policy, criterion);
    decode::options each = chosen;
    each.timed = false;
    const std::vector<token> prompt = {1, 2, 1, 2};
    const auto decoded = decode::generate<any_guarantee>(scheme, prompt, each);
    return {decoded.tokens,
            decoded.log_probabilities,
            {decoded.counts.stages.back().drafted, decoded.counts.stages.back().accepted},
            decoded.finish,
            decoded.detail};
}

decode::options options_with(float temperature, std::uint64_t seed) {
    decode::options chosen{.seed = seed};
    chosen.sampling.temperature.value = temperature;
    chosen.stop.max_tokens = 40;
    return chosen;
}

/// Runs with the model's own device verifier, with one that was erased, and with rows that come to the host.
template <class Drafter, class Policy, class Criterion>
void check(const Drafter& drafter, const Policy& policy, const Criterion& criterion, const decode::options& chosen,
           std::size_t rows_brought = 0) {
    const testing::function_model plain = testing::hashed_model(7, 3 + chosen.seed, 3);
    const rows_on_device::model there(plain);
    static_assert(VerifiesOnDevice<rows_on_device::model, Criterion> &&
                  !VerifiesOnDevice<testing::function_model, Criterion>);
    const run expected = run_of(plain, drafter, policy, criterion, chosen);
    BOOST_TEST((run_of(there, drafter, policy, criterion, chosen) == expected));
    BOOST_TEST(there.brought() == rows_brought);
    const model::basic_any_model<Criterion> erased(there);
    BOOST_TEST((run_of(erased, drafter, policy, criterion, chosen) == expected));
    BOOST_TEST(there.brought() == 2 * rows_brought);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(round_device_verifier)

BOOST_AUTO_TEST_CASE(rounds_are_those_of_rows_on_the_host_and_no_row_comes_there) {
    const draft::prompt_lookup lookup(1, 3);
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
        const policy::fixed_length policy{seed % 5};
        check(lookup, policy, accept::exact{}, options_with(0, seed));
        check(lookup, policy, accept::coupled{}, options_with(1, seed));
        check(lookup, policy, accept::rejection_sampling{}, options_with(0.7f, seed));
        const auto model = testing::hashed_model(7, seed, 3);
        check(draft::draft_model<const testing::function_model&, draft::shared_noise>(model), policy, accept::coupled{},
              options_with(0.7f, seed));
    }
}

/// The draft distribution of drawn tokens goes where the target's rows are.
BOOST_AUTO_TEST_CASE(draft_distributions_bring_no_row) {
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
        const policy::fixed_length policy{seed % 5};
        const auto model = testing::hashed_model(7, 3 + seed, 2);
        const draft::draft_model<const testing::function_model&, draft::sampled> drawn(model);
        const draft::draft_model<const testing::function_model&, draft::sampled_with_replacement> again(model);
        for (const float temperature : {0.7f, 1.0f, 0.0f}) {
            decode::options chosen = options_with(temperature, seed);
            if (seed % 2 == 1) chosen.sampling.top_k.k = 4;
            check(drawn, policy, accept::rejection_sampling{}, chosen);
            check(drawn, policy, accept::block{}, chosen);
            check(drawn, policy, accept::traversal{}, chosen);
            check(again, policy, accept::multipath_block{}, chosen);
            check(drawn, policy, accept::fuzzy<measure::kl>{0.3}, chosen);
            check(drawn, policy, accept::typical{}, chosen);
        }
    }
}

/// Trees, and the chains and lone tokens that room leaves of them; those whose nodes are certain, and drawn ones.
BOOST_AUTO_TEST_CASE(trees_bring_no_row) {
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
        const policy::fixed_length policy{seed % 5};
        const auto model = testing::hashed_model(7, 3 + seed, 2);
        const testing::bush<draft::argmax> certain{model};
        const testing::bush<draft::shared_noise> shared{model};
        const testing::bush<draft::sampled> drawn{model};
        decode::options chosen = options_with(0.8f, seed);
        if (seed % 2 == 1) {
            chosen.sampling.penalties = {.repetition = 1.3f, .presence = 0.2f, .frequency = 0.1f};
            chosen.sampling.top_p.p = 0.9f;
        }
        check(certain, policy, accept::exact{}, options_with(0, seed));
        check(shared, policy, accept::coupled{}, chosen);
        check(drawn, policy, accept::rejection_sampling{}, chosen);
        check(certain, policy, accept::rejection_sampling{}, chosen);
        check(drawn, policy, accept::traversal{}, chosen);
        check(certain, policy, accept::traversal{}, chosen);
        const testing::bush<draft::sampled_with_replacement> again{model};
        check(again, policy, accept::multipath_block{}, chosen);
        check(again, policy, accept::multipath_block{}, options_with(0, seed));
        check(certain, policy, accept::typical{{.epsilon = 0.2, .delta = 0.6}}, chosen);
        check(drawn, policy, accept::fuzzy<measure::total_variation>{0.3}, chosen);
    }
}

/// An engine without trees has its chains judged there, and its trees on the host.
BOOST_AUTO_TEST_CASE(trees_of_a_model_without_them_bring_rows) {
    const auto small = testing::hashed_model(7, 5, 2);
    const testing::function_model plain = testing::hashed_model(7, 5, 3);
    const rows_on_device::chain_model there(plain);
    const auto run_on = [&](const auto& target) {
        return run_of(target, testing::bush<draft::sampled>{small}, policy::fixed_length{3},
                      accept::rejection_sampling{}, options_with(1, 4));
    };
    const run expected = run_on(plain);
    BOOST_TEST((run_on(there) == expected));
    BOOST_TEST(there.brought() > 0u);
    const model::erased_model<model::engine_traits::none, accept::rejection_sampling> erased(there);
    BOOST_TEST((run_on(erased) == expected));
}

/// Penalties count the text, the prompt's part too, and what is drafted.
BOOST_AUTO_TEST_CASE(every_transform_stays_there) {
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
        decode::options chosen = options_with(0.9f, seed);
        chosen.sampling.penalties = {.repetition = 1.3f, .presence = 0.2f, .frequency = 0.1f};
        chosen.sampling.bias.added = {{3, 0.5f}, {1, -1}};
        if (seed % 3 == 1) chosen.sampling.top_k.k = 4;
        if (seed % 3 == 2) chosen.sampling.top_p.p = 0.8f;
        if (seed % 2 == 1) chosen.sampling.min_p.p = 0.05f;
        check(draft::prompt_lookup(1, 3), policy::fixed_length{4}, accept::coupled{}, chosen);
        check(draft::prompt_lookup(1, 3), policy::fixed_length{3}, accept::rejection_sampling{}, chosen);
    }
}

BOOST_AUTO_TEST_CASE(a_policy_on_the_targets_entropy_brings_no_row) {
    const policy::target_entropy_bins bins({0.3, 0.6, 1.2}, {5, 4, 2, 1});
    check(draft::prompt_lookup(1, 3), bins, accept::coupled{}, options_with(1, 4));
}

/// It is asked after the same texts as on the host, and perhaps after more; never after a token that it removed.
BOOST_AUTO_TEST_CASE(a_mask_brings_no_row) {
    std::set<std::vector<token>> asked;
    decode::options chosen = options_with(1, 4);
    chosen.sampling.mask = [&](std::span<float> logits, const prefix& before) {
        const auto text = before.tokens();
        asked.emplace(text.begin(), text.end());
        for (std::size_t i = before.prompt_length(); i < text.size(); ++i) {
            BOOST_TEST(static_cast<std::size_t>(text[i]) != i % logits.size());
        }
        logits[before.size() % logits.size()] = -std::numeric_limits<float>::infinity();
    };
    for (const std::size_t length : {2u, 3u, 5u}) {
        const policy::fixed_length policy{length};
        asked.clear();
        run_of(testing::hashed_model(7, 1, 3), draft::prompt_lookup(1, 3), policy, accept::coupled{}, chosen);
        const auto on_host = asked;
        asked.clear();
        run_of(rows_on_device::model(testing::hashed_model(7, 1, 3)), draft::prompt_lookup(1, 3), policy,
               accept::coupled{}, chosen);
        BOOST_TEST(std::includes(asked.begin(), asked.end(), on_host.begin(), on_host.end()));
        check(draft::prompt_lookup(1, 3), policy, accept::coupled{}, chosen);
        check(draft::prompt_lookup(1, 3), policy, accept::rejection_sampling{}, chosen);
    }
}

BOOST_AUTO_TEST_CASE(log_probabilities_are_those_of_the_rows) {
    decode::options chosen = options_with(1, 4);
    chosen.log_probabilities = true;
    const testing::function_model plain = testing::hashed_model(7, 1, 3);
    const auto run_on = [&](const auto& target) {
        return run_of(target, draft::prompt_lookup(1, 3), policy::fixed_length{3}, accept::coupled{}, chosen);
    };
    const run got = run_on(rows_on_device::model(plain));
    BOOST_TEST(got.log_probabilities.size() == got.tokens.size());
    BOOST_TEST((got == run_on(plain)));
}

BOOST_AUTO_TEST_CASE(a_row_that_cannot_be_drawn_from_is_named) {
    const testing::function_model plain = testing::hashed_model(7, 1, 3);
    const auto spoilt = [&](std::span<const token> before, std::span<float> row) {
        plain.fill_row(before, row);
        if (before.size() == 9) row[2] = std::numeric_limits<float>::quiet_NaN();
    };
    const testing::function_model faulty(7, 64, spoilt);
    const auto run_on = [&](const auto& target) {
        return run_of(target, draft::prompt_lookup(1, 3), policy::fixed_length{3}, accept::coupled{},
                      options_with(1, 2));
    };
    const run got = run_on(rows_on_device::model(faulty));
    BOOST_TEST((got.finish == finish_reason::invalid_logits));
    BOOST_TEST(got.detail == "the target's logit of token 2 at position 9 is nan");
    BOOST_TEST((got == run_on(faulty)));
}

/// Choices of a chooser of the user's own are the host's; so are criteria of two draft distributions at once.
BOOST_AUTO_TEST_CASE(where_it_cannot_serve_there_is_no_device_verifier) {
    using there = rows_on_device::model;
    using drawn = draft::draft_model<testing::function_model, draft::sampled>;
    using certain = draft::draft_model<testing::function_model, draft::argmax>;
    using with_row = draft::draft_model<testing::function_model, draft::argmax_with_row>;
    using philox = random::philox_chooser;
    const auto scheme = []<class Drafter, class Target>() {
        return static_cast<speculator<Drafter, const Target&, policy::fixed_length, accept::rejection_sampling>*>(
            nullptr);
    };
    const auto served = [](auto* of, auto* by) {
        return rounds::has_device_verifier<std::remove_pointer_t<decltype(of)>, std::remove_pointer_t<decltype(by)>>;
    };
    struct other_chooser : philox {};
    BOOST_TEST(served(scheme.template operator()<certain, there>(), static_cast<philox*>(nullptr)));
    BOOST_TEST(served(scheme.template operator()<drawn, there>(), static_cast<philox*>(nullptr)));
    BOOST_TEST(!served(scheme.template operator()<with_row, there>(), static_cast<philox*>(nullptr)));
    BOOST_TEST(!served(scheme.template operator()<certain, there>(), static_cast<other_chooser*>(nullptr)));
    BOOST_TEST(!served(scheme.template operator()<certain, testing::function_model>(), static_cast<philox*>(nullptr)));
}

BOOST_AUTO_TEST_SUITE_END()
