#include "../../examples/augur/synthetic.hpp"

#include <augur/llama/draft_heads.hpp>
#include <augur/llama/eagle_model.hpp>
#include <augur/llama/host_model.hpp>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <memory>
#include <set>
#include <vector>

using namespace augur;
using backend::host::storage;

BOOST_AUTO_TEST_SUITE(program_synthetic)

const program::llama_shape small{256, 512, 4, 2, 64, 5};

BOOST_AUTO_TEST_CASE(passes_over_every_format_make_numbers) {
    for (const storage format : backend::host::all_storages) {
        const auto c = program::synthetic_config(small, 300, 64);
        const llama::host_model model(c, program::synthetic_weights(c, format).model(2), {.threads = 1});
        BOOST_TEST((model.parameters().output().format() == format));
        auto sequence = model.make_sequence();
        const token text[] = {1, 299, 17};
        const auto rows = model.extend(sequence, text);
        float least = rows[2][0], most = least;
        for (const float logit : rows[2]) {
            BOOST_TEST_REQUIRE(std::isfinite(logit));
            least = std::min(least, logit);
            most = std::max(most, logit);
        }
        BOOST_TEST(most - least > 0.1f, name_of(format));
        BOOST_TEST(most - least < 100.0f, name_of(format));
    }
}

BOOST_AUTO_TEST_CASE(layers_repeat_those_that_are_different) {
    const auto c = program::synthetic_config(small, 300, 64);
    const auto layers_in = [&](std::size_t distinct) {
        const auto weights = program::synthetic_weights(c, storage::q8_0).model(distinct);
        BOOST_TEST(weights.layers.size() == 5u);
        for (std::size_t i = distinct; distinct > 0 && i < 5; ++i)
            BOOST_TEST(weights.layers[i] == weights.layers[i - distinct]);
        return std::set(weights.layers.begin(), weights.layers.end()).size();
    };
    BOOST_TEST(layers_in(2) == 2u);
    BOOST_TEST(layers_in(0) == 1u);
    BOOST_TEST(layers_in(9) == 5u);
}

BOOST_AUTO_TEST_CASE(bytes_are_about_those_that_weights_take) {
    const auto c = program::synthetic_config(small, 304, 64);
    for (const storage format : backend::host::all_storages) {
        const auto weights = program::synthetic_weights(c, format).model(1);
        const auto layer = static_cast<double>(weights.layers[0]->memory_bytes());
        BOOST_TEST(static_cast<double>(llama::stored_bytes(format, program::layer_parameters(c))) == layer,
                   boost::test_tools::tolerance(0.1));
    }
}

BOOST_AUTO_TEST_CASE(who_drafts_shares_the_embedding_and_nothing_else) {
    auto c = program::synthetic_config(small, 300, 64);
    program::synthetic_weights make(c, storage::bf16);
    const llama::host_model target(c, make.model(5), {.threads = 1});
    auto few = c;
    few.layers = 2;
    const llama::host_model draft(few, make.draft(target.parameters(), 2, 100), {.threads = 1});
    BOOST_TEST(draft.parameters().embedding == target.parameters().embedding);
    BOOST_TEST(draft.parameters().layers[0] != target.parameters().layers[0]);
    auto sequence = draft.make_sequence();
    const token text[] = {1, 2};
    const auto row = draft.extend(sequence, text, 1);
    BOOST_TEST(std::isfinite(row[0][99]));
    BOOST_TEST(std::isinf(row[0][100]));
    few.layers = 1;
    const llama::eagle_model eagle(few, make.eagle(target.parameters(), 400), {.threads = 1});
    auto of_eagle = eagle.make_sequence();
    const std::vector<float> states(2 * 256, 0.5f);
    BOOST_TEST(std::isfinite(eagle.extend(of_eagle, text, states, 1)[0][299]));
    for (const bool see : {false, true}) {
        auto output = make.draft(target.parameters(), 0, 100);
        const llama::draft_heads heads(make.heads(3, see), target, std::move(output.head_tokens),
                                       std::move(output.head), {.threads = 1});
        BOOST_TEST(heads.see_tokens() == see);
        auto workspace = heads.make_workspace();
        BOOST_TEST(std::isfinite(heads.row(workspace, std::span(states).first(256), std::span(text, 2), 1)[99]));
    }
}

BOOST_AUTO_TEST_CASE(equal_seeds_equal_weights) {
    const auto c = program::synthetic_config(small, 300, 64);
    const auto row_of = [&](std::uint32_t seed) {
        std::vector<float> row(256);
        program::synthetic_weights(c, storage::q4_k, seed).matrix(3, 256).unpack_row(2, row);
        return row;
    };
    BOOST_TEST(row_of(1) == row_of(1), boost::test_tools::per_element());
    BOOST_TEST((row_of(1) != row_of(2)));
}

BOOST_AUTO_TEST_CASE(what_cannot_be_packed_is_refused) {
    const auto c = program::synthetic_config({96, 128, 3, 3, 32, 1}, 300, 64);
    BOOST_CHECK_THROW(program::synthetic_weights(c, storage::q4_k).model(1), error);
    BOOST_CHECK_THROW(program::synthetic_config({96, 128, 3, 2, 32, 1}, 300, 64), error);
}

BOOST_AUTO_TEST_SUITE_END()
