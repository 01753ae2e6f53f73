#pragma once
// Saves and loads a replay buffer, so that training can resume.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "augur/train/replay.hpp"
#include "augur/train/state_file.hpp"
#include "augur/types/error.hpp"

namespace augur::train {

struct replay_file {
    static constexpr std::string_view kind = "replay";
    static constexpr std::uint32_t version = 2;

    /// Written beside and renamed: a file of that name stays until the new one is whole. `seen` creates the file
    /// beside. Cost: the ring's memory.
    static void save(const replay& from, const std::filesystem::path& path, const state_identity& whose,
                     unfinished_files* seen = nullptr) {
        check_texts(from, path);
        state_writer out(path, kind, version, seen);
        out.put(whose);
        for (const std::size_t each : {from.options_.capacity, from.options_.top, from.options_.context, from.size_,
                                       from.next_, from.refused_}) {
            out.put(std::uint64_t{each});
        }
        out.array(std::span(from.marks_).first(from.size_));
        out.array(std::span(from.hidden_).first(from.size_ * from.width_));
        out.array(std::span(from.logarithms_).first(from.size_ * from.kept_));
        out.array(std::span(from.tokens_).first(from.tokens_.empty() ? 0 : from.size_ * from.kept_));
        out.array(std::span(from.after_).first(from.size_ * from.options_.context));
        out.commit();
    }

    /// Replaces what the ring holds. Throws, with both values, where the file is of another model, depth, width,
    /// vocabulary, capacity, top or context, has samples of a head beyond `heads`, was damaged or cut short; the ring
    /// then stays as it was.
    static void restore(replay& into, const std::filesystem::path& path, const state_identity& here,
                        std::size_t heads = replay::most_heads + 1) {
        check_texts(into, path);
        state_reader in(path, kind, version);
        in.identity().check(here, in.origin());
        const auto same = [&](const char* what, std::size_t own) {
            if (const auto found = in.get<std::uint64_t>(what); found != own) {
                detail::fail(in.origin(), ": ", what, " is ", found, ", but here it is ", own);
            }
        };
        same("the capacity", into.options_.capacity);
        same("top", into.options_.top);
        same("the context", into.options_.context);
        replay read(into.width_, into.vocabulary_, into.options_, into.measured_);
        const auto number = [&](const char* what, std::size_t most) {
            const auto found = in.get<std::uint64_t>(what);
            if (found > most) detail::fail(in.origin(), ": ", what, " is ", found, ", more than ", most);
            return static_cast<std::size_t>(found);
        };
        read.size_ = number("the size", into.options_.capacity);
        read.next_ = number("the next slot", into.options_.capacity - 1);
        if (read.size_ < into.options_.capacity && read.next_ != read.size_) {
            detail::fail(in.origin(), ": its next slot is ", read.next_, ", but it has ", read.size_, " samples");
        }
        read.refused_ = number("refused samples", static_cast<std::size_t>(-1));
        in.fill(std::span(read.marks_).first(read.size_), "marks");
        in.fill(std::span(read.hidden_).first(read.size_ * read.width_), "hidden states");
        in.fill(std::span(read.logarithms_).first(read.size_ * read.kept_), "rows");
        in.fill(std::span(read.tokens_).first(read.tokens_.empty() ? 0 : read.size_ * read.kept_), "tokens");
        in.fill(std::span(read.after_).first(read.size_ * read.options_.context), "tokens after states");
        in.finish();
        check(read, in.origin(), heads);
        read.accepted_ = accepted_of(read, in.origin());
        into = std::move(read);
    }

 private:
    static void check_texts(const replay& of, const std::filesystem::path& path) {
        if (of.options_.past == 0) return;
        detail::fail(path.string(), ": positions of a head that attends are kept with the states of their texts (",
                     of.options_.past, " positions), which a file does not hold");
    }
    /// What a file of the right checksum could still say.
    static void check(const replay& read, const std::string& origin, std::size_t heads) {
        for (std::size_t slot = 0; slot < read.size_; ++slot) {
            const replay::mark of = read.marks_[slot];
            if (of.bit > accept_bit::accepted || of.listed > read.kept_ || of.listed == 0) {
                detail::fail(origin, ": sample ", slot, " has ", of.listed, " of ", read.kept_, " tokens and the bit ",
                             static_cast<unsigned>(of.bit));
            }
            if (of.head >= heads) {
                detail::fail(origin, ": sample ", slot, " is of head ", of.head, ", but here heads are ", heads);
            }
            for (std::size_t i = slot * read.kept_; !read.tokens_.empty() && i < slot * read.kept_ + of.listed; ++i) {
                if (read.tokens_[i] < 0 || static_cast<std::size_t>(read.tokens_[i]) >= read.vocabulary_) {
                    detail::fail(origin, ": sample ", slot, " has token ", read.tokens_[i], " of a vocabulary of ",
                                 read.vocabulary_);
                }
            }
        }
        for (const token each : read.after_) {
            if (each == no_token || (each >= 0 && static_cast<std::size_t>(each) < read.vocabulary_)) continue;
            detail::fail(origin, ": token ", each, " comes after a state, but the vocabulary has ", read.vocabulary_);
        }
    }
    /// The accepted slots in the order in which they are drawn, which is not that of slots once some gave way.
    static std::vector<std::uint32_t> accepted_of(const replay& read, const std::string& origin) {
        const auto kept = std::span(read.marks_).first(read.size_);
        const auto count = static_cast<std::size_t>(
            std::ranges::count_if(kept, [](const auto& each) { return each.bit == accept_bit::accepted; }));
        const auto none = static_cast<std::uint32_t>(read.size_);
        std::vector<std::uint32_t> slots;
        slots.reserve(read.options_.capacity);
        slots.resize(count, none);
        for (std::uint32_t slot = 0; slot < none; ++slot) {
            if (kept[slot].bit != accept_bit::accepted) continue;
            const std::uint32_t place = kept[slot].place;
            if (place >= count || slots[place] != none) {
                detail::fail(origin, ": sample ", slot, " has place ", place, " of ", count,
                             " accepted ones, which it cannot have");
            }
            slots[place] = slot;
        }
        return slots;
    }
};

}  // namespace augur::train
