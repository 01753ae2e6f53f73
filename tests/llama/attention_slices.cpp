#include "augur/llama/attention_slices.hpp"

#include <augur/llama/attention_parts.hpp>
#include <augur/llama/key_value_cache.hpp>
#include <augur/model/run.hpp>
#include <boost/test/unit_test.hpp>
#include <cstddef>
#include <initializer_list>
#include <random>
#include <utility>
#include <vector>

#include "backend/host/matrices.hpp"
#include "backend/host/small_cache.hpp"
#include "llama/small_llama.hpp"

BOOST_AUTO_TEST_SUITE(llama_attention_slices)

using namespace augur::testing;
using namespace augur;
using llama::attention_slices;

namespace {

/// The last slice first: their order is nobody's business.
std::vector<float> attended_in_slices(const host::kernels& kernels, const attention_run& of, std::size_t scores,
                                      std::size_t values) {
    const attention_slices slices(kernels, of.task);
    const std::size_t columns = of.task.rows * of.task.heads, row_size = of.task.heads * of.task.head_size;
    std::vector<float> out(columns * of.task.head_size);
    for (std::size_t i = scores; i-- > 0;) slices.scores(i, scores);
    for (std::size_t i = columns + 2; i-- > 0;) slices.softmax(i);
    for (std::size_t i = values; i-- > 0;) {
        slices.values(i, values);
        for (std::size_t row = 0; row < of.task.rows; ++row) slices.take(i, values, row, &out[row * row_size]);
    }
    return out;
}

void compare(const auto& cache, std::size_t size, std::initializer_list<std::size_t> lengths, std::size_t most) {
    const std::size_t heads = 3;
    for (const std::size_t rows : {1u, 2u, 4u}) {
        const auto query = normal_numbers(rows * heads * size, 7);
        for (const std::size_t positions : lengths) {
            for (const auto set : instruction_sets()) {
                const auto& kernels = host::kernels_of(set);
                attention_run whole(cache, query, heads, positions, rows), sliced(cache, query, heads, positions, rows);
                kernels.attention(whole.task);
                BOOST_TEST(attention_slices(kernels, whole.task).value_slices() == most);
                for (const std::size_t parts : {1u, 2u, 3u, 7u}) {
                    BOOST_TEST(same_bits(attended_in_slices(kernels, sliced, parts, parts), whole.out),
                               size << " components, " << rows << " rows, " << positions << " positions, " << parts
                                    << " slices, " << host::name_of(set));
                }
            }
        }
    }
}

}  // namespace

BOOST_AUTO_TEST_CASE(slices_are_the_bits_of_the_whole) {
    std::mt19937 random(3);
    for (const std::size_t size : {5u, 16u, 40u, 64u}) {
        const auto keys = normal_numbers(130 * size, random), values = normal_numbers(130 * size, random);
        const small_cache cache(size, keys, values);
        compare(cache, size, {1, 31, 32, 33, 64, 100, 126}, (size + 15) / 16);
    }
}

BOOST_AUTO_TEST_CASE(slices_of_quantised_keys_and_values_are_the_bits_of_the_whole) {
    std::mt19937 random(4);
    for (const std::size_t size : {32u, 64u, 96u}) {
        llama::key_value_cache cache({1, 1, size, llama::cache_format::q8_0});
        cache.reserve(530);
        for (std::size_t i = 0; i < 530; ++i) {
            cache.write(0, 0, i, normal_numbers(size, random).data(), normal_numbers(size, random).data());
        }
        compare(cache, size, {1, 100, 255, 256, 257, 525}, size / 32);
    }
}

// Three key-value heads do not divide between two threads, or four: their attention is cut. One thread cuts nothing.
BOOST_AUTO_TEST_CASE(long_rows_do_not_depend_on_threads) {
    const std::size_t length = 530;
    for (const auto& [heads, format] : {std::pair{3u, llama::cache_format::f32},
                                        {6u, llama::cache_format::f32},
                                        {12u, llama::cache_format::f32},
                                        {6u, llama::cache_format::q8_0}}) {
        const small_llama file(io::tensor_type::q8_0, 192, heads, 3, 32);
        const auto tokens = some_tokens(length, 77);
        std::vector<float> wanted[3];
        for (const std::size_t threads : {1u, 2u, 4u, 16u}) {
            const auto loaded = file.load({.threads = threads, .cache = format});
            auto a = loaded.make_sequence(), b = loaded.make_sequence();
            loaded.extend(a, std::span(tokens).first(length - 11), 0);
            loaded.extend(b, std::span(tokens).first(length - 3), 0);
            const auto rest = std::span(tokens).last(11);
            std::vector<float> found[3];
            for (const std::size_t rows : {1u, 1u, 2u, 3u, 4u}) {
                const auto got = copied(loaded.extend(a, rest.first(rows)));
                found[0].insert(found[0].end(), got.begin(), got.end());
            }
            using passes = std::vector<pass<llama::sequence>>;
            loaded.truncate(a, length - 4);
            const passes both{{.sequence = &a, .tokens = rest.first(1)}, {.sequence = &b, .tokens = rest.first(3)}};
            std::vector<model::pass_rows<llama::host_model>> results(2);
            model::run<llama::host_model>(loaded, both, results);
            found[1] = copied(results[0]);
            found[2] = copied(results[1]);
            for (std::size_t i = 0; i < 3; ++i) {
                if (threads == 1) wanted[i] = found[i];
                BOOST_TEST(!found[i].empty());
                BOOST_TEST(same_bits(found[i], wanted[i]), threads << " threads, " << i);
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(long_trees_do_not_depend_on_threads) {
    const small_llama file(io::tensor_type::q8_0, 192, 6, 3, 32);
    const auto before = some_tokens(530, 77);
    const std::vector<token> nodes{5, 6, 7};
    const std::vector<std::int32_t> parents{-1, 0, 0};
    for (const std::size_t threads : {1u, 2u, 4u}) {
        const auto loaded = file.load({.threads = threads});
        auto tree = loaded.make_sequence(), path = loaded.make_sequence();
        loaded.extend(tree, before, 0);
        loaded.extend(path, before, 0);
        const auto rows = copied(model::run(loaded, {.sequence = &tree, .tokens = nodes, .parents = parents}));
        const std::vector<token> last{5, 7};
        const auto alone = copied(loaded.extend(path, last, 1));
        BOOST_TEST(same_bits(std::vector(rows.end() - static_cast<std::ptrdiff_t>(alone.size()), rows.end()), alone),
                   threads << " threads");
    }
}

BOOST_AUTO_TEST_CASE(trees_of_several_sequences_may_differ_in_depth) {
    llama::key_value_cache deep({1, 1, 32, llama::cache_format::f32}), shallow({1, 1, 32, llama::cache_format::f32});
    float kept = 0;
    std::vector<llama::forward_row> rows;
    for (const std::size_t position : {40u, 41u, 42u}) {
        rows.push_back({.position = position, .cache = &deep, .kept = &kept});
    }
    for (int i = 0; i < 2; ++i) rows.push_back({.position = 7, .cache = &shallow, .kept = &kept});
    llama::attention_parts parts(rows.size());
    parts.find(rows, 4);
    BOOST_TEST(parts.deepest() == 3u);
    parts.find(std::span(rows).last(2), 4);
    BOOST_TEST(parts.deepest() == 1u);
}

BOOST_AUTO_TEST_SUITE_END()
