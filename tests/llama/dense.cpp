// Every architecture that is read, from both kinds of files, against what transformers computes.

#include <algorithm>
#include <augur/accept/exact.hpp>
#include <augur/decode/generate.hpp>
#include <augur/draft/prompt_lookup.hpp>
#include <augur/llama/host_exit.hpp>
#include <augur/llama/host_model.hpp>
#include <augur/policy/fixed_length.hpp>
#include <augur/policy/tree_static.hpp>
#include <augur/scheme/speculator.hpp>
#include <augur/testing/model_laws.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "llama/dense_case.hpp"
#include "llama/small_llama.hpp"
#include "sanitized.hpp"

BOOST_AUTO_TEST_SUITE(llama_dense)

using namespace augur;
using namespace augur::testing;

namespace {

llama::host_model load(const std::filesystem::path& path, const dense_case& of, std::size_t threads = 2,
                       llama::weight_format weights = llama::weight_format::keep) {
    return llama::host_model::load(path, {.weights = weights, .threads = threads, .context_length = of.context_length});
}

/// Some of what transformers runs no GGUF file says: then of a folder.
llama::host_model load_either(const dense_case& of, std::size_t threads = 2) {
    const temporary_directory folder;
    if (of.has_gguf) return load(of.write_gguf(folder / "model.gguf"), of, threads);
    of.write_shards(folder.path());
    return load(folder.path(), of, threads);
}

/// The largest difference from the stored rows, as a share of their largest number.
float largest_difference(const dense_case& of, const std::vector<float>& logits) {
    float worst = 0;
    for (const auto& [row, wanted] : of.rows) {
        float scale = 0;
        for (const float each : wanted) scale = std::max(scale, std::abs(each));
        for (std::size_t i = 0; i < wanted.size(); ++i) {
            worst = std::max(worst, std::abs(logits[row * wanted.size() + i] - wanted[i]) / scale);
        }
    }
    return worst;
}

}  // namespace

BOOST_DATA_TEST_CASE(logits_are_those_of_transformers_from_both_kinds_of_files, dense_cases(), name) {
    const dense_case of = read_dense_case(name);
    const temporary_directory folder;
    of.write_folder(folder.path());
    const auto model = load(folder.path(), of);
    BOOST_TEST_REQUIRE(model.configuration().notes.size() <= 1u);
    const auto logits = logits_in_steps(model, of.ids, of.ids.size());
    const bool is_rounded = of.config.contains("quantization_config");  // inputs of its products are bytes
    const auto exact =
        is_rounded ? logits_in_steps(load(folder.path(), of, 2, llama::weight_format::f32), of.ids, 64) : logits;
    const float worst = largest_difference(of, exact);
    BOOST_TEST(worst < 1e-5f, name << ": the largest difference is " << worst);
    BOOST_TEST_MESSAGE(name << " differs by " << worst);
    for (const std::size_t rows : {1u, 4u, 17u}) {
        BOOST_TEST(same_bits(logits_in_steps(model, of.ids, rows), logits), name << " in steps of " << rows);
    }
    BOOST_TEST(same_bits(logits_in_steps(load_either(of, 1), of.ids, 17), logits), name << " from another file");
}

BOOST_DATA_TEST_CASE(every_kind_of_pass_gives_the_same_bits, dense_cases(), name) {
    const auto report = model_laws(load_either(read_dense_case(name)), {.cases = unless_sanitized<std::size_t>(4, 1)});
    BOOST_TEST(report.kept(), name << ": " << report);
    BOOST_TEST(report.skipped.empty(), report);
}

BOOST_DATA_TEST_CASE(greedy_texts_are_plain_decoding_s, dense_cases(), name) {
    const dense_case of = read_dense_case(name);
    const auto model = load_either(of);
    decode::options options;
    options.sampling.temperature.value = 0;
    options.stop.max_tokens = 40;
    const std::vector<token> prompt(of.ids.begin(), of.ids.begin() + 24);
    const auto wanted = greedy(model, prompt, 40);
    const auto check = [&](const char* what, const auto& scheme) {
        BOOST_TEST(decode::generate(scheme, prompt, options).tokens == wanted, name << ": " << what);
    };
    check("lookup", speculate(draft::prompt_lookup(), model, policy::fixed_length{4}, accept::exact{}));
    const policy::tree_static nodes(topology::of_paths({{0}, {1}, {0, 0}, {0, 1}, {1, 0}}));
    check("tree", speculate(draft::prompt_lookup(), model, nodes, accept::exact{}));
    const auto exit = llama::host_exit::untrained(model, 1);
    check("self-speculation", speculate(exit, model, policy::fixed_length{3}, accept::exact{}));
}

/// What a model has in common with a Llama does not make it one: the tensors of its norms are left over.
BOOST_AUTO_TEST_CASE(an_architecture_under_another_s_name_is_refused_by_its_tensors) {
    dense_case of = read_dense_case("qwen3_even");
    of.config["model_type"] = "llama";
    const temporary_directory folder;
    of.write_folder(folder.path());
    BOOST_CHECK_EXCEPTION(load(folder.path(), of), error, says({"4 tensors are not understood", "k_norm", "q_norm"}));
    of.config["model_type"] = "olmo2";
    of.write_folder(folder.path());
    BOOST_CHECK_EXCEPTION(load(folder.path(), of), error, says({"post_feedforward_layernorm.weight"}));
}

namespace {

/// Of a folder whose configuration says this instead.
void refuse(const std::string& name, const nlohmann::json& patch, const std::vector<std::string>& fragments) {
    dense_case of = read_dense_case(name);
    of.config.merge_patch(patch);
    const temporary_directory folder;
    of.write_folder(folder.path());
    BOOST_CHECK_EXCEPTION(load(folder.path(), of), error, says(fragments));
}

}  // namespace

BOOST_AUTO_TEST_CASE(experts_that_contradict_each_other_are_refused) {
    refuse("mixtral_odd", {{"num_experts_per_tok", 6}}, {"a row uses 6 experts of the 5 that there are"});
    refuse("mixtral_odd", {{"num_experts_per_tok", 0}}, {"a row uses 0 experts of the 5"});
    refuse("mixtral_odd", {{"num_local_experts", 4}}, {"gate_up_proj", "{5, 104, 40}", "{4, 104, 40}"});
    refuse("mixtral_odd", {{"num_local_experts", 5000}}, {"experts is 5000, not within 1..4096"});
    refuse("mixtral_odd", {{"num_experts", 4}}, {"num_local_experts is 5, but num_experts is 4"});
    refuse("mixtral_even", {{"num_local_experts", 3}}, {"gate.weight has the shape {4, 48}", "{3, 48}"});
    refuse("mixtral_even", {{"num_local_experts", 5}}, {"experts.4.w1.weight"});
    refuse("qwen3_moe_odd", {{"moe_intermediate_size", 21}}, {"{7, 40, 40}", "{7, 42, 40}"});
    refuse("qwen3_moe_odd", {{"mlp_only_layers", {2}}}, {"mlp_only_layers holds '2', no layer of 2"});
    refuse("qwen3_moe_odd", {{"mlp_only_layers", {1}}}, {"layers.1.mlp.gate_proj.weight"});
    refuse("qwen3_moe_even", {{"mlp_only_layers", nlohmann::json::array()}}, {"layers.1.mlp.experts.0.gate_proj"});
    refuse("qwen3_moe_even", {{"decoder_sparse_step", 0}}, {"decoder_sparse_step is 0"});
    refuse("gpt_oss_blocks", {{"intermediate_size", 64}}, {"gate_up_proj_blocks", "{3, 64, 2, 16}", "{3, 128, 2, 16}"});
    refuse("gpt_oss_odd", {{"swiglu_limit", -1}}, {"limit of the gate is -1"});
    refuse("gpt_oss_odd", {{"quantization_config", {{"quant_method", "gptq"}}}}, {"quant_method 'gptq'"});
    refuse("qwen3_odd", {{"num_experts", 4}}, {"num_experts is '4', which is not supported"});
}

BOOST_AUTO_TEST_CASE(layer_norms_and_plain_feed_forwards_are_refused_where_they_are_others) {
    refuse("stablelm_even", {{"use_parallel_residual", true}}, {"use_parallel_residual is 'true'"});
    refuse("stablelm_even", {{"qk_layernorm", true}}, {"qk_layernorm is 'true'"});
    refuse("stablelm_even", {{"use_qkv_bias", false}}, {"6 tensors are not understood", "k_proj.bias"});
    refuse("stablelm_odd", {{"use_qkv_bias", true}}, {"layers.0.self_attn.q_proj.bias"});
    refuse("stablelm_even", {{"layer_norm_eps", nullptr}}, {"layer_norm_eps is missing"});
    refuse("stablelm_even", {{"rms_norm_eps", 1e-5}}, {"rms_norm_eps is '1e-05'"});
    refuse("starcoder2_even", {{"norm_type", "rms_norm"}}, {"norm_type is '\"rms_norm\"'"});
    refuse("starcoder2_even", {{"layer_norm_epsilon", 1e-3}}, {"layer_norm_epsilon is '0.001'"});
    refuse("starcoder2_even", {{"scale_attn_weights", false}}, {"scale_attn_weights is 'false'"});
    refuse("starcoder2_odd", {{"use_bias", true}}, {"layers.0.self_attn.q_proj.bias"});
    refuse("qwen3_even", {{"norm_type", "layer_norm"}}, {"norm_type is"});
    refuse("qwen2_moe_odd", {{"shared_expert_intermediate_size", 27}},
           {"shared_expert.gate_proj", "{28, 42}", "{27, 42}"});
    refuse("qwen2_moe_odd", {{"shared_expert_intermediate_size", 0}}, {"shared_expert_intermediate_size", "1.."});
    refuse("qwen3_moe_odd", {{"shared_expert_intermediate_size", 20}}, {"shared_expert_intermediate_size is '20'"});
    refuse("qwen2_moe_odd", {{"use_sliding_window", true}, {"sliding_window", 8}},
           {"sliding_window is '8'", "qwen2_moe"});
    refuse("olmo3_odd", {{"sliding_window", 0}}, {"layer_types"});
}

/// What a published StarCoder 2 says beside what is read; and GELU by the error function, which it may say.
BOOST_AUTO_TEST_CASE(a_starcoder_s_other_keys_repeat_what_it_is) {
    dense_case of = read_dense_case("starcoder2_even");
    of.config.merge_patch({{"activation_function", "gelu"},
                           {"mlp_type", "default"},
                           {"norm_type", "layer_norm"},
                           {"layer_norm_epsilon", 1e-5},
                           {"scale_attn_weights", true},
                           {"attention_softmax_in_fp32", true}});
    const temporary_directory folder;
    of.write_folder(folder.path());
    const auto usual = load(folder.path(), of);
    const float same = largest_difference(of, logits_in_steps(usual, of.ids, 64));
    BOOST_TEST(same < 1e-5f);
    of.config["hidden_act"] = "gelu";
    of.write_folder(folder.path());
    const auto other = load(folder.path(), of);
    BOOST_TEST((other.configuration().gate == llama::activation::gelu));
    BOOST_TEST(largest_difference(of, logits_in_steps(other, of.ids, 64)) > 1e-5f);
}

BOOST_AUTO_TEST_CASE(experts_of_gguf_files_that_contradict_each_other_are_refused) {
    const auto refuse_key = [](const std::string& name, const char* key, int value,
                               const std::vector<std::string>& fragments) {
        dense_case of = read_dense_case(name);
        of.keys[of.family + "." + key] = value;
        const temporary_directory folder;
        BOOST_CHECK_EXCEPTION(load(of.write_gguf(folder / "model.gguf"), of), error, says(fragments));
    };
    refuse_key("mixtral_odd", "expert_used_count", 6, {"model.gguf: a row uses 6 experts of the 5 that there are"});
    refuse_key("mixtral_odd", "expert_count", 6, {"ffn_gate_exps.weight", "{5, 52, 40}", "{6, 52, 40}"});
    refuse_key("qwen3_moe_odd", "expert_feed_forward_length", 21, {"{7, 20, 40}", "{7, 21, 40}"});
    refuse_key("qwen3_moe_odd", "expert_count", 0, {"expert_count is 0"});
    refuse_key("qwen3_odd", "expert_count", 2, {"a mixture of 2 experts is not supported in a qwen3"});
    refuse_key("qwen2_moe_odd", "expert_shared_feed_forward_length", 27, {"ffn_gate_shexp", "{28, 42}", "{27, 42}"});
    refuse_key("qwen2_moe_odd", "expert_shared_feed_forward_length", 0, {"expert_shared_feed_forward_length is 0"});
    refuse_key("olmoe_even", "expert_gating_func", 2, {"expert_gating_func", "is 2"});
}

/// As of a StableLM 2 of 12 billion parameters; what its key says does not tell, for some writers say it of all.
BOOST_AUTO_TEST_CASE(a_layer_whose_two_parts_read_one_norm_is_refused) {
    dense_case of = read_dense_case("stablelm_even");
    BOOST_TEST(of.keys["stablelm.use_parallel_residual"] == true);
    std::erase_if(of.stored, [](const auto& each) { return each.first.find("ffn_norm") != std::string::npos; });
    const temporary_directory folder;
    BOOST_CHECK_EXCEPTION(load(of.write_gguf(folder / "model.gguf"), of), error,
                          says({"model.gguf: there is no blk.0.ffn_norm.weight", "a stablelm"}));
}

/// The choice of a layer's experts goes with the layer.
BOOST_AUTO_TEST_CASE(layers_of_two_kinds_are_chosen_by_number) {
    const dense_case of = read_dense_case("qwen3_moe_even");
    const temporary_directory folder;
    of.write_folder(folder.path());
    const auto model = llama::host_model::load(folder.path(), {.threads = 1, .layers = {1, 2}});
    BOOST_TEST(model.parameters().layers[0]->experts.empty());
    BOOST_TEST(model.parameters().layers[1]->experts.size() == 6u);
    const auto& layer = *model.parameters().layers[1];
    std::size_t bytes = layer.router.memory_bytes();
    for (const auto& expert : layer.experts) {
        for (const auto* matrix : expert.matrices()) bytes += matrix->memory_bytes();
    }
    BOOST_TEST(layer.memory_bytes() > bytes);
    BOOST_TEST(layer.parameter_count() > 6u * 3u * 32u * 48u);
}

BOOST_AUTO_TEST_CASE(longrope_turns_by_the_context_that_is_asked_for) {
    const dense_case of = read_dense_case("phi3_even");
    const temporary_directory folder;
    const auto path = of.write_gguf(folder / "model.gguf");
    const auto with = [&](std::size_t context) {
        return llama::host_model::load(path, {.threads = 1, .context_length = context});
    };
    const auto brief = with(0), same = with(96), wide = with(97);
    BOOST_TEST(brief.context_length() == 96u);
    BOOST_TEST_REQUIRE(brief.configuration().notes.size() == 1u);
    BOOST_TEST(brief.configuration().notes[0].find("the context is 96, that of LongRoPE's short factors") == 0u);
    BOOST_TEST(wide.configuration().notes[0].find("a context of more than 96 tokens: all positions turn") == 0u);
    const auto logits = logits_in_steps(brief, of.ids, 64);
    BOOST_TEST(same_bits(logits_in_steps(same, of.ids, 64), logits));
    BOOST_TEST(!same_bits(logits_in_steps(wide, of.ids, 64), logits));
    BOOST_CHECK_EXCEPTION(with(129), error, says({"129", "128"}));
}

BOOST_AUTO_TEST_SUITE_END()
