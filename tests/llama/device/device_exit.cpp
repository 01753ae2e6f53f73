#include "augur/llama/device/device_exit.hpp"

#include <augur/accept/coupled.hpp>
#include <augur/accept/exact.hpp>
#include <augur/accept/rejection_sampling.hpp>
#include <augur/decode/device/generate.hpp>
#include <augur/decode/device/loop.hpp>
#include <augur/decode/device/split_draft.hpp>
#include <augur/decode/generate.hpp>
#include <augur/draft/exit_head.hpp>
#include <augur/draft/self_speculation.hpp>
#include <augur/policy/fixed_length.hpp>
#include <boost/test/unit_test.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "augur/backend/device/send.hpp"
#include "augur/llama/device/device_model.hpp"
#include "augur/llama/device/resident.hpp"
#include "llama/small_llama.hpp"
#include "sanitized.hpp"

namespace device = augur::llama::device;
namespace kernels = augur::backend::device;
namespace loops = augur::decode::device;
using augur::token;
using kernels::bfloat16, kernels::emulated_system;

BOOST_AUTO_TEST_SUITE(llama_device_exit)

namespace {

using model_type = device::device_model<bfloat16, emulated_system>;
using resident_type = device::resident<bfloat16, emulated_system>;
using head_type = device::device_exit<bfloat16, emulated_system>;
static_assert(augur::draft::ExitHead<head_type> && loops::ResidentHead<head_type>);
static_assert(loops::ResidentSplitModel<resident_type>);

augur::llama::host_model some_llama() {
    return augur::testing::small_llama(augur::io::tensor_type::bf16).load();
}

}  // namespace

/// The head makes the rows of a model that ends where it reads, and two parts make those of the whole.
BOOST_AUTO_TEST_CASE(parts_of_a_pass_are_the_whole) {
    for (const bool backwards : {false, true}) {
        const model_type model(emulated_system{backwards}, some_llama());
        augur::llama::config c = model.configuration();
        c.layers = 1;
        const model_type first_layer(model.system(), c, model.shared_weights());
        const head_type head(model, 1);
        const resident_type resident(model, 300, 8);
        const auto text = augur::testing::some_tokens(300, model.vocabulary_size());
        auto sequence = model.make_sequence();
        auto shallow = first_layer.make_sequence();
        const auto rows = model.extend(sequence, text), exits = first_layer.extend(shallow, text);
        const emulated_system& on = resident.system();
        const kernels::buffer<token, emulated_system> there(on, std::span<const token>(text));
        const kernels::buffer<std::uint32_t, emulated_system> words(on, 2);
        resident.fill(there.data(), 250);
        const auto same = [&](const float* found, const float* expected, std::size_t count) {
            std::vector<float> got(count * model.vocabulary_size());
            on.download(got.data(), found, got.size() * sizeof(float));
            BOOST_TEST(std::equal(got.begin(), got.end(), expected));
        };
        for (const std::uint32_t from : {250u, 253u, 256u}) {  // over the end of a block of the cache
            for (std::uint32_t i = 0; i < 5; ++i) {
                const std::uint32_t said[] = {from + i, from};
                kernels::send(on, words.data(), std::span<const std::uint32_t>(said));
                const auto launch = [&] { resident.launch_shallow(there.data(), words.data(), words.data() + 1, 1); };
                if (i % 2 == 0) {
                    on.replay(on.record(launch));
                } else {
                    launch();
                }
                head.launch(resident.state());
                same(head.logits(), exits[from + i].data(), 1);
            }
            // three rows more than there are states: of no meaning, and nobody's harm
            resident.launch_deep(there.data(), words.data() + 1, 8, 1);
            same(resident.logits(), rows[from].data(), 5);
        }
        if (augur::testing::sanitized) break;
    }
}

BOOST_AUTO_TEST_CASE(loops_write_what_self_speculation_writes) {
    const model_type target({}, some_llama());
    const resident_type there(target, 600, 4);
    std::vector<float> other_norm(target.hidden_size());
    for (std::size_t i = 0; i < other_norm.size(); ++i) other_norm[i] = 0.5f + static_cast<float>(i % 3);
    const std::vector<token> prompt = {1, 2, 3, 1, 2, 3, 1, 2};
    std::size_t drafted = 0;
    const auto check = [&](const head_type& head, const auto& criterion, float temperature) {
        augur::decode::options options{.seed = 5};
        options.sampling.temperature = {temperature};
        options.stop.max_tokens = 25;
        const augur::policy::fixed_length three{3};
        const auto scheme = augur::speculate(augur::draft::self_speculation(head), target, three, criterion);
        const auto expected = augur::decode::generate(scheme, prompt, options);
        loops::speculation_loop loop(there, loops::split_draft(head), three, criterion, options.sampling, 3);
        for (const auto how : {loops::loop_as::whole, loops::loop_as::launches}) {
            const auto got = loops::generate(loop, prompt, options, how);
            BOOST_TEST(got.tokens == expected.tokens, boost::test_tools::per_element());
            const auto &a = got.counts.stages.back(), &b = expected.counts.stages.back();
            BOOST_TEST(a.rounds == b.rounds);
            BOOST_TEST(a.drafted == b.drafted);
            BOOST_TEST(a.accepted == b.accepted);
            drafted += a.drafted;
        }
    };
    const head_type own(target, 1), other(target, 1, other_norm);
    check(own, augur::accept::exact{}, 0);
    check(other, augur::accept::coupled{}, 0.8f);
    check(own, augur::accept::rejection_sampling{}, 0.8f);
    BOOST_TEST(drafted > 50u);
}

/// Of a norm twice as large: each number is exact.
BOOST_AUTO_TEST_CASE(a_norm_of_its_own_is_used) {
    const auto host = some_llama();
    const model_type model({}, host);
    std::vector<float> twice = host.parameters().final_norm, state(model.hidden_size());
    for (float& each : twice) each *= 2;
    for (std::size_t i = 0; i < state.size(); ++i) state[i] = 0.25f * static_cast<float>(i % 7) - 0.5f;
    std::vector<float> own(model.vocabulary_size()), other(model.vocabulary_size());
    head_type(model, 1).row(state, own);
    head_type(model, 1, twice).row(state, other);
    for (float& each : own) each *= 2;
    BOOST_TEST(other == own, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(sizes_that_differ_are_refused) {
    const model_type model({}, some_llama());
    const auto refuses = [](const auto& make, const std::string& text) {
        BOOST_CHECK_EXCEPTION(make(), augur::error,
                              [&](const augur::error& e) { return std::string(e.what()) == text; });
    };
    refuses([&] { head_type(model, 1, std::vector<float>(63)); },
            "an exit head's norm has 63 numbers, but the model's states have 64");
    const head_type head(model, 1);
    std::vector<float> row(77);
    refuses([&] { head.row(std::vector<float>(60), row); },
            "an exit head makes 77 logits of a state of 64 numbers, not 77 of 60");
}

BOOST_AUTO_TEST_SUITE_END()
