#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "augur/llama/device/attention.hpp"
#include "augur/types/error.hpp"
#include "backend/host/matrices.hpp"
#include "sanitized.hpp"

namespace device = augur::llama::device;
namespace kernels = augur::backend::device;
using device::cache_layout, device::row_place;
using kernels::bfloat16, kernels::binary16, kernels::emulated_system;

using augur::testing::normal_numbers;

BOOST_AUTO_TEST_SUITE(llama_device_attention)

namespace {

using elements = std::tuple<bfloat16, binary16>;
template <class T>
using buffer = kernels::buffer<T, emulated_system>;
using bits = std::vector<std::uint16_t>;

const emulated_system forwards{}, backwards{.backwards = true};
constexpr std::size_t layers = 2, layer = 1;

struct shape {
    std::size_t heads, shared, size;  ///< shared: of keys and values

    std::size_t width() const { return heads * size; }
    cache_layout layout() const { return {layers, shared, size}; }
};

/// A sequence's cache. A token's keys and values are made from its name, whichever slot they are in; other slots are
/// NaN.
template <class Element>
struct memory {
    shape of;
    device::kv_cache<Element, emulated_system> cache{forwards, of.layout()};

    memory(const shape& s, std::size_t slots) : of(s) {
        cache.reserve(slots);
        for (std::size_t i = 0; i * cache_layout::block_positions < slots; ++i) {
            std::memset(const_cast<std::byte*>(cache.blocks()[i]), 0xff, of.layout().block_size() * sizeof(Element));
        }
    }
    memory(const shape& s, const std::vector<std::uint32_t>& names) : memory(s, names.size()) {
        for (std::size_t slot = 0; slot < names.size(); ++slot) write(slot, names[slot]);
    }

    /// Of a layer and head in turn: the slot's key, then its value.
    Element* part(std::size_t slot, std::size_t i) const {
        const cache_layout& layout = cache.layout();
        Element* const key = layout.key<Element>(cache.blocks(), i / 2 / of.shared, i / 2 % of.shared, slot);
        return key + i % 2 * layout.keys_size();
    }
    static std::vector<float> numbers(const shape& s, std::uint32_t name) {
        return normal_numbers(layers * s.shared * 2 * s.size, 100 + name);
    }
    void write(std::size_t slot, std::uint32_t name) {
        const auto from = numbers(of, name);
        for (std::size_t i = 0; i < from.size(); ++i) part(slot, i / of.size)[i % of.size] = Element::of(from[i]);
    }
    bool holds(std::size_t slot, std::uint32_t name) const {
        const auto from = numbers(of, name);
        for (std::size_t i = 0; i < from.size(); ++i) {
            if (part(slot, i / of.size)[i % of.size].bits != Element::of(from[i]).bits) return false;
        }
        return true;
    }

    /// The last of so many positions of a chain. `id` says which queries it has.
    row_place row(std::size_t positions, augur::token id) const {
        const auto last = static_cast<std::int32_t>(positions - 1);
        return {.blocks = cache.blocks(), .position = last, .slot = last, .id = id};
    }
};

std::vector<std::uint32_t> names(std::size_t count, std::uint32_t first = 0) {
    std::vector<std::uint32_t> out(count);
    for (std::size_t i = 0; i < count; ++i) out[i] = first + static_cast<std::uint32_t>(i);
    return out;
}

std::vector<float> queries_of(const shape& of, augur::token id, float scale) {
    auto out = normal_numbers(of.width(), 50000 + static_cast<std::uint32_t>(id));
    for (float& x : out) x *= scale / std::sqrt(static_cast<float>(of.size));
    return out;
}

/// Rows x heads x head_size; by blocks of so many columns in eights, or as attend_all() chooses.
template <class Element, unsigned Tiles = 0, class Rule = device::every_score>
bits attended(const emulated_system& on, const shape& of, const std::vector<row_place>& rows, std::size_t longest,
              float scale = 1, const Rule& rule = {}) {
    const std::size_t gap = 3, stride = of.width() + gap;
    std::vector<float> queries;
    for (const row_place& row : rows) {
        const auto own = queries_of(of, row.id, scale);
        queries.insert(queries.end(), own.begin(), own.end());
    }
    const buffer<float> in(on, std::span<const float>(queries));
    const buffer<row_place> places(on, std::span<const row_place>(rows));
    const buffer<float> scratch(on, device::scratch_floats(rows.size(), of.heads, of.size, longest));
    const buffer<Element> out(on, rows.size() * stride);
    const std::vector<std::uint32_t> none(rows.size() * of.shared);
    const buffer<std::uint32_t> arrivals(on, std::span<const std::uint32_t>(none));
    const device::attention_task<Element> task{places.data(), rows.size(), longest,        of.layout(),
                                               layer,         of.heads,    in.data(),      scratch.data(),
                                               out.data(),    stride,      arrivals.data()};
    if constexpr (Tiles == 0) {
        device::attend_all(on, task, rule);
    } else {
        const device::attend<Element, Tiles, true, Rule> kernel(task, rule);
        on.launch(kernel.blocks(), kernel);
    }
    BOOST_TEST((arrivals.on_host() == none));
    const auto got = out.on_host();
    bits numbers;
    for (std::size_t i = 0; i < got.size(); ++i) {
        if (i % stride < of.width()) {
            numbers.push_back(got[i].bits);
        } else {
            BOOST_TEST(got[i].bits == 0xffff);  // untouched
        }
    }
    return numbers;
}

bits row_of(const shape& of, const bits& all, std::size_t row) {
    const auto first = all.begin() + static_cast<std::ptrdiff_t>(row * of.width());
    return {first, first + static_cast<std::ptrdiff_t>(of.width())};
}

/// A row's attention in double precision, and how far from it float32 may be.
template <class Element>
struct reference {
    std::vector<double> out;
    double bound = 0;
    device::scores_by_rule rule;

    reference(const memory<Element>& of, const row_place& row, float scale, const device::scores_by_rule& by = {})
        : out(of.of.width()), rule(by) {
        const auto queries = queries_of(of.of, row.id, scale);
        for (std::size_t head = 0; head < of.of.heads; ++head) add_head(of, row, queries, head);
    }

 private:
    void add_head(const memory<Element>& of, const row_place& row, const std::vector<float>& queries,
                  std::size_t head) {
        const std::size_t size = of.of.size, part = (layer * of.of.shared + head / (of.of.heads / of.of.shared)) * 2;
        const auto positions = static_cast<std::size_t>(row.position) + 1;
        std::vector<double> weights(positions);
        double error = 0, largest_value = 0, sum = 0;
        for (std::size_t p = 0; p < positions; ++p) {
            double magnitude = 0;
            for (std::size_t i = 0; i < size; ++i) {
                const double term =
                    static_cast<double>(queries[head * size + i]) * static_cast<double>(of.part(p, part)[i].value());
                weights[p] += term;
                magnitude += std::abs(term);
                largest_value = std::max(largest_value, std::abs(static_cast<double>(of.part(p, part + 1)[i].value())));
            }
            // of a score: of sums, and of queries that are two Elements
            error = std::max(error, magnitude * (static_cast<double>(2 * size + 1) * rounding + split));
        }
        if (rule.cap != 0) {
            const double cap = rule.cap;
            for (double& score : weights) score = cap * std::tanh(score / cap);
            error += cap * 8 * rounding;
        }
        const auto hidden = weights.begin() + static_cast<std::ptrdiff_t>(rule.first_seen(row.position));
        std::fill(weights.begin(), hidden, -std::numeric_limits<double>::infinity());
        const double top = *std::max_element(weights.begin(), weights.end());
        for (double& weight : weights) sum += weight = std::exp(weight - top);
        for (std::size_t i = 0; i < size; ++i) {
            for (std::size_t p = 0; p < positions; ++p) {
                out[head * size + i] += weights[p] / sum * static_cast<double>(of.part(p, part + 1)[i].value());
            }
        }
        // weights are off by the scores' errors, and sums of 256 and the few chunks by their roundings
        bound = std::max(bound, largest_value * (4 * error + 4 * (256 + 16) * rounding + 2 * split));
    }

    static constexpr double rounding = 0x1p-24;
    static constexpr double split = std::is_same_v<Element, bfloat16> ? 0x1p-17 : 0x1p-22;
};

template <class Element>
constexpr double half_step = std::is_same_v<Element, bfloat16> ? 0x1p-8 : 0x1p-11;

const std::vector<std::size_t> contexts{600, 1, 2, 255, 256, 257};
const std::vector<shape> shapes{{1, 1, 1}, {6, 2, 5}, {9, 3, 64}, {5, 1, 24}, {16, 1, 256}};

template <class Element>
bool is_nan(std::uint16_t of) {
    return std::isnan(Element::from_bits(of).value());
}

}  // namespace

BOOST_AUTO_TEST_CASE_TEMPLATE(rows_are_those_of_double_precision, Element, elements) {
    for (const shape& of : shapes) {
        for (const float scale : {1.0f, 60.0f}) {  // e^score overflows with the second
            if (scale > 1 && of.size != 64) continue;
            BOOST_TEST_CONTEXT(of.heads << " heads, " << of.shared << " of keys, of " << of.size << ", x " << scale) {
                const memory<Element> chain(of, names(600));
                std::vector<row_place> rows;
                for (const std::size_t context : contexts) {
                    rows.push_back(chain.row(context, static_cast<augur::token>(rows.size())));
                }
                const bits got = attended<Element>(forwards, of, rows, 600, scale);
                BOOST_TEST((attended<Element>(backwards, of, rows, 600, scale) == got));
                std::size_t far = 0;
                for (std::size_t row = 0; row < rows.size(); ++row) {
                    const reference<Element> expected(chain, rows[row], scale);
                    for (std::size_t i = 0; i < of.width(); ++i) {
                        const double is = Element::from_bits(got[row * of.width() + i]).value(), be = expected.out[i];
                        const double most = expected.bound + half_step<Element> * (std::abs(be) + expected.bound);
                        far += std::abs(is - be) <= most ? 0 : 1;
                    }
                }
                BOOST_TEST(far == 0u);
            }
        }
    }
}

/// Windows that end in the row's chunk, at a chunk's end and chunks before; rows that see nothing of what others share.
BOOST_AUTO_TEST_CASE_TEMPLATE(windows_and_caps_are_those_of_double_precision, Element, elements) {
    for (const shape& of : {shape{6, 2, 8}, shape{3, 1, 5}}) {
        const memory<Element> chain(of, names(600)), other(of, names(300, 1000));
        const std::vector<row_place> rows{chain.row(600, 0), chain.row(530, 1), other.row(300, 2), chain.row(257, 3),
                                          chain.row(599, 4), chain.row(1, 5),   chain.row(598, 6)};
        for (const device::scores_by_rule rule :
             {device::scores_by_rule{1, 0}, {40, 2}, {88, 0}, {256, 0}, {344, 1.5f}, {0, 0.5f}}) {
            const bits got = attended<Element>(forwards, of, rows, 600, 4, rule);
            BOOST_TEST((attended<Element>(backwards, of, rows, 4000, 4, rule) == got));
            std::size_t far = 0;
            for (std::size_t row = 0; row < rows.size(); ++row) {
                const auto alone = attended<Element>(forwards, of, {rows[row]}, 600, 4, rule);
                BOOST_TEST((alone == row_of(of, got, row)), "window " << rule.window << ", row " << row);
                const reference<Element> expected(row == 2 ? other : chain, rows[row], 4, rule);
                for (std::size_t i = 0; i < of.width(); ++i) {
                    const double is = Element::from_bits(alone[i]).value(), be = expected.out[i];
                    const double most = expected.bound + half_step<Element> * (std::abs(be) + expected.bound);
                    far += std::abs(is - be) <= most ? 0 : 1;
                }
            }
            BOOST_TEST(far == 0u, "window " << rule.window << ", cap " << rule.cap);
        }
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_position_alone_is_its_value, Element, elements) {
    const shape of{6, 2, 8};
    const memory<Element> chain(of, names(1));
    const bits got = attended<Element>(forwards, of, {chain.row(1, 0), chain.row(1, 1)}, 1, 1000);  // far from 0
    for (std::size_t i = 0; i < got.size(); ++i) {
        const std::size_t head = i % of.width() / of.size / (of.heads / of.shared);
        BOOST_TEST(got[i] == chain.part(0, (layer * of.shared + head) * 2 + 1)[i % of.size].bits);
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_row_is_the_same_alone_and_among_others, Element, elements) {
    for (const shape& of : {shape{9, 3, 64}, shape{10, 2, 5}}) {
        const memory<Element> one(of, names(600)), other(of, names(257, 1000));
        const std::vector<row_place> rows{one.row(257, 0), other.row(257, 1), one.row(600, 2), one.row(255, 3),
                                          other.row(1, 4), other.row(256, 5), one.row(2, 6),   one.row(257, 7)};
        const bits all = attended<Element>(forwards, of, rows, 600);
        for (std::size_t i = 0; i < rows.size(); ++i) {
            const auto positions = static_cast<std::size_t>(rows[i].position) + 1;
            BOOST_TEST((attended<Element>(forwards, of, {rows[i]}, positions) == row_of(of, all, i)));
            BOOST_TEST((attended<Element>(backwards, of, {rows[i]}, 2000) == row_of(of, all, i)));
            BOOST_TEST((row_of(of, attended<Element>(backwards, of, {rows[2], rows[i], rows[5]}, 600), 1) ==
                        row_of(of, all, i)));
        }
        BOOST_TEST((row_of(of, all, 0) != row_of(of, all, 7)));  // the same position, with other queries
    }
}

/// Those that see whole chunks share their blocks: eight rows and more, of which some end in the same chunk.
BOOST_AUTO_TEST_CASE_TEMPLATE(rows_of_a_chain_share_what_they_read, Element, elements) {
    for (const shape& of : {shape{3, 3, 24}, shape{8, 2, 128}, shape{16, 1, 256}}) {
        if (augur::testing::sanitized && of.heads > 3) break;
        const memory<Element> chain(of, names(530));
        std::vector<row_place> rows;
        for (std::size_t i = 0; i < 11; ++i) rows.push_back(chain.row(508 + i, static_cast<augur::token>(i)));
        const bits all = attended<Element>(forwards, of, rows, 530);
        BOOST_TEST((attended<Element>(backwards, of, rows, 530) == all));
        for (std::size_t i = 0; i < rows.size(); ++i) {
            BOOST_TEST((attended<Element>(forwards, of, {rows[i]}, 530) == row_of(of, all, i)));
        }
        BOOST_TEST((attended<Element, 2>(backwards, of, rows, 530) == all));
        BOOST_TEST((attended<Element, 4>(forwards, of, rows, 530) == all));
        BOOST_TEST((attended<Element, 4>(backwards, of, rows, 4000) == all));
        if (of.heads / of.shared <= 8) BOOST_TEST((attended<Element, 1>(backwards, of, rows, 530) == all));
    }
}

/// Many rows after a long text are too many blocks to run at once: attend_all() gives each more columns.
BOOST_AUTO_TEST_CASE_TEMPLATE(many_rows_share_wide_blocks, Element, elements) {
    const shape of{4, 1, 8};
    const memory<Element> chain(of, names(700));
    std::vector<row_place> rows;
    for (std::size_t i = 0; i < 64; ++i) rows.push_back(chain.row(630 + i, static_cast<augur::token>(i)));
    const bits all = attended<Element>(forwards, of, rows, 4096);
    BOOST_TEST((attended<Element, 1>(forwards, of, rows, 4096) == all));
    for (const std::size_t i : {0u, 9u, 10u, 63u}) {
        BOOST_TEST((attended<Element>(backwards, of, {rows[i]}, 700) == row_of(of, all, i)));
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_node_of_a_tree_is_the_end_of_its_chain, Element, elements) {
    const std::vector<int> parents{-1, 0, 0, 1, -1, 4, 2};
    for (const shape& of : {shape{9, 3, 16}, shape{10, 2, 5}}) {
        for (const std::size_t base : {0u, 254u}) {
            memory<Element> tree(of, base + parents.size());
            for (std::uint32_t slot = 0; slot < base; ++slot) tree.write(slot, slot);
            std::vector<std::vector<std::int32_t>> paths;
            std::vector<row_place> rows;
            for (std::size_t node = 0; node < parents.size(); ++node) {
                const auto slot = static_cast<std::int32_t>(base + node);
                tree.write(base + node, static_cast<std::uint32_t>(5000 + node));
                paths.push_back(parents[node] < 0 ? std::vector<std::int32_t>{}
                                                  : paths[static_cast<std::size_t>(parents[node])]);
                paths.back().push_back(slot);
            }
            for (std::size_t node = 0; node < parents.size(); ++node) {
                rows.push_back({.blocks = tree.cache.blocks(),
                                .path = paths[node].data(),
                                .base = static_cast<std::int32_t>(base),
                                .position = static_cast<std::int32_t>(base + paths[node].size() - 1),
                                .slot = paths[node].back(),
                                .id = static_cast<augur::token>(node)});
            }
            const bits all = attended<Element>(forwards, of, rows, base + parents.size());
            BOOST_TEST((attended<Element>(backwards, of, rows, base + parents.size()) == all));
            for (std::size_t node = 0; node < parents.size(); ++node) {
                auto tokens = names(base);
                for (const std::int32_t slot : paths[node]) {
                    tokens.push_back(static_cast<std::uint32_t>(5000 + slot) - static_cast<std::uint32_t>(base));
                }
                const memory<Element> chain(of, tokens);
                const row_place row = chain.row(tokens.size(), static_cast<augur::token>(node));
                BOOST_TEST((attended<Element>(forwards, of, {row}, tokens.size()) == row_of(of, all, node)));
            }
        }
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(numbers_that_are_none_stay_with_who_sees_them, Element, elements) {
    const shape of{6, 2, 8};
    const memory<Element> chain(of, names(300));
    const std::vector<row_place> rows{chain.row(270, 0), chain.row(271, 1), chain.row(300, 2)};
    const std::size_t first_head = layer * of.shared * 2, group = of.heads / of.shared;
    for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
        for (const std::size_t part : {first_head, first_head + 1}) {  // a key, then a value
            const bits before = attended<Element>(forwards, of, rows, 300);
            const Element was = chain.part(270, part)[3];
            chain.part(270, part)[3] = Element::of(bad);
            const bits after = attended<Element>(forwards, of, rows, 300);
            BOOST_TEST((attended<Element>(backwards, of, rows, 300) == after));
            for (std::size_t i = 0; i < after.size(); ++i) {
                const std::size_t row = i / of.width(), head = i % of.width() / of.size;
                const bool touched =
                    row > 0 && head < group && (part == first_head || i % of.size == 3) && std::isnan(bad);
                if (touched) BOOST_TEST(is_nan<Element>(after[i]));
                if (row == 0 || head >= group) BOOST_TEST(after[i] == before[i]);
            }
            chain.part(270, part)[3] = was;
        }
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(slots_move_to_lower_ones, Element, elements) {
    const shape of{4, 2, 70};
    const std::vector<std::int32_t> slots{255, 257, 258, 300, 511, 512, 599};
    const buffer<std::int32_t> kept(forwards, std::span<const std::int32_t>(slots));
    for (const std::size_t first : {255u, 100u}) {
        memory<Element> moved(of, names(600));
        moved.cache.keep(first, kept.data(), 0);  // nothing
        moved.cache.keep(first, kept.data(), slots.size());
        const memory<Element> turned(of, names(600));
        backwards.launch(2 * layers * of.shared, device::move_slots<Element>{turned.cache.blocks(), of.layout(),
                                                                             kept.data(), slots.size(), first});
        auto expected = names(600);
        for (std::size_t i = 0; i < slots.size(); ++i) expected[first + i] = static_cast<std::uint32_t>(slots[i]);
        std::size_t wrong = 0;
        for (std::size_t slot = 0; slot < 600; ++slot) {
            wrong += moved.holds(slot, expected[slot]) && turned.holds(slot, expected[slot]) ? 0 : 1;
        }
        BOOST_TEST(wrong == 0u);
    }
}

BOOST_AUTO_TEST_CASE(every_component_has_a_place_of_its_own) {
    const cache_layout layout{3, 2, 5};
    std::vector<int> taken(layout.block_size());
    for (std::size_t i = 0; i < layout.layers * layout.heads; ++i) {
        for (std::size_t slot = 256; slot < 512; ++slot) {
            for (std::size_t k = 0; k < layout.head_size; ++k) {
                ++taken.at(layout.key_offset(i / layout.heads, i % layout.heads, slot) + k);
                ++taken.at(layout.value_offset(i / layout.heads, i % layout.heads, slot) + k);
            }
        }
    }
    BOOST_TEST((taken == std::vector(layout.block_size(), 1)));
    BOOST_TEST(layout.value_offset(1, 1, 7) == layout.key_offset(1, 1, 263) + layout.keys_size());
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_cache_grows_by_blocks, Element, elements) {
    const shape of{4, 2, 3};
    const std::size_t block = of.layout().block_size() * sizeof(Element), address = sizeof(void*);
    memory<Element> grown(of, 0);
    BOOST_TEST(grown.cache.memory_bytes() == 0u);
    grown.cache.reserve(1);
    BOOST_TEST(grown.cache.memory_bytes() == block + address);
    BOOST_TEST(grown.part(255, 7)[2].bits == 0);  // the last of the block
    for (std::uint32_t slot = 0; slot < 256; ++slot) grown.write(slot, slot);
    const std::byte* const first = grown.cache.blocks()[0];
    grown.cache.reserve(256);
    BOOST_TEST(grown.cache.memory_bytes() == block + address);
    grown.cache.reserve(513);
    BOOST_TEST(grown.cache.memory_bytes() == 3 * (block + address));
    BOOST_TEST(grown.cache.blocks()[0] == first);
    for (std::uint32_t slot = 0; slot < 256; ++slot) BOOST_TEST(grown.holds(slot, slot));
    BOOST_TEST(grown.part(256, 0)[0].bits == 0);
    BOOST_TEST(grown.part(767, 7)[2].bits == 0);
    grown.cache.reserve(769);  // the table doubles
    BOOST_TEST(grown.cache.memory_bytes() == 4 * block + 6 * address);
    const std::byte* const* const table = grown.cache.blocks();
    grown.cache.reserve(6 * 256);
    grown.cache.reserve(10);
    BOOST_TEST(grown.cache.blocks() == table);
    BOOST_TEST(grown.cache.memory_bytes() == 6 * (block + address));
    grown.write(1535, 9);
    BOOST_TEST(grown.holds(1535, 9));
    BOOST_TEST((grown.cache.layout() == of.layout()));
}

BOOST_AUTO_TEST_CASE(scratch_is_for_whole_chunks) {
    BOOST_TEST(device::scratch_floats(2, 9, 64, 256) == 2u * 9 * 1 * 66);
    BOOST_TEST(device::scratch_floats(2, 9, 64, 257) == 2u * 9 * 2 * 66);
}

BOOST_AUTO_TEST_CASE(impossible_shapes_are_refused) {
    const auto says = [](const std::string& message) {
        return [=](const augur::error& e) { return e.what() == message; };
    };
    using cache = device::kv_cache<bfloat16, emulated_system>;
    BOOST_CHECK_EXCEPTION(cache(forwards, {2, 0, 64}), augur::error,
                          says("a cache of 2 layers with 0 heads of size 64 holds nothing"));
    BOOST_CHECK_THROW(cache(forwards, {0, 3, 64}), augur::error);
    BOOST_CHECK_THROW(cache(forwards, {2, 3, 0}), augur::error);
    const auto check = [](std::size_t heads, std::size_t shared, std::size_t size) {
        device::check_attention({1, shared, size}, heads);
    };
    BOOST_CHECK_EXCEPTION(check(9, 2, 64), augur::error, says("9 heads cannot share 2 key-value heads equally"));
    BOOST_CHECK_THROW(check(9, 0, 64), augur::error);
    BOOST_CHECK_THROW(check(0, 3, 64), augur::error);
    BOOST_CHECK_EXCEPTION(check(34, 2, 64), augur::error,
                          says("attention on a device has 1 to 16 heads to a key-value head, not 17"));
    BOOST_CHECK_EXCEPTION(check(9, 3, 257), augur::error,
                          says("attention on a device has heads of size 1 to 256, not 257"));
    BOOST_CHECK_THROW(check(9, 3, 0), augur::error);
    check(32, 2, 256);
    device::attention_task<binary16> task{};
    task.layout = {1, 2, 64};
    task.heads = 9;
    BOOST_CHECK_THROW(device::attend_all(forwards, task), augur::error);
}

BOOST_AUTO_TEST_SUITE_END()
