#include "augur/llama/qualifier.hpp"

#include <augur/accept/exact.hpp>
#include <augur/accept/rejection_sampling.hpp>
#include <augur/testing/promise.hpp>
#include <boost/test/unit_test.hpp>
#include <numeric>

#include "llama/draft_bundle.hpp"

BOOST_AUTO_TEST_SUITE(llama_qualifier)

using namespace augur;
using namespace augur::testing;

namespace {

constexpr std::uint64_t rank = 2;

/// Changes of these layers of a target; all changes are nothing where `idle`.
small_llama small_qualifier(const llama::host_model& target, std::vector<std::int32_t> layers, bool idle = false) {
    const llama::config& c = target.configuration();
    small_llama file;
    file.shapes.clear();
    file.sizes.clear();
    const std::uint64_t width = c.width, keys = c.key_value_heads * c.head_size;
    const std::map<std::string, std::pair<std::uint64_t, std::uint64_t>> matrices{
        {"attn_q", {width, width}},
        {"attn_k", {keys, width}},
        {"attn_v", {keys, width}},
        {"attn_output", {width, width}},
        {"ffn_gate", {c.feed_forward, width}},
        {"ffn_up", {c.feed_forward, width}},
        {"ffn_down", {width, c.feed_forward}}};
    const auto put = [&](const std::string& name, std::uint64_t rows, std::uint64_t columns) {
        file.shapes[name] = {rows, columns};
    };
    file.shapes["output_norm.weight"] = {width};
    for (std::size_t i = 0; i < layers.size(); ++i) {
        const std::string prefix = "blk." + std::to_string(i) + ".";
        file.shapes[prefix + "attn_norm.weight"] = file.shapes[prefix + "ffn_norm.weight"] = {width};
        for (const auto& [name, shape] : matrices) {
            put(prefix + name + ".delta_up.weight", shape.first, rank);
            put(prefix + name + ".delta_down.weight", rank, shape.second);
        }
    }
    if (idle) file.zeros = {"delta_up"};
    file.lists["augur.layers"] = std::move(layers);
    file.texts = {{"augur.member", "qualifier"}, {"augur.target.fingerprint", target.fingerprint()}};
    return file;
}

backend::host::packed_matrix copy_of(const backend::host::packed_matrix& matrix) {
    std::vector<std::size_t> rows(matrix.rows());
    std::iota(rows.begin(), rows.end(), std::size_t{0});
    return matrix.selected(rows);
}

/// The matrices alone.
llama::layer_weights copy_of(const llama::layer_weights& layer) {
    llama::layer_weights out;
    out.query = copy_of(layer.query);
    out.key = copy_of(layer.key);
    out.value = copy_of(layer.value);
    out.attention_output = copy_of(layer.attention_output);
    out.gate = copy_of(layer.gate);
    out.up = copy_of(layer.up);
    out.down = copy_of(layer.down);
    return out;
}

/// weight + up * down, in double precision.
std::vector<float> row_by_definition(const io::gguf_file& file, const std::string& stem,
                                     const backend::host::packed_matrix& from, std::size_t row) {
    llama::config unused;
    const llama::weight_reader reader(file, unused, llama::gguf_names(), llama::weight_format::keep);
    const auto up = reader.floats(stem + ".delta_up.weight", {from.rows(), rank});
    const auto down = reader.floats(stem + ".delta_down.weight", {rank, from.depth()});
    std::vector<float> values(from.depth());
    from.unpack_row(row, values);
    for (std::size_t i = 0; i < values.size(); ++i) {
        double sum = values[i];
        for (std::size_t j = 0; j < rank; ++j) sum += double(up[row * rank + j]) * double(down[j * from.depth() + i]);
        values[i] = static_cast<float>(sum);
    }
    return values;
}

}  // namespace

BOOST_AUTO_TEST_CASE(matrices_are_the_targets_and_their_change) {
    const temporary_directory folder;
    const auto target = small_llama().load();
    const auto path = small_qualifier(target, {1, 0}).write(folder / "qualifier.gguf");
    const auto qualifier = llama::load_qualifier(path, target);
    BOOST_TEST(qualifier.pool() == target.pool());
    const io::gguf_file file(path);
    BOOST_TEST(qualifier.layer_count() == 2u);
    for (const std::size_t place : {0u, 1u}) {
        const auto& own = *qualifier.parameters().layers[place];
        const auto& original = *target.parameters().layers[1 - place];
        const std::string prefix = "blk." + std::to_string(place) + ".";
        for (const auto& [name, matrix, from] :
             {std::tuple{"attn_q", &own.query, &original.query}, std::tuple{"attn_k", &own.key, &original.key},
              std::tuple{"attn_v", &own.value, &original.value},
              std::tuple{"attn_output", &own.attention_output, &original.attention_output},
              std::tuple{"ffn_gate", &own.gate, &original.gate}, std::tuple{"ffn_up", &own.up, &original.up},
              std::tuple{"ffn_down", &own.down, &original.down}}) {
            std::vector<float> found(matrix->depth());
            for (std::size_t row = 0; row < matrix->rows(); ++row) {
                matrix->unpack_row(row, found);
                const auto wanted = row_by_definition(file, prefix + name, *from, row);
                for (std::size_t i = 0; i < found.size(); ++i) {
                    if (std::abs(found[i] - wanted[i]) > 1e-5f * (1 + std::abs(wanted[i]))) {
                        BOOST_ERROR(name << ' ' << row << ' ' << i << ": " << found[i] << " is not " << wanted[i]);
                    }
                }
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(without_changes_it_is_the_target_of_these_layers) {
    const temporary_directory folder;
    const auto tokens = some_tokens(9, 77);
    const auto target = small_llama().load();
    for (const std::vector<std::int32_t>& layers : {std::vector<std::int32_t>{0, 1}, {1}, {0}}) {
        const auto path = small_qualifier(target, layers, true).write(folder / "qualifier.gguf");
        const io::gguf_file file(path);
        llama::config c = target.configuration();
        c.layers = layers.size();
        const llama::weight_reader reader(file, c, llama::gguf_names(), llama::weight_format::keep);
        llama::weights same;
        same.embedding = target.parameters().embedding;
        same.final_norm = reader.vector("output_norm.weight", 64);
        for (std::size_t i = 0; i < layers.size(); ++i) {
            llama::layer_weights layer = copy_of(*target.parameters().layers[static_cast<std::size_t>(layers[i])]);
            layer.attention_norm = reader.vector("blk." + std::to_string(i) + ".attn_norm.weight", 64);
            layer.feed_forward_norm = reader.vector("blk." + std::to_string(i) + ".ffn_norm.weight", 64);
            same.layers.push_back(std::make_shared<const llama::layer_weights>(std::move(layer)));
        }
        const llama::host_model whole(c, std::move(same), {});
        const auto qualifier = llama::load_qualifier(path, target);
        BOOST_TEST(same_bits(logits_in_steps(qualifier, tokens, 4), logits_in_steps(whole, tokens, 9)));
    }
}

BOOST_AUTO_TEST_CASE(changes_are_held_finely_enough) {
    const temporary_directory folder;
    using backend::host::storage;
    for (const auto& [type, held] :
         {std::pair{io::tensor_type::q4_1, storage::q8_0}, std::pair{io::tensor_type::q8_0, storage::q8_0},
          std::pair{io::tensor_type::bf16, storage::bf16}, std::pair{io::tensor_type::f16, storage::f16}}) {
        const auto target = small_llama(type).load();
        const auto path = small_qualifier(target, {1}).write(folder / "qualifier.gguf");
        const auto qualifier = llama::load_qualifier(path, target);
        BOOST_CHECK(qualifier.parameters().layers[0]->gate.format() == held);
        BOOST_TEST(qualifier.memory_bytes() < target.memory_bytes());
    }
    const auto target = small_llama(io::tensor_type::q4_1).load();
    const auto path = small_qualifier(target, {1}).write(folder / "qualifier.gguf");
    const auto coarse = llama::load_qualifier(path, target, {.weights = llama::weight_format::q4_0});
    BOOST_CHECK(coarse.parameters().layers[0]->gate.format() == storage::q4_0);
}

BOOST_AUTO_TEST_CASE(drafts_of_a_qualifier_leave_the_law_as_it_is) {
    const temporary_directory folder;
    const auto target = small_llama(io::tensor_type::f32, 32, 4, 2, 24, 4).load({.threads = 1});
    small_llama part = small_qualifier(target, {0});
    part.lists["augur.head.tokens"] = {1, 3};
    const auto qualifier = llama::load_qualifier(part.write(folder / "qualifier.gguf"), target, {.threads = 1});
    decode::options chosen;
    chosen.stop.max_tokens = 3;
    const std::vector<token> prompt{2, 0, 1};
    const policy::fixed_length two{2};
    BOOST_TEST(broken_promise(speculate(qualifier, target, two, accept::rejection_sampling{}), prompt, chosen) == "");
    chosen.sampling.temperature.value = 0;
    BOOST_TEST(broken_promise(speculate(qualifier, target, two, accept::exact{}), prompt, chosen) == "");
}

BOOST_AUTO_TEST_CASE(qualifiers_that_cannot_be_are_refused) {
    const temporary_directory folder;
    const auto target = small_llama().load();
    const auto refused = [&](const small_llama& file, const std::vector<std::string>& words) {
        const auto path = file.write(folder / "qualifier.gguf");
        BOOST_CHECK_EXCEPTION(llama::load_qualifier(path, target), error, says(words));
    };
    refused(small_qualifier(target, {0, 2}), {"qualifier.gguf", "layer 2", "there are 2"});
    refused(small_qualifier(target, {-1}), {"qualifier.gguf", "augur.layers holds -1"});
    refused(small_qualifier(target, {}), {"qualifier.gguf", "augur.layers is empty"});
    small_llama part = small_qualifier(target, {0});
    part.shapes.erase("blk.0.ffn_up.delta_up.weight");
    refused(part, {"qualifier.gguf", "blk.0.ffn_up.delta_up.weight"});
    part = small_qualifier(target, {0});
    part.shapes["blk.0.ffn_up.delta_up.weight"] = {95, rank};
    refused(part, {"blk.0.ffn_up.delta_up.weight", "{95, 2}", "{96, 2}"});
    part = small_qualifier(target, {0});
    part.texts["augur.target.fingerprint"] = "0123456789abcdef";
    refused(part, {"0123456789abcdef", target.fingerprint()});
}

BOOST_AUTO_TEST_SUITE_END()
