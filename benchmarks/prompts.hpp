#pragma once
// Prompts for benchmarks: JSON lines {"id", "task", "prompt"}.

#include <augur/io/chat_template.hpp>
#include <augur/io/tokenizer.hpp>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

struct prompt {
    std::string task;
    std::vector<augur::token> tokens;
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
        std::string text = entry.at("prompt");
        if (chat) {
            const std::vector<augur::io::chat_message> turns{{"user", text}};
            text = augur::io::chat_template(vocabulary).render(turns);
        }
        prompts.push_back({entry.at("task"), words.encode(text, {.add_special = true, .parse_special = true})});
    }
    if (prompts.empty()) augur::detail::fail(path, " holds no prompts");
    return prompts;
}
