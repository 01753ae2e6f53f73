// Renders chat templates: lines of JSON {template, messages, tools, documents, variables, add_generation_prompt} on
// standard input, lines {text} or {error} on standard output. The clock stands at 26 July 2024, 13:05.

#include <augur/io/text/chat_template.hpp>
#include <augur/types/error.hpp>
#include <ctime>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

namespace {

using nlohmann::ordered_json;

std::tm fixed_time() {
    std::tm time{};
    time.tm_year = 124;
    time.tm_mon = 6;
    time.tm_mday = 26;
    time.tm_wday = 5;
    time.tm_yday = 207;
    time.tm_hour = 13;
    time.tm_min = 5;
    return time;
}

ordered_json rendered(const ordered_json& asked) {
    try {
        const augur::io::chat_template layout(asked.at("template").get<std::string>());
        augur::io::render_options options;
        options.add_generation_prompt = asked.at("add_generation_prompt").get<bool>();
        options.tools = asked.value("tools", ordered_json());
        options.documents = asked.value("documents", ordered_json());
        options.variables = asked.value("variables", ordered_json());
        options.clock = fixed_time;
        return {{"text", layout.render_json(asked.at("messages"), options)}};
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
