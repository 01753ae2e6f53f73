#pragma once
// Prompts for benchmarks, JSON lines {"id", "task", "prompt"}, and problems, {"prompt", "answer"}.

#include <augur/io/text/chat_template.hpp>
#include <augur/io/text/chat_tokens.hpp>
#include <augur/io/text/tokenizer.hpp>
#include <cctype>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

struct prompt {
    std::string task;
    std::vector<augur::token> tokens;
    std::string answer{};  ///< of a problem
};

/// At most `limit` of them, 0 being all; with `chat` each as what a user says in the model's chat template.
inline std::vector<prompt> read_prompts(const std::string& path, std::size_t limit, bool chat,
                                        const augur::io::tokenizer& words, const augur::io::vocabulary& vocabulary) {
    std::ifstream file(path);
    if (!file) augur::detail::fail("cannot read ", path);
    std::vector<prompt> prompts;
    for (std::string line; std::getline(file, line);) {
        if (line.empty() || (limit != 0 && prompts.size() == limit)) continue;
        const auto entry = nlohmann::json::parse(line);
        const std::string text = entry.at("prompt");
        if (chat) {
            const std::vector<augur::io::chat_message> turns{{"user", text}};
            const augur::io::chat_template layout(vocabulary);
            prompts.push_back({entry.at("task"), augur::io::encode_chat(words, layout, layout.render(turns))});
        } else {
            prompts.push_back({entry.at("task"), words.encode(text, {.add_special = true, .parse_special = true})});
        }
    }
    if (prompts.empty()) augur::detail::fail(path, " holds no prompts");
    return prompts;
}

/// At most `limit` problems, 0 being all (examples/train/arithmetic_problems.py makes some).
inline std::vector<prompt> read_problems(const std::string& path, std::size_t limit,
                                         const augur::io::tokenizer& words) {
    std::ifstream file(path);
    if (!file) augur::detail::fail("cannot read ", path);
    std::vector<prompt> problems;
    for (std::string line; std::getline(file, line);) {
        if (line.empty() || (limit != 0 && problems.size() == limit)) continue;
        const auto entry = nlohmann::json::parse(line);
        problems.push_back({"problem", words.encode(entry.at("prompt").get<std::string>()), entry.at("answer")});
    }
    if (problems.empty()) augur::detail::fail(path, " holds no problems");
    return problems;
}

/// Whether the last word of a text is the answer.
inline bool is_right(std::string text, const std::string& answer) {
    while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) text.pop_back();
    return !answer.empty() && text.substr(text.find_last_of(" \n") + 1) == answer;
}
