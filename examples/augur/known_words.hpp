#pragma once
// A model's texts and tokens: by augur's tokenizer, or by llama.cpp's where augur cannot read the file's.

#include <augur/commit/stop_conditions.hpp>
#include <augur/io/text/chat_template.hpp>
#include <augur/io/text/tokenizer.hpp>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "models.hpp"
#include "options.hpp"
#include "scoring_engine.hpp"

namespace augur::program {

class known_words {
 public:
    /// `by_llama_cpp`: that engine runs the model, so that its own tokenizer may stand in.
    known_words(bool by_llama_cpp, const std::string& path);

    bool any() const { return ours_ || theirs_; }
    /// augur's tokenizer, or nullptr.
    const io::tokenizer* ours() const { return ours_ ? &*ours_ : nullptr; }
    /// llama.cpp's, or nullptr.
    const scoring_words* theirs() const { return theirs_.get(); }
    /// Throws where there is no vocabulary, saying what would have needed it.
    void require(const std::string& what) const;

    std::vector<token> encode(const prompt_options& prompt) const;
    /// The tokens of a line's "prompt". An error names its origin.
    std::vector<token> encode(const io::json_reader<nlohmann::ordered_json>& entry, bool chat) const;
    /// Of JSON lines with "prompt" and perhaps "task" ("all"). Throws, with the file and the line, what cannot be
    /// encoded; where there are none; and without a vocabulary, saying that `command` needs it.
    std::vector<prompt_entry> read_prompts(const std::string& path, bool chat, const std::string& command) const;
    /// Nothing without a vocabulary, and for an id beyond it.
    std::string bytes_of(token id, bool show_control = false) const;
    /// Of a model with this many rows.
    std::vector<token> end_tokens(std::size_t vocabulary) const;
    /// Throws where the strings cannot be stops, or there is no vocabulary.
    std::vector<commit::stop_mark> stop_marks(const std::vector<std::string>& strings) const;

 private:
    std::string path_;
    std::optional<io::tokenizer> ours_{};
    std::unique_ptr<scoring_words> theirs_{};
};

}  // namespace augur::program
