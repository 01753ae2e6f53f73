#pragma once
// The committed tokens, and the one way to look past them without leaving a trace.

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "augur/types/error.hpp"
#include "augur/types/token.hpp"

namespace augur {

/// How often a token occurs: in the whole prefix, and in its generated part alone.
struct token_count {
    std::size_t anywhere = 0;
    std::size_t generated = 0;
};

/// Distinct tokens with their counts, in order of id: pairs in one piece of memory, so that supposing a token and
/// taking it back allocates nothing. O(log distinct) to find, O(distinct) to add.
class token_counts {
 public:
    using value_type = std::pair<token, token_count>;

    std::size_t size() const { return counts_.size(); }
    auto begin() const { return counts_.begin(); }
    auto end() const { return counts_.end(); }
    auto find(token t) const {
        const auto at = std::lower_bound(begin(), end(), t, before);
        return at != end() && at->first == t ? at : end();
    }
    const token_count& at(token t) const {
        const auto found = find(t);
        if (found == end()) detail::fail("token ", t, " does not occur");
        return found->second;
    }
    bool contains(token t) const { return find(t) != end(); }

    void reserve(std::size_t distinct) { counts_.reserve(distinct); }
    token_count& operator[](token t) {
        auto at = std::lower_bound(counts_.begin(), counts_.end(), t, before);
        if (at == counts_.end() || at->first != t) at = counts_.insert(at, {t, {}});
        return at->second;
    }
    void erase(token t) { counts_.erase(find(t)); }
    void forget_generated() {
        for (auto& [id, count] : counts_) count.generated = 0;
    }

 private:
    static bool before(const value_type& entry, token t) { return entry.first < t; }

    std::vector<value_type> counts_;
};

/// Committed tokens: the prompt, then what was generated; with counts for penalties kept in step.
class prefix {
 public:
    prefix() = default;
    explicit prefix(std::span<const token> prompt) {
        reserve(prompt.size() + 256);
        for (token t : prompt) push(t);
        prompt_length_ = prompt.size();
        counts_.forget_generated();
    }

    std::span<const token> tokens() const { return tokens_; }
    std::span<const token> generated() const { return tokens().subspan(prompt_length_); }
    std::size_t size() const { return tokens_.size(); }
    std::size_t prompt_length() const { return prompt_length_; }
    /// Distinct tokens with their counts, for penalties.
    const token_counts& counts() const { return counts_; }

    /// Storage for so many tokens; pushing up to them allocates nothing.
    void reserve(std::size_t tokens) {
        tokens_.reserve(tokens);
        counts_.reserve(tokens);
    }
    std::size_t capacity() const { return tokens_.capacity(); }
    void push(token t) {
        tokens_.push_back(t);
        token_count& count = counts_[t];
        ++count.anywhere;
        ++count.generated;
    }
    /// Takes back the last generated token; there must be one, for the prompt stays.
    void pop() {
        token_count& count = counts_[tokens_.back()];
        --count.generated;
        if (--count.anywhere == 0) counts_.erase(tokens_.back());
        tokens_.pop_back();
    }

 private:
    std::vector<token> tokens_;
    std::size_t prompt_length_ = 0;
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

/// Extends a prefix by speculative tokens, and takes them back when it goes out of scope, counts included.
class speculative_suffix {
 public:
    explicit speculative_suffix(prefix& extended) : prefix_(&extended), length_(extended.size()) {}
    speculative_suffix(prefix& extended, std::span<const token> by) : speculative_suffix(extended) {
        for (token t : by) push(t);
    }
    speculative_suffix(const speculative_suffix&) = delete;
    speculative_suffix& operator=(const speculative_suffix&) = delete;
    ~speculative_suffix() {
        while (prefix_->size() > length_) prefix_->pop();
    }

    void push(token t) { prefix_->push(t); }

 private:
    prefix* prefix_;
    std::size_t length_;
};

}  // namespace augur
