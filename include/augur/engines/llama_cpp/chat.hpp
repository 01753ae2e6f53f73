#pragma once
// Renders conversations for a model in llama.cpp. Needs augur::llama beside augur::llama_cpp.

#include <llama.h>

#include <augur/io/text/chat_template.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "augur/engines/llama_cpp/tokenizer.hpp"
#include "augur/types/error.hpp"
#include "augur/types/token.hpp"

namespace augur::engines::llama_cpp {

/// As llama_chat_apply_template does, which knows some templates by their looks; where it does not know the model's,
/// or a message has more than a text, augur's reader of Jinja. Throws where the model has no template, or a template
/// that neither can read. The text is to be encoded with parse_special, and without add_special where it names bos.
inline std::string render_chat(const tokenizer& words, std::span<const io::chat_message> messages,
                               const io::render_options& options = {}) {
    const std::string source = words.chat_template();
    if (source.empty()) augur::detail::fail("the model has no chat template");
    std::vector<llama_chat_message> said;
    std::size_t size = 256;
    bool plain = options.tools.is_null() && options.documents.is_null() && options.variables.is_null();
    for (const io::chat_message& each : messages) {
        said.push_back({each.role.c_str(), each.content.c_str()});
        size += 2 * (each.role.size() + each.content.size());
        plain = plain && each.more.is_null();
    }
    std::string text(size, '\0');
    const auto apply = [&] {
        return llama_chat_apply_template(source.c_str(), said.data(), said.size(), options.add_generation_prompt,
                                         text.data(), static_cast<std::int32_t>(text.size()));
    };
    std::int32_t written = plain ? apply() : -1;
    if (written > static_cast<std::int32_t>(text.size())) {
        text.resize(static_cast<std::size_t>(written));
        written = apply();
    }
    if (written >= 0) {
        text.resize(static_cast<std::size_t>(written));
        return text;
    }
    const auto name_of = [&](token id) -> std::optional<std::string> {
        if (id == no_token) return std::nullopt;
        return words.bytes_of(id, true);
    };
    return io::chat_template(source, name_of(words.bos()), name_of(words.eos())).render(messages, options);
}

}  // namespace augur::engines::llama_cpp
