#pragma once
// The text of the committed tokens: searched for stop strings, released only when it can no longer change.

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "augur/io/utf8.hpp"
#include "augur/types/error.hpp"

namespace augur::commit {

/// Bytes come in token by token, text goes out in whole code points, never a part of what may become a stop string. The
/// result depends on the bytes alone, not on how they were cut into tokens or tokens into blocks.
/// Cost: linear in the bytes times the number of stop strings.
class text_stream {
 public:
    explicit text_stream(std::vector<std::string> stop_strings = {}) : stops_(std::move(stop_strings)) {
        for (const std::string& stop : stops_) {
            if (stop.empty()) detail::fail("a stop string is empty; it would stop before the first token");
            io::check_utf8(stop, "stop string");
            longest_ = std::max(longest_, stop.size());
        }
    }

    /// Appends the bytes of one token. True when a stop string is now complete: the text then ends before its first
    /// occurrence (of several, the one that starts first), and nothing more may be pushed.
    bool push(std::string_view bytes) {
        pending_ += bytes;
        const std::size_t before = text_.size();
        drain(false);
        return find_stop(before);
    }

    /// No more tokens: bytes of a code point that never ended become U+FFFD.
    void finish() {
        drain(true);
        finished_ = true;
    }

    /// The text so far. What stood behind a stop string, and the string itself, are not in it.
    const std::string& text() const { return text_; }

    /// Text that was not released before and cannot be taken back any more.
    std::string_view release() {
        const std::size_t safe = finished_ || stopped_ ? text_.size() : text_.size() - undecided();
        const std::string_view fresh = std::string_view(text_).substr(released_, safe - std::min(safe, released_));
        released_ = std::max(released_, safe);
        return fresh;
    }

    /// The stop string that ended the text, or nothing.
    std::string_view matched() const { return matched_; }

 private:
    void drain(bool at_end) {
        std::size_t used = 0;
        while (used < pending_.size()) {
            const auto start = io::first_code_point(std::string_view(pending_).substr(used));
            if (start.state == io::utf8_state::incomplete && !at_end) break;
            text_ += start.state == io::utf8_state::complete ? std::string_view(pending_).substr(used, start.length)
                                                             : io::replacement_character;
            used += start.length;
        }
        pending_.erase(0, used);
    }

    bool find_stop(std::size_t before) {
        const std::size_t from = before - std::min(before, longest_ > 0 ? longest_ - 1 : 0);
        std::size_t first = std::string::npos;
        for (const std::string& stop : stops_) {
            const std::size_t at = text_.find(stop, from);
            if (at < first) {
                first = at;
                matched_ = stop;
            }
        }
        if (first == std::string::npos) return false;
        text_.erase(first);
        pending_.clear();
        stopped_ = true;
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
    std::string_view matched_;
    bool stopped_ = false;
    bool finished_ = false;
};

}  // namespace augur::commit
