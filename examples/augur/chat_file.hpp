#pragma once
// A conversation's file: what /save of `augur chat` writes and /load reads.

#include <augur/io/text/chat_template.hpp>
#include <string>
#include <vector>

namespace augur::program {

/// As JSON, whole or not at all; text that is not UTF-8 with U+FFFD. Throws what output_file throws.
void save_conversation(const std::string& path, const std::vector<io::chat_message>& messages);

/// A conversation that was saved: perhaps a system message, then messages and their answers in turns. Throws, naming
/// the file, for all else.
std::vector<io::chat_message> load_conversation(const std::string& path);

}  // namespace augur::program
