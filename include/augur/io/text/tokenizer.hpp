#pragma once
// The tokenizer: text to tokens and back. See docs/io/tokenizer.md.

#include <algorithm>
#include <array>
#include <augur/io/text/byte_level_bpe.hpp>
#include <augur/io/text/sentencepiece_bpe.hpp>
#include <augur/io/text/special_tokens.hpp>
#include <augur/io/text/utf8.hpp>
#include <augur/io/text/vocabulary.hpp>
#include <augur/types/error.hpp>
#include <augur/types/token.hpp>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace augur::io {

struct encode_options {
    bool add_special = true;      ///< put the bos and eos tokens there that the vocabulary asks for
    bool parse_special = false;   ///< control tokens written in the text, such as <|im_end|>, become those tokens
    bool refuse_unknown = false;  ///< throw for bytes that have no token, instead of leaving them out
    bool continues = false;       ///< the text follows other text: no space that starts a SentencePiece text
};

struct decode_options {
    bool show_control = false;  ///< write control tokens as their names instead of nothing
    bool continues = false;     ///< the tokens follow others: keep the space that starts a SentencePiece text
};

namespace detail {

/// Tokens by these names end a turn wherever they are special tokens. Llama.cpp takes them, too; what it takes beyond
/// them (tokens for infilling) ends no text by itself.
inline constexpr std::array<std::string_view, 17> end_token_names = {
    "</s>",  "<|im_end|>", "<|eot_id|>", "<|eom_id|>",    "<|end|>", "<|endoftext|>", "<|end_of_text|>",
    "<EOT>", "_<EOT>",     "[EOT]",      "<end_of_turn>", "<turn|>", "<|return|>",    "<end_of_utterance>",
    "<eos>", "[EOS]",      "<|call|>"};

}  // namespace detail

/// A tokenizer: immutable, so threads may share it, and independent of the file it came from.
class tokenizer {
 public:
    /// Checks the vocabulary, and throws augur::error for whatever does not hold together.
    explicit tokenizer(vocabulary words)
        : words_(prepare(std::move(words))),
          special_(words_),
          model_(make_model(words_)),
          end_tokens_(find_end_tokens(words_)) {}

    /// The tokens of a text. Text that is not UTF-8 is an error that names the offset and the byte. A bos token is
    /// never doubled: with parse_special, a text that starts with it gets no second one; the same holds for eos at the
    /// end. Bytes that have no token, as control characters in some vocabularies, are left out unless refuse_unknown.
    /// Texts over 1 GiB are refused. Cost: O(n log n) in the longest word for byte-level, in the text for SentencePiece
    /// vocabularies.
    std::vector<token> encode(std::string_view text, encode_options options = {}) const {
        return encode(text, options, [&](std::string_view bytes) {
            if (!options.refuse_unknown) return;
            augur::detail::fail("the vocabulary of ", vocabulary_size(), " has no token for ", quote(bytes));
        });
    }

    /// What encode leaves out of the text for having no token, in its order. Cost: encode's.
    std::string left_out(std::string_view text, encode_options options = {}) const {
        std::string out;
        encode(text, options, [&](std::string_view bytes) { out += bytes; });
        return out;
    }

    std::size_t token_count(std::string_view text, encode_options options = {}) const {
        return encode(text, options).size();
    }

    /// What a token stands for: any bytes, not always whole code points. Control and unknown tokens stand for nothing
    /// unless asked for. Throws for an id outside the vocabulary.
    std::string bytes_of(token id, bool show_control = false) const {
        const auto& text = words_.texts[index_of(id)];
        switch (words_.kinds[index_of(id)]) {
            case token_kind::control:
            case token_kind::unknown:
                return show_control ? text : "";
            case token_kind::user_defined:
                return words_.kind == tokenizer_kind::sentencepiece_bpe ? sentencepiece_bpe::bytes_of(text) : text;
            case token_kind::byte:
                return {static_cast<char>(*parse_byte_token(text))};
            default:
                return std::holds_alternative<byte_level_bpe>(model_) ? byte_level_bpe::bytes_of(text)
                                                                      : sentencepiece_bpe::bytes_of(text);
        }
    }

    /// The bytes of all tokens together, as they are.
    std::string decode_bytes(std::span<const token> ids, decode_options options = {}) const {
        std::string out;
        bool at_start = words_.prefix != space_prefix::never && !options.continues;
        for (const token id : ids) {
            auto bytes = bytes_of(id, options.show_control);
            if (at_start && !is_control(id) && !bytes.empty() && bytes.front() == ' ') bytes.erase(0, 1);
            at_start = at_start && begins_after(id);
            out += bytes;
        }
        return out;
    }

    /// The text of the tokens. Always UTF-8: bytes that are none become U+FFFD. decode(encode(text)) is the text unless
    /// it holds control tokens (they need show_control), bytes without a token, or a first space with prefix_joins.
    std::string decode(std::span<const token> ids, decode_options options = {}) const {
        return repair_utf8(decode_bytes(ids, options));
    }

    /// Calls on_token(id) for each special token that is written in the text, in order.
    template <class OnToken>
    void for_each_special(std::string_view text, OnToken&& on_token) const {
        special_.split(
            text, true, [](std::string_view) {}, on_token);
    }

    std::size_t vocabulary_size() const { return words_.texts.size(); }

    /// Whether the token is a control or unknown token: not part of any text.
    bool is_control(token id) const {
        const auto kind = words_.kinds[index_of(id)];
        return kind == token_kind::control || kind == token_kind::unknown;
    }

    /// Whether a text still begins behind this token, so that the space in front of it comes there. Where only a text's
    /// start gets one, other control tokens than bos, which stands in front by itself, are that start.
    bool begins_after(token id) const {
        return is_control(id) && (words_.prefix != space_prefix::at_start || id == words_.bos);
    }

    /// Whether text behind this token gets a space in front, as if it were a text of its own: then it does not continue
    /// other text (encode_options).
    bool parts_texts(token id) const {
        return words_.prefix == space_prefix::always && (is_control(id) || is_user_defined(id));
    }

    /// The tokens after which a model has nothing more to say: eos, eot, the vocabulary's further `ends` (which may lie
    /// behind its texts), and control tokens known to end turns, in ascending order.
    std::span<const token> end_tokens() const { return end_tokens_; }
    bool is_end(token id) const { return std::binary_search(end_tokens_.begin(), end_tokens_.end(), id); }

    const vocabulary& words() const { return words_; }

 private:
    static constexpr std::size_t longest_text = std::size_t{1} << 30;

    using model = std::variant<byte_level_bpe, sentencepiece_bpe>;

    static model make_model(const vocabulary& words) {
        if (words.kind == tokenizer_kind::byte_level_bpe) return byte_level_bpe(words);
        return sentencepiece_bpe(words);
    }

    /// Whether special tokens of this text end turns. In the format of gpt-oss <|end|> parts messages of one turn.
    static bool names_end(std::string_view text, bool is_harmony) {
        const auto& names = detail::end_token_names;
        return std::find(names.begin(), names.end(), text) != names.end() && !(is_harmony && text == "<|end|>");
    }

    static bool is_harmony(const vocabulary& words) {
        const auto has = [&](std::string_view text) {
            return std::find(words.texts.begin(), words.texts.end(), text) != words.texts.end();
        };
        return has("<|return|>") && has("<|call|>");
    }

    /// Some files list <|im_end|> and its like as user-defined; they are control tokens all the same.
    static vocabulary prepare(vocabulary words) {
        check(words);
        const bool harmony = is_harmony(words);
        for (std::size_t i = 0; i < words.texts.size(); ++i) {
            if (words.kinds[i] == token_kind::user_defined && names_end(words.texts[i], harmony)) {
                words.kinds[i] = token_kind::control;
            }
        }
        return words;
    }

    static std::vector<token> find_end_tokens(const vocabulary& words) {
        std::vector<token> found = words.ends;
        const bool harmony = is_harmony(words);
        for (std::size_t i = 0; i < words.texts.size(); ++i) {
            const auto id = static_cast<token>(i);
            const bool named = words.kinds[i] == token_kind::control && names_end(words.texts[i], harmony);
            if (named || id == words.eos || id == words.eot) found.push_back(id);
        }
        std::sort(found.begin(), found.end());
        found.erase(std::unique(found.begin(), found.end()), found.end());
        return found;
    }

    std::size_t index_of(token id) const {
        if (id < 0 || static_cast<std::size_t>(id) >= words_.texts.size()) {
            augur::detail::fail("token ", id, " is outside the vocabulary of ", words_.texts.size());
        }
        return static_cast<std::size_t>(id);
    }

    bool is_user_defined(token id) const { return words_.kinds[index_of(id)] == token_kind::user_defined; }

    template <class OnUnknown>
    std::vector<token> encode(std::string_view text, encode_options options, OnUnknown&& on_unknown) const {
        if (text.size() > longest_text) augur::detail::fail("a text of ", text.size(), " bytes, over ", longest_text);
        check_utf8(text, "the text");
        std::vector<token> out;
        bool with_prefix = words_.prefix != space_prefix::never && !options.continues;
        special_.split(
            text, options.parse_special,
            [&](std::string_view ordinary) {
                encode_ordinary(ordinary, with_prefix, on_unknown, out);
                with_prefix = false;
            },
            [&](token id) {
                out.push_back(id);
                with_prefix = parts_texts(id);
            });
        if (options.add_special && words_.add_bos && (out.empty() || out.front() != words_.bos)) {
            out.insert(out.begin(), words_.bos);
        }
        if (options.add_special && words_.add_eos && (out.empty() || out.back() != words_.eos)) {
            out.push_back(words_.eos);
        }
        return out;
    }

    template <class OnUnknown>
    void encode_ordinary(std::string_view text, bool with_prefix, OnUnknown& on_unknown,
                         std::vector<token>& out) const {
        if (const auto* bytes = std::get_if<byte_level_bpe>(&model_)) {
            bytes->encode(text, out, on_unknown);
        } else {
            std::get<sentencepiece_bpe>(model_).encode(text, with_prefix, out, on_unknown);
        }
    }

    vocabulary words_;
    special_tokens special_;
    model model_;
    std::vector<token> end_tokens_;
};

}  // namespace augur::io
