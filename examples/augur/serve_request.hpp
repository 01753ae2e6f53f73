#pragma once
// What a client asks for: JSON of the API, read strictly, as tokens and settings.

#include <augur/commit/stop_conditions.hpp>
#include <augur/io/text/chat_template.hpp>
#include <augur/transform/pipeline.hpp>
#include <augur/types/token.hpp>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "known_words.hpp"

namespace augur::program {

/// What the server serves, as far as requests refer to it. Read by many threads.
struct served_model {
    std::string name;
    const known_words* words;
    std::optional<io::chat_template> layout{};  ///< where augur's tokenizer has one
    std::string no_chat{};                      ///< why conversations are not answered; empty where they are
    std::vector<token> end_tokens{};
    std::size_t vocabulary = 0, context = 0;
    std::size_t max_tokens = 0;  ///< that a request may ask for
};

/// A checked request for completions.
struct completion_request {
    bool chat = false, stream = false, include_usage = false;
    std::vector<std::vector<token>> prompts;
    std::size_t n = 1;  ///< texts for each prompt
    std::uint64_t seed = 0;
    transform::settings sampling{};
    commit::stop_conditions stop{};
    std::optional<std::size_t> most_drafted{};

    std::size_t choices() const { return prompts.size() * n; }
};

/// Reads one object. Throws api_error for what is not JSON.
nlohmann::ordered_json read_body(const std::string& text, std::size_t most_bytes);
/// Throws api_error for fields that are unknown, of another type, out of range, or contradict each other.
completion_request read_completion(const nlohmann::ordered_json& body, bool chat, const served_model& model);
/// {"tokens": [...]} of {"content": TEXT, "add_special", "parse_special"}.
nlohmann::ordered_json tokenized(const nlohmann::ordered_json& body, const served_model& model);
/// {"content": TEXT} of {"tokens": [...]}.
nlohmann::ordered_json detokenized(const nlohmann::ordered_json& body, const served_model& model);

}  // namespace augur::program
