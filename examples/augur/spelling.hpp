#pragma once
// Options as people type them who come from llama.cpp, and those that nobody has.

#include <CLI/App.hpp>
#include <string>
#include <vector>

namespace augur::program {

struct spelled_words {
    std::vector<std::string> words;  ///< as CLI11 takes them
    bool help_all = false;           ///< --help all
};

/// The arguments with llama.cpp's names of options (-c, -t, -ngl, --temp, ...) and underscores replaced by ours, where
/// the command has the option; values are left as they are. Throws, with the nearest name, an option that the command
/// does not have, and a short one with text glued to it, as in -nlong; -n64 is taken.
spelled_words spelled(const CLI::App& program, const std::vector<std::string>& words);

}  // namespace augur::program
