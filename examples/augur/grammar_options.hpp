#pragma once
// --grammar and --json-schema: what a text has to be.

#include <CLI/App.hpp>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "scoring_engine.hpp"

namespace augur::program {

struct grammar_options {
    std::optional<std::string> grammar, schema;  ///< files

    bool any() const { return grammar || schema; }
    /// The one that is given, if only one is.
    const char* option() const { return grammar ? "--grammar" : "--json-schema"; }
    /// Those that are given.
    std::vector<std::filesystem::path> files() const;
};

void add_grammar_options(CLI::App& command, grammar_options& into);

/// Throws, before a model is loaded, where both are given, or one in a program without llama.cpp or beside
/// --ignore-eos.
void check_grammar(const grammar_options& chosen, bool ignores_eos);

/// The mask of what is given, on the vocabulary of the model's file. Throws, naming the option, where the file cannot
/// be read, or the model's vocabulary not.
scoring_grammar load_grammar(const grammar_options& chosen, const std::string& model);

}  // namespace augur::program
