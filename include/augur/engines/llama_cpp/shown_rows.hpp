#pragma once
// Where the rows of a run lie: lent by llama.cpp, or copied where a run is several calls.

#include <cstddef>
#include <span>
#include <vector>

#include "augur/engines/llama_cpp/batch.hpp"
#include "augur/engines/llama_cpp/context.hpp"
#include "augur/model/pass.hpp"
#include "augur/types/scores.hpp"

namespace augur::engines::llama_cpp {

/// Of a sequence.
struct shown_rows {
    std::vector<float> copies;         ///< of the last run, where it was several calls
    std::vector<const float*> places;  ///< of all rows of a run that began with this sequence
};

/// Decodes `all`, made of these passes in order, and shows their rows in what `rows_of(sequence)` refers to. They last
/// until the next run of any sequence (pass_limits::rows_end_with_next_run). Throws as context::decode; only what is
/// shown has changed then.
template <class Sequence, class RowsOf>
scattered_scores decode_shown(context& in, batch& all, std::span<const pass<Sequence>> asked, const RowsOf& rows_of) {
    const std::size_t width = in.of().vocabulary_size();
    const bool lent = in.lends(all);
    std::vector<float*> places;
    for (const auto& each : asked) {
        if (lent) break;
        std::vector<float>& copies = rows_of(*each.sequence).copies;
        copies.resize(each.wanted() * width);
        for (std::size_t i = 0; i < each.wanted(); ++i) places.push_back(copies.data() + i * width);
    }
    std::vector<const float*>& shown = rows_of(*asked.front().sequence).places;
    shown.assign(places.begin(), places.end());
    shown.resize(all.rows());
    const float* const rows = in.decode(all, places);
    for (std::size_t i = 0; lent && i < shown.size(); ++i) shown[i] = rows + i * width;
    return {shown.data(), shown.size(), width};
}

}  // namespace augur::engines::llama_cpp
