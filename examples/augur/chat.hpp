#pragma once
// augur chat: what happens between two answers.

#include <augur/commit/apply.hpp>
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "conversation.hpp"
#include "scheme.hpp"
#include "terminal.hpp"

namespace augur::program {

struct dialogue_options {
    std::optional<std::string> first{};  ///< what the user says before anything is read
    std::size_t context = 0;             ///< tokens that a conversation may have
    std::size_t max_tokens = 0;          ///< of an answer
    bool colour_origin = false;
    bool is_greedy = false;  ///< so that an answer that is made again is the same
    /// Throws where no report can be written there.
    std::function<void(const std::string&)> check_report{};
};

/// Reads what the user says, line by line from standard input, and shows what is answered. Ctrl-C ends an answer; while
/// the user's line is awaited it ends the program, as everywhere.
class dialogue {
 public:
    dialogue(const known_words& words, conversation talk, dialogue_options chosen);

    /// The tokens that a conversation begins with; none where it is over before that, or a scheme is wanted.
    std::vector<token> begin();
    /// Whether the user has nothing more to say; else a conversation that ended begins anew, or goes on anew.
    bool over() const { return over_; }
    /// A piece of the answer; false if it was interrupted.
    bool show(const commit::committed_token& t);
    /// The answer has ended: what follows it, or nothing where this conversation is over, begins or goes on anew.
    /// `counts`: of this answer.
    std::vector<token> answered(const run_result& result, const statistics& counts);

    /// The scheme that the user asked for since the last call; begin() goes on with the same conversation.
    std::optional<std::string> wanted_scheme() { return std::exchange(wanted_scheme_, std::nullopt); }
    /// Where a report of each answer is written.
    const std::optional<std::string>& report() const { return report_; }
    /// How often answers of this conversation were made again.
    std::size_t again() const { return again_; }
    /// On a terminal a message, else an error.
    void refuse(const std::string& message) const;

 private:
    struct command {
        std::string_view name, argument;
    };

    std::optional<std::string> read();
    std::optional<std::string> read_line();
    std::optional<std::string> read_pasted();
    std::optional<std::string> read_quoted(std::string text);
    std::vector<token> ask(std::span<const token> answer, bool stopped, std::size_t budget);
    std::vector<token> tokens_of(const std::string& text, std::span<const token> answer, bool stopped,
                                 std::size_t budget);
    conversation::turn shortened(conversation::turn turn, std::size_t budget, std::size_t& left_out);
    std::optional<command> command_in(const std::string& text) const;
    std::optional<std::string> obey(const command& asked, std::span<const token> answer, bool stopped);
    std::optional<std::string> change(std::string_view name, const std::string& argument, std::span<const token> answer,
                                      bool stopped);
    std::optional<std::string> take_back_last(bool says_it_again);
    void finish_answer(const run_result& result, const statistics& counts);

    const known_words* words_;
    conversation talk_;
    dialogue_options chosen_;
    std::size_t line_ = 0;
    bool at_terminal_;  ///< the user sits there
    bool over_ = false;
    bool legend_ = true;
    bool is_message_ = false;  ///< what was read last, even if it looks like a command
    bool ends_ = false;        ///< this session of decoding, by a command
    bool goes_on_ = false;     ///< the next one has the same messages
    std::size_t again_ = 0;
    std::size_t shown_ = 0;
    std::vector<token> anew_{};  ///< what the conversation goes on with from its beginning
    std::optional<std::string> wanted_scheme_{}, report_{};
    std::optional<interruption> answering_{};
    std::optional<text_output> output_{};
};

/// Why a text ended, in words. `end`: how the last token is written.
std::string ended_because(const run_result& result, const std::string& end, std::size_t max_tokens,
                          std::size_t context);

/// What a conversation's counts grew by.
statistics since(const statistics& before, statistics counts);

}  // namespace augur::program
