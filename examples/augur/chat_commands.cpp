// augur chat: what a line that begins with a slash asks for.

#include <algorithm>
#include <array>
#include <augur/io/files/quote.hpp>
#include <augur/io/text/utf8.hpp>
#include <utility>

#include "chat.hpp"
#include "chat_file.hpp"
#include "message.hpp"

namespace augur::program {
namespace {

struct known_command {
    std::string_view name, argument, does;
    bool needs_argument;
};

constexpr std::array<known_command, 10> chat_commands = {{
    {"help", "", "shows these commands", false},
    {"exit", "", "ends the program, as Ctrl-D does", false},
    {"reset", "", "begins a new conversation", false},
    {"system", "TEXT", "changes the system message, or without TEXT leaves it out", false},
    {"undo", "", "takes the last message and its answer back", false},
    {"regenerate", "", "answers the last message again, with the next seed", false},
    {"scheme", "NAME", "decodes by another scheme", true},
    {"save", "FILE", "writes the conversation to FILE", true},
    {"load", "FILE", "goes on with the conversation in FILE", true},
    {"report", "FILE.html", "writes a report of each answer from now on; without FILE no more", false},
}};

std::string chat_command_names() {
    std::string all;
    for (const known_command& each : chat_commands) all.append(all.empty() ? "/" : ", /").append(each.name);
    return all;
}

std::string help_text() {
    std::string all;
    for (const known_command& each : chat_commands) {
        std::string usage = detail::message("/", each.name, each.argument.empty() ? "" : " ", each.argument);
        usage.resize(20, ' ');
        all += detail::message("  ", usage, each.does, "\n");
    }
    return all +
           "  a line that ends with \\ goes on in the next; \"\"\" begins and ends a message of several lines\n"
           "  Ctrl-C ends an answer\n";
}

/// Throws where there is no such command, or it takes no such argument.
void check_command(std::string_view name, std::string_view argument) {
    const auto* const known = std::find_if(chat_commands.begin(), chat_commands.end(),
                                           [&](const known_command& each) { return each.name == name; });
    if (known == chat_commands.end()) {
        detail::fail("the command ", io::quote("/" + std::string(name)), " is unknown; valid are ",
                     chat_command_names(), "; behind a blank it is a message");
    }
    if (known->argument.empty() && !argument.empty()) {
        detail::fail("/", name, " stands alone, but ", io::quote(argument), " follows");
    }
    if (known->needs_argument && argument.empty()) detail::fail("/", name, " needs ", known->argument);
}

}  // namespace

/// A line whose first word is a slash and small letters; "/etc/passwd" is none.
std::optional<dialogue::command> dialogue::command_in(const std::string& text) const {
    if (is_message_ || !text.starts_with('/') || text.find('\n') != std::string::npos) return std::nullopt;
    const std::string_view all = std::string_view(text).substr(1);
    const std::size_t end = std::min(all.find_first_not_of("abcdefghijklmnopqrstuvwxyz"), all.size());
    if (end == 0 || (end < all.size() && all[end] != ' ')) return std::nullopt;
    std::string_view argument = all.substr(end);
    argument.remove_prefix(std::min(argument.find_first_not_of(' '), argument.size()));
    while (argument.ends_with(' ')) argument.remove_suffix(1);
    return command{all.substr(0, end), argument};
}

/// What is said again, if that is what was asked for.
std::optional<std::string> dialogue::obey(const command& asked, std::span<const token> answer, bool stopped) {
    check_command(asked.name, asked.argument);
    const std::string argument(asked.argument);
    io::check_utf8(argument, detail::message("line ", line_, " of standard input"));
    if (asked.name == "help") {
        print(help_text());
    } else if (asked.name == "save") {
        const auto all = talk_.messages(answer, stopped);
        save_conversation(argument, all);
        tell("note", argument, ": ", all.size(), " messages saved");
    } else if (asked.name == "exit" || asked.name == "reset") {
        over_ = asked.name == "exit";
        ends_ = true;
        again_ = 0;
    } else {
        return change(asked.name, argument, answer, stopped);
    }
    return std::nullopt;
}

/// What makes the conversation another, or has it decoded in another way: its tokens are computed anew.
std::optional<std::string> dialogue::change(std::string_view name, const std::string& argument,
                                            std::span<const token> answer, bool stopped) {
    if (name == "report" && !argument.empty()) chosen_.check_report(argument);
    auto messages = name == "load" ? load_conversation(argument) : talk_.messages(answer, stopped);
    talk_.set_messages(std::move(messages));
    if (name == "load") tell("note", argument, ": ", talk_.messages({}, false).size(), " messages loaded");
    if (name == "report") report_ = argument.empty() ? std::nullopt : std::optional(argument);
    if (name == "scheme") wanted_scheme_ = argument;
    if (name == "system") talk_.set_system(argument);
    ends_ = goes_on_ = name == "scheme" || name == "report";
    return name == "undo" || name == "regenerate" ? take_back_last(name == "regenerate") : std::nullopt;
}

std::optional<std::string> dialogue::take_back_last(bool says_it_again) {
    auto said = talk_.take_out_last();
    if (!said) detail::fail(says_it_again ? "/regenerate" : "/undo", ": there is no answer yet");
    if (!says_it_again) {
        tell("note", "taken back: ", io::quote(*said));
        return std::nullopt;
    }
    if (chosen_.is_greedy) tell("note", "at temperature 0 the same conversation has the same answer");
    ++again_;
    return said;
}

}  // namespace augur::program
