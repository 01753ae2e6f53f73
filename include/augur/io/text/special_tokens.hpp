#pragma once
// Finds special tokens in text.

#include <algorithm>
#include <augur/io/text/nfc.hpp>
#include <augur/io/text/unicode_classes.hpp>
#include <augur/io/text/vocabulary.hpp>
#include <augur/types/error.hpp>
#include <augur/types/token.hpp>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace augur::io {

namespace detail {

/// Bytes of white space at the start of a text, which is UTF-8.
inline std::size_t space_before(std::string_view text) {
    std::size_t count = 0;
    while (count < text.size()) {
        const auto first = point_at(text.substr(count));
        if (class_of(first.point) != unicode_class::space) break;
        count += first.bytes;
    }
    return count;
}

/// Bytes of white space at its end.
inline std::size_t space_behind(std::string_view text) {
    std::size_t count = 0;
    for (std::size_t i = text.size(); i-- > 0;) {
        if ((static_cast<unsigned char>(text[i]) & 0xC0) == 0x80) continue;
        if (class_of(point_at(text.substr(i)).point) != unicode_class::space) break;
        count = text.size() - i;
    }
    return count;
}

/// Finds texts of tokens: the leftmost, of those that begin at the same byte the longest; search goes on behind it.
/// Cost: linear in the text, whatever the tokens; memory for each place where one could begin.
class token_finder {
 public:
    /// Not empty; link() comes after the last.
    void insert(std::string_view text, token id, bool on_request, bool strips_left, bool strips_right) {
        ends_.set(static_cast<unsigned char>(text.back()));
        std::size_t at = 0;
        for (std::size_t depth = 1; depth <= text.size(); ++depth) {
            const char byte = text[text.size() - depth];
            const auto [edge, is_new] = edges_.emplace(key(at, byte), nodes_.size());
            if (is_new) {
                nodes_.emplace_back();
                nodes_.back().parent = at;
                nodes_.back().depth = depth;
                nodes_.back().byte = byte;
            }
            at = edge->second;
        }
        nodes_[at].id = id;
        nodes_[at].on_request = on_request;
        nodes_[at].strips_left = strips_left;
        nodes_[at].strips_right = strips_right;
    }

    /// Aho and Corasick's links, the nearest to the root first.
    void link() {
        std::vector<std::size_t> order(nodes_.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::sort(order.begin(), order.end(),
                  [&](std::size_t a, std::size_t b) { return nodes_[a].depth < nodes_[b].depth; });
        for (const std::size_t i : order) {
            node& at = nodes_[i];
            if (at.depth > 1) at.shorter = next(nodes_[at.parent].shorter, at.byte);
            const bool is_token = at.id != no_token;
            at.any = is_token ? i : nodes_[at.shorter].any;
            at.always = is_token && !at.on_request ? i : nodes_[at.shorter].always;
        }
    }

    /// Calls on_text(view) for what lies between tokens, never empty, and on_token(token) for these, in order. White
    /// space that a token strips is in neither.
    template <class OnText, class OnToken>
    void split(std::string_view text, bool with_requested, OnText&& on_text, OnToken&& on_token) const {
        const auto starts = find(text, with_requested);
        std::size_t done = 0;
        for (auto found = starts.rbegin(); found != starts.rend(); ++found) {
            if (found->begin < done) continue;
            const node& at = nodes_[found->node];
            const auto before = text.substr(done, found->begin - done);
            const auto left = at.strips_left ? before.substr(0, before.size() - space_behind(before)) : before;
            if (!left.empty()) on_text(left);
            on_token(at.id);
            done = found->begin + at.depth;
            if (at.strips_right) done += space_before(text.substr(done));
        }
        if (done < text.size()) on_text(text.substr(done));
    }

 private:
    /// A node stands for the bytes from it up to the root: the end of a token, for texts are read backwards.
    struct node {
        std::size_t parent = 0;
        std::size_t depth = 0;
        std::size_t shorter = 0;  // the longest other node that this one's bytes begin with
        std::size_t any = 0;      // the longest token that this one's bytes begin with; 0: none
        std::size_t always = 0;   // the longest of those that need no request
        token id = no_token;
        char byte = 0;
        bool on_request = false;
        bool strips_left = false;
        bool strips_right = false;
    };
    struct occurrence {
        std::size_t begin;
        std::size_t node;  // of the longest token that begins there
    };

    std::size_t next(std::size_t at, char byte) const {
        while (true) {
            if (at == 0 && !ends_[static_cast<unsigned char>(byte)]) return 0;
            const auto edge = edges_.find(key(at, byte));
            if (edge != edges_.end()) return edge->second;
            at = nodes_[at].shorter;
        }
    }

    /// All places where a token begins, the last first.
    std::vector<occurrence> find(std::string_view text, bool with_requested) const {
        std::vector<occurrence> found;
        std::size_t at = 0;
        for (std::size_t i = text.size(); i-- > 0;) {
            at = next(at, text[i]);
            const std::size_t longest = with_requested ? nodes_[at].any : nodes_[at].always;
            if (longest != 0) found.push_back({i, longest});
        }
        return found;
    }

    static std::uint64_t key(std::uint64_t node, char byte) { return node << 8 | static_cast<unsigned char>(byte); }

    std::vector<node> nodes_{1};                            // a tree of reversed texts, the root first
    std::unordered_map<std::uint64_t, std::size_t> edges_;  // (node, byte) to node
    std::bitset<256> ends_;                                 // what tokens end with
};

}  // namespace detail

/// The tokens that are found in text as they are written: user-defined ones always, control and unknown ones on
/// request. Where several begin at the same byte the longest is taken, and search goes on behind it; those that the
/// vocabulary looks for last are found in what the others leave. Immutable: threads may share it. Cost: linear in the
/// text, whatever the tokens; memory for each place where one could begin.
class special_tokens {
 public:
    /// `words` must have passed check(). Errors: special tokens of more than 4 MiB together.
    explicit special_tokens(const vocabulary& words) : nfc_(words.nfc) {
        constexpr std::size_t most_bytes = std::size_t{1} << 22;
        const auto marked = [&](const std::vector<token>& ids) {
            std::vector<bool> is_there(words.texts.size());
            for (const token id : ids) is_there[static_cast<std::size_t>(id)] = true;
            return is_there;
        };
        const auto is_last = marked(words.found_last);
        const auto strips_left = marked(words.strips_left), strips_right = marked(words.strips_right);
        std::size_t bytes = 0;
        for (std::size_t i = 0; i < words.texts.size(); ++i) {
            const auto kind = words.kinds[i];
            const bool on_request = kind == token_kind::control || kind == token_kind::unknown;
            if ((!on_request && kind != token_kind::user_defined) || words.texts[i].empty()) continue;
            bytes += words.texts[i].size();
            if (bytes > most_bytes) {
                augur::detail::fail("the special tokens up to ", i, " have ", bytes, " bytes together, more than ",
                                    most_bytes);
            }
            (is_last[i] ? last_ : first_)
                .insert(words.texts[i], static_cast<token>(i), on_request, strips_left[i], strips_right[i]);
        }
        first_.link();
        last_.link();
    }

    /// Calls on_text(view) for ordinary text, never empty, and on_token(token) for special tokens, in order. The text
    /// is normalised where the vocabulary says so: behind the search for the first tokens, before that for the last.
    template <class OnText, class OnToken>
    void split(std::string_view text, bool with_control, OnText&& on_text, OnToken&& on_token) const {
        const auto split_rest = [&](std::string_view left) {
            const std::string normal = nfc_ ? to_nfc(left) : std::string();
            last_.split(nfc_ ? normal : left, with_control, on_text, on_token);
        };
        first_.split(text, with_control, split_rest, on_token);
    }

 private:
    detail::token_finder first_, last_;
    bool nfc_;
};

}  // namespace augur::io
