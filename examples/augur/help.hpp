#pragma once
// What --help, the man page and shells' completion say of the commands: all from the options that CLI11 holds.

#include <CLI/App.hpp>
#include <string>

namespace augur::program {

/// The help of a command, as wide as the terminal: a command with many options shows the everyday ones and where all
/// are; with `all` it shows all of them in groups.
std::string help_of(const CLI::App& command, bool all);

/// `augur completion bash|zsh|fish` and `augur man`, of all commands of the program. It must outlive them.
void add_manual(CLI::App& program);

}  // namespace augur::program
