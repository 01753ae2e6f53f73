#include "augur/engines/llama_cpp/weights.hpp"

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "augur/io/text/token_texts.hpp"
#include "engines/tiny_engines.hpp"

using namespace augur;
using namespace augur::testing;
namespace llama_cpp = augur::engines::llama_cpp;

BOOST_AUTO_TEST_SUITE(engines_weights)

BOOST_AUTO_TEST_CASE(a_copy_shares_what_was_loaded) {
    const llama_cpp::weights loaded = tiny_weights("llama"), copy = loaded;
    BOOST_TEST(copy.get() == loaded.get());
    BOOST_TEST(loaded.vocabulary_size() == 96u);
    BOOST_TEST(loaded.trained_length() == 512u);
    BOOST_TEST(loaded.layer_count() == 2u);
    BOOST_TEST(loaded.parameter_count() ==
               2u * 96 * 32 + 2u * (2 * 32 * 32 + 2 * 16 * 32 + 3 * 64 * 32 + 2 * 32) + 32u);
    BOOST_TEST(loaded.memory_bytes() == 4 * loaded.parameter_count());
    BOOST_TEST(loaded.description().starts_with("llama"));
    BOOST_TEST(loaded.vocabulary_fingerprint().empty());
    BOOST_TEST(loaded.rewinds());
    BOOST_TEST(!tiny_weights("mamba").rewinds());
    BOOST_TEST(!tiny_weights("lfm2").rewinds());
}

BOOST_AUTO_TEST_CASE(what_cannot_be_loaded_is_refused_with_the_reason_of_llama_cpp) {
    const temporary_directory folder;
    const auto load = [](const std::filesystem::path& path) {
        return llama_cpp::weights::load(path, {.gpu_layers = 0});
    };
    BOOST_CHECK_EXCEPTION(load(folder / "none.gguf"), error, says({"none.gguf", "llama.cpp says", "No such file"}));
    std::ofstream(folder / "text.gguf") << "this is no model";
    BOOST_CHECK_EXCEPTION(load(folder / "text.gguf"), error, says({"text.gguf", "magic"}));
    tiny_gguf file;
    const auto whole = file.write(folder / "cut.gguf");
    std::filesystem::resize_file(whole, std::filesystem::file_size(whole) - 4096);
    BOOST_CHECK_EXCEPTION(load(whole), error, says({"cut.gguf", "not within the file bounds"}));
    tiny_gguf unknown;
    unknown.family = "lama";
    BOOST_CHECK_EXCEPTION(load(unknown.write(folder / "lama.gguf")), error,
                          says({"unknown model architecture", "lama"}));
    BOOST_CHECK_EXCEPTION(llama_cpp::weights(nullptr), error, says({"there is no model"}));
}

BOOST_AUTO_TEST_CASE(wrong_options_are_refused_with_their_values) {
    const auto load = [](const llama_cpp::load_options& options) {
        return llama_cpp::weights::load("x.gguf", options);
    };
    BOOST_CHECK_EXCEPTION(load({.gpu_layers = -2}), error, says({"gpu_layers is -2"}));
    BOOST_CHECK_EXCEPTION(load({.gpu_layers = 0, .rpc = {"127.0.0.1:1"}}), error,
                          says({"gpu_layers is 0", "127.0.0.1:1"}));
    for (const char* wrong : {"", "here", "here:", ":50052", "here:0", "here:65536", "here:5x"}) {
        BOOST_CHECK_EXCEPTION(load({.rpc = {wrong}}), error, says({"host:port", "\"" + std::string(wrong) + "\""}));
    }
    BOOST_CHECK_EXCEPTION(load({.rpc = {"127.0.0.1:1"}}), error, says({"127.0.0.1:1", "does not answer"}));
    BOOST_CHECK_EXCEPTION(load({.rpc = {"no.such.host.invalid:1"}}), error,
                          says({"no.such.host.invalid:1", "not found"}));
}

BOOST_AUTO_TEST_CASE(a_vocabulary_has_the_fingerprint_that_the_bundled_reader_gives_it) {
    const temporary_directory folder;
    tiny_gguf file;
    file.has_words = true;
    std::vector<std::filesystem::path> paths{file.write(folder / "words.gguf")};
    const std::filesystem::path models = AUGUR_MODEL_DIRECTORY;
    for (const char* name : {"llama-bpe", "llama-spm", "gpt-2", "qwen2"}) {
        const auto path = models / "llama-vocab" / ("ggml-vocab-" + std::string(name) + ".gguf");
        if (!models.empty() && std::filesystem::exists(path)) paths.push_back(path);
    }
    llama_cpp::complaints::initialize();
    for (const auto& path : paths) {
        llama_model_params words = llama_model_default_params();
        words.vocab_only = true;
        const std::unique_ptr<llama_model, decltype(&llama_model_free)> model(
            llama_model_load_from_file(path.string().c_str(), words), &llama_model_free);
        BOOST_REQUIRE(model);
        const std::string expected = io::vocabulary_fingerprint(io::token_texts(path));
        BOOST_TEST(llama_cpp::fingerprint(*llama_model_get_vocab(model.get())) == expected, path.filename());
        BOOST_TEST(expected.size() == 16u);
    }
}

BOOST_AUTO_TEST_SUITE_END()
