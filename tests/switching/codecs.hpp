#pragma once
// Codecs without a tokenizer, and models that say a text in the vocabulary of theirs.

#include <algorithm>
#include <augur/decode/generate.hpp>
#include <augur/switching/step.hpp>
#include <augur/testing/models.hpp>
#include <augur/types/token.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace augur::testing {

/// Token t is the byte t; token 256 is special.
struct byte_codec {
    static constexpr std::size_t vocabulary = 257;
    static constexpr token special = 256;

    std::vector<token> encode(std::string_view bytes) const {
        std::vector<token> tokens;
        for (const char byte : bytes) tokens.push_back(static_cast<unsigned char>(byte));
        return tokens;
    }
    std::string bytes_of(token t) const { return t == special ? "" : std::string(1, static_cast<char>(t)); }
};

/// Token t is the letter 'a' + t: as many tokens as bytes, all of them text.
struct letter_codec {
    std::vector<token> encode(std::string_view bytes) const {
        std::vector<token> tokens;
        for (const char byte : bytes) tokens.push_back(byte - 'a');
        return tokens;
    }
    std::string bytes_of(token t) const { return std::string(1, static_cast<char>('a' + t)); }
};

/// As SentencePiece has it: token 0 is special, then come pieces, in which U+2581 stands for a space, then all bytes.
/// The longest piece is taken, and a byte where there is none.
class piece_codec {
 public:
    static constexpr token special = 0;

    explicit piece_codec(std::vector<std::string> pieces = {"▁he", "llo", "▁", "日", "日本", "é", "a", "l"})
        : pieces_(std::move(pieces)) {
        for (std::string& piece : pieces_) {
            if (piece.starts_with("▁")) piece.replace(0, 3, " ");
        }
    }

    std::size_t vocabulary() const { return 1 + pieces_.size() + 256; }
    std::vector<token> encode(std::string_view bytes) const {
        std::vector<token> tokens;
        while (!bytes.empty()) {
            std::size_t length = 1;
            token best = byte_token(bytes[0]);
            for (std::size_t i = 0; i < pieces_.size(); ++i) {
                if (!bytes.starts_with(pieces_[i]) || pieces_[i].size() < length) continue;
                length = pieces_[i].size();
                best = static_cast<token>(i + 1);
            }
            tokens.push_back(best);
            bytes.remove_prefix(length);
        }
        return tokens;
    }
    std::string bytes_of(token t) const {
        if (t == special) return "";
        const auto i = static_cast<std::size_t>(t) - 1;
        return i < pieces_.size() ? pieces_[i] : std::string(1, static_cast<char>(i - pieces_.size()));
    }
    token byte_token(char byte) const {
        return static_cast<token>(1 + pieces_.size() + static_cast<unsigned char>(byte));
    }

 private:
    std::vector<std::string> pieces_;
};

static_assert(switching::TextCodec<byte_codec> && switching::TextCodec<letter_codec> &&
              switching::TextCodec<piece_codec>);

/// A token of a text that models hand over, by who wrote it.
struct written_token {
    std::size_t model = 0;
    token id = no_token;
    std::string bytes{};
    friend bool operator==(const written_token&, const written_token&) = default;
};

/// The generated tokens, with the bytes that the speakers of the scheme give them.
inline std::vector<written_token> tokens_by(const auto& scheme, const std::vector<std::size_t>& writers,
                                            std::span<const token> tokens) {
    std::vector<written_token> result;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        result.push_back({writers.at(i), tokens[i], scheme.bytes_of(writers[i], tokens[i])});
    }
    return result;
}

struct handed_options {
    std::uint64_t seed = 0;
    std::size_t max_tokens = 128;
    std::size_t first = 0;
};

/// What decode::generate gives for models that hand each other text, token by token and in bytes.
template <class Policy>
struct handed_generation : decode::generation<Policy> {
    std::vector<written_token> by{};
    std::string bytes{};
};
template <class Scheme>
auto handed(const Scheme& scheme, const typename Scheme::prompt_type& from, const handed_options& chosen = {}) {
    decode::options options;
    options.seed = chosen.seed;
    options.stop.max_tokens = chosen.max_tokens;
    auto decoded = decode::generate<any_guarantee>(scheme.with({.first = chosen.first}), from, options);
    auto by = tokens_by(scheme, decoded.writers, decoded.tokens);
    handed_generation<typename Scheme::policy_type> result{{std::move(decoded)}, std::move(by)};
    for (const written_token& each : result.by) result.bytes += each.bytes;
    return result;
}

inline std::string bytes_of(const auto& codec, std::span<const token> tokens) {
    std::string bytes;
    for (const token t : tokens) bytes += codec.bytes_of(t);
    return bytes;
}

/// A model that says `text`, token by token, and then `special`. Its row after n bytes of it spreads nearly all mass
/// evenly over 2^bits(n) tokens, the first the one that it wants: so many bits of entropy. Prompts stand for no bytes.
template <class Codec>
function_model saying_model(const Codec& codec, std::size_t vocabulary, token special, std::string text,
                            std::function<int(std::size_t)> bits, std::size_t context = 1024) {
    return {vocabulary, context, [=](std::span<const token> before, std::span<float> row) {
                const std::size_t said = bytes_of(codec, before).size();
                const token next = said < text.size() ? codec.encode(std::string_view(text).substr(said))[0] : special;
                std::fill(row.begin(), row.end(), -std::numeric_limits<float>::infinity());
                for (int i = 0; i < 1 << bits(said); ++i) row[static_cast<std::size_t>(next + i) % row.size()] = -1e-4f;
                row[static_cast<std::size_t>(next)] = 0;
            }};
}

}  // namespace augur::testing
