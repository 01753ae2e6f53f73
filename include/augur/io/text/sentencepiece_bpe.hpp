#pragma once
// SentencePiece's byte pair encoding (Llama 1 and 2, TinyLlama, Mistral): merges code points by score.

#include <algorithm>
#include <array>
#include <augur/io/text/merge_symbols.hpp>
#include <augur/io/text/merge_table.hpp>
#include <augur/io/text/utf8.hpp>
#include <augur/io/text/vocabulary.hpp>
#include <augur/types/token.hpp>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace augur::io {

/// U+2581, which stands for a space inside tokens.
inline constexpr std::string_view space_mark = "\xE2\x96\x81";

/// Every occurrence of `from`, which is not empty, becomes `to`.
inline std::string replace_all(std::string_view text, std::string_view from, std::string_view to) {
    std::string out;
    for (auto found = text.find(from); found != std::string_view::npos; found = text.find(from)) {
        out.append(text.substr(0, found)).append(to);
        text.remove_prefix(found + from.size());
    }
    return out.append(text);
}

/// Encodes ordinary text; special tokens are not its business. Neighbours merge when their joint text is a token,
/// the best score first; a vocabulary without scores merges by its list. A code point without a token becomes byte
/// tokens. Immutable: threads may share it. Cost: O(n log n) in the text.
class sentencepiece_bpe {
 public:
    /// `words` must have passed check().
    explicit sentencepiece_bpe(const vocabulary& words)
        : merges_(words.merges), scores_(words.scores), unknown_(words.unknown), prefix_joins_(words.prefix_joins) {
        byte_tokens_.fill(no_token);
        for (std::size_t i = 0; i < words.texts.size(); ++i) {
            const auto& text = words.texts[i];
            const auto kind = words.kinds[i];
            if (kind == token_kind::byte) byte_tokens_[*parse_byte_token(text)] = static_cast<token>(i);
            if (kind != token_kind::normal && kind != token_kind::unused) continue;
            pieces_.emplace(text, static_cast<token>(i));
            longest_piece_ = std::max(longest_piece_, text.size());
        }
    }

    /// Appends the tokens of a text, which must be UTF-8, after a space if `with_prefix` (with prefix_joins: unless it
    /// begins with one). What has neither a token nor byte tokens becomes one unknown token for each run of such code
    /// points; where the vocabulary has no unknown token either, on_unknown(code point) is called for each.
    template <class OnUnknown>
    void encode(std::string_view text, bool with_prefix, std::vector<token>& out, OnUnknown&& on_unknown) const {
        const bool has_space = prefix_joins_ && (text.starts_with(' ') || text.starts_with(space_mark));
        const std::string marked =
            (with_prefix && !has_space ? std::string(space_mark) : "") + replace_all(text, " ", space_mark);
        symbol_merger merger;
        for (std::size_t i = 0; i < marked.size();) {
            const auto length = first_code_point(std::string_view(marked).substr(i)).length;
            merger.add(i, length, find_text(pieces_, std::string_view(marked).substr(i, length)));
            i += length;
        }
        bool in_unknown = false;
        merger.merge([&](const symbol& left, const symbol& right) { return offer(marked, left, right); },
                     [&](const symbol& last) {
                         if (last.id != no_token) {
                             out.push_back(last.id);
                             in_unknown = false;
                         } else {
                             spell(std::string_view(marked).substr(last.begin, last.length), out, in_unknown,
                                   on_unknown);
                         }
                     });
    }

    /// The bytes that a normal token stands for.
    static std::string bytes_of(std::string_view text) { return replace_all(text, space_mark, " "); }

 private:
    std::optional<merge_offer> offer(std::string_view text, const symbol& left, const symbol& right) const {
        if (scores_.empty()) {
            return left.id == no_token || right.id == no_token ? std::nullopt : merges_.find(left.id, right.id);
        }
        const auto length = left.length + right.length;
        if (length > longest_piece_) return std::nullopt;
        const token joint = find_text(pieces_, text.substr(left.begin, length));
        if (joint == no_token) return std::nullopt;
        return merge_offer{scores_[static_cast<std::size_t>(joint)], joint};
    }

    template <class OnUnknown>
    void spell(std::string_view character, std::vector<token>& out, bool& in_unknown, OnUnknown& on_unknown) const {
        const auto token_of = [&](char byte) { return byte_tokens_[static_cast<unsigned char>(byte)]; };
        if (std::all_of(character.begin(), character.end(), [&](char byte) { return token_of(byte) != no_token; })) {
            for (const char byte : character) out.push_back(token_of(byte));
            in_unknown = false;
            return;
        }
        if (unknown_ == no_token) on_unknown(character);
        if (unknown_ != no_token && !in_unknown) out.push_back(unknown_);
        in_unknown = true;
    }

    merge_table merges_;
    std::vector<float> scores_;
    token unknown_;
    bool prefix_joins_;
    std::array<token, 256> byte_tokens_;
    text_index pieces_;
    std::size_t longest_piece_ = 0;
};

}  // namespace augur::io
