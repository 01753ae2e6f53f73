#pragma once
// Detokenizes committed tokens and searches them for stop strings; releases only text that can no longer change.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "augur/types/error.hpp"
#include "augur/types/utf8.hpp"

namespace augur::commit {

/// A stop string, and how much of it the end of a text is. Knuth, Morris and Pratt 1977, "Fast pattern matching in
/// strings". Cost: amortised constant time a byte. Memory: 5 bytes a byte of the stop string.
class stop_string {
 public:
    explicit stop_string(std::string text) : text_(std::move(text)), borders_(text_.size()) {
        for (std::size_t i = 1; i < text_.size(); ++i) borders_[i] = after(borders_[i - 1], text_[i]);
    }

    const std::string& text() const { return text_; }
    /// Bytes of its beginning that the text ends with.
    std::size_t matched() const { return matched_; }
    /// One more byte of the text; true where it completes the string.
    bool push(char byte) {
        matched_ = after(matched_, byte);
        return matched_ == text_.size();
    }

 private:
    /// Where so many bytes matched, and this one follows.
    std::uint32_t after(std::uint32_t matched, char byte) const {
        while (matched > 0 && (matched == text_.size() || text_[matched] != byte)) matched = borders_[matched - 1];
        return text_[matched] == byte ? matched + 1 : matched;
    }

    std::string text_;
    std::vector<std::uint32_t> borders_;  // of the first i + 1 bytes: the longest beginning that ends them, too
    std::uint32_t matched_ = 0;
};

/// Bytes come in token by token, text goes out in whole code points, never a part of what may become a stop string. The
/// result depends on the bytes alone, not on how they were cut into tokens or tokens into blocks. Cost: amortised O(new
/// bytes) for each stop string, however long it or the text is. Memory: the text, and that of its stop strings.
class text_stream {
 public:
    /// Refuses stop strings that are empty, no UTF-8, or of 4 GiB and more.
    explicit text_stream(const std::vector<std::string>& stop_strings = {}) {
        for (const std::string& stop : stop_strings) {
            if (stop.empty()) detail::fail("a stop string is empty; it would stop before the first token");
            if (stop.size() > std::numeric_limits<std::uint32_t>::max()) {
                detail::fail("a stop string has ", stop.size(), " bytes, more than ",
                             std::numeric_limits<std::uint32_t>::max());
            }
            detail::check_utf8(stop, "stop string");
            stops_.emplace_back(stop);
        }
    }

    /// Appends the bytes of one token. True when a stop string is now complete: the text then ends before it, and
    /// nothing more may be pushed. Of several the one that was complete first counts, as if bytes had come one by one;
    /// of those that end together, the longest. If memory fails, nothing has changed.
    bool push(std::string_view bytes) {
        reserve(bytes.size());  // the last that can fail
        pending_ += bytes;
        const std::size_t before = text_.size();
        drain(false);
        return find_stop(before);
    }

    /// No more tokens: bytes of a code point that never ended become U+FFFD, and complete no stop string.
    void finish() noexcept {
        drain(true);
        finished_ = true;
    }

    /// The text so far. What stood behind a stop string, and the string itself, are not in it.
    const std::string& text() const { return text_; }

    /// Memory for so many bytes: pushing up to them, and finish(), allocate nothing. If memory fails, nothing has
    /// changed.
    void reserve(std::size_t bytes) {
        const std::size_t most = text_.size() + (pending_.size() + bytes) * detail::replacement_character.size();
        if (most > text_.capacity()) text_.reserve(std::max(most, 2 * text_.capacity()));
        pending_.reserve(pending_.size() + bytes);
    }
    /// The most bytes that release() could give if nothing more were pushed but finish() called.
    std::size_t unreleased() const {
        return text_.size() - released_ + pending_.size() * detail::replacement_character.size();
    }

    /// Text that was not released before and cannot be taken back any more; a view, until the next push or finish.
    std::string_view release() noexcept {
        const std::size_t safe = finished_ || matched_ ? text_.size() : text_.size() - undecided();
        const std::string_view fresh = std::string_view(text_).substr(released_, safe - released_);
        released_ = safe;
        return fresh;
    }

    /// The stop string that ended the text, or nothing.
    std::string_view matched() const {
        return matched_ ? std::string_view(stops_[*matched_].text()) : std::string_view();
    }

 private:
    /// Into memory that push() has taken.
    void drain(bool at_end) noexcept {
        std::size_t used = 0;
        while (used < pending_.size()) {
            const auto start = detail::first_code_point(std::string_view(pending_).substr(used));
            if (start.state == detail::utf8_state::incomplete && !at_end) break;
            text_ += start.state == detail::utf8_state::complete ? std::string_view(pending_).substr(used, start.length)
                                                                 : detail::replacement_character;
            used += start.length;
        }
        pending_.erase(0, used);
    }

    /// Looks at what is behind `before`.
    bool find_stop(std::size_t before) noexcept {
        for (std::size_t end = before; end < text_.size(); ++end) {
            for (std::size_t i = 0; i < stops_.size(); ++i) {
                if (!stops_[i].push(text_[end])) continue;
                if (!matched_ || stops_[i].text().size() > matched().size()) matched_ = i;
            }
            if (!matched_) continue;
            text_.erase(end + 1 - matched().size());
            pending_.clear();
            return true;
        }
        return false;
    }

    /// Bytes at the end of the text that are the beginning of some stop string.
    std::size_t undecided() const noexcept {
        std::size_t most = 0;
        for (const stop_string& stop : stops_) most = std::max(most, stop.matched());
        return most;
    }

    std::vector<stop_string> stops_;
    std::string text_;
    std::string pending_;
    std::size_t released_ = 0;
    std::optional<std::size_t> matched_;  ///< index of a stop string
    bool finished_ = false;
};

}  // namespace augur::commit
