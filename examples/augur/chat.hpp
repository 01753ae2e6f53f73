#pragma once
// augur chat: what happens between two answers.

#include <augur/commit/apply.hpp>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "conversation.hpp"
#include "scheme.hpp"
#include "terminal.hpp"

namespace augur::program {

/// Reads what the user says, line by line from standard input, and shows what is answered. Ctrl-C ends an answer; while
/// the user's line is awaited it ends the program, as everywhere.
class dialogue {
 public:
    /// `first`: what the user says before anything is read. `context`: tokens that a conversation may have.
    dialogue(const known_words& words, conversation talk, std::optional<std::string> first, std::size_t context);

    /// The tokens that a new conversation begins with, or one whose tokens have changed; none where it is over before
    /// that.
    std::vector<token> begin();
    /// Whether the user has nothing more to say; else a conversation that ended begins anew.
    bool over() const { return over_; }
    /// A piece of the answer; false if it was interrupted.
    bool show(const commit::committed_token& t);
    /// The answer has ended: what follows it, or nothing where this conversation is over or begins anew.
    std::vector<token> answered(const run_result& result);

 private:
    std::optional<std::string> read();
    std::optional<std::string> read_line();
    std::vector<token> ask(std::span<const token> answer, bool stopped, std::size_t budget);
    std::vector<token> tokens_of(const std::string& text, std::span<const token> answer, bool stopped,
                                 std::size_t budget);
    void refuse(const std::string& message) const;
    void finish_answer(const run_result& result);

    const known_words* words_;
    conversation talk_;
    std::optional<std::string> first_;
    std::size_t context_;
    std::size_t line_ = 0;
    bool at_terminal_;  ///< the user sits there
    bool over_ = false;
    bool legend_ = true;
    std::size_t shown_ = 0;
    std::vector<token> anew_{};  ///< what the conversation goes on with from its beginning
    statistics before_{};        ///< of the conversation, up to the answer at hand
    std::optional<interruption> answering_{};
    std::optional<text_output> output_{};
};

/// Why a text ended, in words. `end`: how the last token is written.
std::string ended_because(const run_result& result, const std::string& end, std::size_t max_tokens,
                          std::size_t context);

}  // namespace augur::program
