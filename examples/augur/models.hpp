#pragma once
// From the options to a model, its tokenizer and the prompt's tokens.

#include <augur/io/files/json_reader.hpp>
#include <augur/io/text/tokenizer.hpp>
#include <augur/llama/host_model.hpp>
#include <cstddef>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "options.hpp"

namespace augur::program {

/// Throws, with the valid names, where there is no such format.
llama::weight_format parse_weights(const std::string& name);
llama::cache_format parse_cache(const std::string& name);
llama::load_options load_options_of(const model_options& options);

/// `taps`: see llama::load_options.
llama::host_model load_model(const std::string& path, const model_options& options,
                             const std::vector<std::size_t>& taps = {});

/// Says what was taken otherwise than the file says it.
void tell_notes(const std::string& path, const llama::config& of);

/// The model's tokenizer, or nothing if the file holds none.
std::optional<io::tokenizer> load_tokenizer(const std::string& path);

/// The same; throws where there is none, saying what would have needed it.
const io::tokenizer& require(const std::optional<io::tokenizer>& words, const std::string& path,
                             const std::string& what);

/// What a token stands for, nothing where a model has more rows than its tokenizer tokens and this is one of those.
/// Controls stand for nothing unless asked for.
std::string bytes_of(const io::tokenizer& words, token id, bool show_control = false);

/// The tokens that end a text of the model at `path`: its tokenizer's, and what the files beside it say. Those that the
/// model, of this vocabulary, has no rows for are left out, with a note.
std::vector<token> end_tokens_of(const std::optional<io::tokenizer>& words, std::size_t vocabulary,
                                 const std::string& path);

/// The prompt's text, checked to be UTF-8 and not empty; nothing for ids. Throws where options do not go together.
std::optional<std::string> read_prompt(const prompt_options& options);

/// The same prompt with the file's text, for who has to read it more than once.
prompt_options read_once(prompt_options options);

/// The prompt's tokens: special tokens are added as the model asks, and parsed where they are written in the text.
std::vector<token> encode_prompt(const prompt_options& options, const std::optional<io::tokenizer>& words,
                                 const std::string& path);

/// `see(entry, line)` for each line of JSON that is not empty; the entry's origin names the file and the line.
void for_each_line(const std::string& path,
                   const std::function<void(const io::json_reader<nlohmann::ordered_json>&, std::size_t line)>& see);

/// Whoever makes a prompt tokens.
using prompt_encoder = std::function<std::vector<token>(const prompt_options&)>;

/// The tokens of its "prompt". An error names its origin.
std::vector<token> encode_entry(const io::json_reader<nlohmann::ordered_json>& entry, bool chat,
                                const prompt_encoder& encode);

struct prompt_entry {
    std::size_t line;
    std::string task;
    std::vector<token> ids;
};

/// Of JSON lines with "prompt" and perhaps "task" ("all"). Throws, with the file and the line, what cannot be encoded,
/// and where there are none.
std::vector<prompt_entry> read_prompts(const std::string& path, bool chat, const prompt_encoder& encode);

/// The same by augur's tokenizer; throws without one, saying that `command` needs it.
std::vector<prompt_entry> read_prompts(const std::string& path, const std::optional<io::tokenizer>& words,
                                       const std::string& model_path, bool chat, const std::string& command);

}  // namespace augur::program
