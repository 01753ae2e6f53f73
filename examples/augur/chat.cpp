#include "chat.hpp"

#include <unistd.h>

#include <augur/io/files/quote.hpp>
#include <augur/io/text/utf8.hpp>
#include <cstdio>
#include <iostream>
#include <limits>
#include <utility>

#include "limits.hpp"
#include "message.hpp"
#include "output_file.hpp"

namespace augur::program {
namespace {

constexpr std::string_view commands = "/exit, /reset";

bool is_command(const std::string& text) {
    return text.size() > 1 && text.front() == '/' &&
           text.find_first_not_of("abcdefghijklmnopqrstuvwxyz", 1) == std::string::npos;
}

}  // namespace

dialogue::dialogue(const known_words& words, conversation talk, std::optional<std::string> first, std::size_t context)
    : words_(&words),
      talk_(std::move(talk)),
      first_(std::move(first)),
      context_(context),
      at_terminal_(look_of(STDIN_FILENO).terminal && look_of(STDOUT_FILENO).terminal) {
    if (at_terminal_) {
        tell("note", "Ctrl-C ends an answer, Ctrl-D the conversation; a line that ends with \\ goes on; commands are ",
             commands);
    }
}

std::vector<token> dialogue::begin() {
    before_ = {};
    if (!anew_.empty()) return std::exchange(anew_, {});
    talk_.clear();
    ask({}, false, context_);
    return std::exchange(anew_, {});
}

std::optional<std::string> dialogue::read_line() {
    std::string line;
    int letter = std::cin.get();
    if (letter == std::char_traits<char>::eof()) return std::nullopt;
    ++line_;
    for (; letter != std::char_traits<char>::eof() && letter != '\n'; letter = std::cin.get()) {
        if (line.size() == most::text_bytes) {
            detail::fail("line ", line_, " of standard input has more than the ", most::text_bytes,
                         " bytes that are read");
        }
        line += std::char_traits<char>::to_char_type(letter);
    }
    if (line.ends_with('\r')) line.pop_back();
    return line;
}

std::optional<std::string> dialogue::read() {
    if (first_) return std::exchange(first_, std::nullopt);
    std::string text;
    if (at_terminal_) print("\n> ");
    auto line = read_line();
    if (!line) {
        if (at_terminal_) print("\n");
        return std::nullopt;
    }
    for (; line && line->ends_with('\\'); line = read_line()) text += line->substr(0, line->size() - 1) + "\n";
    return text + line.value_or("");
}

void dialogue::refuse(const std::string& message) const {
    if (!at_terminal_) throw error(message);
    tell("error", message);
}

std::vector<token> dialogue::ask(std::span<const token> answer, bool stopped, std::size_t budget) {
    while (const auto text = read()) {
        if (text->find_first_not_of(" \t\n") == std::string::npos) continue;
        if (*text == "/exit") break;
        if (*text == "/reset") return {};
        if (is_command(*text)) {
            refuse(detail::message("the command ", io::quote(*text), " is unknown; valid are ", commands));
            continue;
        }
        std::vector<token> tokens = tokens_of(*text, answer, stopped, budget);
        if (tokens.empty() && anew_.empty()) continue;
        answering_.emplace();
        output_.emplace(look_of(STDOUT_FILENO), std::exchange(legend_, false));
        shown_ = 0;
        return tokens;
    }
    over_ = true;
    return {};
}

std::vector<token> dialogue::tokens_of(const std::string& text, std::span<const token> answer, bool stopped,
                                       std::size_t budget) {
    conversation::turn turn;
    try {
        io::check_utf8(text, detail::message("line ", line_, " of standard input"));
        turn = talk_.say(text, answer, stopped);
    } catch (const error& problem) {
        refuse(problem.what());
        return {};
    }
    if (turn.is_anew) budget = context_;
    if (turn.tokens.size() < budget) {
        if (!turn.is_anew) return turn.tokens;
        anew_ = std::move(turn.tokens);
        return {};
    }
    talk_.take_back();
    refuse(detail::message("this takes ", turn.tokens.size(), " tokens, and an answer one or more, but a context of ",
                           context_, " has room for ", budget, "; /reset begins a new conversation"));
    return {};
}

bool dialogue::show(const commit::committed_token& t) {
    shown_ += t.text.size();
    output_->show(t.from, t.text);
    return !interruption::pressed();
}

void dialogue::finish_answer(const run_result& result) {
    answering_.reset();
    output_->finish(std::string_view(result.text).substr(shown_));
    if (!look_of(STDOUT_FILENO).live) print("\n");
    const statistics& counts = result.counts;
    const std::size_t rounds = counts.rounds() - before_.rounds();
    const double seconds = counts.seconds.decoding() - before_.seconds.decoding();
    const auto count = static_cast<double>(result.ids.size());
    const std::string end = result.ids.empty() ? "" : words_->bytes_of(result.ids.back(), true);
    const std::string why = ended_because(result, end, std::numeric_limits<std::size_t>::max(), context_);
    char figures[128];
    std::snprintf(figures, sizeof figures, "%zu tokens, %.1f a second, %.2f a pass; read in %.3f s, context %zu of %zu",
                  result.ids.size(), seconds > 0 ? count / seconds : 0,
                  rounds > 0 ? count / static_cast<double>(rounds) : 0,
                  counts.seconds.prefill - before_.seconds.prefill, context_ - result.context_left, context_);
    const bool colour = look_of(STDERR_FILENO).colour;
    std::fprintf(stderr, "%s[%s: %s]%s\n", colour ? "\033[2m" : "", one_line(why).c_str(), figures,
                 colour ? "\033[0m" : "");
    before_ = result.counts;
}

std::vector<token> dialogue::answered(const run_result& result) {
    finish_answer(result);
    const bool stopped = result.finish == finish_reason::stop_token;
    return ask(result.ids, stopped, result.context_left);
}

std::string ended_because(const run_result& result, const std::string& end, std::size_t max_tokens,
                          std::size_t context) {
    switch (result.finish) {
        case finish_reason::stop_token:
            return "the model's end token " + end;
        case finish_reason::stop_string:
            return "before --stop " + io::quote(result.detail);
        case finish_reason::max_tokens:
            return max_tokens == std::numeric_limits<std::size_t>::max()
                       ? "at --max-tokens"
                       : detail::message("at --max-tokens ", max_tokens);
        case finish_reason::context:
            return detail::message("the context of ", context, " tokens is full");
        case finish_reason::cancelled:
            return "by Ctrl-C";
        default:
            return std::string(name_of(result.finish));
    }
}

}  // namespace augur::program
