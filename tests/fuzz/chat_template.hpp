#pragma once
// What the fuzzer of chat templates does with its input, and the replay of its corpus too.

#include <augur/io/chat_template.hpp>
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
    if (layout.default_system().size() > source.size()) std::abort();
    const std::vector<io::chat_message> asked{{"user", "Hi"}};
    const std::vector<io::chat_message> told{{"system", " S "}, {"user", "a"}, {"assistant", "b"}, {"user", "c"}};
    if (layout.render(asked).size() > source.size() + 1000 || layout.render(told, false).size() > 1000) std::abort();
}

}  // namespace augur::testing
