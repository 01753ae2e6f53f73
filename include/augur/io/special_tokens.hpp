#pragma once
// Finds special tokens in text.

#include <augur/io/vocabulary.hpp>
#include <augur/types/token.hpp>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace augur::io {

/// The tokens that are found in text as they are written: user-defined ones always, control and unknown ones on request.
/// Where several begin at the same byte the longest is taken, and search goes on behind it. Immutable: threads may
/// share it. Cost: linear in the text, times the longest special token at the bytes one could begin with.
class special_tokens {
 public:
    /// `words` must have passed check().
    explicit special_tokens(const vocabulary& words) : nodes_(1) {
        for (std::size_t i = 0; i < words.texts.size(); ++i) {
            const auto kind = words.kinds[i];
            const bool on_request = kind == token_kind::control || kind == token_kind::unknown;
            if ((on_request || kind == token_kind::user_defined) && !words.texts[i].empty()) {
                insert(words.texts[i], {static_cast<token>(i), on_request});
            }
        }
    }

    /// Calls on_text(view) for ordinary text, never empty, and on_token(token) for special tokens, in order.
    template <class OnText, class OnToken>
    void split(std::string_view text, bool with_control, OnText&& on_text, OnToken&& on_token) const {
        std::size_t done = 0;
        for (std::size_t i = 0; i < text.size();) {
            const auto found = starts_[static_cast<unsigned char>(text[i])] ? longest(text.substr(i), with_control)
                                                                            : match{no_token, 0};
            if (found.id == no_token) {
                ++i;
                continue;
            }
            if (i > done) on_text(text.substr(done, i - done));
            on_token(found.id);
            i += found.length;
            done = i;
        }
        if (done < text.size()) on_text(text.substr(done));
    }

 private:
    struct match {
        token id;
        std::size_t length;
    };
    struct node {
        token id = no_token;
        bool on_request = false;
    };

    void insert(std::string_view text, node leaf) {
        starts_.set(static_cast<unsigned char>(text.front()));
        std::uint64_t at = 0;
        for (const char byte : text) {
            const auto [edge, is_new] = edges_.emplace(key(at, byte), nodes_.size());
            if (is_new) nodes_.emplace_back();
            at = edge->second;
        }
        nodes_[at] = leaf;
    }

    match longest(std::string_view text, bool with_control) const {
        match best{no_token, 0};
        std::uint64_t at = 0;
        for (std::size_t i = 0; i < text.size(); ++i) {
            const auto edge = edges_.find(key(at, text[i]));
            if (edge == edges_.end()) break;
            at = edge->second;
            const auto& reached = nodes_[at];
            if (reached.id != no_token && (with_control || !reached.on_request)) best = {reached.id, i + 1};
        }
        return best;
    }

    static std::uint64_t key(std::uint64_t node, char byte) { return node << 8 | static_cast<unsigned char>(byte); }

    std::vector<node> nodes_;                               // a tree of bytes, the root first
    std::unordered_map<std::uint64_t, std::size_t> edges_;  // (node, byte) to node
    std::bitset<256> starts_;
};

}  // namespace augur::io
