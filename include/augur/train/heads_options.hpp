#pragma once
// The options of trainable Medusa and Hydra heads.

#include <array>
#include <cstddef>
#include <string_view>
#include <vector>

#include "augur/train/matrix.hpp"
#include "augur/types/error.hpp"

namespace augur::train {

struct heads_options {
    static constexpr std::size_t most_heads = 64;

    std::size_t heads = 4;    ///< head i guesses the token i + 2 places after its state's
    bool see_tokens = false;  ///< Hydra's: head i reads the embeddings of the i + 1 tokens after the state, too

    /// States, and embeddings as long, that a head reads.
    std::size_t inputs_of(std::size_t head) const { return see_tokens ? head + 2 : 1; }

    friend bool operator==(const heads_options&, const heads_options&) = default;
};

/// Of each head, W, width by inputs, and b, one after the other.
struct heads_layout {
    std::vector<head_block> weights, biases, all;
    std::size_t size = 0;

    heads_layout(const heads_options& chosen, std::size_t width) {
        if (chosen.heads == 0 || chosen.heads > heads_options::most_heads) {
            detail::fail("draft_heads: heads is ", chosen.heads, "; it must be between 1 and ",
                         heads_options::most_heads);
        }
        for (std::size_t i = 0; i < chosen.heads; ++i) {
            weights.push_back(add("weight", width, chosen.inputs_of(i) * width, true));
            biases.push_back(add("bias", width, 1, false));
        }
    }

 private:
    head_block add(std::string_view name, std::size_t rows, std::size_t columns, bool decays) {
        all.push_back({name, size, rows, columns, decays});
        size += all.back().size();
        return all.back();
    }
};

}  // namespace augur::train
