#include "augur/llama/hugging_face_keys.hpp"

#include <augur/llama/hugging_face_config.hpp>
#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "io/files.hpp"

BOOST_AUTO_TEST_SUITE(llama_hugging_face_keys)

using namespace augur;
using namespace augur::testing;

namespace {

llama::config read(const std::string& key, const nlohmann::json& value) {
    nlohmann::json json = {{"model_type", "llama"}, {"num_hidden_layers", 2},   {"hidden_size", 64},
                           {"vocab_size", 77},      {"num_attention_heads", 4}, {"intermediate_size", 96},
                           {"rms_norm_eps", 1e-5},  {"rope_theta", 1e4},        {"max_position_embeddings", 99}};
    json[key] = value;
    return llama::read_config(json, "config.json", true);
}
void refuse(const std::string& key, const nlohmann::json& value, std::vector<std::string> fragments) {
    fragments.insert(fragments.begin(), {"config.json", key});
    BOOST_TEST_CONTEXT(key) BOOST_CHECK_EXCEPTION(read(key, value), error, says(fragments));
}
void pass(const std::string& key, const nlohmann::json& value) {
    BOOST_TEST_CONTEXT(key) BOOST_CHECK_NO_THROW(read(key, value));
}

}  // namespace

BOOST_AUTO_TEST_CASE(numbers_pass_where_they_change_nothing) {
    for (const auto* key : {"partial_rotary_factor", "logits_scaling", "residual_multiplier", "embedding_multiplier"}) {
        pass(key, 1);
        pass(key, nullptr);
        refuse(key, 0.5, {"0.5", "not supported"});
    }
    for (const auto* key : {"final_logit_softcapping", "attn_logit_softcapping", "num_local_experts", "clip_qkv"}) {
        pass(key, 0);
        pass(key, nullptr);
        refuse(key, 8, {"8", "not supported"});
    }
    pass("attention_multiplier", 0.25);
    refuse("attention_multiplier", 0.125, {"0.125", "0.25", "head size 16"});
    pass("query_pre_attn_scalar", 16);
    refuse("query_pre_attn_scalar", 64, {"0.125", "0.25"});
    refuse("rope_parameters", {{"rope_theta", 1e4}, {"partial_rotary_factor", 0.5}}, {"partial_rotary_factor is 0.5"});
}

BOOST_AUTO_TEST_CASE(switches_lists_and_windows) {
    BOOST_TEST(read("attention_bias", true).query_key_value_bias);
    BOOST_TEST(read("mlp_bias", true).feed_forward_bias);
    for (const auto* key : {"bias", "qkv_bias", "qk_norm", "use_qk_norm", "rope_interleaved"}) {
        pass(key, false);
        refuse(key, true, {"true", "not supported"});
    }
    for (const auto* key : {"full_attn_mod", "interpolate_factor"}) pass(key, 1);  // of Phi-4-mini
    for (const auto* same : {"silu", "swish"}) pass("hidden_act", same);
    refuse("hidden_act", "relu", {"'relu'; silu, gelu"});
    for (const int window : {0, 99, 4096}) pass("sliding_window", window);
    refuse("sliding_window", 98, {"98", "not supported"});
    pass("layer_types", {"full_attention", "full_attention"});
    refuse("layer_types", {"full_attention", "sliding_attention"}, {"sliding_attention"});
    pass("no_rope_layers", {1, 1});
    refuse("no_rope_layers", {1, 0}, {"[1,0]"});
    pass("temperature", 0.6);  // says nothing of the model
    pass("_name", "a/b");
    pass("unheard_of", nullptr);
    refuse("unheard_of", {{"a", 1}}, {"is not understood, and may change"});
    pass("text_config", {{"eos_token_id", {8}}, {"hidden_size", 64}, {"dtype", "bfloat16"}});  // which says it again
    refuse("text_config", {{"eos_token_id", {8}}, {"hidden_size", 65}}, {"65", "is not understood"});
    refuse("text_config", {{"head_dim", 16}}, {"16", "is not understood"});
    refuse("text_config", 1, {"is not understood"});
}

BOOST_AUTO_TEST_CASE(weights_that_others_quantized_are_called_by_their_method) {
    for (const auto* method : {"gptq", "awq", "fp8", "bitsandbytes", "compressed-tensors"}) {
        refuse("quantization_config", {{"quant_method", method}, {"bits", 4}},
               {"quantization_config", "'" + std::string(method) + "'", "not read"});
    }
    refuse("quantization_config", {{"bits", 4}}, {"'unknown'"});
    refuse("quantization_config", "a text", {"'unknown'"});
    refuse("compression_config", {{"quant_method", "sparseml"}}, {"compression_config", "'sparseml'"});
    pass("quantization_config", nullptr);
}

BOOST_AUTO_TEST_SUITE_END()
