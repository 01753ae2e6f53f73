#include "spelling.hpp"

#include <CLI/Option.hpp>
#include <algorithm>
#include <array>
#include <augur/io/files/quote.hpp>
#include <augur/types/error.hpp>
#include <cctype>
#include <cstddef>
#include <numeric>
#include <string_view>
#include <utility>

namespace augur::program {
namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 17> of_llama_cpp{{
    {"-c", "--context"},
    {"--ctx-size", "--context"},
    {"-t", "--threads"},
    {"-ngl", "--gpu-layers"},
    {"--n-gpu-layers", "--gpu-layers"},
    {"--temp", "--temperature"},
    {"-s", "--seed"},
    {"-f", "--prompt-file"},
    {"--file", "--prompt-file"},
    {"-o", "--output"},
    {"-sys", "--system"},
    {"--system-prompt", "--system"},
    {"-md", "--draft"},
    {"--model-draft", "--draft"},
    {"--predict", "--max-tokens"},
    {"--n-predict", "--max-tokens"},
    {"--repeat-penalty", "--repetition-penalty"},
}};

std::string name_of(const CLI::App& command) {
    const CLI::App* const above = command.get_parent();
    return (above == nullptr ? "" : name_of(*above) + " ") + command.get_name();
}

bool has(const CLI::App& command, const std::string& flag) {
    return command.get_option_no_throw(flag) != nullptr;
}

/// Insertions, removals and changes of letters from one to the other.
std::size_t distance(std::string_view from, std::string_view to) {
    std::vector<std::size_t> row(to.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 0; i < from.size(); ++i) {
        std::size_t diagonal = std::exchange(row[0], i + 1);
        for (std::size_t j = 0; j < to.size(); ++j) {
            const std::size_t changed = diagonal + (from[i] == to[j] ? 0 : 1);
            diagonal = std::exchange(row[j + 1], std::min({row[j + 1] + 1, row[j] + 1, changed}));
        }
    }
    return row.back();
}

[[noreturn]] void refuse(const CLI::App& command, const std::string& flag) {
    std::string nearest;
    std::size_t least = flag.size() / 3 + 1;  // more letters changed are another word
    for (const CLI::Option* each : command.get_options()) {
        for (const std::string& name : each->get_lnames()) {
            const std::size_t far = std::min(distance(flag, "--" + name), distance("-" + flag, "--" + name));
            if (far < least) {
                least = far;
                nearest = "--" + name;
            }
        }
    }
    detail::fail(io::quote(flag), " is no option of ", name_of(command),
                 nearest.empty() ? "" : "; did you mean " + nearest + "?", " (see ", name_of(command), " --help)");
}

/// The command's own name of this flag.
std::string resolved(const CLI::App& command, const std::string& flag) {
    if (has(command, flag)) return flag;
    for (const auto& [theirs, ours] : of_llama_cpp) {
        if (flag == theirs && has(command, std::string(ours))) return std::string(ours);
    }
    std::string dashed = flag;
    std::replace(dashed.begin(), dashed.end(), '_', '-');
    if (dashed != flag) return resolved(command, dashed);
    const bool is_short = flag.size() > 2 && flag[1] != '-' && has(command, flag.substr(0, 2));
    if (is_short && std::isdigit(static_cast<unsigned char>(flag[2])) != 0) return flag;  // -n64
    refuse(command, flag);
}

/// The command of this name directly below; null where there is none.
const CLI::App* command_in(const CLI::App& above, const std::string& name) {
    const auto found = above.get_subcommands([&](const CLI::App* each) { return each->get_name() == name; });
    return found.empty() ? nullptr : found.front();
}

bool is_option(const std::string& word) {
    return word.size() > 1 && word[0] == '-' &&
           (word[1] == '-' || std::isalpha(static_cast<unsigned char>(word[1])) != 0);
}

}  // namespace

spelled_words spelled(const CLI::App& program, const std::vector<std::string>& words) {
    spelled_words out;
    const CLI::App* at = &program;
    for (std::size_t i = 0; i < words.size(); ++i) {
        const std::string& word = words[i];
        if (word == "--") {
            out.words.insert(out.words.end(), words.begin() + static_cast<std::ptrdiff_t>(i), words.end());
            return out;
        }
        const bool has_commands = !at->get_subcommands([](const CLI::App*) { return true; }).empty();
        if (!is_option(word)) {
            out.words.push_back(word);
            if (const CLI::App* const below = command_in(*at, word)) at = below;
            continue;
        }
        const std::size_t end = std::min(word.find('='), word.size());
        const std::string flag = word.substr(0, end);
        const std::string name = has_commands ? flag : resolved(*at, flag);
        out.words.push_back(name + word.substr(end));
        const CLI::Option* const option = at->get_option_no_throw(name);
        if (option == nullptr) continue;
        const bool asks_help = option == at->get_help_ptr();
        if (asks_help && i + 1 < words.size() && words[i + 1] == "all") {
            out.help_all = true;
            ++i;
        } else if (option->get_items_expected_max() > 0 && end == word.size() && i + 1 < words.size()) {
            out.words.push_back(words[++i]);
        }
    }
    return out;
}

}  // namespace augur::program
