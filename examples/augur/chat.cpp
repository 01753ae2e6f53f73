#include "chat.hpp"

#include <unistd.h>

#include <algorithm>
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

constexpr std::string_view long_quotes = "\"\"\"";

stage_statistics stage_since(const stage_statistics& before, stage_statistics counts) {
    counts.rounds -= before.rounds;
    counts.drafted -= before.drafted;
    counts.accepted -= before.accepted;
    for (std::size_t i = 0; i < before.positions.size(); ++i) {
        counts.positions[i].drafted -= before.positions[i].drafted;
        counts.positions[i].accepted -= before.positions[i].accepted;
    }
    while (!counts.positions.empty() && counts.positions.back().drafted == 0) counts.positions.pop_back();
    return counts;
}

model_statistics model_since(const model_statistics& before, model_statistics counts) {
    counts.written -= before.written;
    counts.drafted -= before.drafted;
    counts.passes -= before.passes;
    counts.caught_up -= before.caught_up;
    counts.seconds -= before.seconds;
    return counts;
}

}  // namespace

statistics since(const statistics& before, statistics counts) {
    const std::size_t stages = std::min(before.stages.size(), counts.stages.size());
    for (std::size_t i = 0; i < stages; ++i)
        counts.stages[i] = stage_since(before.stages[i], std::move(counts.stages[i]));
    for (std::size_t i = 0; i < counts.origins.size(); ++i) counts.origins[i] -= before.origins[i];
    const std::size_t models = std::min(before.models.size(), counts.models.size());
    for (std::size_t i = 0; i < models; ++i) counts.models[i] = model_since(before.models[i], counts.models[i]);
    for (double time_spent::*const part :
         {&time_spent::prefill, &time_spent::draft, &time_spent::verify, &time_spent::accept, &time_spent::other}) {
        counts.seconds.*part -= before.seconds.*part;
    }
    counts.turns.switches -= before.turns.switches;
    counts.turns.waited -= before.turns.waited;
    counts.turns.lost -= before.turns.lost;
    counts.turns.full -= before.turns.full;
    return counts;
}

dialogue::dialogue(const known_words& words, conversation talk, dialogue_options chosen)
    : words_(&words),
      talk_(std::move(talk)),
      chosen_(std::move(chosen)),
      at_terminal_(look_of(STDIN_FILENO).terminal && look_of(STDOUT_FILENO).terminal) {
    if (at_terminal_) tell("note", "Ctrl-C ends an answer, Ctrl-D the conversation; /help shows the commands");
}

std::vector<token> dialogue::begin() {
    if (!anew_.empty()) return std::exchange(anew_, {});
    if (!std::exchange(goes_on_, false)) talk_.clear();
    ask({}, false, chosen_.context);
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

/// A line; with all lines of what was pasted in it, where the terminal marks that.
std::optional<std::string> dialogue::read_pasted() {
    std::optional<std::string> text = read_line();
    if (!at_terminal_ || !text) return text;
    for (std::size_t at = 0; (at = text->find(marked_pastes::begin, at)) != std::string::npos;) {
        text->erase(at, marked_pastes::begin.size());
        while ((at = text->find(marked_pastes::end, at)) == std::string::npos) {
            const auto more = read_line();
            if (!more) return text;
            at = text->size();
            *text += "\n" + *more;
        }
        text->erase(at, marked_pastes::end.size());
    }
    return text;
}

/// The rest of a message of several lines, of which this much was read.
std::optional<std::string> dialogue::read_quoted(std::string text) {
    const std::size_t first = line_;
    is_message_ = true;
    while (!text.ends_with(long_quotes)) {
        const auto line = read_pasted();
        if (!line || text.size() + line->size() > most::text_bytes) {
            refuse(detail::message("line ", first, " of standard input begins a message with ", long_quotes, ", which ",
                                   line ? "has more bytes than are read" : "nothing ends"));
            return std::nullopt;
        }
        text += "\n" + *line;
    }
    text.erase(text.size() - long_quotes.size());
    if (text.ends_with('\n')) text.pop_back();
    return text.starts_with('\n') ? text.substr(1) : text;
}

std::optional<std::string> dialogue::read() {
    is_message_ = chosen_.first.has_value();
    if (is_message_) return std::exchange(chosen_.first, std::nullopt);
    std::optional<marked_pastes> pastes;
    if (at_terminal_) pastes.emplace();
    if (at_terminal_) print("\n> ");
    auto line = read_pasted();
    if (!line) {
        if (at_terminal_) print("\n");
        return std::nullopt;
    }
    if (line->starts_with(long_quotes)) return read_quoted(line->substr(long_quotes.size()));
    std::string text;
    for (; line && line->ends_with('\\'); line = read_pasted()) text += line->substr(0, line->size() - 1) + "\n";
    return text + line.value_or("");
}

void dialogue::refuse(const std::string& message) const {
    if (!at_terminal_) throw error(message);
    tell("error", message);
}

std::vector<token> dialogue::ask(std::span<const token> answer, bool stopped, std::size_t budget) {
    ends_ = false;
    while (auto text = read()) {
        if (text->find_first_not_of(" \t\n") == std::string::npos) continue;
        if (const auto asked = command_in(*text)) {
            try {
                text = obey(*asked, answer, stopped);
            } catch (const error& problem) {
                refuse(problem.what());
                continue;
            }
            if (ends_) return {};
            if (!text) continue;
        }
        std::vector<token> tokens = tokens_of(*text, answer, stopped, budget);
        if (tokens.empty() && anew_.empty()) continue;
        answering_.emplace();
        output_.emplace(look_of(STDOUT_FILENO), chosen_.colour_origin, std::exchange(legend_, false));
        shown_ = 0;
        return tokens;
    }
    over_ = true;
    return {};
}

std::vector<token> dialogue::tokens_of(const std::string& text, std::span<const token> answer, bool stopped,
                                       std::size_t budget) {
    conversation::turn turn;
    std::size_t left_out = 0;
    try {
        io::check_utf8(text, detail::message("line ", line_, " of standard input"));
        turn = shortened(talk_.say(text, answer, stopped), budget, left_out);
    } catch (const error& problem) {
        refuse(problem.what());
        return {};
    }
    if (turn.is_anew) budget = chosen_.context;
    if (turn.tokens.size() < budget) {
        if (!turn.is_anew) return turn.tokens;
        if (left_out > 0) {
            tell("note", "the context of ", chosen_.context, " tokens is full: the oldest ", left_out,
                 left_out == 1 ? " message and its answer are" : " messages and their answers are",
                 " left out from now on");
        }
        anew_ = std::move(turn.tokens);
        return {};
    }
    talk_.take_back();
    refuse(detail::message("this takes ", turn.tokens.size(), " tokens, and an answer one or more, but a context of ",
                           chosen_.context, " has room for ", budget));
    return {};
}

/// Where an answer would have less room than it may take, and a quarter of the context: without the oldest messages, so
/// many that there is twice that room.
conversation::turn dialogue::shortened(conversation::turn turn, std::size_t budget, std::size_t& left_out) {
    const std::size_t room = std::min(chosen_.max_tokens, chosen_.context / 4);
    if (turn.tokens.size() + room <= (turn.is_anew ? chosen_.context : budget)) return turn;
    while (!turn.is_anew || turn.tokens.size() + 2 * room > chosen_.context) {
        auto shorter = talk_.without_oldest();
        if (!shorter) break;
        turn = std::move(*shorter);
        ++left_out;
    }
    return turn;
}

bool dialogue::show(const commit::committed_token& t) {
    shown_ += t.text.size();
    output_->show(t.from, t.text);
    return !interruption::pressed();
}

void dialogue::finish_answer(const run_result& result, const statistics& counts) {
    answering_.reset();
    output_->finish(std::string_view(result.text).substr(shown_));
    if (!look_of(STDOUT_FILENO).live) print("\n");
    const double seconds = counts.seconds.decoding();
    const auto count = static_cast<double>(result.ids.size());
    const std::string end = result.ids.empty() ? "" : words_->bytes_of(result.ids.back(), true);
    const std::string why = ended_because(result, end, std::numeric_limits<std::size_t>::max(), chosen_.context);
    char figures[128];
    std::snprintf(figures, sizeof figures, "%zu tokens, %.1f a second, %.2f a pass; read in %.3f s, context %zu of %zu",
                  result.ids.size(), seconds > 0 ? count / seconds : 0,
                  counts.rounds() > 0 ? count / static_cast<double>(counts.rounds()) : 0, counts.seconds.prefill,
                  chosen_.context - result.context_left, chosen_.context);
    const bool colour = look_of(STDERR_FILENO).colour;
    std::fprintf(stderr, "%s[%s: %s]%s\n", colour ? "\033[2m" : "", one_line(why).c_str(), figures,
                 colour ? "\033[0m" : "");
}

std::vector<token> dialogue::answered(const run_result& result, const statistics& counts) {
    finish_answer(result, counts);
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
