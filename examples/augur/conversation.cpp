#include "conversation.hpp"

#include <algorithm>
#include <augur/io/gguf.hpp>
#include <augur/io/safetensors.hpp>
#include <cctype>
#include <filesystem>
#include <string_view>
#include <utility>

namespace augur::program {
namespace {

/// Stands for every answer when the conversation is rendered: the tokens of an answer are there, and encoding its text
/// again could give others.
const std::string answer = "\x01";

std::string_view without_end(std::string_view text, const std::string& end) {
    const auto begin = text.find_first_not_of(' ');
    if (end.empty() || begin == std::string_view::npos || !text.substr(begin).starts_with(end)) return text;
    return text.substr(begin + end.size());
}

}  // namespace

conversation::conversation(const io::tokenizer& words, std::optional<std::string> system)
    : words_(&words), layout_(words.words()) {
    if (system) begun_.messages.push_back({"system", std::move(*system)});
    now_ = before_ = begun_;
}

std::vector<token> conversation::say(const std::string& text, token last) {
    before_ = now_;
    const bool is_first = now_.rendered.empty();
    if (!is_first) now_.messages.push_back({"assistant", answer});
    now_.messages.push_back({"user", text});
    const std::size_t begin = std::exchange(now_.rendered, layout_.render(now_.messages)).size();
    if (is_first) return words_->encode(now_.rendered, {.add_special = true, .parse_special = true});
    const std::string_view rendered = now_.rendered;
    const std::string end = last == no_token ? "" : words_->bytes_of(last, true);
    return words_->encode(
        without_end(rendered.substr(rendered.find(answer, begin) + answer.size()), end),
        {.add_special = false, .parse_special = true, .continues = last == no_token || !words_->parts_texts(last)});
}

bool is_named_for_chat(const std::string& model_path) {
    namespace fs = std::filesystem;
    std::string name = fs::path(model_path).lexically_normal().filename().string();
    if (!io::holds_safetensors(model_path))
        name += " " + io::gguf_file(model_path).get_or<std::string>("general.name", "");
    std::string part;
    for (const char letter : name + " ") {
        if (std::isalpha(static_cast<unsigned char>(letter))) {
            part += static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
            continue;
        }
        if (part == "instruct" || part == "chat" || part == "it") return true;
        part.clear();
    }
    return false;
}

}  // namespace augur::program
