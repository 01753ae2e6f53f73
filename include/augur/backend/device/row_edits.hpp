#pragma once
// Logit bias, penalties and token masks applied to a copy of rows in device memory.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "augur/backend/device/row_masks.hpp"
#include "augur/backend/device/scan_rows.hpp"
#include "augur/backend/device/send.hpp"
#include "augur/backend/device/system.hpp"
#include "augur/backend/device/team.hpp"
#include "augur/transform/pipeline.hpp"
#include "augur/types/error.hpp"
#include "augur/types/prefix.hpp"
#include "augur/types/text_follower.hpp"
#include "augur/types/token.hpp"
#include "augur/types/topology.hpp"

namespace augur::backend::device {

struct added_bias {
    token id = no_token;
    float by = 0;
};

/// How often a token stands in a prefix: in all of it, and in its generated part.
struct occurrences {
    std::uint32_t anywhere = 0;
    std::uint32_t generated = 0;
};

struct occurring_token {
    token id = no_token;
    occurrences count;
};

/// Kernel: what is now known of some tokens, each named once.
struct note_occurrences {
    static constexpr unsigned threads = 256;

    const occurring_token* some;
    std::size_t count;
    occurrences* all;  ///< by token

    std::size_t blocks() const { return (count + threads - 1) / threads; }
    static constexpr std::size_t shared_bytes() { return 0; }

    template <class Team>
    AUGUR_KERNEL void operator()(const Team& team) const {
        team.each([&](unsigned thread) {
            const std::size_t i = team.block() * threads + thread;
            if (i < count) all[some[i].id] = some[i].count;
        });
    }
};

/// Kernel: copies of rows with transform::bias, transform::penalties and what a mask removes. The row after i drafted
/// tokens counts them, too; in a tree the row after a node counts those on the path to it. A block per row and tile.
/// Cost: a look at each logit, and per row as many more comparisons as there are drafted tokens before it; each block
/// reads all biases.
struct edit_rows {
    static constexpr unsigned threads = 256;

    rows_view of;
    float* edited;             ///< as large as `of`
    const added_bias* biases;  ///< those of a token one after the other
    std::size_t bias_count;
    transform::penalties penalties;
    const occurrences* before;  ///< by token, or null: no penalties
    const token* drafted;
    std::size_t first = 0;                   ///< of these, how many stand before the first row
    const std::int32_t* parents = nullptr;   ///< of the drafted tokens; null: they are a chain
    const std::uint32_t* removed = nullptr;  ///< of each row, as removed_tokens; null: no mask

    std::size_t blocks() const { return of.count * chunk_tile::tiles_in(of.vocabulary_size); }
    static constexpr std::size_t shared_bytes() { return 0; }

    template <class Team>
    AUGUR_KERNEL void operator()(const Team& team) const {
        const std::size_t tiles = chunk_tile::tiles_in(of.vocabulary_size), row = team.block() / tiles;
        const std::size_t begin = team.block() % tiles * chunk_tile::elements, left = of.vocabulary_size - begin;
        const std::size_t end = begin + (left < chunk_tile::elements ? left : chunk_tile::elements);
        float* const to = edited + row * of.vocabulary_size;
        team.each([&](unsigned thread) {
            for (std::size_t i = begin + thread; i < end; i += threads) to[i] = of.row(row)[i];
        });
        team.each([&](unsigned thread) {
            for (std::size_t i = thread; i < bias_count; i += threads) add_biases(i, begin, end, to);
        });
        if (before == nullptr && removed == nullptr) return;
        team.each([&](unsigned thread) {
            for (std::size_t i = begin + thread; i < end; i += threads) {
                if (before != nullptr) penalise(i, first + row, to);
                if (removed != nullptr) remove(i, row, to);
            }
        });
    }

 private:
    /// All biases of one token are one thread's, so that they add up in their order.
    AUGUR_KERNEL void add_biases(std::size_t i, std::size_t begin, std::size_t end, float* to) const {
        const token id = biases[i].id;
        const auto at = static_cast<std::size_t>(id);
        if (at < begin || at >= end || (i > 0 && biases[i - 1].id == id)) return;
        for (; i < bias_count && biases[i].id == id; ++i) to[at] += biases[i].by;
    }

    AUGUR_KERNEL void penalise(std::size_t i, std::size_t after, float* to) const {
        occurrences count = before[i];
        for (std::int32_t j = static_cast<std::int32_t>(after) - 1; j >= 0;
             j = parents == nullptr ? j - 1 : parents[j]) {
            const std::uint32_t again = static_cast<std::size_t>(drafted[j]) == i;
            count.anywhere += again;
            count.generated += again;
        }
        if (count.anywhere == 0) return;
        float logit = to[i];
        penalties.apply(logit, static_cast<float>(count.generated));
        to[i] = logit;
    }

    /// Not a logit that makes the row invalid, whatever is removed.
    AUGUR_KERNEL void remove(std::size_t i, std::size_t row, float* to) const {
        constexpr float infinity = std::numeric_limits<float>::infinity();
        const removed_tokens here{removed + row * removed_tokens::words_in(of.vocabulary_size)};
        if (here.contains(i) && of.row(row)[i] < infinity) to[i] = -infinity;
    }
};

/// For edit_rows.
inline std::vector<added_bias> in_order_of_tokens(const transform::bias& bias) {
    std::vector<added_bias> sorted;
    for (const auto& [id, by] : bias.added) sorted.push_back({id, by});
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const added_bias& a, const added_bias& b) { return a.id < b.id; });
    return sorted;
}

/// Bias, penalties and mask of up to `most_rows` rows at a time, with the system's memory for it, taken at
/// construction: biases, a copy of the rows, for penalties eight bytes per token of the vocabulary, and row_masks'.
/// Settings without them take none, and rows stay as they are.
template <System S>
class row_edits {
 public:
    row_edits(const S& on, const transform::settings& chosen, std::size_t vocabulary_size, std::size_t most_rows)
        : on_(on),
          penalties_(chosen.penalties),
          biases_(on, std::span<const added_bias>(in_order_of_tokens(chosen.bias))),
          masks_(on, chosen.mask, vocabulary_size, most_rows) {
        if (!chosen.bias.active() && !penalties_.active() && !masks_.active()) return;
        edited_ = buffer<float, S>(on, most_rows * vocabulary_size);
        if (!penalties_.active()) return;
        counts_ = buffer<occurrences, S>(on, vocabulary_size);
        noted_ = buffer<occurring_token, S>(on, most_noted);
        on.clear(counts_.data(), counts_.memory_bytes());
        changed_.reserve(most_noted);
        entries_.reserve(most_noted);
    }

    /// Counts the tokens of a prefix, for penalties. Costs nothing without them; else what has changed since the last
    /// one crosses, 12 bytes for each token of another count.
    void on_commit(const prefix& before) {
        if (!penalties_.active()) return;
        const std::size_t same = note_changes(before);
        for (std::size_t begin = 0; begin < changed_.size(); begin += most_noted) {
            upload(before.counts(), std::span(changed_).subspan(begin, std::min(most_noted, changed_.size() - begin)));
        }
        const std::span<const token> fresh = before.tokens().subspan(same);
        followed_.resize(same);
        follower_.cut(same);
        followed_.insert(followed_.end(), fresh.begin(), fresh.end());
        prompt_length_ = before.prompt_length();
    }

    /// Asks the mask about the row after this prefix and those after each drafted token, of a chain or of a tree with
    /// these parents. A row after a token that the mask has removed is not asked about, as on the host: nothing gets
    /// there. Costs nothing without a mask; else row_masks', and vocabulary / 8 bytes per row cross.
    void on_draft(const prefix& before, std::span<const token> drafted, std::span<const std::int32_t> parents = {}) {
        if (!masks_.active()) return;
        masked_rows_ = 0;
        copy_to_mask(before);
        masks_.ask(0, masked_);
        for (std::size_t node = 0; node < drafted.size(); ++node) {
            if (masks_.allows(static_cast<std::size_t>(parents::of(parents, node) + 1), drafted[node])) {
                ask_after(node, drafted, parents);
            } else {
                masks_.skip(node + 1);
            }
        }
        masked_rows_ = drafted.size() + 1;
        masks_.upload(on_, masked_rows_);
    }

    /// Launches the edits of rows at `position`, each after one more of the drafted tokens and, where these have
    /// `parents`, the path to it; returns where they will be: in memory that the next edits overwrite. Refuses a
    /// position other than the followed prefix's end.
    rows_view edited(const rows_view& of, const token* drafted, std::size_t position,
                     const std::int32_t* parents = nullptr) const {
        if (edited_.size() == 0) return of;
        if (penalties_.active() && position != followed_.size()) {
            augur::detail::fail("penalties count the tokens of a prefix, and the last that was followed has ",
                                followed_.size(), ", but the round begins at position ", position,
                                "; call on_commit(prefix) before each round");
        }
        if (masks_.active() && (masked_rows_ != of.count || masked_.size() != position)) {
            augur::detail::fail("settings.mask is asked on the host, and it was about ", masked_rows_,
                                " rows from position ", masked_.size(), " on, but the round has ", of.count,
                                " from position ", position, " on; call on_draft(prefix, drafted) before each round");
        }
        const edit_rows edit{of, edited_.data(), biases_.data(), biases_.size(), penalties_, counts_.data(), drafted,
                             0,  parents,        masks_.bits()};
        on_.launch(edit.blocks(), edit);
        return {edited_.data(), of.count, of.vocabulary_size};
    }

    std::size_t memory_bytes() const {
        return biases_.memory_bytes() + masks_.memory_bytes() + edited_.memory_bytes() + counts_.memory_bytes() +
               noted_.memory_bytes();
    }

 private:
    static constexpr std::size_t most_noted = 1024;  // at a time

    void ask_after(std::size_t node, std::span<const token> drafted, std::span<const std::int32_t> parents) {
        path_.clear();
        for (auto at = static_cast<std::int32_t>(node); at >= 0;) {
            path_.push_back(drafted[static_cast<std::size_t>(at)]);
            at = parents::of(parents, static_cast<std::size_t>(at));
        }
        speculative_suffix speculative(masked_);
        for (; !path_.empty(); path_.pop_back()) speculative.push(path_.back());
        masks_.ask(node + 1, masked_);
    }

    /// Into masked_, in which drafts are supposed: what is new.
    void copy_to_mask(const prefix& before) {
        const std::size_t same = mask_follower_.shared(masked_.tokens(), before.tokens());
        if (before.prompt_length() != masked_.prompt_length() || same < before.prompt_length()) {
            if (masked_.capacity() < before.capacity()) masked_.reserve(before.capacity());
            masked_ = before;
            return;
        }
        while (masked_.size() > same) masked_.pop();
        mask_follower_.cut(same);
        for (const token t : before.tokens().subspan(same)) masked_.push(t);
    }

    /// Into changed_: tokens that may have another count than before, each once. Returns where they begin.
    std::size_t note_changes(const prefix& before) {
        const auto now = before.tokens();
        std::size_t same = follower_.shared(followed_, now);
        if (before.prompt_length() != prompt_length_) same = std::min({same, before.prompt_length(), prompt_length_});
        const auto from = static_cast<std::ptrdiff_t>(same);
        changed_.assign(followed_.begin() + from, followed_.end());
        changed_.insert(changed_.end(), now.begin() + from, now.end());
        std::sort(changed_.begin(), changed_.end());
        changed_.erase(std::unique(changed_.begin(), changed_.end()), changed_.end());
        std::erase_if(changed_, [&](token t) { return static_cast<std::size_t>(t) >= counts_.size(); });
        return same;
    }

    void upload(const token_counts& counts, std::span<const token> some) {
        entries_.clear();
        for (const token t : some) {
            const auto found = counts.find(t);
            const token_count count = found == counts.end() ? token_count{} : found->second;
            entries_.push_back(
                {t, {static_cast<std::uint32_t>(count.anywhere), static_cast<std::uint32_t>(count.generated)}});
        }
        send(on_, noted_.data(), entries_);
        const note_occurrences note{noted_.data(), entries_.size(), counts_.data()};
        on_.launch(note.blocks(), note);
    }

    S on_;
    transform::penalties penalties_;
    buffer<added_bias, S> biases_;
    row_masks<S> masks_;
    buffer<float, S> edited_;
    buffer<occurrences, S> counts_;
    buffer<occurring_token, S> noted_;
    std::vector<token> followed_, changed_;
    text_follower follower_, mask_follower_;
    std::size_t prompt_length_ = 0;
    std::vector<occurring_token> entries_;  // on their way
    prefix masked_;                         // after which the mask was asked last
    std::vector<token> path_;
    std::size_t masked_rows_ = 0;
};

}  // namespace augur::backend::device
