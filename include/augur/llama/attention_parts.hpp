#pragma once
// Groups the rows of a pass that go through attention together.

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "augur/llama/sequence.hpp"
#include "augur/types/token.hpp"

namespace augur::llama {

/// A new row of a sequence, and where what is wanted of it goes. Rows of a chain follow one another. Rows of a tree do
/// so depth first: then of every smaller depth the row that was placed last is the ancestor.
struct forward_row {
    token id = no_token;
    std::size_t position = 0;
    key_value_cache* cache = nullptr;  ///< has room for the position, and holds those before it
    const float* state = nullptr;      ///< after the layers that it has been through, if any; width
    const float* fused = nullptr;      ///< width, where the model fuses its inputs with hidden states
    float* kept = nullptr;             ///< of a tree: its keys, then values, layer by layer
    float* hidden = nullptr;           ///< width, or null
    float* layer_input = nullptr;      ///< see augur::LayerInputModel; or null
    float* logits = nullptr;           ///< vocabulary, or null; then hidden is wanted, too
};

/// Rows that go through attention together: of a chain, all of whose rows are placed before any attends; or of a tree
/// that begins at row `whole`. In turn, each placed and attending before the next: the rows of a tree that are before
/// its `whole`, for nodes above them were in the call before; and a row that no other sees.
struct attention_part {
    enum class order { chain, tree, in_turn };

    std::size_t first, last;
    order how;
    std::size_t whole = 0;
};

/// The parts of a pass.
class attention_parts {
 public:
    using order = attention_part::order;

    explicit attention_parts(std::size_t most_rows) { parts_.reserve(most_rows); }

    /// Of at most `together` rows each.
    void find(std::span<const forward_row> rows, std::size_t together) {
        rows_ = rows;
        parts_.clear();
        deepest_ = 0;
        for (std::size_t first = 0, last = 0; first < rows.size(); first = last) {
            const bool is_tree = rows[first].kept != nullptr;
            for (last = first + 1; is_one(last) && (is_tree || last - first < together); ++last) continue;
            if (is_tree) {
                find_tree(first, last, together);
            } else {
                const bool alone = last - first == 1 && !is_one(last) && (first == 0 || !is_one(first));
                parts_.push_back({first, last, alone ? order::in_turn : order::chain});
            }
        }
    }

    const std::vector<attention_part>& all() const { return parts_; }
    /// Of trees, the depth of the deepest.
    std::size_t deepest() const { return deepest_; }
    bool has_tree() const {
        return std::any_of(rows_.begin(), rows_.end(), [](const forward_row& row) { return row.kept != nullptr; });
    }
    bool are_in_turn() const {
        return std::all_of(parts_.begin(), parts_.end(), [](const auto& of) { return of.how == order::in_turn; });
    }

 private:
    /// Whether the row is of the sequence of the one before it.
    bool is_one(std::size_t row) const { return row < rows_.size() && rows_[row].cache == rows_[row - 1].cache; }

    void find_tree(std::size_t first, std::size_t last, std::size_t together) {
        std::size_t whole = first, end = 0;
        for (std::size_t row = first; row < last; ++row) {
            if (rows_[row].position < rows_[whole].position) whole = row;
            end = std::max(end, rows_[row].position + 1);
        }
        deepest_ = std::max(deepest_, end - rows_[whole].position);
        if (whole > first) parts_.push_back({first, whole, order::in_turn});
        for (std::size_t row = whole; row < last; row += together) {
            parts_.push_back({row, std::min(last, row + together), order::tree, whole});
        }
    }

    std::span<const forward_row> rows_;
    std::vector<attention_part> parts_;
    std::size_t deepest_ = 0;
};

}  // namespace augur::llama
