#include "augur/llama/key_value_cache.hpp"

#include <augur/io/files/dequantize.hpp>
#include <augur/llama/eagle_model.hpp>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstddef>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "backend/host/matrices.hpp"
#include "backend/host/small_cache.hpp"
#include "llama/draft_bundle.hpp"
#include "llama/small_llama.hpp"

BOOST_AUTO_TEST_SUITE(llama_key_value_cache)

using namespace augur;
using namespace augur::testing;
using llama::cache_format;

namespace {

/// As the type stores them.
std::vector<float> rounded(const std::vector<float>& from) {
    std::vector<std::byte> stored(from.size() / 32 * io::block_bytes(io::tensor_type::q8_0));
    io::quantize(io::tensor_type::q8_0, from, stored);
    std::vector<float> out(from.size());
    io::dequantize(io::tensor_type::q8_0, stored, out);
    return out;
}

struct numbers {
    std::size_t size;
    std::vector<float> keys, values;

    numbers(std::size_t of, std::size_t positions, std::mt19937& random)
        : size(of), keys(normal_numbers(positions * of, random)), values(normal_numbers(positions * of, random)) {
        for (std::size_t i = 0; i < values.size(); ++i) values[i] *= static_cast<float>(1 + i / of % 7);
    }
    void write(llama::key_value_cache& to, std::size_t layer, std::size_t head) const {
        for (std::size_t i = 0; i < keys.size() / size; ++i)
            to.write(layer, head, i, &keys[i * size], &values[i * size]);
    }
};

std::vector<float> attend(const auto& cache, const std::vector<float>& query, std::size_t heads, std::size_t positions,
                          host::instruction_set set, std::size_t rows = 1) {
    const attention_run run(cache, query, heads, positions, rows);
    host::kernels_of(set).attention(run.task);
    return run.out;
}

}  // namespace

// The other cache holds, in floats, what Q8_0 makes of the same numbers.
BOOST_AUTO_TEST_CASE(attention_reads_what_q8_0_stores) {
    std::mt19937 random(2);
    const std::size_t positions = 300, heads = 3;
    for (const std::size_t size : {32u, 64u, 96u}) {
        const numbers all(size, positions, random);
        llama::key_value_cache cache({2, 2, size, cache_format::q8_0});
        cache.reserve(positions);
        for (const std::size_t other : {0u, 1u, 2u})
            numbers(size, positions, random).write(cache, other / 2, other % 2);
        all.write(cache, 1, 1);
        const small_cache plain(size, rounded(all.keys), rounded(all.values));
        const auto query = normal_numbers(heads * size, random);
        for (const std::size_t seen : {1u, 15u, 16u, 17u, 250u, 256u, 257u, 300u}) {
            const auto wanted = attend(plain, query, heads, seen, host::instruction_set::portable);
            const auto with = [&](host::instruction_set set) {
                attention_run run(cache, query, heads, seen, 1);
                cache.show(run.task, 1, 1);
                host::kernels_of(set).attention(run.task);
                return run.out;
            };
            const auto found = with(host::instruction_set::portable);
            for (const auto set : instruction_sets()) BOOST_TEST(same_bits(with(set), found), host::name_of(set));
            for (std::size_t i = 0; i < found.size(); ++i) {
                BOOST_TEST(std::abs(found[i] - wanted[i]) < 2e-5f, size << " of " << seen << ": " << found[i]);
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(numbers_below_zero_alone_are_stored_too) {
    std::mt19937 random(4);
    const std::size_t size = 32, positions = 5;
    numbers all(size, positions, random);
    for (auto* each : {&all.keys, &all.values}) {
        for (float& number : *each) number = -std::abs(number);
    }
    llama::key_value_cache cache({1, 1, size, cache_format::q8_0});
    cache.reserve(positions);
    all.write(cache, 0, 0);
    const small_cache plain(size, rounded(all.keys), rounded(all.values));
    const auto query = normal_numbers(size, random);
    const auto wanted = attend(plain, query, 1, positions, host::instruction_set::portable);
    attention_run run(cache, query, 1, positions, 1);
    cache.show(run.task, 0, 0);
    host::kernels_of(host::instruction_set::portable).attention(run.task);
    for (std::size_t i = 0; i < size; ++i) {
        BOOST_TEST(wanted[i] < 0);
        BOOST_TEST(std::abs(run.out[i] - wanted[i]) < 2e-5f, run.out[i]);
    }
}

BOOST_AUTO_TEST_CASE(rows_together_are_the_bits_of_rows_alone) {
    std::mt19937 random(3);
    const std::size_t size = 64, positions = 290, heads = 5;  // 25 columns: more than go through a product at once
    llama::key_value_cache cache({1, 1, size, cache_format::q8_0});
    cache.reserve(positions);
    numbers(size, positions, random).write(cache, 0, 0);
    for (const std::size_t first : {1u, 14u, 253u, 285u}) {
        const auto query = normal_numbers(5 * heads * size, random);
        for (const auto set : instruction_sets()) {
            const auto together = attend(cache, query, heads, first, set, 5);
            for (std::size_t row = 0; row < 5; ++row) {
                const std::size_t at = row * heads * size;
                const std::vector<float> own(&query[at], &query[at] + heads * size);
                const auto alone = attend(cache, own, heads, first + row, set);
                BOOST_TEST(same_bits(alone, std::vector<float>(&together[at], &together[at] + heads * size)),
                           first << ' ' << row << ' ' << host::name_of(set));
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(numbers_that_are_not_finite_are_not_hidden_and_tiny_ones_are_zero) {
    const std::size_t size = 32;
    const std::vector<float> ones(size, 1.0f), tiny(size, 1e-30f);
    for (const float bad : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
        auto spoiled = ones;
        spoiled[17] = bad;
        llama::key_value_cache cache({1, 1, size, cache_format::q8_0});
        cache.reserve(3);
        for (std::size_t i = 0; i < 3; ++i) cache.write(0, 0, i, ones.data(), ones.data());
        BOOST_TEST(attend(cache, ones, 1, 3, host::instruction_set::portable)[0] == 1.0f,
                   boost::test_tools::tolerance(1e-3f));
        cache.write(0, 0, 1, ones.data(), spoiled.data());
        BOOST_TEST(std::isnan(attend(cache, ones, 1, 3, host::instruction_set::portable)[0]));
        cache.write(0, 0, 1, spoiled.data(), ones.data());
        BOOST_TEST(std::isnan(attend(cache, ones, 1, 3, host::instruction_set::portable)[0]));
        cache.write(0, 0, 1, tiny.data(), tiny.data());
        cache.write(0, 0, 0, tiny.data(), tiny.data());
        BOOST_TEST(attend(cache, ones, 1, 2, host::instruction_set::portable)[0] == 0.0f);
    }
}

/// A program loads several models with the same options.
void check_refusals_name_the_file(const llama::host_model& target) {
    const testing::temporary_directory folder;
    const llama::load_options packed{.cache = cache_format::q8_0};
    const auto path = small_llama().write(folder / "model.gguf");  // heads of 8
    BOOST_CHECK_EXCEPTION(llama::host_model::load(path, packed), error, says({path.string() + ": ", "32", "have 8"}));
    auto draft = testing::small_checkpoint("draft", target), eagle = testing::small_eagle(target);
    for (auto* file : {&draft, &eagle}) {
        file->sizes["llama.attention.head_count"] = file->sizes["llama.attention.head_count_kv"] = 4;
        for (const char* name : {"q", "k", "v"}) {
            file->shapes["blk.0.attn_" + std::string(name) + ".weight"] = {64, 64};
        }
    }
    const auto draft_path = draft.write(folder / "draft.gguf"), eagle_path = eagle.write(folder / "eagle.gguf");
    BOOST_CHECK_EXCEPTION(llama::load_draft(draft_path, target, packed), error,
                          says({draft_path.string() + ": ", "32", "have 16"}));
    BOOST_CHECK_EXCEPTION(llama::eagle_model::load(eagle_path, target, packed), error,
                          says({eagle_path.string() + ": ", "32", "have 16"}));
}

BOOST_AUTO_TEST_CASE(a_quarter_of_the_memory) {
    const llama::cache_layout plain{30, 3, 64}, packed{30, 3, 64, cache_format::q8_0};
    BOOST_TEST(plain.bytes(256) == 256u * 30 * 3 * 2 * 64 * 4);
    BOOST_TEST(packed.bytes(256) == 256u * 30 * 3 * 2 * 68);
    BOOST_TEST(packed.bytes(257) == 2 * packed.bytes(256));
    const small_llama file(io::tensor_type::f32, 64, 2, 1);
    const auto model = file.load({.cache = cache_format::q8_0});
    auto s = model.make_sequence();
    const auto before = s.memory_bytes();
    model.extend(s, some_tokens(3, 77));
    BOOST_TEST(model.cache_bytes(3) == 256u * 2 * 2 * 34);
    BOOST_TEST(s.memory_bytes() - before >= model.cache_bytes(3));
    BOOST_CHECK_EXCEPTION(small_llama(io::tensor_type::f32, 48, 2, 1).load({.cache = cache_format::q8_0}), error,
                          says({"multiple of 32", "24"}));
    check_refusals_name_the_file(model);
    auto plain_sequence = file.load().make_sequence();
    BOOST_CHECK_EXCEPTION(model.extend(plain_sequence, some_tokens(3, 77)), error, says({"another cache"}));
}

BOOST_AUTO_TEST_SUITE_END()
