#include "help.hpp"

#include <CLI/Option.hpp>
#include <algorithm>
#include <array>
#include <augur/io/files/quote.hpp>
#include <augur/types/error.hpp>
#include <cctype>
#include <cstddef>
#include <initializer_list>
#include <map>
#include <memory>
#include <string_view>
#include <vector>

#include "output_file.hpp"
#include "terminal.hpp"

namespace augur::program {
namespace {

struct option_group {
    std::string_view name;
    std::string_view options;  ///< separated by spaces
};

constexpr std::array<option_group, 6> groups{{
    {"Model", "model weights cache threads context engine gpu-layers rpc device"},
    {"Prompt", "prompt prompt-file prompt-ids prompts chat system"},
    {"Text",
     "max-tokens temperature top-k top-p min-p seed repetition-penalty presence-penalty frequency-penalty logit-bias "
     "stop grammar json-schema ignore-eos"},
    {"Output", "compare compare-seconds json colour-origin report record trace output state calibration task help"},
    {"Server",
     "host port api-key-file model-name queue connections cached-tokens prefill max-body request-seconds "
     "client-seconds drain-seconds"},
    {"Drafting", ""},  // what is in no other
}};
constexpr std::string_view everyday =
    "model threads context gpu-layers prompt prompt-file prompts chat system scheme draft max-tokens temperature seed "
    "stop compare json colour-origin report output together host port api-key-file";
constexpr std::size_t few = 16;  ///< options that are shown at once

constexpr std::array<std::pair<std::string_view, std::string_view>, 4> examples{{
    {"augur",
     "augur models\n"
     "augur generate -m model.gguf --chat -p \"Why is the sky blue?\" --compare\n"
     "augur chat -m hf:OWNER/NAME"},
    {"augur generate",
     "augur generate -m model.gguf --chat -p \"Why is the sky blue?\" --compare\n"
     "augur generate -m model.gguf --draft small.gguf --scheme sd --prompt-file story.txt -n 400 --temperature 0.8\n"
     "augur generate -m ollama:llama3.2 --chat -p \"Hello\" --report hello.html"},
    {"augur chat",
     "augur chat -m model.gguf\n"
     "augur chat -m model.gguf --system \"Answer in one sentence.\" --temperature 0.7\n"
     "augur chat -m model.gguf --draft small.gguf --scheme sd"},
    {"augur answer",
     "augur answer -m model.gguf --prompts prompts.jsonl --output answers.jsonl\n"
     "augur answer -m model.gguf --prompts prompts.jsonl --chat --together 8\n"
     "augur answer -m model.gguf --prompts prompts.jsonl -n 64 --temperature 0.8 --seed 7"},
}};

std::string full_name(const CLI::App& command) {
    const CLI::App* const above = command.get_parent();
    return (above == nullptr ? "" : full_name(*above) + " ") + command.get_name();
}

bool is_in(std::string_view list, std::string_view name) {
    return (" " + std::string(list) + " ").find(" " + std::string(name) + " ") != std::string::npos;
}

std::string long_name(const CLI::Option& option) {
    return option.get_lnames().empty() ? "" : option.get_lnames().front();
}

std::string_view group_of(const CLI::Option& option) {
    for (const option_group& each : groups) {
        if (is_in(each.options, long_name(option))) return each.name;
    }
    return groups.back().name;
}

bool takes_value(const CLI::Option& option) {
    return option.get_items_expected_max() > 0;
}

/// "-m, --model FILE"
std::string heading(const CLI::Option& option) {
    std::string text;
    for (const std::string& name : option.get_snames()) text += "-" + name + ", ";
    for (const std::string& name : option.get_lnames()) text += "--" + name + ", ";
    if (text.empty()) text = option.get_name(true) + ", ";
    text.resize(text.size() - 2);
    return takes_value(option) && !option.get_lnames().empty() ? text + " " + option.get_type_name() : text;
}

/// What it is for, and what it is where it is not given.
std::string meaning(const CLI::Option& option) {
    std::string text = option.get_description();
    if (option.get_required()) return text + " (required)";
    return option.get_default_str().empty() ? text : text + " [" + option.get_default_str() + "]";
}

/// Words of a text from column `from` on, in lines of at most `width` columns; the first line has begun.
std::string wrapped(const std::string& text, std::size_t from, std::size_t width) {
    std::string out;
    std::size_t column = from;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find(' ', at), text.size());
        const std::size_t size = end - at;
        if (column != from && column + 1 + size > width) {
            out += "\n" + std::string(from, ' ');
            column = from;
        }
        if (column != from) out += " ", ++column;
        out.append(text, at, size);
        column += size;
        at = end + 1;
    }
    return out + "\n";
}

std::string two_columns(const std::string& left, const std::string& right, std::size_t width) {
    constexpr std::size_t start = 26;
    std::string out = "  " + left;
    out += out.size() + 2 > start ? "\n" + std::string(start, ' ') : std::string(start - out.size(), ' ');
    return out + wrapped(right, start, width);
}

std::vector<const CLI::App*> commands_below(const CLI::App& of) {
    return of.get_subcommands([](const CLI::App*) { return true; });
}

std::string text_of_options(const CLI::App& command, bool all, std::size_t width) {
    const auto options = command.get_options();
    const bool is_long = options.size() > few;
    std::size_t hidden = 0;
    std::string out;
    for (const option_group& group : groups) {
        std::string of_group;
        for (const CLI::Option* each : options) {
            if (is_long && group_of(*each) != group.name) continue;
            if (is_long && !all && !is_in(everyday, long_name(*each))) {
                ++hidden;
                continue;
            }
            of_group += two_columns(heading(*each), meaning(*each), width);
        }
        if (!of_group.empty()) out += "\n" + std::string(is_long ? group.name : "Options") + "\n" + of_group;
        if (!is_long) break;
    }
    if (hidden > 0) {
        out += "\n" + wrapped(std::to_string(hidden) + " more: " + full_name(command) + " --help all", 0, width);
    }
    return out;
}

}  // namespace

std::string help_of(const CLI::App& command, bool all) {
    const std::size_t width = std::clamp<std::size_t>(columns_of_terminal(), 60, 120);
    const auto below = commands_below(command);
    std::string out = wrapped(command.get_description(), 0, width);
    out += "Usage: " + full_name(command) + (below.empty() ? " [OPTIONS]\n" : " COMMAND [OPTIONS]\n");
    if (!below.empty()) out += "\nCommands\n";
    for (const CLI::App* each : below) out += two_columns(each->get_name(), each->get_description(), width);
    out += text_of_options(command, all, width);
    for (const auto& [name, lines] : examples) {
        if (name != full_name(command)) continue;
        out += "\nExamples\n  ";
        for (const char c : lines) out += c == '\n' ? "\n  " : std::string(1, c);
        out += "\n";
    }
    return out;
}

}  // namespace augur::program
