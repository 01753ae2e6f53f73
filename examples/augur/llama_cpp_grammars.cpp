// Grammars, by llama.cpp's sampler.

#include <augur/engines/llama_cpp/grammar.hpp>
#include <augur/engines/llama_cpp/tokenizer.hpp>
#include <augur/io/files/regular_file.hpp>

#include "scoring_engine.hpp"

namespace augur::program {

scoring_grammar load_scoring_grammar(const std::string& path, const std::string& gbnf) {
    static_cast<void>(io::regular_file(path));
    const auto words = engines::llama_cpp::weights::load(path, {.gpu_layers = 0, .vocabulary_only = true});
    return {engines::llama_cpp::grammar(words, gbnf), words.vocabulary_size(),
            engines::llama_cpp::tokenizer(words).ends()};
}

}  // namespace augur::program
