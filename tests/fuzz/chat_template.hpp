#pragma once
// What the fuzzer of chat templates does with its input, and the replay of its corpus too.

#include <augur/io/text/chat_template.hpp>
#include <cstddef>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace augur::testing {

/// Takes the bytes as a model's template and renders conversations. Errors: augur::error only.
inline void read_chat_template(std::span<const std::byte> bytes) {
    const std::string_view source(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    const io::chat_template layout(source);
    const io::render_options options{.tools = nlohmann::ordered_json::array({{{"type", "function"}}}),
                                     .limits = {.steps = 100'000, .bytes = 1 << 22, .output = 1 << 16, .depth = 200}};
    const std::vector<io::chat_message> told{{"system", " S "}, {"user", "a"}, {"assistant", "b"}, {"user", "c"}};
    if (layout.render(told, options).size() > options.limits.output) std::abort();
    const std::vector<io::chat_message> asked{{"user", "Hi"}};
    if (layout.render(asked, options) != layout.render(asked, options)) std::abort();
}

}  // namespace augur::testing
