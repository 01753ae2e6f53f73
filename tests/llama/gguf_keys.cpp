#include "augur/llama/gguf_keys.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "io/gguf_writer.hpp"
#include "llama/small_llama.hpp"

BOOST_AUTO_TEST_SUITE(llama_gguf_keys)

using namespace augur;
using namespace augur::testing;

namespace {

/// A file of a Llama with one more key.
template <class T>
void check(const std::string& key, const T& value) {
    gguf_writer out;
    out.set("general.architecture", "llama").set(key, value);
    const auto bytes = out.bytes();
    const io::gguf_view file(bytes, "model.gguf");
    llama::detail::check_gguf_keys(file, llama::architectures[0]);
}
template <class T>
void refuse(const std::string& key, const T& value, std::vector<std::string> fragments) {
    fragments.insert(fragments.begin(), {"model.gguf", key});
    BOOST_CHECK_EXCEPTION(check(key, value), error, says(fragments));
}

}  // namespace

BOOST_AUTO_TEST_CASE(what_is_read_and_what_is_idle_passes) {
    for (const auto* key : {"llama.block_count", "llama.vocab_size", "llama.rope.freq_base", "llama.expert_used_count",
                            "llama.rope.scaling.original_context_length", "llama.rope.scaling.finetuned",
                            "llama.tensor_data_layout", "llama.attention.layer_norm_epsilon"}) {
        BOOST_CHECK_NO_THROW(check(key, std::uint32_t{8}));
    }
    BOOST_CHECK_NO_THROW(check("qwen3.unheard_of", 1.5f));  // another architecture's, which nobody asks for
    BOOST_CHECK_NO_THROW(check("general.unheard_of", 1.5f));
}

BOOST_AUTO_TEST_CASE(what_is_not_understood_is_refused) {
    for (const auto* key : {"llama.unheard_of", "llama.rope.dimension_sections", "llama.attention.q_lora_rank",
                            "llama.", "llama.block_count.x"}) {
        refuse(key, std::uint32_t{1}, {"is not understood"});
    }
}

BOOST_AUTO_TEST_CASE(numbers_pass_where_they_change_nothing) {
    for (const auto* key : {"logit_scale", "residual_scale", "embedding_scale"}) {
        for (const float neutral : {0.0f, 1.0f}) BOOST_CHECK_NO_THROW(check(std::string("llama.") + key, neutral));
        refuse(std::string("llama.") + key, 0.25f, {"is 0.25", "only 1"});
    }
    for (const auto* key : {"attn_logit_softcapping", "final_logit_softcapping", "attention.max_alibi_bias",
                            "attention.clamp_kqv", "nextn_predict_layers"}) {
        BOOST_CHECK_NO_THROW(check(std::string("llama.") + key, 0.0f));
        for (const float other : {1.0f, 30.0f}) refuse(std::string("llama.") + key, other, {"only 0"});
    }
    BOOST_CHECK_NO_THROW(check("llama.attention.causal", true));
    refuse("llama.attention.causal", false, {"is false"});
    BOOST_CHECK_NO_THROW(check("llama.use_parallel_residual", false));
    refuse("llama.use_parallel_residual", true, {"is true"});
    refuse("llama.logit_scale", "two", {"f64", "two"});
}

BOOST_AUTO_TEST_CASE(keys_of_experts_that_are_there_say_something) {
    const auto check = [](const std::string& key, std::uint32_t value) {
        gguf_writer out;
        out.set("llama.expert_count", std::uint32_t{8}).set(key, value);
        const auto bytes = out.bytes();
        llama::detail::check_gguf_keys(io::gguf_view(bytes, "model.gguf"), llama::architectures[0]);
    };
    for (const std::uint32_t neutral : {0u, 1u}) {
        BOOST_CHECK_NO_THROW(check("llama.expert_weights_scale", neutral));
        BOOST_CHECK_NO_THROW(check("llama.expert_gating_func", neutral));
    }
    BOOST_CHECK_NO_THROW(check("llama.expert_used_count", 2));
    BOOST_CHECK_NO_THROW(check("llama.expert_gating_func", 3));
    for (const auto* key : {"llama.expert_weights_scale", "llama.expert_gating_func", "llama.expert_shared_count"}) {
        BOOST_CHECK_EXCEPTION(check(key, 2), error, says({key, "is 2", "not supported"}));
    }
    BOOST_CHECK_EXCEPTION(check("llama.expert_unheard_of", 2), error, says({"is not understood"}));
}

BOOST_AUTO_TEST_CASE(who_takes_llamas_alone_names_what_a_mixture_has) {
    llama::config c;
    c.experts.count = 2;
    BOOST_CHECK_EXCEPTION(llama::check_is_llama(c, "a device"), error,
                          says({"a device takes Llamas alone", "this model has a mixture of experts"}));
    c.experts.count = 0;
    c.attention_sinks = true;
    BOOST_TEST(llama::beyond_llama(c) == "attention sinks");
}

BOOST_AUTO_TEST_CASE(a_loaded_file_is_asked) {
    small_llama file;
    file.numbers["llama.logit_scale"] = 0.5f;
    BOOST_CHECK_EXCEPTION(file.load(), error, says({"llama.logit_scale"}));
    file = small_llama();
    file.texts["general.type"] = "model";
    BOOST_CHECK_NO_THROW(file.load());
    file.texts["general.type"] = "adapter";
    BOOST_CHECK_EXCEPTION(file.load(), error, says({"general.type is 'adapter'", "merge it"}));
}

BOOST_AUTO_TEST_CASE(windows_and_scales_are_read) {
    const auto read = [](const char* key, std::uint32_t size, float number) {
        small_llama file;
        if (size != 0) file.sizes[key] = size;
        if (number != 0) file.numbers[key] = number;
        return file.load().configuration();
    };
    for (const std::uint32_t window : {600u, 4096u}) {
        BOOST_TEST(read("llama.attention.sliding_window", window, 0).positions.empty());
    }
    const auto c = read("llama.attention.sliding_window", 599, 0);
    BOOST_TEST_REQUIRE(c.positions.size() == 2u);
    BOOST_TEST(c.positions[1].window == 599u);
    BOOST_TEST(llama::beyond_llama(c) == "sliding windows");
    const auto usual = static_cast<float>(1 / std::sqrt(8.0));
    BOOST_TEST(read("llama.attention.scale", 0, usual).attention_scale == 0.0f);
    BOOST_CHECK_EXCEPTION(read("llama.attention.scale", 0, 0.125f), error,
                          says({"llama.attention.scale", "is 0.125", "0.353553", "head size 8"}));
    BOOST_TEST(read("llama.rope.scaling.attn_factor", 0, 0.5f).rotary_scale == 0.5f);
}

BOOST_AUTO_TEST_CASE(a_size_may_be_given_for_each_layer_if_it_is_the_same) {
    const std::pair<std::string, std::int32_t> sizes[] = {
        {"llama.attention.head_count", 8}, {"llama.attention.head_count_kv", 2}, {"llama.feed_forward_length", 96}};
    const auto tokens = some_tokens(5, 77);
    const auto expected = logits_in_steps(small_llama().load(), tokens, 5);
    for (const auto& [key, size] : sizes) {
        small_llama file;
        file.sizes.erase(key);
        file.lists[key] = {size, size};
        const auto model = file.load();
        BOOST_TEST(logits_in_steps(model, tokens, 5) == expected);
        BOOST_TEST_REQUIRE(model.configuration().notes.size() == 1u);
        BOOST_TEST(model.configuration().notes[0].find(key + " is an array of 2 equal numbers") == 0u);
        file.lists[key] = {size, size + 1};
        const std::string first = std::to_string(size), second = std::to_string(size + 1);
        BOOST_CHECK_EXCEPTION(file.load(), error, says({key, first + " in layer 0", second + " in layer 1"}));
        file.lists[key] = {size, size, size};
        BOOST_CHECK_EXCEPTION(file.load(), error, says({key, "3 numbers for 2 layers"}));
        file.lists[key] = {-1, -1};
        BOOST_CHECK_EXCEPTION(file.load(), error, says({key, "-1"}));
        file.lists[key] = {};
        file.sizes["llama.block_count"] = 0;
        BOOST_CHECK_EXCEPTION(file.load(), error, says({key, "0 numbers for 0 layers"}));
    }
}

BOOST_AUTO_TEST_SUITE_END()
