// What arithmetic and the order of passes have broken: docs/conformance.md, 43, 58 and 61.

#include <augur/draft/prompt_lookup.hpp>
#include <augur/llama/host_model.hpp>
#include <augur/model/cached_sequence.hpp>
#include <augur/testing/text_distribution_of.hpp>

#include "conformance/schemes.hpp"
#include "llama/small_llama.hpp"

using namespace augur;
using namespace augur::conformance;

BOOST_AUTO_TEST_SUITE(conformance_numerics)

/// Bits of every row after `tokens`, computed `rows` at a time.
template <class M>
std::vector<float> rows_in_steps(const M& model, std::span<const token> tokens, std::size_t rows) {
    auto sequence = model.make_sequence();
    std::vector<float> out;
    for (std::size_t at = 0; at < tokens.size(); at += rows) {
        const auto got = model.extend(sequence, tokens.subspan(at, std::min(rows, tokens.size() - at)));
        for (std::size_t i = 0; i < got.size(); ++i) out.insert(out.end(), got[i].begin(), got[i].end());
    }
    return out;
}

template <class M>
bool rows_are_bitwise(const M& model, std::span<const token> tokens) {
    const auto one_by_one = rows_in_steps(model, tokens, 1);
    for (std::size_t rows = 2; rows <= tokens.size(); ++rows) {
        if (rows_in_steps(model, tokens, rows) != one_by_one) return false;
    }
    return true;
}

/// An engine whose sums are grouped by the number of rows. It says so.
struct regrouping : function_model {
    using function_model::function_model;
    static constexpr bool bitwise_rows = false;

    auto extend(sequence_type& sequence, std::span<const token> tokens) const {
        const auto rows = function_model::extend(sequence, tokens);
        if (tokens.size() > 1) {
            for (float& logit : sequence.rows) logit *= 1 + 1e-6f;
        }
        return rows;
    }
};

// A pass over k + 1 rows rounded otherwise than passes over one, and greedy texts parted.
BOOST_AUTO_TEST_CASE(invariant_43_a_row_does_not_depend_on_how_many_are_computed_with_it) {
    const auto mock = testing::hashed_model(512, 3);
    const auto tokens = testing::some_tokens(24, 512);
    BOOST_TEST(rows_are_bitwise(mock, tokens));
    const auto load = [](llama::weight_format format) {
        return llama::host_model::load(AUGUR_TEST_DATA "/llama/stories260K.gguf", {.weights = format, .threads = 2});
    };
    const auto target = load(llama::weight_format::f32), near = load(llama::weight_format::bf16);
    BOOST_TEST(rows_are_bitwise(target, tokens));
    BOOST_TEST(rows_are_bitwise(near, tokens));
    const auto expected = decode::generate(plain(target), prompt, greedy(60)).tokens;
    every_scheme(near, target, [&](const auto& scheme) {
        BOOST_TEST(decode::generate(scheme, prompt, greedy(60)).tokens == expected);
    });
    for (std::uint64_t seed = 0; seed < 5; ++seed) {
        auto chosen = sampling(60);
        chosen.seed = seed;
        const auto seeded = decode::generate(plain(target), prompt, chosen).tokens;
        const auto scheme = speculate(near, target, policy::fixed_length{4}, accept::coupled{});
        BOOST_TEST(decode::generate(scheme, prompt, chosen).tokens == seeded);
    }
    // An engine that cannot keep this is found out, and promises less.
    const regrouping engine(6, 64, [](std::span<const token> before, std::span<float> row) {
        for (std::size_t i = 0; i < row.size(); ++i) row[i] = static_cast<float>((before.size() * 7 + i * 3) % 11);
    });
    static_assert(Model<regrouping> && !has_bitwise_rows<regrouping> && has_bitwise_rows<llama::host_model>);
    BOOST_TEST(!rows_are_bitwise(engine, std::span(tokens).first(5)));
    const auto scheme = speculate(engine, engine, policy::fixed_length{2}, accept::rejection_sampling{});
    static_assert(!Lossless<decltype(scheme)>);
    BOOST_TEST(decode::generate<lossless_within_numerics>(scheme, prompt, sampling(5)).tokens.size() == 5u);
}

// Hidden states came in the order of micro-batches, so that a drafter read another token's.
BOOST_AUTO_TEST_CASE(invariant_58_states_belong_to_tokens_however_a_prompt_is_cut) {
    const auto target = llama::host_model::load(AUGUR_TEST_DATA "/llama/stories260K.gguf", {.threads = 2});
    const auto text = testing::some_tokens(2 * llama::forward_pass::most_rows + 44, 512);
    std::vector<float> one_by_one;
    auto alone = target.make_sequence();
    for (const token t : text) {
        target.extend(alone, std::span(&t, 1));
        const auto state = target.hidden(alone)[0];
        one_by_one.insert(one_by_one.end(), state.begin(), state.end());
    }
    model::cached_sequence filled(target);
    std::vector<float> seen;
    filled.fill(text, [&](const auto& states) {
        BOOST_TEST(states.first() * target.hidden_size() == seen.size());
        for (std::size_t i = 0; i < states.size(); ++i) seen.insert(seen.end(), states[i].begin(), states[i].end());
    });
    BOOST_TEST((seen == one_by_one));
}

// Texts parted by how many rows were verified at once: widths of 3 and 4 agreed, and those of 5, 6 and 8, but not both
// groups.
BOOST_AUTO_TEST_CASE(invariant_61_every_width_format_and_instruction_set_writes_one_text) {
    using enum io::tensor_type;
    for (const auto type : {f32, f16, bf16, q8_0, q4_0, q4_1}) {
        const testing::small_llama file(type);
        std::vector<token> expected;
        for (const auto set : backend::host::all_instruction_sets) {
            if (!backend::host::is_supported(set)) continue;
            const auto target = file.load({.threads = 2, .instruction_set = set});
            const auto text = decode::generate(plain(target), prompt, greedy(40)).tokens;
            if (expected.empty()) expected = text;
            BOOST_TEST((text == expected), io::name_of(type) << ", " << backend::host::name_of(set));
            for (const std::size_t rows : {2u, 3u, 4u, 5u, 6u, 8u, 16u}) {
                const auto scheme =
                    speculate(draft::prompt_lookup(1, 3), target, policy::fixed_length{rows - 1}, accept::exact{});
                BOOST_TEST((decode::generate(scheme, prompt, greedy(40)).tokens == expected),
                           io::name_of(type) << ", " << backend::host::name_of(set) << ", " << rows << " rows");
            }
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
