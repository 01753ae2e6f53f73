#include <augur/llama/attention_slices.hpp>
#include <augur/model/run.hpp>
#include <boost/test/unit_test.hpp>
#include <cstddef>
#include <random>
#include <vector>

#include "backend/host/matrices.hpp"
#include "backend/host/small_cache.hpp"
#include "llama/small_llama.hpp"

BOOST_AUTO_TEST_SUITE(llama_attention_slices)

using namespace augur::testing;
using namespace augur;
using llama::attention_slices;

namespace {

/// A task with memory of its own.
struct whole_task {
    std::vector<float> weights, out;
    host::attention_task task;

    whole_task(const small_cache& cache, const std::vector<float>& query, std::size_t heads, std::size_t positions,
               std::size_t rows) {
        task.stride = (positions + rows + 14) / 16 * 16;
        weights.resize(rows * heads * task.stride);
        out.resize(rows * heads * cache.head_size);
        task.blocks = cache.pointers.data();
        task.value_offset = cache.value_offset;
        task.block_positions = small_cache::block_positions;
        task.positions = positions;
        task.head_size = cache.head_size;
        task.heads = heads;
        task.rows = rows;
        task.query = query.data();
        task.weights = weights.data();
        task.out = out.data();
    }
};

/// The last slice first: their order is nobody's business.
std::vector<float> attended_in_slices(const host::kernels& kernels, const whole_task& of, std::size_t scores,
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

}  // namespace

BOOST_AUTO_TEST_CASE(slices_are_the_bits_of_the_whole) {
    std::mt19937 random(3);
    const std::size_t heads = 3;
    for (const std::size_t size : {5u, 16u, 40u, 64u}) {
        const std::size_t longest = 130;
        const auto keys = normal_numbers(longest * size, random), values = normal_numbers(longest * size, random);
        const small_cache cache(size, keys, values);
        for (const std::size_t rows : {1u, 2u, 4u}) {
            const auto query = normal_numbers(rows * heads * size, random);
            for (const std::size_t positions : {1u, 31u, 32u, 33u, 64u, 100u, 126u}) {
                for (const auto set : instruction_sets()) {
                    const auto& kernels = host::kernels_of(set);
                    whole_task whole(cache, query, heads, positions, rows),
                        sliced(cache, query, heads, positions, rows);
                    kernels.attention(whole.task);
                    BOOST_TEST(attention_slices(kernels, whole.task).value_slices() == (size + 15) / 16);
                    for (const std::size_t parts : {1u, 2u, 3u, 7u}) {
                        BOOST_TEST(same_bits(attended_in_slices(kernels, sliced, parts, parts), whole.out),
                                   size << " components, " << rows << " rows, " << positions << " positions, " << parts
                                        << " slices, " << host::name_of(set));
                    }
                }
            }
        }
    }
}

// Three key-value heads do not divide between two threads, or four: their attention is cut. One thread cuts nothing.
BOOST_AUTO_TEST_CASE(long_rows_do_not_depend_on_threads) {
    const std::size_t length = 530;
    for (const std::uint32_t heads : {3u, 6u, 12u}) {
        const small_llama file(io::tensor_type::q8_0, 192, heads, 3, 32);
        const auto tokens = some_tokens(length, 77);
        std::vector<float> wanted[3];
        for (const std::size_t threads : {1u, 2u, 4u, 16u}) {
            const auto loaded = file.load({.threads = threads});
            auto a = loaded.make_sequence(), b = loaded.make_sequence();
            loaded.extend(a, std::span(tokens).first(length - 11), 0);
            loaded.extend(b, std::span(tokens).first(length - 3), 0);
            const auto rest = std::span(tokens).last(11);
            std::vector<float> found[3];
            for (const std::size_t rows : {1u, 1u, 2u, 3u, 4u}) {
                const auto made = copied(loaded.extend(a, rest.first(rows)));
                found[0].insert(found[0].end(), made.begin(), made.end());
            }
            using passes = std::vector<pass<llama::sequence>>;
            loaded.truncate(a, length - 4);
            const passes both{{.sequence = &a, .tokens = rest.first(1)}, {.sequence = &b, .tokens = rest.first(3)}};
            std::vector<model::pass_rows<llama::host_model>> made(2);
            model::run<llama::host_model>(loaded, both, made);
            found[1] = copied(made[0]);
            found[2] = copied(made[1]);
            for (std::size_t i = 0; i < 3; ++i) {
                if (threads == 1) wanted[i] = found[i];
                BOOST_TEST(!found[i].empty());
                BOOST_TEST(same_bits(found[i], wanted[i]), threads << " threads, " << i);
            }
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
