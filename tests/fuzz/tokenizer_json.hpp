#pragma once
// What the fuzzer of tokenizer.json does with its input, and the replay of its corpus too.

#include <augur/io/files/json.hpp>
#include <augur/io/text/tokenizer.hpp>
#include <augur/io/text/tokenizer_json.hpp>
#include <cstddef>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>

namespace augur::testing {

/// Ends the process unless text that is made of tokens comes back as it was.
inline void use_tokenizer(const io::tokenizer& tokens) {
    for (const std::string_view text :
         {"", " ", "hello <s> hello\n12 \xc3\xa9</s>", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab"}) {
        const auto ids = tokens.encode(text, {.parse_special = true});
        for (const token id : ids) {
            if (id < 0 || static_cast<std::size_t>(id) >= tokens.vocabulary_size()) std::abort();
        }
        if (tokens.decode(ids, {.show_control = true}).size() > 64 * (text.size() + 4096)) std::abort();
    }
}

/// Reads the bytes up to the first 0 as tokenizer.json, and the others, if there are any, as tokenizer_config.json.
/// Errors: augur::error only.
inline void read_tokenizer(std::span<const std::byte> bytes) {
    const std::string_view all(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    const auto end = all.find('\0');
    const auto root = io::parse_json(all.substr(0, end), "tokenizer.json");
    const auto config = end == std::string_view::npos ? nlohmann::json::object()
                                                      : io::parse_json(all.substr(end + 1), "tokenizer_config.json");
    use_tokenizer(io::tokenizer(io::read_tokenizer_json(root, config)));
}

}  // namespace augur::testing
