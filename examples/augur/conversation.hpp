#pragma once
// A conversation as tokens: what each turn adds to those that are there, so that they are computed once.

#include <augur/io/chat_template.hpp>
#include <augur/io/tokenizer.hpp>
#include <optional>
#include <string>
#include <vector>

namespace augur::program {

class conversation {
 public:
    /// Throws where the model has no chat template, or one that is not known. The tokenizer must outlive it.
    conversation(const io::tokenizer& words, std::optional<std::string> system);

    /// The user says something: the tokens from the end of the answer before to where the next one begins. `last`: the
    /// stop token that the answer before ended with, which is there already; no_token where it was cut off.
    std::vector<token> say(const std::string& text, token last);
    /// Nothing was said, after all; once after each say().
    void take_back() { now_ = before_; }
    /// Begins anew.
    void clear() { now_ = begun_; }

 private:
    struct state {
        std::vector<io::chat_message> messages;
        std::string rendered;  ///< up to where the answer begins; empty before the first message
    };

    const io::tokenizer* words_;
    io::chat_template layout_;
    state begun_, before_, now_;
};

/// Whether a model's name says that it was trained for conversations: instruct, chat or it is a part of it.
bool is_named_for_chat(const std::string& model_path);

}  // namespace augur::program
