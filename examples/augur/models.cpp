#include "models.hpp"

#include <algorithm>
#include <augur/backend/host/thread_pool.hpp>
#include <augur/io/files/gguf.hpp>
#include <augur/io/files/regular_file.hpp>
#include <augur/io/files/safetensors.hpp>
#include <augur/io/text/chat_template.hpp>
#include <augur/io/text/chat_tokens.hpp>
#include <augur/io/text/read_vocabulary.hpp>
#include <augur/io/text/stop_ids.hpp>
#include <augur/io/text/tokenizer_json.hpp>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>

#include "limits.hpp"
#include "message.hpp"
#include "terminal.hpp"

namespace augur::program {
namespace {

/// What a shell has opened already: standard input, and `<(command)`.
bool is_open_already(const std::string& path) {
    return path == "-" || path == "/dev/stdin" || path.starts_with("/dev/fd/") || path.starts_with("/proc/self/fd/");
}

/// To its end, which somebody else decides on; so it is bounded.
std::string read_stream(const std::string& path) {
    std::ifstream opened;
    if (path != "-" && path != "/dev/stdin") {
        opened.open(path, std::ios::binary);
        if (!opened) detail::fail("cannot open ", path, ": ", std::strerror(errno));
    }
    std::istream& in = opened.is_open() ? opened : std::cin;
    std::string text;
    for (std::string part(1 << 16, '\0');
         in.read(part.data(), static_cast<std::streamsize>(part.size())).gcount() > 0;) {
        text.append(part, 0, static_cast<std::size_t>(in.gcount()));
        if (text.size() > most::text_bytes) {
            detail::fail(path, " has more than the ", most::text_bytes, " bytes that are read");
        }
    }
    return text;
}

std::string read_file(const std::string& path) {
    try {
        if (is_open_already(path)) return read_stream(path);
        return io::read_text(path, most::text_bytes);
    } catch (const error& problem) {
        detail::fail("--prompt-file: ", problem.what());
    }
}

/// Editors end a file with one.
std::string without_last_line_feed(std::string text) {
    if (!text.ends_with('\n')) return text;
    text.pop_back();
    if (text.ends_with('\r')) text.pop_back();
    return text;
}

/// The text that is encoded, and its tokens.
std::pair<std::string, std::vector<token>> as_conversation(const prompt_options& options, const std::string& text,
                                                           const io::tokenizer& words) {
    std::vector<io::chat_message> messages;
    if (options.system) messages.push_back({"system", *options.system});
    messages.push_back({"user", text});
    const io::chat_template layout(words.words());
    auto rendered = layout.render(messages);
    auto ids = io::encode_chat(words, layout, rendered);
    return {std::move(rendered), std::move(ids)};
}

/// Where the files beside safetensors are.
std::filesystem::path folder_of(const std::string& path) {
    std::error_code unknown;  // then opening the file says why
    return std::filesystem::is_directory(path, unknown) ? std::filesystem::path(path)
                                                        : std::filesystem::path(path).parent_path();
}

/// A folder names its stop ids without a tokenizer, too.
std::vector<token> stop_ids_without_tokenizer(const std::string& path) {
    return io::holds_safetensors(path) ? io::read_stop_ids(folder_of(path)).ids : std::vector<token>();
}

/// What was met in the file and could be done without is said.
io::tokenizer noted(io::vocabulary words) {
    for (const std::string& note : words.notes) tell("note", note);
    return io::tokenizer(std::move(words));
}

}  // namespace

llama::weight_format parse_weights(const std::string& name) {
    std::string valid;
    for (const auto format : llama::all_weight_formats) {
        if (name == name_of(format)) return format;
        valid += (valid.empty() ? "" : ", ") + std::string(name_of(format));
    }
    detail::fail("--weights ", io::quote(name), " is not available; valid are ", valid);
}

llama::cache_format parse_cache(const std::string& name) {
    for (const auto format : backend::host::all_cache_formats) {
        if (name == name_of(format)) return format;
    }
    detail::fail("--cache ", io::quote(name), " is not available; valid are f32, q8_0");
}

llama::load_options load_options_of(const model_options& options) {
    llama::load_options chosen{.weights = parse_weights(options.weights),
                               .threads = options.threads,
                               .context_length = options.context,
                               .cache = parse_cache(options.cache),
                               .between_layers = interruption::check};
    constexpr std::size_t most_threads = backend::host::thread_pool::most_threads;
    if (options.threads > most_threads) {
        detail::fail("--threads is ", options.threads, "; it must be 0 to ", most_threads);
    }
    return chosen;
}

llama::host_model load_model(const std::string& path, const model_options& options,
                             const std::vector<std::size_t>& taps) {
    llama::load_options chosen = load_options_of(options);
    chosen.taps = taps;
    llama::host_model loaded = llama::host_model::load(path, chosen);
    tell_notes(path, loaded.configuration());
    return loaded;
}

void tell_notes(const std::string& path, const llama::config& of) {
    for (const std::string& each : of.notes) tell("note", path, ": ", each);
}

std::optional<io::tokenizer> load_tokenizer(const std::string& path) {
    namespace fs = std::filesystem;
    if (io::holds_safetensors(path)) {
        std::error_code unknown;  // then opening the file says why
        const fs::path folder = folder_of(path);
        if (fs::is_directory(folder, unknown) && !fs::exists(folder / "config.json", unknown)) {
            detail::fail("the folder ", folder.string(), " holds no model: its config.json is missing");
        }
        if (!fs::exists(folder / "tokenizer.json", unknown)) return std::nullopt;
        return noted(io::read_tokenizer_folder(folder));
    }
    const io::gguf_file file(path);
    if (file.get_or<std::string>("tokenizer.ggml.model", "no_vocab") == "no_vocab") return std::nullopt;
    return noted(io::read_vocabulary(file));
}

const io::tokenizer& require(const std::optional<io::tokenizer>& words, const std::string& path,
                             const std::string& what) {
    if (!words) detail::fail("the model ", path, " has no tokenizer, which ", what, " needs");
    return *words;
}

std::string bytes_of(const io::tokenizer& words, token id, bool show_control) {
    const bool is_known = static_cast<std::size_t>(id) < words.vocabulary_size();
    return is_known ? words.bytes_of(id, show_control) : std::string();
}

std::vector<token> end_tokens_of(const std::optional<io::tokenizer>& words, std::size_t vocabulary,
                                 const std::string& path) {
    const std::vector<token> all = words ? std::vector<token>(words->end_tokens().begin(), words->end_tokens().end())
                                         : stop_ids_without_tokenizer(path);
    const auto last = std::lower_bound(all.begin(), all.end(), static_cast<token>(vocabulary));
    static std::set<token> told;  // texts of one run ask again
    if (last != all.end() && told.insert(*last).second) {
        tell("note", "the token ", *last, " ends a text by the model's files, but it has rows of ", vocabulary,
             " tokens and never writes it");
    }
    return {all.begin(), last};
}

std::optional<std::string> read_prompt(const prompt_options& options) {
    if (options.system && !options.chat) detail::fail("--system needs --chat");
    if (options.chat && options.ids) detail::fail("--chat needs a prompt of text, but --prompt-ids was given");
    const int given = int{options.text.has_value()} + int{options.file.has_value()} + int{options.ids.has_value()};
    if (given != 1) detail::fail("give one of --prompt, --prompt-file and --prompt-ids; ", given, " were given");
    if (options.ids) return std::nullopt;
    const std::string source = options.text ? options.text_source : "--prompt-file " + *options.file;
    std::string text = options.text ? *options.text : without_last_line_feed(read_file(*options.file));
    if (text.empty()) detail::fail("the prompt is empty: ", source, " has 0 bytes of text");
    io::check_utf8(text, source);
    return text;
}

prompt_options read_once(prompt_options options) {
    std::optional<std::string> text = read_prompt(options);
    if (!options.file) return options;
    options.text = std::move(text);
    options.text_source = "--prompt-file " + *options.file;
    options.file.reset();
    return options;
}

std::vector<token> encode_prompt(const prompt_options& options, const std::optional<io::tokenizer>& words,
                                 const std::string& path) {
    std::optional<std::string> text = read_prompt(options);
    if (!text) return parse_list<token>("--prompt-ids", *options.ids);
    const io::tokenizer& encoder = require(words, path, "a prompt of text");
    const io::encode_options as_prompt{.add_special = true, .parse_special = true};
    std::vector<token> ids;
    if (options.chat) {
        std::tie(*text, ids) = as_conversation(options, *text, encoder);
    } else {
        ids = encoder.encode(*text, as_prompt);
    }
    const std::string lost = encoder.left_out(*text, as_prompt);
    if (!lost.empty()) {
        tell("note", "the vocabulary has no token for ", lost.size(),
             " bytes of the prompt, which are left out: ", io::quote(lost));
    }
    return ids;
}

void for_each_line(const std::string& path,
                   const std::function<void(const io::json_reader<nlohmann::ordered_json>&, std::size_t line)>& see) {
    std::istringstream file(is_open_already(path) ? read_stream(path) : io::read_text(path, most::text_bytes));
    std::size_t number = 0;
    for (std::string line; std::getline(file, line);) {
        ++number;
        if (line.empty() || line == "\r") continue;
        const std::string origin = detail::message(path, ", line ", number);
        const auto parsed = io::parse_json<nlohmann::ordered_json>(line, origin, most::line);
        see(io::json_reader<nlohmann::ordered_json>(parsed, origin), number);
    }
}

std::vector<token> encode_entry(const io::json_reader<nlohmann::ordered_json>& entry, bool chat,
                                const prompt_encoder& encode) {
    prompt_options prompt;
    prompt.text = entry.required<std::string>("prompt");
    prompt.text_source = "the key prompt";
    prompt.chat = chat;
    try {
        return encode(prompt);
    } catch (const error& problem) {
        detail::fail(entry.origin(), ": ", problem.what());
    }
}

std::vector<prompt_entry> read_prompts(const std::string& path, bool chat, const prompt_encoder& encode) {
    std::vector<prompt_entry> prompts;
    for_each_line(path, [&](const auto& entry, std::size_t line) {
        const auto task = entry.template value_or<std::string>("task", "all");
        prompts.push_back({line, task, encode_entry(entry, chat, encode)});
    });
    if (prompts.empty()) detail::fail(path, " holds no prompts");
    return prompts;
}

std::vector<prompt_entry> read_prompts(const std::string& path, const std::optional<io::tokenizer>& words,
                                       const std::string& model_path, bool chat, const std::string& command) {
    require(words, model_path, command);
    return read_prompts(path, chat,
                        [&](const prompt_options& prompt) { return encode_prompt(prompt, words, model_path); });
}

}  // namespace augur::program
