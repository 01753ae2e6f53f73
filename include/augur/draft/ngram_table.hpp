#pragma once
// A read-only table from n-grams to their most frequent continuation.

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <ostream>
#include <span>
#include <utility>
#include <vector>

#include "augur/types/error.hpp"
#include "augur/types/token.hpp"

namespace augur::draft {

/// The lengths of the contexts that a table knows, and the vocabulary that its tokens are of.
struct ngram_orders {
    std::size_t shortest = 1;  ///< at least 1
    std::size_t longest = 4;   ///< at least `shortest`, at most 16
    std::size_t vocabulary_size = 0;
};

/// The continuation that a table finds for a text's end.
struct found_ngram {
    token next = no_token;
    std::size_t matched = 0;  ///< tokens of context; 0 where none is known
};

/// Refuses lengths that no table knows.
inline void check_orders(const char* who, const ngram_orders& orders) {
    constexpr std::size_t most_tokens = 16;  // so that a search is short
    if (orders.shortest == 0) detail::fail(who, ": the shortest context has 0 tokens; it needs one");
    if (orders.shortest > orders.longest) {
        detail::fail(who, ": the shortest context has ", orders.shortest, " tokens, the longest ", orders.longest);
    }
    if (orders.longest > most_tokens) {
        detail::fail(who, ": the longest context has ", orders.longest, " tokens, more than ", most_tokens);
    }
    if (orders.vocabulary_size == 0) detail::fail(who, ": the vocabulary size is 0");
}

/// The continuation of the longest context at the text's end that the table knows, of at least `least` tokens.
found_ngram find_longest(const auto& table, std::span<const token> text, std::size_t least) {
    const ngram_orders& orders = table.orders();
    for (std::size_t n = std::min(orders.longest, text.size()); n >= std::max(least, orders.shortest); --n) {
        const token next = table.after(text.last(n));
        if (next != no_token) return {next, n};
    }
    return {};
}

/// A read-only hash table from contexts of a few tokens to the token that followed most often. Contexts are kept as 32
/// bits of their hash beside their slot, so that one that is unknown may, rarely, be taken for another: harmless for a
/// draft. Copies share the table. See docs/draft/ngram_table.md for the layout, which files have, too.
class ngram_table {
 public:
    /// `check` and `next` have a slot each, a power of two of them, at most 70% used; no_token is an empty slot's next.
    ngram_table(ngram_orders orders, std::vector<std::int32_t> check, std::vector<token> next)
        : orders_(orders), slots_(std::make_shared<const slots>(slots{std::move(check), std::move(next)})) {
        check_orders("ngram_table", orders);
        check_slots();
    }

    /// What the texts say: for each context that occurs in them at least `least` times, its most frequent continuation;
    /// of several, the one with the smallest id. Contexts do not reach from one text into another.
    template <class Texts = std::vector<std::vector<token>>>
    static ngram_table count(const Texts& texts, ngram_orders orders, std::size_t least = 1) {
        check_orders("ngram_table", orders);
        check_texts(texts, orders.vocabulary_size);
        std::vector<entry> found;
        for (std::size_t n = orders.shortest; n <= orders.longest; ++n) count_contexts(texts, n, least, found);
        std::size_t size = 2;
        while (static_cast<double>(found.size()) > most_used * static_cast<double>(size)) size *= 2;
        std::vector<std::int32_t> check(size);
        std::vector<token> next(size, no_token);
        for (const entry& each : found) {
            const std::size_t slot = slot_of(check, next, each.key);
            if (next[slot] != no_token) continue;  // another context with this hash
            check[slot] = mark(each.key);
            next[slot] = each.next;
        }
        return {orders, std::move(check), std::move(next)};
    }

    const ngram_orders& orders() const { return orders_; }
    std::span<const std::int32_t> check() const { return slots_->check; }
    std::span<const token> next() const { return slots_->next; }
    /// Contexts that it knows.
    std::size_t size() const { return used(slots_->next); }

    /// What mostly follows this very context; no_token where that is not known.
    token after(std::span<const token> context) const {
        return slots_->next[slot_of(slots_->check, slots_->next, key_of(context))];
    }

    using found = found_ngram;
    /// The continuation of the longest context at the text's end that the table knows, of at least `least` tokens.
    found find(std::span<const token> text, std::size_t least = 1) const { return find_longest(*this, text, least); }

    /// The hash of a context, oldest token first.
    static std::uint64_t key_of(std::span<const token> context) {
        std::uint64_t key = 0x9E3779B97F4A7C15 * static_cast<std::uint64_t>(context.size());
        for (token t : context) {
            key = (key ^ static_cast<std::uint32_t>(t)) * 0x100000001b3;
            key ^= key >> 32;
        }
        return key;
    }

    friend std::ostream& operator<<(std::ostream& out, const ngram_table& t) {
        return out << "ngram_table{.shortest=" << t.orders_.shortest << ", .longest=" << t.orders_.longest
                   << ", .size=" << t.size() << '}';
    }

 private:
    static constexpr double most_used = 0.7;  ///< share of the slots; so a search ends

    struct slots {
        std::vector<std::int32_t> check;
        std::vector<token> next;
    };
    struct entry {
        std::uint64_t key;
        token next;
    };

    static std::int32_t mark(std::uint64_t key) {
        return static_cast<std::int32_t>(static_cast<std::uint32_t>(key >> 32));
    }

    /// Where the key is, or the empty slot where it would be.
    static std::size_t slot_of(std::span<const std::int32_t> check, std::span<const token> next, std::uint64_t key) {
        std::size_t slot = static_cast<std::size_t>(key) & (next.size() - 1);
        while (next[slot] != no_token && check[slot] != mark(key)) slot = (slot + 1) & (next.size() - 1);
        return slot;
    }

    static std::size_t used(std::span<const token> next) {
        return next.size() - static_cast<std::size_t>(std::count(next.begin(), next.end(), no_token));
    }

    /// Appends the contexts of n tokens, each with its winner. What is sorted are places: n tokens and one that
    /// follows.
    template <class Texts>
    static void count_contexts(const Texts& texts, std::size_t n, std::size_t least, std::vector<entry>& found) {
        std::vector<std::span<const token>> grams;
        for (const auto& text : texts) {
            for (std::size_t i = 0; i + n < text.size(); ++i) grams.push_back(std::span(text).subspan(i, n + 1));
        }
        std::sort(grams.begin(), grams.end(), [](std::span<const token> a, std::span<const token> b) {
            std::size_t i = 0;  // of one length
            while (i + 1 < a.size() && a[i] == b[i]) ++i;
            return a[i] < b[i];
        });
        for (auto first = grams.begin(); first != grams.end();) {
            const auto differs = [&](std::span<const token> gram) {
                return !std::equal(gram.begin(), gram.end() - 1, first->begin());
            };
            const auto last = std::find_if(first, grams.end(), differs);
            if (static_cast<std::size_t>(last - first) >= least) {
                found.push_back({key_of(first->first(n)), most_frequent({first, last})});
            }
            first = last;
        }
    }

    /// The last token of the most grams, which are sorted.
    static token most_frequent(std::span<const std::span<const token>> grams) {
        token best = no_token;
        std::size_t most = 0;
        for (std::size_t begin = 0, end = 0; begin < grams.size(); begin = end) {
            while (end < grams.size() && grams[end].back() == grams[begin].back()) ++end;
            if (end - begin <= most) continue;
            best = grams[begin].back();
            most = end - begin;
        }
        return best;
    }

    static void check_texts(std::span<const std::vector<token>> texts, std::size_t vocabulary_size) {
        for (const std::vector<token>& text : texts) {
            for (token t : text) {
                if (t >= 0 && static_cast<std::size_t>(t) < vocabulary_size) continue;
                detail::fail("ngram_table: a text holds token ", t, ", but the vocabulary has ", vocabulary_size);
            }
        }
    }

    void check_slots() const {
        const std::size_t size = slots_->next.size();
        if (slots_->check.size() != size) {
            detail::fail("ngram_table: ", slots_->check.size(), " check values for ", size, " slots");
        }
        if (!std::has_single_bit(size)) detail::fail("ngram_table: ", size, " slots are not a power of two");
        for (std::size_t slot = 0; slot < size; ++slot) {
            const token t = slots_->next[slot];
            if (t >= no_token && (t == no_token || static_cast<std::size_t>(t) < orders_.vocabulary_size)) continue;
            detail::fail("ngram_table: slot ", slot, " holds token ", t, ", but the vocabulary has ",
                         orders_.vocabulary_size);
        }
        if (static_cast<double>(this->size()) > most_used * static_cast<double>(size)) {
            detail::fail("ngram_table: ", this->size(), " of ", size, " slots are used, more than 70%");
        }
    }

    ngram_orders orders_;
    std::shared_ptr<const slots> slots_;
};

}  // namespace augur::draft
