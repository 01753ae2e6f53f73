#pragma once
// The committed tokens, and the one way to look past them without leaving a trace.

#include <cstddef>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "augur/types/token.hpp"

namespace augur {

/// How often a token occurs: in the whole prefix, and in its generated part alone.
struct token_count {
    std::size_t anywhere = 0;
    std::size_t generated = 0;
};

/// Committed tokens: the prompt, then what was generated; with counts for penalties kept in step.
class prefix {
 public:
    prefix() = default;
    explicit prefix(std::span<const token> prompt) {
        tokens_.reserve(prompt.size() + 256);
        for (token t : prompt) push(t);
        prompt_length_ = prompt.size();
        for (auto& [id, count] : counts_) count.generated = 0;
    }

    std::span<const token> tokens() const { return tokens_; }
    std::span<const token> generated() const { return tokens().subspan(prompt_length_); }
    std::size_t size() const { return tokens_.size(); }
    std::size_t prompt_length() const { return prompt_length_; }
    /// Distinct tokens with their counts, for penalties.
    const std::unordered_map<token, token_count>& counts() const { return counts_; }

    void push(token t) {
        tokens_.push_back(t);
        token_count& count = counts_[t];
        ++count.anywhere;
        ++count.generated;
    }
    /// Takes back the last generated token; there must be one, for the prompt stays.
    void pop() {
        const auto found = counts_.find(tokens_.back());
        if (--found->second.anywhere == 0) {
            counts_.erase(found);
        } else {
            --found->second.generated;
        }
        tokens_.pop_back();
    }

 private:
    std::vector<token> tokens_;
    std::size_t prompt_length_ = 0;
    std::unordered_map<token, token_count> counts_;
};

/// Extends a prefix by tokens that are only supposed, and takes them back when it goes out of scope, counts included.
class supposition {
 public:
    explicit supposition(prefix& extended) : prefix_(&extended), length_(extended.size()) {}
    supposition(const supposition&) = delete;
    supposition& operator=(const supposition&) = delete;
    ~supposition() {
        while (prefix_->size() > length_) prefix_->pop();
    }

    void push(token t) { prefix_->push(t); }

 private:
    prefix* prefix_;
    std::size_t length_;
};

}  // namespace augur
