#pragma once
// The text of the committed tokens: searched for stop strings, released only when it can no longer change.

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "augur/types/error.hpp"
#include "augur/types/utf8.hpp"

namespace augur::commit {

/// Bytes come in token by token, text goes out in whole code points, never a part of what may become a stop string. The
/// result depends on the bytes alone, not on how they were cut into tokens or tokens into blocks.
/// Cost per push: the new bytes and one stop string before them, searched for each stop string.
class text_stream {
 public:
    explicit text_stream(std::vector<std::string> stop_strings = {}) : stops_(std::move(stop_strings)) {
        for (const std::string& stop : stops_) {
            if (stop.empty()) detail::fail("a stop string is empty; it would stop before the first token");
            detail::check_utf8(stop, "stop string");
            longest_ = std::max(longest_, stop.size());
        }
    }

    /// Appends the bytes of one token. True when a stop string is now complete: the text then ends before it, and
    /// nothing more may be pushed. Of several the one that was complete first counts, as if bytes had come one by one;
    /// of those that end together, the longest.
    bool push(std::string_view bytes) {
        pending_ += bytes;
        const std::size_t before = text_.size();
        drain(false);
        return find_stop(before);
    }

    /// No more tokens: bytes of a code point that never ended become U+FFFD, and complete no stop string.
    void finish() {
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
    std::string_view release() {
        const std::size_t safe = finished_ || matched_ ? text_.size() : text_.size() - undecided();
        const std::string_view fresh = std::string_view(text_).substr(released_, safe - released_);
        released_ = safe;
        return fresh;
    }

    /// The stop string that ended the text, or nothing.
    std::string_view matched() const { return matched_ ? std::string_view(stops_[*matched_]) : std::string_view(); }

 private:
    void drain(bool at_end) {
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

    /// Looks for stop strings that end behind `before`; all that end up to there have been looked for.
    bool find_stop(std::size_t before) {
        const std::size_t from = before - std::min(before, longest_);
        std::size_t first_end = std::string::npos;
        for (std::size_t i = 0; i < stops_.size(); ++i) {
            const std::size_t start = text_.find(stops_[i], from);
            if (start == std::string::npos) continue;
            const std::size_t end = start + stops_[i].size();
            if (end < first_end || (end == first_end && stops_[i].size() > stops_[*matched_].size())) {
                first_end = end;
                matched_ = i;
            }
        }
        if (!matched_) return false;
        text_.erase(first_end - stops_[*matched_].size());
        pending_.clear();
        return true;
    }

    /// Bytes at the end of the text that are the beginning of some stop string.
    std::size_t undecided() const {
        std::size_t most = 0;
        for (const std::string& stop : stops_) {
            for (std::size_t length = std::min(stop.size() - 1, text_.size()); length > most; --length) {
                if (std::string_view(text_).substr(text_.size() - length) == std::string_view(stop).substr(0, length)) {
                    most = length;
                    break;
                }
            }
        }
        return most;
    }

    std::vector<std::string> stops_;
    std::size_t longest_ = 0;
    std::string text_;
    std::string pending_;
    std::size_t released_ = 0;
    std::optional<std::size_t> matched_;  ///< index of a stop string
    bool finished_ = false;
};

}  // namespace augur::commit
