// Whole decodings as one graph, beside the same decodings round by round from the host.
#include <augur/accept/coupled.hpp>
#include <augur/accept/exact.hpp>
#include <augur/accept/rejection_sampling.hpp>
#include <augur/backend/device/cuda_system.hpp>
#include <augur/decode/device/generate.hpp>
#include <augur/decode/device/generate_together.hpp>
#include <augur/decode/device/kernel_lookup.hpp>
#include <augur/decode/device/loop.hpp>
#include <augur/decode/device/loop_group.hpp>
#include <augur/decode/device/split_draft.hpp>
#include <augur/decode/generate.hpp>
#include <augur/draft/prompt_lookup.hpp>
#include <augur/draft/self_speculation.hpp>
#include <augur/llama/device/device_model.hpp>
#include <augur/llama/device/device_exit.hpp>
#include <augur/llama/device/resident.hpp>
#include <augur/llama/device/resident_group.hpp>
#include <augur/policy/fixed_length.hpp>
#include <boost/test/unit_test.hpp>
#include <cstddef>
#include <span>
#include <vector>

#include "gpu/random_llama.hpp"

BOOST_AUTO_TEST_SUITE(gpu_loop)

namespace {

using namespace augur;
using backend::device::bfloat16;
using backend::device::cuda_system;
using decode::device::loop_as;
using model_type = llama::device::device_model<bfloat16, cuda_system>;
using resident_type = llama::device::resident<bfloat16, cuda_system>;

/// A policy of a user's own, asked by a kernel.
struct by_entropy {
    static constexpr signals_read reads{.required = signals::draft_entropy};

    AUGUR_HOST_DEVICE std::size_t length(const observation& seen) const { return seen.draft_entropy_nats < 4 ? 5 : 2; }
};

struct pair {
    cuda_system on = cuda_system::with_stream();
    llama::config shape = testing::some_config(4, 128, 8, 2, 320, 500, 1200);
    model_type target{on, shape, testing::random_weights(shape, 3)};
    model_type draft = first_layers(target, 2);
    resident_type target_there{target, 1000, 8}, draft_there{draft, 1000, 2};

    static model_type first_layers(const model_type& of, std::size_t layers) {
        llama::config c = of.configuration();
        c.layers = layers;
        return {of.system(), c, of.shared_weights()};
    }

    template <class Policy, class Criterion>
    void check(const Policy& policy, const Criterion& criterion, float temperature) {
        check_same(speculate(draft, target, policy, criterion), draft_there, temperature);
    }
    template <class Policy, class Criterion>
    void check_lookup(const Policy& policy, const Criterion& criterion, float temperature) {
        const draft::prompt_lookup lookup(1, 4);
        check_same(speculate(lookup, target, policy, criterion), decode::device::kernel_lookup(lookup), temperature);
    }
    template <class Policy, class Criterion>
    void check_split(const Policy& policy, const Criterion& criterion, float temperature) {
        const llama::device::device_exit head(target, 2);
        check_same(speculate(draft::self_speculation(head), target, policy, criterion),
                   decode::device::split_draft(head), temperature);
    }

    /// `drafter`: what the scheme drafts with, there.
    template <class Scheme, class Drafter>
    void check_same(const Scheme& scheme, const Drafter& drafter, float temperature) {
        decode::options options;
        options.seed = 11;
        options.sampling.temperature = {temperature};
        options.stop.max_tokens = 400;
        const std::vector<token> prompt = {1, 5, 8, 2, 1, 5, 8, 2, 44};
        const auto expected = decode::generate(scheme, prompt, options);
        decode::device::speculation_loop loop(target_there, drafter, scheme.policy(), scheme.criterion(),
                                              options.sampling, 7);
        for (const loop_as how : {loop_as::whole, loop_as::rounds, loop_as::launches, loop_as::whole}) {
            const auto got = decode::device::generate(loop, prompt, options, how);
            BOOST_TEST(got.tokens == expected.tokens, boost::test_tools::per_element());
            BOOST_TEST(got.counts.stages.back().accepted == expected.counts.stages.back().accepted);
            BOOST_TEST(got.counts.stages.back().drafted == expected.counts.stages.back().drafted);
        }
    }
};

}  // namespace

BOOST_AUTO_TEST_CASE(graphs_write_what_rounds_from_the_host_write) {
    pair models;
    models.check(policy::fixed_length{4}, accept::exact{}, 0);
    models.check(policy::fixed_length{7}, accept::coupled{}, 0.8f);
    models.check(by_entropy{}, accept::exact{}, 0);
    models.check(by_entropy{}, accept::rejection_sampling{}, 0.8f);
}

/// Searched by a kernel in the text that lies there, as the host searches its own.
BOOST_AUTO_TEST_CASE(lookups_there_draft_what_the_host_drafts) {
    pair models;
    models.check_lookup(policy::fixed_length{5}, accept::exact{}, 0);
    models.check_lookup(policy::fixed_length{7}, accept::coupled{}, 0.8f);
}

/// The target's first layers draft and the others verify, in one cache.
BOOST_AUTO_TEST_CASE(split_passes_there_draft_what_the_host_drafts) {
    pair models;
    models.check_split(policy::fixed_length{4}, accept::exact{}, 0);
    models.check_split(by_entropy{}, accept::rejection_sampling{}, 0.8f);
}

/// One pass of the target for three texts, each of which is what it is alone.
BOOST_AUTO_TEST_CASE(texts_decoded_together_are_those_of_generate) {
    pair models;
    const llama::device::resident_group<bfloat16, cuda_system> targets(models.target, 3, 500, 8);
    std::vector<resident_type> drafts;
    for (int i = 0; i < 3; ++i) drafts.emplace_back(models.draft, 500, 2);
    decode::options options{.seed = 4};
    options.sampling.temperature = {0.8f};
    options.stop.max_tokens = 200;
    const std::vector<token> one = {1, 5, 8, 2, 1, 5, 8, 2, 44}, two = {7}, three = {3, 3, 3, 9};
    const std::vector<std::span<const token>> prompts{one, two, three};
    const policy::fixed_length five{5};
    const accept::coupled criterion;
    const auto expected =
        decode::generate_together(speculate(models.draft, models.target, five, criterion), prompts, options);
    decode::device::speculation_group group(targets, drafts, five, criterion, options.sampling, 7);
    for (const loop_as how : {loop_as::whole, loop_as::rounds, loop_as::launches}) {
        const auto got = decode::device::generate_together(group, prompts, options, how);
        for (std::size_t i = 0; i < prompts.size(); ++i) {
            BOOST_TEST(got[i].tokens == expected[i].tokens, boost::test_tools::per_element());
            BOOST_TEST(got[i].counts.stages.back().accepted == expected[i].counts.stages.back().accepted);
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
