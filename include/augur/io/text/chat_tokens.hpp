#pragma once
// Tokenizes a rendered conversation, with one bos token. See docs/io/tokenizer.md.

#include <algorithm>
#include <augur/io/text/chat_template.hpp>
#include <augur/io/text/tokenizer.hpp>
#include <augur/types/token.hpp>
#include <string_view>
#include <vector>

namespace augur::io {

/// Encodes what `layout` rendered. The template decides where it writes bos itself; where it does not, and the
/// vocabulary asks for one (add_bos), it stands in front: one bos, wherever it comes from, none where none is given.
/// No eos is added, as in transformers: the conversation goes on. Cost, errors: those of encode.
inline std::vector<token> encode_chat(const tokenizer& words, const chat_template& layout, std::string_view rendered) {
    auto ids = words.encode(rendered, {.add_special = false, .parse_special = true});
    const token bos = words.words().bos;
    const bool is_written = !ids.empty() && ids.front() == bos;
    const bool is_elsewhere = layout.names_bos() && std::find(ids.begin(), ids.end(), bos) != ids.end();
    if (words.words().add_bos && !is_written && !is_elsewhere) ids.insert(ids.begin(), bos);
    return ids;
}

}  // namespace augur::io
