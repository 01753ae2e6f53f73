#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "augur/llama/host_model.hpp"
#include "llama/small_llama.hpp"

// Against models that others computed: stories260K with numpy, rotary scaling with transformers
// (tests/data/llama/*.py).
BOOST_AUTO_TEST_SUITE(llama_references)

using namespace augur;
using namespace augur::testing;

namespace {

const std::filesystem::path data = std::filesystem::path(AUGUR_TEST_DATA) / "llama";

nlohmann::json read(const std::string& name) {
    std::ifstream file(data / name);
    return nlohmann::json::parse(file);
}

/// The tensors of a GGUF Llama as a Hugging Face folder would hold them, rotary pairs half a head apart.
void write_hugging_face(const io::gguf_file& from, const std::filesystem::path& folder) {
    const auto gguf = llama::gguf_names(), names = llama::hugging_face_names();
    const auto c = llama::read_config(from);
    nlohmann::json header;
    std::string bytes;
    const auto add = [&](const std::string& source, const std::string& target, bool halves = false) {
        const auto& tensor = from.tensor(source);
        const std::size_t start = bytes.size(), row_bytes = tensor.bytes.size() / tensor.rows();
        for (std::size_t row = 0; row < tensor.rows(); ++row) {
            const std::size_t size = c.head_size, at = row % size;
            const std::size_t pair = at % (size / 2), which = at / (size / 2);
            const std::size_t taken = halves ? row - at + 2 * pair + which : row;
            bytes.append(reinterpret_cast<const char*>(tensor.bytes.data()) + taken * row_bytes, row_bytes);
        }
        header[target] = {{"dtype", "F32"}, {"shape", tensor.shape}, {"data_offsets", {start, bytes.size()}}};
    };
    add(gguf.embedding, names.embedding);
    add(gguf.final_norm, names.final_norm);
    for (std::size_t i = 0; i < c.layers; ++i) {
        const auto both = [&](const std::string& source, const std::string& target, bool halves = false) {
            add(gguf.layer_prefix + std::to_string(i) + "." + source,
                names.layer_prefix + std::to_string(i) + "." + target, halves);
        };
        both(gguf.attention_norm, names.attention_norm);
        both(gguf.feed_forward_norm, names.feed_forward_norm);
        both(gguf.query, names.query, true);
        both(gguf.key, names.key, true);
        both(gguf.value, names.value);
        both(gguf.attention_output, names.attention_output);
        both(gguf.gate, names.gate);
        both(gguf.up, names.up);
        both(gguf.down, names.down);
    }
    const std::string text = header.dump();
    byte_writer out;
    out.number(std::uint64_t{text.size()});
    write_file(folder / "model.safetensors", [&] {
        const auto length = out.bytes();
        return std::string(reinterpret_cast<const char*>(length.data()), length.size()) + text + bytes;
    }());
    const nlohmann::json json{{"model_type", "llama"},          {"num_hidden_layers", c.layers},
                              {"hidden_size", c.width},         {"num_attention_heads", c.heads},
                              {"vocab_size", c.vocabulary},     {"num_key_value_heads", c.key_value_heads},
                              {"rms_norm_eps", c.norm_epsilon}, {"intermediate_size", c.feed_forward},
                              {"rope_theta", c.rotary_base},    {"max_position_embeddings", c.context}};
    write_file(folder / "config.json", json.dump());
}

}  // namespace

BOOST_AUTO_TEST_CASE(stories260K_answers_as_numpy_says) {
    const auto model = llama::host_model::load(data / "stories260K.gguf");
    const auto wanted = read("stories260K.json");
    const auto prompt = wanted["prompt"].get<std::vector<token>>();
    auto sequence = model.make_sequence();
    const auto row = model.extend(sequence, prompt).back();
    for (std::size_t i = 0; i < row.size(); ++i)
        BOOST_TEST(std::abs(double{row[i]} - wanted["logits"][i].get<double>()) < 1e-4);
    const auto greedy_ids = wanted["greedy"].get<std::vector<token>>();
    BOOST_TEST(greedy(model, prompt, greedy_ids.size()) == greedy_ids, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(both_kinds_of_file_give_the_same_bits) {
    const temporary_directory folder;
    write_hugging_face(io::gguf_file(data / "stories260K.gguf"), folder.path());
    const auto tokens = some_tokens(70, 512);
    const auto wanted = logits_in_steps(llama::host_model::load(data / "stories260K.gguf"), tokens, 70);
    BOOST_TEST(same_bits(logits_in_steps(llama::host_model::load(folder.path()), tokens, 70), wanted));
    BOOST_TEST(same_bits(logits_in_steps(llama::host_model::load(folder / "model.safetensors"), tokens, 70), wanted));
}

BOOST_AUTO_TEST_CASE(rotary_scaling_answers_as_transformers_says) {
    for (const std::string name : {"rotary_llama3", "rotary_linear"}) {
        const auto model = llama::host_model::load(data / name);
        const auto wanted = read(name + "/logits.json");
        auto sequence = model.make_sequence();
        const auto rows = model.extend(sequence, wanted["ids"].get<std::vector<token>>(), 1);
        for (std::size_t i = 0; i < rows[0].size(); ++i) {
            BOOST_TEST(std::abs(double{rows[0][i]} - wanted["last"][i].get<double>()) < 1e-3, name << " logit " << i);
        }
    }
}

BOOST_AUTO_TEST_CASE(rotary_factors_in_a_gguf_mean_the_same) {
    small_llama plain, stretched, linear;
    stretched.given["rope_freqs.weight"] = {4, 4, 4, 4};
    linear.texts["llama.rope.scaling.type"] = "linear";
    linear.numbers["llama.rope.scaling.factor"] = 4.0f;
    const auto tokens = some_tokens(30, 77);
    const auto wanted = logits_in_steps(stretched.load(), tokens, 30);
    BOOST_TEST(same_bits(logits_in_steps(linear.load(), tokens, 30), wanted));
    BOOST_TEST(!same_bits(logits_in_steps(plain.load(), tokens, 30), wanted));
}

BOOST_AUTO_TEST_CASE(rotary_factors_and_linear_scaling_go_together) {
    small_llama both, stretched;
    both.texts["llama.rope.scaling.type"] = "linear";
    both.numbers["llama.rope.scaling.factor"] = 4.0f;
    both.given["rope_freqs.weight"] = {1, 2, 4, 8};
    stretched.given["rope_freqs.weight"] = {4, 8, 16, 32};
    const auto tokens = some_tokens(30, 77);
    BOOST_TEST(same_bits(logits_in_steps(both.load(), tokens, 30), logits_in_steps(stretched.load(), tokens, 30)));
}

BOOST_AUTO_TEST_CASE(pairs_turn_by_their_place_among_those_that_turn) {
    llama::config c;
    c.head_size = 8;
    c.rotary_size = 4;
    c.rotary_base = 100;
    const auto frequencies = llama::rotary_frequencies(c);
    BOOST_TEST_REQUIRE(frequencies.size() == 2u);
    BOOST_TEST(frequencies[0] == 1.0);
    BOOST_TEST(frequencies[1] == 0.1, boost::test_tools::tolerance(1e-12));
}

BOOST_AUTO_TEST_SUITE_END()
