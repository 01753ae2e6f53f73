#include <augur/decode/generate.hpp>
#include <augur/io/files/gguf.hpp>
#include <augur/io/text/read_vocabulary.hpp>
#include <augur/io/text/tokenizer.hpp>
#include <augur/llama/host_model.hpp>
#include <boost/test/unit_test.hpp>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <ios>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "../../examples/augur/llama_shape.hpp"
#include "../../examples/augur/widened_gguf.hpp"
#include "llama/small_llama.hpp"

// A widened model writes the very text of the original, in F32.
BOOST_AUTO_TEST_SUITE(real_widened)

using namespace augur;

namespace {

const std::filesystem::path file = std::filesystem::path(AUGUR_MODEL_DIRECTORY) / "SmolLM2-135M-Instruct.Q4_1.gguf";

const std::string prompts[] = {"The capital of France is",
                               "def is_prime(n):\n",
                               "2 + 2 * 7 =",
                               "Once upon a time, in a small village,",
                               "The three primary colours are",
                               "Water boils at",
                               "To bake bread, first",
                               "#include <vector>\nint sum(",
                               "Dear Sir or Madam,",
                               "The opposite of hot is",
                               "In 1969, humans",
                               "Q: Who wrote Hamlet?\nA:",
                               "SELECT name FROM",
                               "The train leaves at nine and",
                               "A list of animals: cat, dog,",
                               "If x is greater than 3, then",
                               "Translate to French: good morning\n",
                               "My favourite season is",
                               "import numpy as",
                               "Photosynthesis is the process by which"};

/// Greedy continuations.
std::vector<std::vector<token>> continued(const llama::host_model& model, const std::vector<std::vector<token>>& from) {
    decode::options chosen;
    chosen.sampling.temperature.value = 0;
    chosen.stop.max_tokens = 16;
    const std::vector<std::span<const token>> all(from.begin(), from.end());
    std::vector<std::vector<token>> texts;
    for (auto& decoded : decode::generate_together(plain(model), all, chosen))
        texts.push_back(std::move(decoded.tokens));
    return texts;
}

}  // namespace

// With wider rows, heads twice as large, a head more to each key, and a layer more.
BOOST_AUTO_TEST_CASE(twenty_greedy_texts_are_the_originals) {
    const io::tokenizer tokenizer(io::read_vocabulary(io::gguf_file(file)));
    std::vector<std::vector<token>> from;
    for (const auto& prompt : prompts) from.push_back(tokenizer.encode(prompt));
    llama::load_options chosen{.weights = llama::weight_format::f32, .context_length = 256};
    const auto expected = continued(llama::host_model::load(file, chosen), from);
    const testing::temporary_directory folder;
    std::ofstream out(folder / "wide.gguf", std::ios::binary);
    const io::gguf_file original(file);
    program::widened_gguf::of_model(original, program::parse_shape("704,1664,12,3,128,31"), chosen.weights)
        .write([&](std::span<const std::byte> bytes) {
            out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
        });
    out.close();
    const auto texts = continued(llama::host_model::load(folder / "wide.gguf", chosen), from);
    BOOST_REQUIRE(texts.size() == std::size(prompts));
    for (std::size_t i = 0; i < texts.size(); ++i) {
        BOOST_TEST(!texts[i].empty(), prompts[i]);
        BOOST_TEST(texts[i] == expected[i], prompts[i]);
    }
}

BOOST_AUTO_TEST_SUITE_END()
