#pragma once
// What the commands have in common: numbers out of text, and the options that say which model and which prompt.

#include <CLI/App.hpp>
#include <augur/io/files/quote.hpp>
#include <augur/types/error.hpp>
#include <augur/types/token.hpp>
#include <charconv>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <vector>

#include "limits.hpp"

namespace augur::program {

struct model_options {
    std::string path;
    std::string weights = "keep";
    std::string cache = "f32";
    std::size_t threads = 0;  ///< 0: as many as the machine has cores
    std::size_t context = 0;  ///< 0: the model's own
};

/// Exactly one of text, file and ids is given.
struct prompt_options {
    std::optional<std::string> text, file, ids;
    std::optional<std::string> system;  ///< with chat
    bool chat = false;
    std::string text_source = "--prompt";  ///< where `text` comes from, for messages
};

/// --model, --weights, --cache, --threads and, unless the command means something else by it, --context.
void add_model_options(CLI::App& command, model_options& into, bool with_context = true);
void add_prompt_options(CLI::App& command, prompt_options& into);

/// The number that the whole text spells, in decimal. Throws, naming the option and the text, where it spells none, one
/// that the type cannot hold, or one above the limit.
template <class Number>
Number parse_number(std::string_view option, std::string_view text, Number limit = most::any<Number>) {
    Number value{};
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool is_number = value == value;  // "nan" is none
    if (problem == std::errc() && end == text.data() + text.size() && is_number) {
        most::check(option, value, limit);
        return value;
    }
    const char* const kind = std::is_floating_point_v<Number> ? "a number"
                             : std::is_unsigned_v<Number>     ? "a whole number, 0 or more"
                                                              : "a whole number";
    const bool fits = problem != std::errc::result_out_of_range;  // neither so large nor so near 0
    augur::detail::fail(option, " is ", io::quote(text), "; it must be ", kind,
                        fits ? "" : augur::detail::message(" that ", 8 * sizeof(Number), " bits hold"));
}

/// -n, --max-tokens; its default is what it holds.
void add_max_tokens(CLI::App& command, std::size_t& into, const std::string& help,
                    std::size_t limit = most::any<std::size_t>);

/// Throws, naming --temperature, where no text is sampled at it.
void check_temperature(float temperature);

/// What `work` returns; where that throws augur::error the message begins with the option that it is about.
template <class Work>
auto of_option(std::string_view option, Work work) {
    try {
        return work();
    } catch (const error& problem) {
        augur::detail::fail(option, ": ", problem.what());
    }
}

/// "1,2,3"; nothing between two commas is an error.
template <class Number>
std::vector<Number> parse_list(std::string_view option, std::string_view text, Number limit = most::any<Number>) {
    std::vector<Number> numbers;
    const std::string_view whole = text;
    while (true) {
        const std::size_t comma = text.find(',');
        if (comma == 0 || text.empty()) {
            augur::detail::fail(option, " is ", io::quote(whole), "; its entry ", numbers.size() + 1, " is empty");
        }
        numbers.push_back(parse_number<Number>(option, text.substr(0, comma), limit));
        if (comma == std::string_view::npos) return numbers;
        text.remove_prefix(comma + 1);
    }
}

/// An option that is handed to `take` as text, and shows `shown` as its default.
template <class Take>
CLI::Option* add_text(CLI::App& command, const std::string& name, Take take, const std::string& help,
                      const std::string& type = "TEXT", const std::string& shown = "") {
    auto* option = command.add_option_function<std::string>(name, take, help)->type_name(type);
    return shown.empty() ? option : option->default_str(shown);
}

/// The double that a float's shortest decimal form spells, so that 0.7f is written as 0.7.
inline double as_written(float value) {
    char text[64];
    double out = static_cast<double>(value);
    std::from_chars(text, std::to_chars(text, text + sizeof text, value).ptr, out);
    return out;
}

template <class Number>
CLI::Option* add_number(CLI::App& command, const std::string& name, Number& into, const std::string& help,
                        const std::string& type, const std::string& shown = "",
                        std::type_identity_t<Number> limit = most::any<Number>) {
    const auto take = [name, limit, &into](const std::string& text) { into = parse_number(name, text, limit); };
    return add_text(command, name, take, help, type, shown);
}

/// An option that takes seconds, 0 or more.
inline void add_seconds(CLI::App& command, const std::string& name, double& into, const std::string& help,
                        const std::string& shown) {
    const auto take = [name, &into](const std::string& text) {
        into = parse_number(name, text, most::seconds);
        if (into < 0) augur::detail::fail(name, " is ", text, "; it must be 0 or more");
    };
    add_text(command, name, take, help, "S", shown);
}

}  // namespace augur::program
