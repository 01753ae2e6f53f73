#pragma once
// A conversation as tokens: what each turn adds to those that are there, so that they are computed once.

#include <augur/io/text/chat_template.hpp>
#include <augur/io/text/tokenizer.hpp>
#include <augur/types/token.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "known_words.hpp"

namespace augur::program {

class conversation {
 public:
    /// Throws where the model has no chat template, or one that cannot be read. The words must outlive it.
    conversation(const known_words& words, std::optional<std::string> system);

    struct turn {
        std::vector<token> tokens;
        bool is_anew;  ///< they are the whole conversation, and not what follows the answer before
    };

    /// The user says something: the tokens from the end of the answer before to where the next one begins. `answer`:
    /// the tokens of the answer before, which are there already; `stopped`: its last is the model's end token. Where
    /// the template now writes something else in front (it trims answers, or leaves their reasoning out), or llama.cpp
    /// encodes it and makes other tokens of the answer, the tokens are the whole conversation's, encoded anew. Errors:
    /// what the template refuses; then nothing was said.
    turn say(const std::string& text, std::span<const token> answer, bool stopped);
    /// Nothing was said, after all; once after each say().
    void take_back() { now_ = before_; }
    /// Begins anew.
    void clear() { now_ = begun_; }
    /// The same without the oldest message and its answer, encoded anew; the system message stays. Nothing, and no
    /// change, where there is no message but the last. Errors: those of say(); then nothing was said.
    std::optional<turn> without_oldest();

    /// Whether an answer was given since it was closed: by set_messages, so that what is said next is the whole
    /// conversation, encoded anew.
    bool is_open() const { return !now_.rendered.empty() || !now_.tokens.empty(); }
    /// The last message and its answer are taken out of a closed conversation; nothing where there are none.
    std::optional<std::string> take_out_last();
    /// All, with this answer, if one was given and is not closed.
    std::vector<io::chat_message> messages(std::span<const token> answer, bool stopped) const;
    /// Closed, it goes on after these.
    void set_messages(std::vector<io::chat_message> messages);
    /// Of a closed one, and of those that begin anew; an empty text is none.
    void set_system(const std::string& text);

 private:
    struct state {
        std::vector<io::chat_message> messages;
        std::string rendered;         ///< up to where the answer begins; empty before the first message
        token last = no_token;        ///< the last token of that
        std::vector<token> tokens{};  ///< where llama.cpp encodes: all of that
    };

    turn tokens_of(const std::string& earlier, std::span<const token> answer, bool stopped) const;
    turn turn_by_llama_cpp(std::span<const token> answer);
    turn whole();
    std::string text_of(std::span<const token> answer) const;

    const known_words* all_;
    const io::tokenizer* words_;  ///< nullptr where llama.cpp encodes
    std::optional<io::chat_template> layout_{};
    state begun_, before_, now_;
};

/// Whether a model's name says that it was trained for conversations: instruct, chat or it is a part of it.
bool is_named_for_chat(const std::string& model_path);

}  // namespace augur::program
