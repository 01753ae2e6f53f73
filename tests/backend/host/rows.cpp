#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <span>
#include <tuple>
#include <utility>

#include "augur/backend/host/kernels.hpp"
#include "backend/host/matrices.hpp"
#include "backend/host/small_cache.hpp"

BOOST_AUTO_TEST_SUITE(backend_rows)

using namespace augur::testing;

namespace {

std::vector<float> attend(const small_cache& cache, const std::vector<float>& query, std::size_t heads,
                          std::size_t positions, host::instruction_set set, std::size_t rows = 1) {
    const attention_run run(cache, query, heads, positions, rows);
    host::kernels_of(set).attention(run.task);
    return run.out;
}

/// What one head sees of so many positions, as the definition says.
std::vector<double> softmax_of_values(std::span<const float> query, const std::vector<float>& keys,
                                      const std::vector<float>& values, std::size_t seen) {
    const std::size_t size = query.size();
    std::vector<double> weight(seen), wanted(size);
    for (std::size_t at = 0; at < seen; ++at) {
        for (std::size_t i = 0; i < size; ++i) weight[at] += double{query[i]} * double{keys[at * size + i]};
    }
    const double largest = *std::max_element(weight.begin(), weight.end());
    double sum = 0;
    for (double& score : weight) sum += score = std::exp(score - largest);
    for (std::size_t at = 0; at < seen; ++at) {
        for (std::size_t i = 0; i < size; ++i) wanted[i] += weight[at] / sum * double{values[at * size + i]};
    }
    return wanted;
}

}  // namespace

BOOST_AUTO_TEST_CASE(attention_is_a_softmax_over_the_positions_it_sees) {
    std::mt19937 random(1);
    const std::size_t positions = 75, heads = 3;
    for (const auto& [size, spread] : {std::pair{8u, 1.0f}, {10u, 1.0f}, {10u, 30.0f}, {64u, 1.0f}, {80u, 10.0f}}) {
        const auto keys = normal_numbers(positions * size, random), values = normal_numbers(positions * size, random);
        auto query = normal_numbers(heads * size, random);
        for (float& component : query) component *= spread;  // how far apart scores are
        const small_cache cache(size, keys, values);
        for (std::size_t seen = 1; seen <= positions; ++seen) {
            const auto found = attend(cache, query, heads, seen, host::instruction_set::portable);
            for (const auto set : instruction_sets()) {
                BOOST_TEST(same_bits(attend(cache, query, heads, seen, set), found), host::name_of(set));
            }
            for (std::size_t head = 0; head < heads; ++head) {
                const auto own = std::span(query).subspan(head * size, size);
                const auto wanted = softmax_of_values(own, keys, values, seen);
                for (std::size_t i = 0; i < size; ++i) {
                    BOOST_TEST(std::abs(double{found[head * size + i]} - wanted[i]) < 2e-5 * double{spread});
                }
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(scores_far_above_the_others_take_all_wherever_they_stand) {
    std::mt19937 random(6);
    const std::size_t size = 8;
    const std::vector<float> query{1, 0, 0, 0, 0, 0, 0, 0};  // the score is the key's first component
    for (std::size_t seen = 1; seen <= 70; ++seen) {
        const auto values = normal_numbers(seen * size, random);
        // By so much the largest score, the second and the third are above the others.
        for (const auto& [first, second, third] : {std::tuple{88.0f, 0.0f, 0.0f}, {400.0f, 200.0f, 100.0f}}) {
            for (const std::size_t at : {std::size_t{0}, seen / 2, seen - 1}) {
                std::vector<float> keys(seen * size);
                keys[(at + 2) % seen * size] = third;
                keys[(at + 1) % seen * size] = second;
                keys[at * size] = first;
                const small_cache cache(size, keys, values);
                for (const auto set : instruction_sets()) {
                    const auto found = attend(cache, query, 1, seen, set);
                    for (std::size_t i = 0; i < size; ++i) {
                        BOOST_TEST(std::abs(found[i] - values[at * size + i]) < 1e-6f,
                                   seen << ' ' << at << ' ' << first);
                    }
                }
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(rows_together_are_the_bits_of_rows_alone) {
    std::mt19937 random(5);
    const std::size_t positions = 75, heads = 3;
    for (const std::size_t size : {10u, 64u}) {
        const auto keys = normal_numbers(positions * size, random), values = normal_numbers(positions * size, random);
        const small_cache cache(size, keys, values);
        for (const auto set : instruction_sets()) {
            for (const std::size_t rows : {2u, 4u, 5u, 33u}) {
                for (const std::size_t first : {1u, 16u, 30u, 32u, 42u}) {
                    const auto query = normal_numbers(rows * heads * size, random);
                    const auto found = attend(cache, query, heads, first, set, rows);
                    for (std::size_t row = 0; row < rows; ++row) {
                        const std::size_t from = row * heads * size;
                        const std::vector<float> own(query.begin() + std::ptrdiff_t(from),
                                                     query.begin() + std::ptrdiff_t(from + heads * size));
                        BOOST_TEST(same_bits(std::span(found).subspan(from, heads * size),
                                             attend(cache, own, heads, first + row, set)));
                    }
                }
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(attention_does_not_see_what_comes_later) {
    std::mt19937 random(2);
    const std::size_t size = 24, positions = 64;
    auto keys = normal_numbers(positions * size, random), values = normal_numbers(positions * size, random);
    const auto query = normal_numbers(size, random);
    const auto before = attend(small_cache(size, keys, values), query, 1, 37, host::instruction_set::automatic);
    for (std::size_t i = 37 * size; i < positions * size; ++i) keys[i] = values[i] = NAN;
    for (const auto set : instruction_sets()) {
        BOOST_TEST(same_bits(attend(small_cache(size, keys, values), query, 1, 37, set), before));
    }
}

BOOST_AUTO_TEST_CASE(norms_and_gates_are_their_formulas_with_the_same_bits_everywhere) {
    std::mt19937 random(3);
    for (const std::size_t size : {1u, 16u, 52u, 576u}) {
        const auto x = normal_numbers(size, random), weight = normal_numbers(size, random);
        std::vector<float> norm(size), gate = x, layer_norm(size), bias = normal_numbers(size, random);
        const auto& portable = host::kernels_of(host::instruction_set::portable);
        portable.rms_norm(x.data(), weight.data(), norm.data(), size, 1e-5f);
        portable.silu_product(gate.data(), weight.data(), size);
        std::vector<float> moved = x;
        for (float& value : moved) value += 3;
        portable.layer_norm(moved.data(), weight.data(), bias.data(), layer_norm.data(), size, 1e-3f);
        double squares = 0, sum = 0, variance = 0;
        for (const float value : x) squares += double{value} * double{value};
        for (const float value : moved) sum += double{value};
        const double mean = sum / static_cast<double>(size);
        for (const float value : moved) variance += (double{value} - mean) * (double{value} - mean);
        const double scale = 1 / std::sqrt(squares / static_cast<double>(size) + 1e-5);
        const double spread = std::sqrt(variance / static_cast<double>(size) + 1e-3);
        for (std::size_t i = 0; i < size; ++i) {
            const double value = double{x[i]}, factor = double{weight[i]};
            BOOST_TEST(std::abs(double{norm[i]} - value * scale * factor) < 1e-6 * (1 + std::abs(double{norm[i]})));
            const double centred = (double{moved[i]} - mean) / spread * factor + double{bias[i]};
            BOOST_TEST(std::abs(double{layer_norm[i]} - centred) < 4e-6 * (1 + std::abs(centred)));
            BOOST_TEST(std::abs(double{gate[i]} - value / (1 + std::exp(-value)) * factor) <
                       1e-6 * (1 + std::abs(double{gate[i]})));
        }
        for (const auto set : instruction_sets()) {
            std::vector<float> other_norm(size), other_gate = x, in_place = moved;
            host::kernels_of(set).layer_norm(in_place.data(), weight.data(), bias.data(), in_place.data(), size, 1e-3f);
            BOOST_TEST(same_bits(in_place, layer_norm));
            host::kernels_of(set).rms_norm(x.data(), weight.data(), other_norm.data(), size, 1e-5f);
            host::kernels_of(set).silu_product(other_gate.data(), weight.data(), size);
            BOOST_TEST(same_bits(other_norm, norm));
            BOOST_TEST(same_bits(other_gate, gate));
        }
    }
}

BOOST_AUTO_TEST_CASE(gelu_and_soft_caps_are_their_formulas_with_the_same_bits_everywhere) {
    std::mt19937 random(7);
    std::vector<float> x = normal_numbers(53, random);
    const auto up = normal_numbers(53, random);
    x[0] = 0;
    x[1] = 90;
    x[2] = -90;
    x[3] = 1e-6f;
    std::vector<std::vector<float>> all;
    for (const auto set : instruction_sets()) {
        const auto& kernels = host::kernels_of(set);
        std::vector<float> tanh_gate = x, gate = x, capped = x, clamped = x;
        kernels.gelu_tanh_product(tanh_gate.data(), up.data(), x.size());
        kernels.gelu_product(gate.data(), up.data(), x.size());
        kernels.soft_cap(capped.data(), x.size(), 5.0f);
        kernels.clamped_product(clamped.data(), up.data(), x.size(), 1.5f, 0.75f);
        for (std::size_t i = 0; i < x.size(); ++i) {
            const double value = double{x[i]}, factor = double{up[i]};
            const double inner = std::sqrt(2 / std::acos(-1.0)) * (value + 0.044715 * value * value * value);
            const double by_tanh = value / 2 * (1 + std::tanh(inner)) * factor;
            const double by_erf = value / 2 * (1 + std::erf(value / std::sqrt(2.0))) * factor;
            const double cap = 5 * std::tanh(value / 5);
            const double least = std::min(value, 0.75), held = std::clamp(factor, -0.75, 0.75) + 1;
            const double by_clamps = least / (1 + std::exp(-1.5 * least)) * held;
            BOOST_TEST(std::abs(double{clamped[i]} - by_clamps) < 1e-6 * (1 + std::abs(by_clamps)));
            BOOST_TEST(std::abs(double{tanh_gate[i]} - by_tanh) < 1e-6 * (1 + std::abs(by_tanh)));
            BOOST_TEST(std::abs(double{gate[i]} - by_erf) < 1e-6 * (1 + std::abs(by_erf)));
            BOOST_TEST(std::abs(double{capped[i]} - cap) <= 1e-6 * std::abs(cap));
        }
        gate.insert(gate.end(), tanh_gate.begin(), tanh_gate.end());
        gate.insert(gate.end(), capped.begin(), capped.end());
        gate.insert(gate.end(), clamped.begin(), clamped.end());
        all.push_back(gate);
        BOOST_TEST(same_bits(gate, all[0]));
        float bad = NAN;
        kernels.soft_cap(&bad, 1, 5.0f);
        BOOST_TEST(std::isnan(bad));
    }
}

BOOST_AUTO_TEST_CASE(a_gate_survives_large_numbers_and_passes_on_bad_ones) {
    for (const auto set : instruction_sets()) {
        std::vector<float> gate{200.0f, -200.0f, -1000.0f, NAN, 0.0f};
        const std::vector<float> up(5, 1.0f);
        host::kernels_of(set).silu_product(gate.data(), up.data(), gate.size());
        BOOST_TEST(gate[0] == 200.0f);
        BOOST_TEST(std::abs(gate[1]) < 1e-30f);
        BOOST_TEST(std::abs(gate[2]) < 1e-30f);
        BOOST_TEST(std::isnan(gate[3]));
        BOOST_TEST(gate[4] == 0.0f);
    }
}

BOOST_AUTO_TEST_CASE(pairs_turn_by_their_angles) {
    std::mt19937 random(4);
    const auto start = normal_numbers(34, random);
    std::vector<float> cosines, sines;
    for (int i = 0; i < 17; ++i) {
        cosines.push_back(std::cos(0.3f * static_cast<float>(i)));
        sines.push_back(std::sin(0.3f * static_cast<float>(i)));
    }
    auto wanted = start;
    host::kernels_of(host::instruction_set::portable).rotate(wanted.data(), cosines.data(), sines.data(), 17);
    for (std::size_t i = 0; i < 17; ++i) {
        BOOST_TEST(std::abs(wanted[2 * i] - (start[2 * i] * cosines[i] - start[2 * i + 1] * sines[i])) < 1e-6f);
        BOOST_TEST(std::abs(wanted[2 * i + 1] - (start[2 * i] * sines[i] + start[2 * i + 1] * cosines[i])) < 1e-6f);
    }
    for (const auto set : instruction_sets()) {
        auto found = start;
        host::kernels_of(set).rotate(found.data(), cosines.data(), sines.data(), 17);
        BOOST_TEST(same_bits(found, wanted));
    }
}

BOOST_AUTO_TEST_SUITE_END()
