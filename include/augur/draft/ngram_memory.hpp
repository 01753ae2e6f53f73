#pragma once
// An n-gram table that is counted online: contexts and their most frequent continuation.

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <ostream>
#include <span>
#include <vector>

#include "augur/draft/ngram_store.hpp"
#include "augur/draft/ngram_table.hpp"
#include "augur/types/error.hpp"
#include "augur/types/token.hpp"

namespace augur::draft {

/// A hash table of fixed size from contexts of a few tokens to the token that mostly followed, which learns from texts
/// as they grow. Of a context it keeps one continuation and a count: the same token adds one, another takes one, and
/// takes the place at 0. Where a context finds its four slots taken, the one counted least, of several the one that was
/// longest not confirmed, loses one, and the place at 0; so what is not seen again goes. Contexts are kept as
/// ngram_table keeps them. Nobody may search it while it learns: learn() is called between rounds.
/// Cost: learn(), O(longest^2) per token; a search the same. Memory: 12 bytes a slot, taken when it is made.
/// Source: Boyer and Moore's majority vote, by context.
class ngram_memory {
 public:
    static constexpr std::size_t most_slots = std::size_t{1} << 32;

    /// `slots`: rounded up to a power of two, at least 4.
    explicit ngram_memory(ngram_orders orders, std::size_t slots = std::size_t{1} << 18) : orders_(orders) {
        check_orders("ngram_memory", orders);
        if (slots == 0 || slots > most_slots) {
            detail::fail("ngram_memory: there are ", slots, " slots; it must be between 1 and ", most_slots);
        }
        slots_.resize(std::max(std::bit_ceil(slots), bucket_size));
    }

    const ngram_orders& orders() const { return orders_; }
    std::size_t slots() const { return slots_.size(); }
    std::size_t memory_bytes() const { return slots_.size() * sizeof(slot); }
    /// Contexts that it knows.
    std::size_t size() const {
        return static_cast<std::size_t>(
            std::count_if(slots_.begin(), slots_.end(), [](const slot& each) { return each.count > 0; }));
    }

    /// Takes in the tokens of a text from `from` on, with those before them as their contexts. Throws, having learned
    /// nothing, where one is outside the vocabulary.
    void learn(std::span<const token> text, std::size_t from = 0) {
        const std::size_t first = from - std::min(from, orders_.longest);
        for (std::size_t i = first; i < text.size(); ++i) {
            if (text[i] >= 0 && static_cast<std::size_t>(text[i]) < orders_.vocabulary_size) continue;
            detail::fail("ngram_memory: a text holds token ", text[i], ", but the vocabulary has ",
                         orders_.vocabulary_size);
        }
        for (std::size_t i = from; i < text.size(); ++i) {
            for (std::size_t n = orders_.shortest; n <= std::min(orders_.longest, i); ++n) {
                count(ngram_table::key_of(text.subspan(i - n, n)), text[i]);
            }
        }
    }

    /// What mostly follows this very context; no_token where that is not known.
    token after(std::span<const token> context) const {
        const std::uint64_t key = ngram_table::key_of(context);
        for (const slot& each : std::span(slots_).subspan(bucket_of(key), bucket_size)) {
            if (each.count > 0 && each.check == mark(key)) return each.next;
        }
        return no_token;
    }
    found_ngram find(std::span<const token> text, std::size_t least = 1) const {
        return find_longest(*this, text, least);
    }

    friend std::ostream& operator<<(std::ostream& out, const ngram_memory& m) {
        return out << "ngram_memory{.shortest=" << m.orders_.shortest << ", .longest=" << m.orders_.longest
                   << ", .slots=" << m.slots() << '}';
    }

 private:
    static constexpr std::size_t bucket_size = 4;

    struct slot {
        std::uint32_t check = 0;
        token next = no_token;
        std::uint32_t count = 0;  ///< 0: empty
    };

    static std::uint32_t mark(std::uint64_t key) { return static_cast<std::uint32_t>(key >> 32); }
    std::size_t bucket_of(std::uint64_t key) const {
        return static_cast<std::size_t>((key * 0x9E3779B97F4A7C15) >> 32) & (slots_.size() - bucket_size);
    }

    void count(std::uint64_t key, token next) {
        const auto bucket = std::span(slots_).subspan(bucket_of(key), bucket_size);
        const auto known = std::find_if(bucket.begin(), bucket.end(),
                                        [&](const slot& each) { return each.count > 0 && each.check == mark(key); });
        const auto fewer = [](const slot& a, const slot& b) { return a.count < b.count; };
        const auto of = known != bucket.end() ? known : std::min_element(bucket.begin(), bucket.end(), fewer);
        if (known != bucket.end() && known->next == next) {
            known->count += known->count < std::numeric_limits<std::uint32_t>::max() ? 1 : 0;
        } else {
            if (of->count > 0) --of->count;
            if (of->count > 0) return;
            *of = {mark(key), next, 1};
        }
        std::rotate(of, of + 1, bucket.end());
    }

    ngram_orders orders_;
    std::vector<slot> slots_;
};

/// Drafts from a memory that learns: refers to it.
using learned_ngrams = ngram_lookup<const ngram_memory&>;

/// Lets a memory learn from the text of one session, its prompt included, after each round:
/// `decode::generate(scheme, prompt, options, draft::ngram_watcher(memory))`.
class ngram_watcher {
 public:
    explicit ngram_watcher(ngram_memory& memory) : memory_(&memory) {}

    void watch(const auto& view) {
        const auto text = view.prefix.tokens();
        memory_->learn(text, known_);
        known_ = text.size();
    }

 private:
    ngram_memory* memory_;
    std::size_t known_ = 0;
};

}  // namespace augur::draft
