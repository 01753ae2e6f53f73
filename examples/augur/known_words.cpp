#include "known_words.hpp"

#include <augur/io/text/stop_marks.hpp>

#include "message.hpp"

namespace augur::program {

known_words::known_words(bool by_llama_cpp, const std::string& path) : path_(path) {
    try {
        ours_ = load_tokenizer(path);
    } catch (const error& problem) {
        if (!by_llama_cpp) throw;
        try {
            theirs_ = load_scoring_words(path);
        } catch (const error&) {
            throw problem;
        }
        tell("note", "llama.cpp reads the vocabulary, which augur does not: ", problem.what());
    }
}

void known_words::require(const std::string& what) const {
    if (!theirs_) static_cast<void>(program::require(ours_, path_, what));
}

std::vector<token> known_words::encode(const prompt_options& prompt) const {
    return theirs_ ? theirs_->encode(prompt) : encode_prompt(prompt, ours_, path_);
}

std::vector<token> known_words::encode(const io::json_reader<nlohmann::ordered_json>& entry, bool chat) const {
    return encode_entry(entry, chat, [this](const prompt_options& prompt) { return encode(prompt); });
}

std::vector<prompt_entry> known_words::read_prompts(const std::string& path, bool chat,
                                                    const std::string& command) const {
    require(command);
    return program::read_prompts(path, chat, [this](const prompt_options& prompt) { return encode(prompt); });
}

std::string known_words::bytes_of(token id, bool show_control) const {
    if (theirs_) return theirs_->bytes_of(id, show_control);
    return ours_ ? program::bytes_of(*ours_, id, show_control) : std::string();
}

std::vector<token> known_words::end_tokens(std::size_t vocabulary) const {
    return theirs_ ? theirs_->ends() : end_tokens_of(ours_, vocabulary, path_);
}

std::vector<commit::stop_mark> known_words::stop_marks(const std::vector<std::string>& strings) const {
    if (strings.empty()) return {};
    return of_option("--stop", [&] {
        return theirs_ ? theirs_->stop_marks(strings)
                       : io::stop_marks_of(program::require(ours_, path_, "--stop"), strings);
    });
}

}  // namespace augur::program
