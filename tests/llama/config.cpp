#include "augur/llama/config.hpp"

#include <augur/accept/exact.hpp>
#include <augur/model/any_model.hpp>
#include <augur/scheme/speculator.hpp>
#include <augur/switching/rolling_entropy.hpp>
#include <augur/switching/scheme.hpp>
#include <boost/test/unit_test.hpp>
#include <cstddef>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "llama/small_llama.hpp"

BOOST_AUTO_TEST_SUITE(llama_config)

using namespace augur;
using namespace augur::testing;

namespace {

/// The model with one size changed must be refused with these fragments in the message.
void refuse(const std::string& key, std::uint32_t value, std::vector<std::string> fragments) {
    small_llama file;
    file.sizes[key] = value;
    BOOST_CHECK_EXCEPTION(file.load(), error, says(fragments));
}

nlohmann::json sound_json() {
    return {{"model_type", "llama"}, {"num_hidden_layers", 2},       {"hidden_size", 64},    {"num_attention_heads", 8},
            {"vocab_size", 77},      {"num_key_value_heads", 2},     {"rms_norm_eps", 1e-5}, {"intermediate_size", 96},
            {"rope_theta", 1e4},     {"max_position_embeddings", 99}};
}

void refuse_json(const std::string& key, const nlohmann::json& value, std::vector<std::string> fragments) {
    auto json = sound_json();
    json[key] = value;
    BOOST_CHECK_EXCEPTION(llama::read_config(json, "config.json", true), error, says(fragments));
}

}  // namespace

BOOST_AUTO_TEST_CASE(metadata_becomes_a_configuration) {
    auto file = small_llama();
    file.sizes["llama.attention.key_length"] = 8;
    file.sizes["llama.rope.dimension_count"] = 6;
    const auto c = file.load().configuration();
    BOOST_TEST(c.layers == 2u);
    BOOST_TEST(c.width == 64u);
    BOOST_TEST(c.heads == 8u);
    BOOST_TEST(c.key_value_heads == 2u);
    BOOST_TEST(c.head_size == 8u);
    BOOST_TEST(c.feed_forward == 96u);
    BOOST_TEST(c.vocabulary == 77u);
    BOOST_TEST(c.context == 600u);
    BOOST_TEST(c.rotary_size == 6u);
    BOOST_TEST(c.rotary_base == 500.0);
    BOOST_TEST(c.norm_epsilon == 1e-5f);
    BOOST_TEST(c.tied_head);
    BOOST_TEST(file.load({.context_length = 600}).context_length() == 600u);  // as long as it may be
}

BOOST_AUTO_TEST_CASE(sizes_that_make_no_sense_are_refused) {
    refuse("llama.block_count", 0, {"layers is 0"});
    refuse("llama.block_count", 4000000000u, {"4000000000"});
    refuse("llama.block_count", 3, {"blk.2."});
    refuse("llama.attention.head_count", 0, {"heads is 0"});
    refuse("llama.attention.head_count", 7, {"64", "7"});
    refuse("llama.attention.head_count_kv", 3, {"8 heads", "3"});
    refuse("llama.attention.head_count_kv", 0, {"key-value heads is 0"});
    refuse("llama.attention.head_count_kv", 16, {"key-value heads is 16, not within 1..8"});
    refuse("llama.attention.head_count_kv", 4, {"attn_k.weight", "{16, 64}", "{32, 64}"});
    refuse("llama.embedding_length", 128, {"{77, 64}", "{77, 128}"});
    refuse("llama.feed_forward_length", 97, {"{96, 64}", "{97, 64}"});
    refuse("llama.context_length", 0, {"context length is 0"});
    refuse("llama.rope.dimension_count", 7, {"7 is odd"});
    refuse("llama.rope.dimension_count", 10, {"10", "8"});
    refuse("llama.vocab_size", 78, {"78", "77"});
    refuse("llama.vocab_size", 76, {"76", "77"});
    refuse("llama.expert_count", 4, {"expert_used_count"});
    refuse("llama.attention.value_length", 16, {"16", "8"});
    refuse("llama.attention.value_length", 4, {"4", "8"});
}

BOOST_AUTO_TEST_CASE(numbers_and_texts_that_make_no_sense_are_refused) {
    small_llama file;
    file.texts["general.architecture"] = "mamba";
    BOOST_CHECK_EXCEPTION(file.load(), error,
                          says({"the architecture is 'mamba'", "llama, mistral3, qwen2", "--engine llama.cpp"}));
    for (const float base :
         {0.0f, -1.0f, std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
        file = small_llama();
        file.numbers["llama.rope.freq_base"] = base;
        BOOST_CHECK_EXCEPTION(file.load(), error, says({"rotary base"}));
    }
    file = small_llama();
    file.numbers["llama.attention.layer_norm_rms_epsilon"] = -1e-5f;
    BOOST_CHECK_EXCEPTION(file.load(), error, says({"epsilon", "-1e-05"}));
    file = small_llama();
    file.texts["llama.rope.scaling.type"] = "wavelet";
    BOOST_CHECK_EXCEPTION(file.load(), error, says({"wavelet", "linear, yarn"}));
    file.texts["llama.rope.scaling.type"] = "yarn";
    BOOST_CHECK_EXCEPTION(file.load(), error, says({"llama.rope.scaling.factor"}));
    file.numbers["llama.rope.scaling.factor"] = 4.0f;
    file.sizes["llama.rope.scaling.original_context_length"] = 0;
    BOOST_CHECK_EXCEPTION(file.load(), error, says({"YaRN needs", "4, 0, 1, 32 and 500"}));
    file.texts["llama.rope.scaling.type"] = "linear";
    file.numbers["llama.rope.scaling.factor"] = 0.0f;
    BOOST_CHECK_EXCEPTION(file.load(), error, says({"rotary factor is 0"}));
}

BOOST_AUTO_TEST_CASE(linear_scaling_is_known_in_all_its_spellings) {
    const auto factors = [](const char* type, std::map<std::string, float> numbers) {
        small_llama file;
        if (type != nullptr) file.texts["llama.rope.scaling.type"] = type;
        file.numbers.merge(numbers);
        return file.load().configuration().rotary_factors;
    };
    const char* const present = "llama.rope.scaling.factor";
    const char* const former = "llama.rope.scale_linear";
    const std::vector<float> four(4, 4.0f);
    BOOST_TEST(factors("linear", {{present, 4.0f}}) == four);
    BOOST_TEST(factors(nullptr, {{present, 4.0f}}) == four);
    BOOST_TEST(factors(nullptr, {{former, 4.0f}}) == four);
    BOOST_TEST(factors("linear", {{former, 4.0f}}) == four);
    BOOST_TEST(factors(nullptr, {{present, 4.0f}, {former, 2.0f}}) == four);
    for (const char* key : {present, former}) BOOST_TEST(factors("none", {{key, 4.0f}}).empty());
    BOOST_TEST(factors(nullptr, {}).empty());
    BOOST_CHECK_EXCEPTION(factors(nullptr, {{former, -4.0f}}), error, says({"rotary factor is -4"}));
    BOOST_TEST(factors("linear", {}).empty());  // as llama.cpp takes it, with a note
}

BOOST_AUTO_TEST_CASE(each_rotary_pair_has_a_factor_or_none_has) {
    llama::config c = llama::read_config(sound_json(), "config.json", true);
    BOOST_CHECK_NO_THROW(llama::validate(c, "file"));
    for (const std::size_t count : {1u, 3u, 5u}) {
        c.rotary_factors.assign(count, 1.0f);
        BOOST_CHECK_EXCEPTION(llama::validate(c, "file"), error,
                              says({std::to_string(count) + " rotary factors for 4 pairs"}));
    }
    c.rotary_factors.assign(4, 1.0f);
    BOOST_CHECK_NO_THROW(llama::validate(c, "file"));
}

BOOST_AUTO_TEST_CASE(tensors_are_checked_by_name) {
    small_llama file;
    file.shapes.erase("blk.1.ffn_up.weight");
    BOOST_CHECK_EXCEPTION(file.load(), error, says({"blk.1.ffn_up.weight"}));
    for (const std::string part : {"attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"}) {
        file = small_llama();
        const std::string bias = "blk.1." + part + ".bias";
        file.shapes[bias] = {file.shapes.at("blk.1." + part + ".weight")[0]};
        BOOST_CHECK_EXCEPTION(file.load(), error, says({"1 tensor is not understood", bias}));
    }
    file = small_llama();
    file.shapes["output_norm.weight"] = {63};
    BOOST_CHECK_EXCEPTION(file.load(), error, says({"output_norm.weight", "{63}", "{64}"}));
    file = small_llama();
    file.given["rope_freqs.weight"] = {1, 2, 3};
    BOOST_CHECK_EXCEPTION(file.load(), error, says({"rope_freqs.weight", "3", "4"}));
    file = small_llama();
    file.tokens.assign(78, "t");
    BOOST_CHECK_EXCEPTION(file.load(), error, says({"78", "77"}));
}

BOOST_AUTO_TEST_CASE(a_model_knows_its_tokens_by_what_its_file_says) {
    small_llama file;
    file.tokens.assign(77, "t");
    for (std::size_t id = 0; id < 77; ++id) file.tokens[id] += std::to_string(id);
    const auto model = file.load(), same = file.load();
    std::swap(file.tokens[40], file.tokens[76]);
    const auto swapped = file.load();
    BOOST_TEST(model.vocabulary_fingerprint().size() == 16u);
    BOOST_TEST(model.vocabulary_fingerprint() == same.vocabulary_fingerprint());
    BOOST_TEST(small_llama().load().vocabulary_fingerprint().empty());
    BOOST_TEST(swapped.fingerprint() == model.fingerprint());  // of tensors: it tells models apart, not tokens
    const auto composed = [](const auto& draft, const auto& target) {
        return speculate(draft, target, policy::fixed_length{4}, accept::exact{});
    };
    BOOST_CHECK_NO_THROW(composed(same, model));
    const std::vector<std::string> both{swapped.vocabulary_fingerprint(), model.vocabulary_fingerprint()};
    BOOST_CHECK_EXCEPTION(composed(swapped, model), error, says(both));
    BOOST_CHECK_EXCEPTION(composed(swapped, model::any_model(model)), error, says(both));
    BOOST_CHECK_EXCEPTION(switched(swapped, model, switching::rolling_entropy{}), error, says(both));
}

BOOST_AUTO_TEST_CASE(json_becomes_a_configuration) {
    auto json = sound_json();
    json["head_dim"] = 10;
    json["tie_word_embeddings"] = true;
    const auto c = llama::read_config(json, "config.json", true);
    BOOST_TEST(c.head_size == 10u);
    BOOST_TEST(c.rotary_size == 10u);
    BOOST_TEST(c.context == 99u);
    BOOST_TEST(c.tied_head);
    BOOST_TEST(!llama::read_config(sound_json(), "config.json", true).tied_head);
    BOOST_TEST(llama::read_config(sound_json(), "config.json", false).tied_head);
    BOOST_TEST(llama::read_config(json, "config.json", false).tied_head);
    json["tie_word_embeddings"] = false;
    BOOST_TEST(!llama::read_config(json, "config.json", true).tied_head);
    BOOST_CHECK_EXCEPTION(llama::read_config(json, "config.json", false), error,
                          says({"config.json", "tie_word_embeddings is false", "lm_head.weight"}));
}

BOOST_AUTO_TEST_CASE(what_json_leaves_out_has_its_usual_value) {
    auto json = sound_json();
    for (const auto* key : {"num_key_value_heads", "rms_norm_eps", "rope_theta", "max_position_embeddings"}) {
        json.erase(key);
    }
    const auto c = llama::read_config(json, "config.json", true);
    BOOST_TEST(c.key_value_heads == 8u);
    BOOST_TEST(c.head_size == 8u);
    BOOST_TEST(c.norm_epsilon == 1e-6f);
    BOOST_TEST(c.rotary_base == 10000.0);
    BOOST_TEST(c.context == 2048u);
    small_llama file;
    file.sizes.erase("llama.attention.head_count_kv");
    file.shapes["blk.0.attn_k.weight"] = file.shapes["blk.0.attn_v.weight"] = {64, 64};
    file.shapes["blk.1.attn_k.weight"] = file.shapes["blk.1.attn_v.weight"] = {64, 64};
    BOOST_TEST(file.load().configuration().key_value_heads == 8u);
    file = small_llama();
    file.numbers["llama.attention.layer_norm_rms_epsilon"] = 0;
    BOOST_TEST(file.load().configuration().norm_epsilon == 0.0f);
}

BOOST_AUTO_TEST_CASE(newer_json_has_the_rotary_numbers_in_one_place) {
    auto json = sound_json();
    json["rope_parameters"] = {{"rope_type", "linear"}, {"factor", 2}, {"rope_theta", 500}};
    json["rope_scaling"] = {{"type", "linear"}, {"factor", 2}};
    const auto c = llama::read_config(json, "config.json", true);
    BOOST_TEST(c.rotary_base == 500.0);
    BOOST_TEST_REQUIRE(c.rotary_factors.size() == 4u);
    BOOST_TEST(c.rotary_factors[0] == 2.0f);
    json["rope_parameters"].erase("rope_theta");
    BOOST_TEST(llama::read_config(json, "config.json", true).rotary_base == 10000.0);
    json["rope_scaling"]["factor"] = 3;  // some engines would take 2, some 3
    BOOST_CHECK_EXCEPTION(llama::read_config(json, "config.json", true), error,
                          says({"config.json: rope_parameters", "\"factor\":2", "rope_scaling", "\"factor\":3"}));
    json.erase("rope_scaling");
    json["rope_parameters"] = {{"full_attention", {{"rope_type", "default"}}}};
    BOOST_CHECK_EXCEPTION(llama::read_config(json, "config.json", true), error, says({"full_attention is an object"}));
}

BOOST_AUTO_TEST_CASE(json_that_makes_no_sense_is_refused) {
    refuse_json("model_type", "mamba", {"config.json", "mamba", "llama, mistral, ministral3", "--engine llama.cpp"});
    refuse_json("num_hidden_layers", -1, {"num_hidden_layers", "-1"});
    refuse_json("num_hidden_layers", "two", {"num_hidden_layers", "\"two\""});
    refuse_json("num_hidden_layers", nullptr, {"num_hidden_layers", "missing"});
    refuse_json("num_key_value_heads", 3, {"8", "3"});
    refuse_json("hidden_size", 63, {"63", "8"});
    refuse_json("qkv_bias", true, {"qkv_bias"});
    refuse_json("hidden_act", "relu", {"relu"});
    refuse_json("rms_norm_eps", 1e300, {"rms_norm_eps must be a number", "1e+300"});
    refuse_json("num_hidden_layers", 1e30, {"num_hidden_layers must be a whole number", "1e+30"});
    refuse_json("num_hidden_layers", 1.5, {"num_hidden_layers must be a whole number", "1.5"});
    refuse_json("rope_theta", "x", {"rope_theta", "\"x\""});
    refuse_json("rope_scaling", {{"rope_type", "wavelet"}}, {"wavelet", "longrope"});
    refuse_json("rope_scaling", {{"rope_type", "yarn"}}, {"factor is missing"});
    refuse_json("rope_scaling", {{"rope_type", "yarn"}, {"factor", 4}, {"beta_slow", 40}}, {"YaRN needs", "40, 32"});
    refuse_json("rope_scaling", {{"rope_type", "default"}, {"wave", 4}}, {"'wave' is not understood"});
    refuse_json("rope_scaling", {{"rope_type", "longrope"}, {"short_factor", {1, 1}}, {"long_factor", {1, 1}}},
                {"original_max_position_embeddings"});
    refuse_json("rope_scaling", {{"type", "linear"}}, {"factor"});
    refuse_json("rope_scaling", {{"type", "linear"}, {"factor", -2}}, {"-2"});
    refuse_json("rope_scaling", 5, {"object"});
    refuse_json("rope_scaling",
                {{"rope_type", "llama3"},
                 {"factor", 8},
                 {"low_freq_factor", 4},
                 {"high_freq_factor", 4},
                 {"original_max_position_embeddings", 64}},
                {"low_freq_factor", "4"});
    refuse_json("rope_scaling",
                {{"rope_type", "llama3"},
                 {"factor", 0},
                 {"low_freq_factor", 1},
                 {"high_freq_factor", 4},
                 {"original_max_position_embeddings", 64}},
                {"factor > 0", "not 0"});
    for (const auto* original : {"0", "-8192"}) {
        refuse_json("rope_scaling",
                    {{"rope_type", "llama3"},
                     {"factor", 8},
                     {"low_freq_factor", 1},
                     {"high_freq_factor", 4},
                     {"original_max_position_embeddings", std::stoi(original)}},
                    {"original_max_position_embeddings is " + std::string(original)});
    }
}

/// GGUF files mean linear scaling by it, as llama.cpp reads them; transformers leaves it out, or fails.
BOOST_AUTO_TEST_CASE(a_rotary_factor_needs_a_type) {
    refuse_json("rope_scaling", {{"factor", 4.5}}, {"config.json: rope_scaling: a factor of '4.5' has no rope_type"});
    refuse_json("rope_scaling", {{"rope_type", nullptr}, {"factor", 4}}, {"a factor of '4'"});
    refuse_json("rope_scaling", {{"type", ""}, {"factor", 4}}, {"rope type ''"});
    refuse_json("rope_parameters", {{"factor", 4}, {"rope_theta", 500}}, {"rope_parameters: a factor of '4'"});
    auto json = sound_json();
    for (const nlohmann::json& none : {nlohmann::json::object(), nlohmann::json({{"factor", nullptr}})}) {
        json["rope_scaling"] = none;
        BOOST_TEST(llama::read_config(json, "config.json", true).rotary_factors.empty());
    }
}

BOOST_AUTO_TEST_CASE(texts_of_a_file_are_printed_safely) {
    const std::string hostile = "\x1b[2J\xc2\x9b" + std::string(5000, 'x');
    const std::string printed = "'\\x1b[2J\\xc2\\x9bxxx";
    for (const auto* key : {"model_type", "hidden_act"}) refuse_json(key, hostile, {printed, "(5006 bytes)"});
    refuse_json("rope_scaling", {{"type", hostile}}, {printed, "(5006 bytes)"});
    refuse_json("hidden_size", hostile, {"hidden_size", "\\xc2\\x9bxxx", "bytes)"});
    small_llama file;
    file.texts["llama.rope.scaling.type"] = hostile;
    BOOST_CHECK_EXCEPTION(file.load(), error, says({printed, "(5006 bytes)"}));
    file.texts["general.architecture"] = hostile;
    BOOST_CHECK_EXCEPTION(file.load(), error, says({printed, "(5006 bytes)"}));
}

BOOST_AUTO_TEST_CASE(a_safetensors_file_needs_a_configuration_and_a_head_that_is_read) {
    const temporary_directory folder;
    const std::string header = R"({"lm_head.weight":{"dtype":"F8_E4M3","shape":[4],"data_offsets":[0,4]}})";
    byte_writer image;
    image.string(header).number(std::uint32_t{0});
    const auto path = write_file(folder / "model.safetensors", image.bytes());
    BOOST_CHECK_EXCEPTION(llama::host_model::load(path), error,
                          says({"model.safetensors: no configuration", (folder / "config.json").string()}));
    write_file(folder / "config.json", sound_json().dump());
    BOOST_CHECK_EXCEPTION(llama::host_model::load(path), error, says({"'lm_head.weight' is stored as F8_E4M3"}));
}

BOOST_AUTO_TEST_SUITE_END()
