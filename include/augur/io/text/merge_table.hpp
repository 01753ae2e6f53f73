#pragma once
// A list of merges, looked up by pair.

#include <augur/io/text/merge_symbols.hpp>
#include <augur/io/text/vocabulary.hpp>
#include <augur/types/token.hpp>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace augur::io {

/// Constant-time lookup of merges; earlier ones have the larger priority. A pair listed twice keeps its first place. An
/// open-addressed table at most half full, because a lookup is the inner step of encoding: it touches one cache line.
class merge_table {
 public:
    explicit merge_table(const std::vector<merge_rule>& merges)
        : slots_(std::bit_ceil(2 * merges.size() + 1)), mask_(slots_.size() - 1) {
        for (std::size_t i = 0; i < merges.size(); ++i) {
            auto& slot = slots_[find_slot(merges[i].left, merges[i].right)];
            if (slot.result != no_token) continue;
            slot = {merges[i].left, merges[i].right, merges[i].result, static_cast<std::uint32_t>(i)};
        }
    }

    std::optional<merge_offer> find(token left, token right) const {
        const auto& slot = slots_[find_slot(left, right)];
        if (slot.result == no_token) return std::nullopt;
        return merge_offer{-static_cast<double>(slot.rank), slot.result};
    }

 private:
    struct entry {
        token left = no_token;
        token right = no_token;
        token result = no_token;  ///< no_token in a free slot
        std::uint32_t rank = 0;
    };

    /// The slot that holds the pair, or the free one where it belongs.
    std::size_t find_slot(token left, token right) const {
        std::uint64_t mixed =
            static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32 | static_cast<std::uint32_t>(right);
        mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9u;  // the finaliser of splitmix64
        mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EBu;
        for (auto at = static_cast<std::size_t>(mixed ^ (mixed >> 31)) & mask_;; at = (at + 1) & mask_) {
            const auto& slot = slots_[at];
            if (slot.result == no_token || (slot.left == left && slot.right == right)) return at;
        }
    }

    std::vector<entry> slots_;
    std::size_t mask_;
};

}  // namespace augur::io
