#include <algorithm>
#include <augur/accept/coupled.hpp>
#include <augur/decode/device/generate_together.hpp>
#include <augur/decode/generate.hpp>
#include <augur/policy/fixed_length.hpp>
#include <boost/test/unit_test.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "augur/decode/device/loop_group.hpp"
#include "augur/llama/device/device_model.hpp"
#include "augur/llama/device/resident.hpp"
#include "augur/llama/device/resident_group.hpp"
#include "llama/small_llama.hpp"
#include "sanitized.hpp"

namespace device = augur::llama::device;
namespace kernels = augur::backend::device;
namespace loops = augur::decode::device;
using augur::token;
using kernels::bfloat16, kernels::emulated_system;

BOOST_AUTO_TEST_SUITE(llama_device_resident_group)

namespace {

using model_type = device::device_model<bfloat16, emulated_system>;
using resident_type = device::resident<bfloat16, emulated_system>;
using group_type = device::resident_group<bfloat16, emulated_system>;
static_assert(loops::ResidentGroup<group_type>);

augur::llama::host_model some_llama() {
    return augur::testing::small_llama(augur::io::tensor_type::bf16).load();
}

}  // namespace

/// Texts of unlike lengths, one over the end of a block of the cache.
BOOST_AUTO_TEST_CASE(rows_are_those_of_the_model) {
    for (const bool backwards : {false, true}) {
        const model_type model(emulated_system{backwards}, some_llama());
        const group_type group(model, 3, 300, 4);
        const emulated_system& on = group.system();
        const auto text = augur::testing::some_tokens(400, model.vocabulary_size());
        const kernels::buffer<token, emulated_system> there(on, std::span<const token>(text));
        const std::vector<std::uint32_t> firsts{5, 254, 70};
        const kernels::buffer<std::uint32_t, emulated_system> first(on, std::span<const std::uint32_t>(firsts));
        std::vector<loops::text_place> places;
        for (std::size_t i = 0; i < 3; ++i) {
            places.push_back({there.data() + 10 * i, first.data() + i});
            group.fill(i, there.data() + 10 * i, firsts[i]);
        }
        const kernels::buffer<loops::text_place, emulated_system> list(on, std::span<const loops::text_place>(places));
        for (const std::size_t count : {4u, 1u, 3u}) {
            group.launch(list.data(), count);
            std::vector<float> got(3 * count * model.vocabulary_size());
            on.download(got.data(), group.logits(), got.size() * sizeof(float));
            for (std::size_t i = 0; i < 3; ++i) {
                auto sequence = model.make_sequence();
                const auto own = std::span<const token>(text).subspan(10 * i, firsts[i] + count);
                const auto rows = model.extend(sequence, own, count);
                const auto begin = got.begin() + static_cast<std::ptrdiff_t>(i * count * model.vocabulary_size());
                const auto size = static_cast<std::ptrdiff_t>(count * model.vocabulary_size());
                BOOST_TEST(std::equal(begin, begin + size, rows[0].data()));
            }
        }
        if (augur::testing::sanitized) break;
    }
}

BOOST_AUTO_TEST_CASE(texts_decoded_together_are_those_of_generate) {
    const model_type target({}, some_llama());
    augur::llama::config c = target.configuration();
    c.layers = 1;
    const model_type draft(target.system(), c, target.shared_weights());
    const group_type group(target, 2, 100, 4);
    std::vector<resident_type> drafts;
    for (int i = 0; i < 2; ++i) drafts.emplace_back(draft, 100, 2);
    augur::decode::options options{.seed = 5};
    options.sampling.temperature = {0.8f};
    options.stop.max_tokens = 15;
    const augur::policy::fixed_length three{3};
    const augur::accept::coupled criterion;
    const std::vector<token> one = {1, 2, 3, 1, 2, 3, 1, 2}, other = {9, 9, 4};
    const std::vector<std::span<const token>> prompts{one, other};
    const auto expected =
        augur::decode::generate_together(augur::speculate(draft, target, three, criterion), prompts, options);
    loops::speculation_group loop(group, drafts, three, criterion, options.sampling, 3);
    const auto got = loops::generate_together(loop, prompts, options);
    for (std::size_t i = 0; i < 2; ++i) {
        BOOST_TEST(got[i].tokens == expected[i].tokens, boost::test_tools::per_element());
        BOOST_TEST(got[i].counts.stages.back().drafted == expected[i].counts.stages.back().drafted);
        BOOST_TEST(got[i].counts.stages.back().accepted == expected[i].counts.stages.back().accepted);
    }
}

BOOST_AUTO_TEST_CASE(what_cannot_be_is_refused) {
    const model_type model({}, some_llama());
    const auto refuses = [&](std::size_t size, std::size_t capacity, std::size_t rows, const std::string& text) {
        BOOST_CHECK_EXCEPTION(group_type(model, size, capacity, rows), augur::error,
                              [&](const augur::error& e) { return std::string(e.what()) == text; });
    };
    refuses(2, 601, 4, "resident texts of 601 tokens in a context of 600");
    refuses(2, 0, 4, "resident texts of 0 tokens in a context of 600");
    refuses(9, 100, 8, "a launch of 8 rows of each of 9 texts; it takes 1 to 64 in all");
    refuses(0, 100, 8, "a launch of 8 rows of each of 0 texts; it takes 1 to 64 in all");
    const group_type group(model, 2, 10, 4);
    BOOST_TEST(group.memory_bytes() >= 2u * 4 * 77 * sizeof(float) + 2u * 2 * 2 * 2 * 256 * 8 * 2);
}

BOOST_AUTO_TEST_SUITE_END()
