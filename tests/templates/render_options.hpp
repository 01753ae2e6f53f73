#pragma once
// What a line of JSON asks of a chat template; the clock stands at 26 July 2024, 13:05.

#include <augur/io/text/chat_template.hpp>
#include <ctime>
#include <nlohmann/json.hpp>

inline std::tm fixed_time() {
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

/// Of {tools, documents, variables, add_generation_prompt}.
inline augur::io::render_options render_options_of(const nlohmann::ordered_json& asked) {
    using nlohmann::ordered_json;
    augur::io::render_options options;
    options.add_generation_prompt = asked.at("add_generation_prompt").get<bool>();
    options.tools = asked.value("tools", ordered_json());
    options.documents = asked.value("documents", ordered_json());
    options.variables = asked.value("variables", ordered_json());
    options.clock = fixed_time;
    return options;
}
