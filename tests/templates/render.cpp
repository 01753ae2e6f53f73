// JSON lines {template, messages, ...} to JSON lines {text} or {error}.
#include <augur/io/chat_template.hpp>
#include <iostream>
int main() {
    using nlohmann::ordered_json;
    std::ios::sync_with_stdio(false);
    for (std::string line; std::getline(std::cin, line);) {
        const auto asked = ordered_json::parse(line);
        ordered_json out;
        try {
            const augur::io::chat_template layout(asked.at("template").get<std::string>());
            augur::io::render_options o;
            o.add_generation_prompt = asked.value("add_generation_prompt", false);
            o.tools = asked.value("tools", ordered_json());
            o.documents = asked.value("documents", ordered_json());
            o.variables = asked.value("variables", ordered_json());
            o.clock = [] {
                std::tm t{};
                t.tm_year = 124;
                t.tm_mon = 6;
                t.tm_mday = 26;
                t.tm_wday = 5;
                t.tm_yday = 207;
                t.tm_hour = 13;
                t.tm_min = 5;
                return t;
            };
            out["text"] = layout.render_json(asked.at("messages"), o);
        } catch (const augur::error& e) {
            out["error"] = e.what();
        }
        std::cout << out.dump() << "\n";
    }
}
