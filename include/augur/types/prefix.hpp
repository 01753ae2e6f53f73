#pragma once
// The prefix: the committed tokens, with a way to look ahead without leaving a trace.

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>
#include <vector>

#include "augur/detail/identity.hpp"
#include "augur/types/error.hpp"
#include "augur/types/token.hpp"
#include "augur/types/token_counts.hpp"

namespace augur {

/// The tokens of a prefix, and how many of them can no longer change. Made of other tokens, it knows nothing of them.
class prefix_tokens : public std::span<const token> {
 public:
    prefix_tokens() = default;
    template <class Tokens>
    requires(std::convertible_to<Tokens, std::span<const token>> &&
             !std::derived_from<std::remove_cvref_t<Tokens>, prefix_tokens>) prefix_tokens(Tokens&& tokens)
        : std::span<const token>(tokens) {}
    prefix_tokens(std::span<const token> tokens, std::uint64_t text, std::size_t settled)
        : std::span<const token>(tokens), text_(text), settled_(settled) {}

    prefix_tokens first(std::size_t count) const {
        return {std::span<const token>::first(count), text_, std::min(settled_, count)};
    }
    /// Which prefix they are of; 0 where that is not known. Settled tokens of one text are the same for ever.
    std::uint64_t text() const { return text_; }
    /// So many of the first cannot change any more: the committed ones.
    std::size_t settled() const { return settled_; }

 private:
    std::uint64_t text_ = 0;
    std::size_t settled_ = 0;
};

/// Committed tokens: the prompt, then what was generated; with counts for penalties kept in step. A text_follower
/// finds what is new in time that does not depend on the length.
class prefix {
 public:
    prefix() = default;
    explicit prefix(std::span<const token> prompt) {
        reserve(prompt.size() + 256);
        for (token t : prompt) push(t);
        prompt_length_ = prompt.size();
        counts_.forget_generated();
    }

    prefix_tokens tokens() const { return {tokens_, text_.value(), settled()}; }
    std::span<const token> generated() const { return std::span(tokens_).subspan(prompt_length_); }
    std::size_t size() const { return tokens_.size(); }
    std::size_t prompt_length() const { return prompt_length_; }
    /// All tokens but speculative ones.
    std::size_t settled() const { return std::min(speculative_from_, tokens_.size()); }
    /// Distinct tokens with their counts, for penalties.
    const token_counts& counts() const { return counts_; }

    /// Storage for so many tokens; pushing up to them allocates nothing.
    void reserve(std::size_t tokens) {
        tokens_.reserve(tokens);
        counts_.reserve(tokens);
    }
    std::size_t capacity() const { return tokens_.capacity(); }
    /// If memory fails, nothing has changed.
    void push(token t) {
        if (tokens_.size() == tokens_.capacity()) tokens_.reserve(2 * tokens_.size() + 1);
        token_count& count = counts_[t];
        ++count.anywhere;
        ++count.generated;
        tokens_.push_back(t);
    }
    /// Takes back the last generated token; there must be one, for the prompt stays.
    void pop() {
        if (tokens_.size() <= speculative_from_) text_.renew();
        token_count& count = counts_[tokens_.back()];
        --count.generated;
        if (--count.anywhere == 0) counts_.erase(tokens_.back());
        tokens_.pop_back();
    }

 private:
    friend class speculative_suffix;

    std::vector<token> tokens_;
    std::size_t prompt_length_ = 0;
    std::size_t speculative_from_ = std::numeric_limits<std::size_t>::max();
    detail::identity text_;
    token_counts counts_;
};

/// The prompt, where a model with this vocabulary and context can continue it.
inline std::span<const token> checked_prompt(std::span<const token> prompt, std::size_t vocabulary,
                                             std::size_t context) {
    using detail::fail;
    if (prompt.empty()) fail("the prompt is empty: decoding needs at least one token to continue");
    if (prompt.size() >= context) {
        fail("the prompt has ", prompt.size(), " tokens, which leaves no room in a context of ", context);
    }
    for (std::size_t i = 0; i < prompt.size(); ++i) {
        if (prompt[i] < 0 || static_cast<std::size_t>(prompt[i]) >= vocabulary) {
            fail("prompt token ", i, " is ", prompt[i], ", but the vocabulary has ", vocabulary, " tokens");
        }
    }
    return prompt;
}

/// Extends a prefix by speculative tokens, and takes them back when it goes out of scope, counts included. Those that
/// are open at once end in the opposite order.
class speculative_suffix {
 public:
    explicit speculative_suffix(prefix& extended)
        : prefix_(&extended), length_(extended.size()), outer_(extended.speculative_from_) {
        prefix_->speculative_from_ = std::min(outer_, length_);
    }
    speculative_suffix(prefix& extended, std::span<const token> by) : speculative_suffix(extended) {
        for (token t : by) push(t);
    }
    speculative_suffix(const speculative_suffix&) = delete;
    speculative_suffix& operator=(const speculative_suffix&) = delete;
    ~speculative_suffix() {
        while (prefix_->size() > length_) prefix_->pop();
        prefix_->speculative_from_ = outer_;
    }

    void push(token t) { prefix_->push(t); }

 private:
    prefix* prefix_;
    std::size_t length_;
    std::size_t outer_;  // where others began
};

}  // namespace augur
