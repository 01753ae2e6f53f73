#pragma once
// Stop conditions, checked token by token, so that the result does not depend on block boundaries.

#include <algorithm>
#include <cstddef>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "augur/commit/text_stream.hpp"
#include "augur/types/error.hpp"
#include "augur/types/round_view.hpp"
#include "augur/types/token.hpp"

namespace augur {

/// Why a decoding ended. Of several reasons at one token the first in this list is reported.
enum class finish_reason {
    running,
    stop_token,      ///< a stop token was committed; it is the last token returned, and not part of the text
    stop_string,     ///< a stop string was completed; the text ends before it, the ids with the token that completed it
    max_tokens,      ///< the limit on generated tokens
    context,         ///< prompt and output fill the context
    invalid_logits,  ///< the target's row held NaN or infinity, or nothing could be drawn from it
    cancelled        ///< the caller's stream said stop
};

constexpr std::string_view name_of(finish_reason why) {
    switch (why) {
        case finish_reason::running:
            return "running";
        case finish_reason::stop_token:
            return "stop_token";
        case finish_reason::stop_string:
            return "stop_string";
        case finish_reason::max_tokens:
            return "max_tokens";
        case finish_reason::context:
            return "context";
        case finish_reason::invalid_logits:
            return "invalid_logits";
        case finish_reason::cancelled:
            return "cancelled";
    }
    return "unknown";
}

namespace commit {

/// A token that writes no text and ends it all the same, as a stop string does: a control token by its name.
struct stop_mark {
    token id;
    std::string name;  ///< the stop string that it stands for
};

struct stop_conditions {
    std::size_t max_tokens = 128;
    std::vector<token> stop_tokens{};         ///< of the vocabulary
    std::vector<std::string> stop_strings{};  ///< need text_of
    /// Bytes of a token, whichever tokens are around it. Asked for the tokens of a block before they are committed, in
    /// order, up to one that its id ends; those that are then not committed are asked for again when they come. What it
    /// throws passes through, and nothing is committed. Without it there are tokens only: no stop strings, no text.
    std::function<std::string(token)> text_of{};
    /// For stop strings that name a token of which text_of gives nothing (io::stop_marks_of finds them).
    std::vector<stop_mark> stop_marks{};
};

/// One of several vocabularies in which a text is written: the tokens that end it, and the bytes of the others.
struct vocabulary {
    std::vector<token> stop_tokens{};
    std::function<std::string(token)> text_of{};  ///< as in stop_conditions
};

/// Watches the committed tokens of one decoding.
class stop_watcher {
 public:
    /// Refuses stop tokens and marks that no model of this vocabulary could give, and stop strings without text.
    stop_watcher(stop_conditions conditions, std::size_t vocabulary_size, std::size_t context_length)
        : conditions_(std::move(conditions)), context_length_(context_length), text_(conditions_.stop_strings) {
        for (std::size_t i = 0; i < conditions_.stop_tokens.size(); ++i) {
            const token stop = conditions_.stop_tokens[i];
            if (stop >= 0 && static_cast<std::size_t>(stop) < vocabulary_size) continue;
            detail::fail("stop token ", i, " is ", stop, ", but the vocabulary has ", vocabulary_size, " tokens");
        }
        for (const stop_mark& mark : conditions_.stop_marks) {
            if (mark.id >= 0 && static_cast<std::size_t>(mark.id) < vocabulary_size) continue;
            detail::fail("the stop string '", mark.name, "' is token ", mark.id, ", but the vocabulary has ",
                         vocabulary_size, " tokens");
        }
        if (!conditions_.stop_strings.empty() && !conditions_.text_of) {
            detail::fail("there are ", conditions_.stop_strings.size(),
                         " stop strings, but no text_of to find them with");
        }
        written_in_.push_back({std::move(conditions_.stop_tokens), std::move(conditions_.text_of)});
    }

    /// Of a text in several vocabularies, each with text, that no context limits; it begins in the first of them, until
    /// write_in(). Refuses conditions that are of one vocabulary.
    stop_watcher(stop_conditions conditions, std::vector<vocabulary> written_in)
        : conditions_(std::move(conditions)),
          context_length_(std::numeric_limits<std::size_t>::max()),
          text_(conditions_.stop_strings),
          written_in_(std::move(written_in)) {
        const std::size_t ids = conditions_.stop_tokens.size() + conditions_.stop_marks.size();
        if (ids == 0 && !conditions_.text_of) return;
        detail::fail("the stop conditions have ", conditions_.stop_tokens.size(), " stop tokens, ",
                     conditions_.stop_marks.size(), " stop marks and ", conditions_.text_of ? "a" : "no",
                     " text_of, which are of one vocabulary, but the text is written in ", written_in_.size(),
                     ": each has its own");
    }

    /// The tokens that follow are of this vocabulary.
    void write_in(std::size_t index) noexcept { index_ = index; }

    /// How many of the tokens of a block may be committed, for all that their ids and the limits say; `generated` and
    /// `length` are those before it. Asks for their text, and takes the memory that their admission needs: of these
    /// tokens, in order, nothing fails there. What is thrown changes nothing.
    std::size_t foresee(std::span<committed_token> block, std::size_t generated, std::size_t length) {
        pieces_.clear();
        next_piece_ = 0;
        std::size_t bytes = 0;
        std::size_t most = 0;
        bool ends = false;
        while (most < block.size() && !ends) {
            const token t = block[most++].id;
            const bool stops = is_stop(t) || find_mark(t);
            if (has_text() && !stops) bytes += pieces_.emplace_back(written_in_[index_].text_of(t)).size();
            ends = stops || generated + most >= conditions_.max_tokens || length + most >= context_length_;
        }
        if (has_text()) take_memory(block.first(most), bytes);
        return most;
    }

    /// Takes note of one more token; `generated` and `length` count it already.
    finish_reason admit(token t, std::size_t generated, std::size_t length) {
        const finish_reason why = reason(t, generated, length);
        if (why != finish_reason::running) text_.finish();
        return why;
    }

    /// The stop string that ended the text, be it text or a mark; or nothing.
    std::string_view matched() const {
        return mark_ ? std::string_view(conditions_.stop_marks[*mark_].name) : text_.matched();
    }

    /// Text that became final since it was asked for last.
    std::string_view released() { return text_.release(); }

    /// The most tokens a round may commit.
    std::size_t budget(std::size_t generated, std::size_t length) const {
        return std::min(conditions_.max_tokens - std::min(generated, conditions_.max_tokens),
                        context_length_ - std::min(length, context_length_));
    }

    /// Whether tokens have text at all.
    bool has_text() const { return static_cast<bool>(written_in_[index_].text_of); }
    text_stream& text() { return text_; }
    const text_stream& text() const { return text_; }

 private:
    finish_reason reason(token t, std::size_t generated, std::size_t length) {
        if (is_stop(t)) return finish_reason::stop_token;
        mark_ = find_mark(t);
        if (mark_) return finish_reason::stop_string;
        if (has_text() && push_text(t)) return finish_reason::stop_string;
        if (generated >= conditions_.max_tokens) return finish_reason::max_tokens;
        if (length >= context_length_) return finish_reason::context;
        return finish_reason::running;
    }

    std::optional<std::size_t> find_mark(token t) const {
        const auto& marks = conditions_.stop_marks;
        const auto found =
            std::find_if(marks.begin(), marks.end(), [t](const stop_mark& each) { return each.id == t; });
        if (found == marks.end()) return std::nullopt;
        return static_cast<std::size_t>(found - marks.begin());
    }
    bool is_stop(token t) const {
        const auto& stops = written_in_[index_].stop_tokens;
        return std::find(stops.begin(), stops.end(), t) != stops.end();
    }

    bool push_text(token t) {
        if (next_piece_ < pieces_.size()) return text_.push(pieces_[next_piece_++]);
        return text_.push(written_in_[index_].text_of(t));
    }

    /// For `bytes` of text, and in each token for what may become final with it.
    void take_memory(std::span<committed_token> block, std::size_t bytes) {
        text_.reserve(bytes);
        std::size_t most = text_.unreleased();
        for (std::size_t i = 0; i < block.size(); ++i) {
            if (i < pieces_.size()) most += most_decoded(pieces_[i]);
            block[i].text.reserve(most);
        }
    }
    /// Bytes that are no UTF-8 become longer.
    static std::size_t most_decoded(std::string_view bytes) {
        const auto is_ascii = [](char c) { return static_cast<unsigned char>(c) < 0x80; };
        if (std::all_of(bytes.begin(), bytes.end(), is_ascii)) return bytes.size();
        return bytes.size() * augur::detail::replacement_character.size();
    }

    stop_conditions conditions_;  // but stop tokens and text_of, which are in the vocabularies
    std::size_t context_length_;
    std::optional<std::size_t> mark_;  ///< index of the one that ended the text
    text_stream text_;
    std::vector<vocabulary> written_in_{};
    std::size_t index_ = 0;
    std::vector<std::string> pieces_{};  // the text of foreseen tokens, stop tokens and marks aside
    std::size_t next_piece_ = 0;         // of those that have not been admitted
};

}  // namespace commit
}  // namespace augur
