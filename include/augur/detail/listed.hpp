#pragma once
// Sparse rows: a list names the entries that may be above -infinity, and results are bit for bit those of a pass over
// all of the row. A list ascends and names each entry once.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "augur/detail/chunks.hpp"
#include "augur/detail/row_scan.hpp"

namespace augur::detail {

using listed_places = std::span<const std::int32_t>;

/// The list, if it is so short that a look at what it names costs less than one at all of the row; else none.
inline listed_places if_short(listed_places places, std::size_t size) {
    return places.size() <= size / 4 ? places : listed_places();
}

/// The entries of the row, together.
inline void gather(std::span<const float> row, listed_places places, float* out) {
    const float* const from = row.data();
    for (std::size_t i = 0; i < places.size(); ++i) out[i] = from[static_cast<std::size_t>(places[i])];
}

/// What is listed of one chunk of a row, which is [begin, end): the numbers first to last of a group.
struct listed_part {
    std::size_t begin, end, first, last;
};

/// At most a chunk's number of listed entries, together, and -infinity after them up to whole vectors, which weighs 0.
struct listed_chunk {
    float values[chunk_size];

    listed_chunk(std::span<const float> row, listed_places places) : size_(places.size()) {
        gather(row, places, values);
        std::fill(values + size_, values + up_to(32), -std::numeric_limits<float>::infinity());
    }

    /// With -infinity up to a whole number of so many, which divides 32.
    std::size_t up_to(std::size_t together) const { return (size_ + together - 1) / together * together; }
    row_extent extent() const { return extent_of_chunk({values, up_to(32)}); }
    /// Of a part of them, by itself.
    row_extent extent(const listed_part& part, bool all_valid) const {
        row_extent seen;
        float most[4] = {seen.largest, seen.largest, seen.largest, seen.largest};  // that do not wait for each other
        const auto look = [&](float value, float& at) { at = value > at ? value : at; };
        std::size_t i = part.first;
        for (; i + 4 <= part.last; i += 4) {
            for (std::size_t way = 0; way < 4; ++way) look(values[i + way], most[way]);
        }
        for (; i < part.last; ++i) look(values[i], most[0]);
        for (const float each : most) look(each, seen.largest);
        const auto is_valid = [](float value) { return value < std::numeric_limits<float>::infinity(); };
        seen.valid = all_valid || std::all_of(values + part.first, values + part.last, is_valid);
        return seen;
    }

 private:
    std::size_t size_;
};

/// visit(places, parts) for the list in groups: as many parts as have no more entries than a chunk, so that vectors are
/// full though parts are small.
template <class Visit>
void for_listed_groups(listed_places places, std::size_t size, const Visit& visit) {
    listed_part parts[chunk_size];
    while (!places.empty()) {
        std::size_t count = 0, taken = 0;
        while (taken < places.size()) {
            const std::size_t begin = static_cast<std::size_t>(places[taken]) / chunk_size * chunk_size;
            const std::size_t end = end_of_chunk(begin, size);
            std::size_t last = taken + 1;
            while (last < places.size() && static_cast<std::size_t>(places[last]) < end) ++last;
            if (last > chunk_size) break;
            parts[count++] = {begin, end, taken, last};
            taken = last;
        }
        visit(places.first(taken), std::span<const listed_part>(parts, count));
        places = places.subspan(taken);
    }
}

/// sum_of_chunk of numbers of which those of a part are given, by their number in its group, and all others are 0:
/// nothing is added for those. Of several at once.
template <std::size_t Count>
std::array<double, Count> sums_of_part(const std::array<const float*, Count>& of, listed_places places,
                                       const listed_part& part) {
    double lanes[Count][8] = {};
    const std::size_t whole = part.begin + (part.end - part.begin) / 8 * 8;
    for (std::size_t i = part.first; i < part.last; ++i) {
        const auto place = static_cast<std::size_t>(places[i]);
        const std::size_t lane = place < whole ? place % 8 : 0;
        for (std::size_t each = 0; each < Count; ++each) lanes[each][lane] += static_cast<double>(of[each][i]);
    }
    std::array<double, Count> sums;
    for (std::size_t each = 0; each < Count; ++each) {
        const auto& l = lanes[each];
        sums[each] = ((l[0] + l[1]) + (l[2] + l[3])) + ((l[4] + l[5]) + (l[6] + l[7]));
    }
    return sums;
}

/// scan_row.
inline row_scan scan_listed(std::span<const float> row, listed_places places) {
    row_scan seen;
    listed_places best;
    for (listed_places rest = places; !rest.empty();) {
        const listed_places part = rest.first(std::min(rest.size(), chunk_size));
        const row_extent here = listed_chunk(row, part).extent();
        seen.valid = seen.valid && here.valid;
        if (here.largest > seen.largest) {
            seen.largest = here.largest;
            best = part;
        }
        rest = rest.subspan(part.size());
    }
    const auto value = [&](std::int32_t place) { return row[static_cast<std::size_t>(place)]; };
    while (!best.empty() && value(best.front()) != seen.largest) best = best.subspan(1);
    if (!best.empty()) seen.first = static_cast<std::size_t>(best.front());
    if (!seen.possible()) seen.first = seen.first / scan_piece * scan_piece;
    return seen;
}

}  // namespace augur::detail
