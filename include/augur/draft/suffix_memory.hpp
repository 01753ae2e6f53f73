#pragma once
// What was served, in bounded memory: the texts of all sessions in two suffix automata, of which the older one goes.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <ostream>
#include <span>
#include <utility>
#include <vector>

#include "augur/draft/suffix_automaton.hpp"
#include "augur/types/error.hpp"
#include "augur/types/token.hpp"

namespace augur::draft {

/// The parts of the texts that it read, with how often each occurred. Texts are read into the younger of two automata;
/// once that has half of the tokens that there is room for, the older one is dropped and the younger one takes its
/// place, so that between one half and all of the latest tokens are known. Nobody may search it while it reads: it
/// reads between rounds. Parts of more than `longest` tokens are not looked for.
/// Cost and memory of a token: suffix_automaton's. Memory where a token fails to be read is as before.
class suffix_memory {
 public:
    static constexpr std::size_t longest_part = 1024;

    /// Where a text ends. It is read on there as long as its automaton is the younger one.
    struct cursor {
        suffix_automaton::cursor at{};
        std::uint64_t generation = 0;
    };

    explicit suffix_memory(std::size_t vocabulary_size, std::size_t most_tokens = std::size_t{1} << 18,
                           std::size_t longest = 64)
        : vocabulary_size_(vocabulary_size), most_tokens_(most_tokens), longest_(longest), ages_{empty(), empty()} {
        if (longest == 0 || longest > longest_part) {
            detail::fail("suffix_memory: longest is ", longest, "; it must be between 1 and ", longest_part);
        }
        if (most_tokens < 2 || most_tokens > 2 * suffix_automaton::most_tokens) {
            detail::fail("suffix_memory: most_tokens is ", most_tokens, "; it must be between 2 and ",
                         2 * suffix_automaton::most_tokens);
        }
    }

    std::size_t vocabulary_size() const { return vocabulary_size_; }
    std::size_t most_tokens() const { return most_tokens_; }
    std::size_t longest() const { return longest_; }
    std::size_t tokens() const { return ages_[0].tokens() + ages_[1].tokens(); }
    std::size_t memory_bytes() const { return ages_[0].memory_bytes() + ages_[1].memory_bytes(); }
    /// The younger one and the older one.
    const std::array<suffix_automaton, 2>& ages() const { return ages_; }

    /// Reads on a text. Throws, having read nothing, where a token is outside the vocabulary; where memory fails, what
    /// is before the cursor is read.
    void read(cursor& text, std::span<const token> more) {
        for (const token t : more) {
            if (t >= 0 && static_cast<std::size_t>(t) < vocabulary_size_) continue;
            detail::fail("suffix_memory: a text holds token ", t, ", but the vocabulary has ", vocabulary_size_);
        }
        for (const token t : more) read(text, t);
    }
    /// Reads a text that does not grow.
    void read(std::span<const token> text) {
        cursor whole;
        read(whole, text);
    }

    friend std::ostream& operator<<(std::ostream& out, const suffix_memory& m) {
        return out << "suffix_memory{.most_tokens=" << m.most_tokens_ << ", .longest=" << m.longest_ << '}';
    }

 private:
    /// Counts are of parts and the token behind them.
    suffix_automaton empty() const { return suffix_automaton(static_cast<std::uint32_t>(longest_ + 1)); }

    void read(cursor& text, token t) {
        if (ages_[0].tokens() >= most_tokens_ / 2) {
            suffix_automaton younger = empty();
            ages_[1] = std::exchange(ages_[0], std::move(younger));
            ++generation_;
        }
        if (text.generation != generation_) text = {.generation = generation_};
        ages_[0].read(text.at, t);
    }

    std::size_t vocabulary_size_;
    std::size_t most_tokens_;
    std::size_t longest_;
    std::array<suffix_automaton, 2> ages_;
    std::uint64_t generation_ = 0;
};

/// Has a memory read the text of one session, its prompt included, after each round:
/// `decode::generate(scheme, prompt, options, draft::suffix_watcher(memory))`.
class suffix_watcher {
 public:
    explicit suffix_watcher(suffix_memory& memory) : memory_(&memory) {}

    /// Reads the tokens of the text behind those that it has read: also of a prompt before the first round.
    void read(std::span<const token> text) {
        for (; known_ < text.size(); ++known_) memory_->read(text_, text.subspan(known_, 1));
    }
    void watch(const auto& view) { read(view.prefix.tokens()); }

 private:
    suffix_memory* memory_;
    suffix_memory::cursor text_{};
    std::size_t known_ = 0;
};

}  // namespace augur::draft
