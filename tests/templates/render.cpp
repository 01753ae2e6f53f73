// Renders chat templates: lines of JSON {template, messages, tools, documents, variables, add_generation_prompt} on
// standard input, lines {text} or {error} on standard output. The clock stands at 26 July 2024, 13:05.

#include <augur/io/text/chat_template.hpp>
#include <augur/types/error.hpp>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "render_options.hpp"

namespace {

using nlohmann::ordered_json;

ordered_json rendered(const ordered_json& asked) {
    try {
        const augur::io::chat_template layout(asked.at("template").get<std::string>());
        return {{"text", layout.render_json(asked.at("messages"), render_options_of(asked))}};
    } catch (const augur::error& caught) {
        return {{"error", caught.what()}};
    }
}

}  // namespace

int main() {
    for (std::string line; std::getline(std::cin, line);) {
        std::cout << rendered(ordered_json::parse(line)).dump() << '\n';
    }
}
