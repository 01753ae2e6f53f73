#include <algorithm>
#include <augur/accept/coupled.hpp>
#include <augur/accept/exact.hpp>
#include <augur/accept/rejection_sampling.hpp>
#include <augur/decode/device/generate.hpp>
#include <augur/decode/generate.hpp>
#include <augur/policy/fixed_length.hpp>
#include <boost/test/unit_test.hpp>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "augur/decode/device/loop.hpp"
#include "augur/llama/device/device_model.hpp"
#include "augur/llama/device/resident.hpp"
#include "llama/small_llama.hpp"
#include "sanitized.hpp"

namespace device = augur::llama::device;
namespace kernels = augur::backend::device;
namespace loops = augur::decode::device;
using augur::token;
using kernels::bfloat16, kernels::binary16, kernels::emulated_system;

BOOST_AUTO_TEST_SUITE(llama_device_resident)

namespace {

template <class Element>
using model_type = device::device_model<Element, emulated_system>;
template <class Element>
using resident_type = device::resident<Element, emulated_system>;

augur::llama::host_model some_llama() {
    return augur::testing::small_llama(augur::io::tensor_type::bf16).load();
}

/// The same with its first layer alone.
model_type<bfloat16> first_layer(const model_type<bfloat16>& of) {
    augur::llama::config c = of.configuration();
    c.layers = 1;
    return {of.system(), c, of.shared_weights()};
}

}  // namespace

/// In launches of several sizes, some of rows that are made again, some recorded.
BOOST_AUTO_TEST_CASE(rows_are_those_of_the_model) {
    for (const bool backwards : {false, true}) {
        const model_type<binary16> model(emulated_system{backwards}, some_llama());
        const resident_type<binary16> resident(model, 300, 8);
        static_assert(loops::ResidentModel<resident_type<binary16>>);
        const auto text = augur::testing::some_tokens(300, model.vocabulary_size());
        auto sequence = model.make_sequence();
        const auto rows = model.extend(sequence, text);
        const emulated_system& on = resident.system();
        const kernels::buffer<token, emulated_system> there(on, std::span<const token>(text));
        const kernels::buffer<std::uint32_t, emulated_system> first(on, 1);
        resident.fill(there.data(), 250);
        const auto check = [&](std::uint32_t at, std::size_t count, std::size_t last, bool recorded) {
            kernels::send(on, first.data(), std::span<const std::uint32_t>(&at, 1));
            const auto launch = [&] { resident.launch(there.data(), first.data(), count, last); };
            if (recorded) {
                on.replay(on.record(launch));
            } else {
                launch();
            }
            std::vector<float> got(last * model.vocabulary_size());
            on.download(got.data(), resident.logits(), got.size() * sizeof(float));
            const float* const expected = rows[at + count - last].data();
            BOOST_TEST(std::equal(got.begin(), got.end(), expected));
        };
        check(250, 1, 1, false);
        check(251, 8, 8, true);
        check(258, 2, 1, true);
        check(255, 7, 3, false);
        check(262, 8, 8, false);
        if (augur::testing::sanitized) break;
    }
}

/// A draft of the target's first layer, on the device and on the host's loop.
BOOST_AUTO_TEST_CASE(loops_write_what_generate_writes) {
    const model_type<bfloat16> target({}, some_llama()), draft = first_layer(target);
    const resident_type<bfloat16> target_there(target, 600, 4), draft_there(draft, 600, 2);
    const std::vector<token> prompt = {1, 2, 3, 1, 2, 3, 1, 2};
    std::size_t drafted = 0;
    const auto check = [&](const auto& criterion, float temperature) {
        augur::decode::options options{.seed = 5};
        options.sampling.temperature = {temperature};
        options.stop.max_tokens = 30;
        const augur::policy::fixed_length three{3};
        const auto expected =
            augur::decode::generate(augur::speculate(draft, target, three, criterion), prompt, options);
        loops::speculation_loop loop(target_there, draft_there, three, criterion, options.sampling, 3);
        for (const auto how : {loops::loop_as::whole, loops::loop_as::launches}) {
            const auto got = loops::generate(loop, prompt, options, how);
            BOOST_TEST(got.tokens == expected.tokens, boost::test_tools::per_element());
            BOOST_TEST(got.counts.stages.back().accepted == expected.counts.stages.back().accepted);
            drafted += got.counts.stages.back().drafted;
        }
    };
    check(augur::accept::exact{}, 0);
    check(augur::accept::coupled{}, 0.8f);
    check(augur::accept::rejection_sampling{}, 0.8f);
    BOOST_TEST(drafted > 50u);
}

BOOST_AUTO_TEST_CASE(what_cannot_be_is_refused) {
    const model_type<bfloat16> model({}, some_llama());
    const auto refuses = [](const auto& make, const std::string& text) {
        BOOST_CHECK_EXCEPTION(make(), augur::error,
                              [&](const augur::error& e) { return std::string(e.what()) == text; });
    };
    refuses([&] { resident_type<bfloat16>(model, 601, 4); }, "a resident text of 601 tokens in a context of 600");
    refuses([&] { resident_type<bfloat16>(model, 0, 4); }, "a resident text of 0 tokens in a context of 600");
    refuses([&] { resident_type<bfloat16>(model, 10, 65); }, "a launch of 65 rows; it takes 1 to 64");
    refuses([&] { resident_type<bfloat16>(model, 10, 0); }, "a launch of 0 rows; it takes 1 to 64");
    augur::llama::config more = model.configuration();
    more.layers = 3;
    refuses([&] { resident_type<bfloat16>({}, more, model.shared_weights(), 10, 4); },
            "a model of 3 layers cannot have weights of 2");
    const resident_type<bfloat16> resident(model, 10, 4);
    more.layers = 2;
    more.vocabulary_fingerprint = "aa";
    const resident_type<bfloat16> marked({}, more, model.shared_weights(), 10, 4);
    BOOST_TEST(marked.vocabulary_fingerprint() == "aa");
    BOOST_TEST(resident.memory_bytes() >= 4 * 77 * sizeof(float) + 2u * 2 * 2 * 256 * 8 * 2);
}

BOOST_AUTO_TEST_SUITE_END()
