#include "grammar_options.hpp"

#include <augur/io/files/json.hpp>
#include <augur/io/files/regular_file.hpp>
#include <augur/io/files/safetensors.hpp>
#include <augur/io/text/schema_grammar.hpp>

#include "limits.hpp"
#include "options.hpp"

namespace augur::program {

std::vector<std::filesystem::path> grammar_options::files() const {
    std::vector<std::filesystem::path> all;
    for (const auto& file : {grammar, schema}) {
        if (file) all.emplace_back(*file);
    }
    return all;
}

void add_grammar_options(CLI::App& command, grammar_options& into) {
    add_text(
        command, "--grammar", [&into](const std::string& path) { into.grammar = path; },
        "The text is to be one of this grammar, in GBNF, whose rule is `root`; needs llama.cpp and a GGUF file",
        "FILE");
    add_text(
        command, "--json-schema", [&into](const std::string& path) { into.schema = path; },
        "The text is to be JSON that this schema admits; needs llama.cpp and a GGUF file", "FILE");
}

void check_grammar(const grammar_options& chosen, bool ignores_eos) {
    if (!chosen.any()) return;
    if (chosen.grammar && chosen.schema) {
        detail::fail("--grammar is ", io::quote(*chosen.grammar), " and --json-schema ", io::quote(*chosen.schema),
                     "; give one of them");
    }
    if (ignores_eos) detail::fail("--ignore-eos is given, but the end of a text is part of its grammar");
    if (!has_llama_cpp()) static_cast<void>(load_scoring_grammar("", ""));  // says how to get it
}

scoring_grammar load_grammar(const grammar_options& chosen, const std::string& model) {
    return of_option(chosen.option(), [&] {
        const std::string gbnf = chosen.grammar
                                     ? io::read_text(*chosen.grammar, most::text_bytes)
                                     : io::schema_grammar(io::read_json<nlohmann::ordered_json>(*chosen.schema));
        if (io::holds_safetensors(model)) {
            detail::fail("a grammar needs the vocabulary of a GGUF file, and ", model, " holds safetensors");
        }
        return load_scoring_grammar(model, gbnf);
    });
}

}  // namespace augur::program
