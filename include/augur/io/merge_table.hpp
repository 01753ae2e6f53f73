#pragma once
// A list of merges, looked up by the pair it starts from.

#include <augur/io/merge_symbols.hpp>
#include <augur/io/vocabulary.hpp>
#include <augur/types/token.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

namespace augur::io {

/// Constant-time lookup of merges; earlier ones have the larger priority. A pair listed twice keeps its first place.
class merge_table {
 public:
    explicit merge_table(const std::vector<merge_rule>& merges) {
        offers_.reserve(merges.size());
        for (std::size_t i = 0; i < merges.size(); ++i) {
            offers_.emplace(key(merges[i].left, merges[i].right),
                            merge_offer{-static_cast<double>(i), merges[i].result});
        }
    }

    std::optional<merge_offer> find(token left, token right) const {
        const auto found = offers_.find(key(left, right));
        if (found == offers_.end()) return std::nullopt;
        return found->second;
    }

 private:
    /// Pairs of small numbers, spread over all bits (the finaliser of splitmix64).
    struct hash {
        std::size_t operator()(std::uint64_t value) const {
            value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9u;
            value = (value ^ (value >> 27)) * 0x94D049BB133111EBu;
            return static_cast<std::size_t>(value ^ (value >> 31));
        }
    };

    static std::uint64_t key(token left, token right) {
        return static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32 | static_cast<std::uint32_t>(right);
    }

    std::unordered_map<std::uint64_t, merge_offer, hash> offers_;
};

}  // namespace augur::io
