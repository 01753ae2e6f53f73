// Rows near those that the host emulates, and speculation that writes plain decoding's text, for very many tokens.
#include <algorithm>
#include <augur/accept/coupled.hpp>
#include <augur/accept/exact.hpp>
#include <augur/backend/device/system.hpp>
#include <augur/backend/device/wide_product.hpp>
#include <augur/decode/generate.hpp>
#include <augur/draft/prompt_lookup.hpp>
#include <augur/llama/device/device_model.hpp>
#include <augur/llama/device/gpu.hpp>
#include <augur/policy/fixed_length.hpp>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <random>
#include <vector>

#include "gpu/random_llama.hpp"

BOOST_AUTO_TEST_SUITE(gpu_decoding)

using namespace augur;

namespace {

std::vector<token> some_prompt(std::size_t size, std::size_t vocabulary, std::uint32_t seed) {
    std::mt19937 bits(seed);
    std::vector<token> out(size);
    for (token& id : out) id = static_cast<token>(bits() % vocabulary);
    return out;
}

}  // namespace

/// Orders of additions differ, and tensor cores cut off what the emulation rounds: at most twice as far as rows that
/// are emulated with products which add in another order.
BOOST_AUTO_TEST_CASE(rows_are_near_those_that_the_host_emulates) {
    using backend::device::binary16, backend::device::emulated_system;
    using plain = backend::device::plain_products<emulated_system>;
    using reordered = llama::device::wide_products<binary16, emulated_system, plain>;
    constexpr auto elements = llama::device::device_format::elements;
    const auto c = testing::some_config(3, 192, 6, 2, 512, 700, 600);
    const auto w = testing::random_weights(c, 5);
    const llama::device::device_model<binary16, emulated_system> emulated({}, c, w);
    const llama::device::device_model<binary16, emulated_system, elements, reordered> other(
        {}, c, emulated.shared_weights(), 0, reordered(plain{{}}, {.from = 1, .most_rows = 64}));
    const auto text = some_prompt(300, c.vocabulary, 1);
    const auto rows_of = [&](const auto& model) {
        auto sequence = model.make_sequence();
        const auto rows = model.extend(sequence, text, 40);
        std::vector<double> out;
        for (std::size_t i = 0; i < 40; ++i) out.insert(out.end(), rows[i].begin(), rows[i].end());
        return out;
    };
    const auto expected = rows_of(emulated);
    const auto apart = [&](const std::vector<double>& rows) {
        double far = 0;
        for (std::size_t i = 0; i < rows.size(); ++i) {
            const double difference = std::abs(rows[i] - expected[i]);
            if (!(difference <= far)) far = difference;  // a NaN, too, and it stays
        }
        return far;
    };
    const double far = apart(rows_of(llama::on_gpu(c, w, llama::gpu_number::binary16))), near = apart(rows_of(other));
    BOOST_TEST_MESSAGE("largest difference of a logit: " << far << "; emulated, in another order: " << near);
    BOOST_TEST(far <= 2 * near);
}

/// More than 10^5 tokens, with drafts of several lengths, greedy and sampled.
BOOST_AUTO_TEST_CASE(speculation_writes_the_text_of_plain_decoding) {
    const auto c = testing::some_config(2, 128, 8, 4, 256, 300, 2100);
    const auto model = llama::on_gpu(c, testing::random_weights(c, 7), llama::gpu_number::bfloat16);
    std::size_t tokens = 0, drafted = 0;
    const auto text = [&](std::uint32_t seed, std::size_t length, float temperature, auto criterion) {
        const auto scheme = speculate(draft::prompt_lookup(1, 4), model, policy::fixed_length{length}, criterion);
        decode::options options;
        options.seed = seed;
        options.sampling.temperature = {temperature};
        options.stop.max_tokens = 2000;
        const auto decoded = decode::generate(scheme, some_prompt(20, c.vocabulary, seed), options);
        tokens += decoded.tokens.size();
        for (const auto& stage : decoded.counts.stages) drafted += stage.drafted;
        return decoded.tokens;
    };
    for (std::uint32_t seed = 0; seed < 14; ++seed) {
        const auto greedy = text(seed, 0, 0, accept::exact{});
        for (const std::size_t length : {3u, 7u, 12u}) BOOST_TEST((text(seed, length, 0, accept::exact{}) == greedy));
        const auto sampled = text(seed, 0, 0.7f, accept::coupled{});
        BOOST_TEST((text(seed, 5, 0.7f, accept::coupled{}) == sampled));
    }
    BOOST_TEST(tokens > 100000u);
    BOOST_TEST(drafted > 10000u);
}

BOOST_AUTO_TEST_SUITE_END()
