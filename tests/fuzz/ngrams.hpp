#pragma once
// What the fuzzer of n-gram tables does with its input, and the replay of its corpus too.

#include <augur/draft/ngram_table.hpp>
#include <augur/io/files/read_ngrams.hpp>
#include <cstddef>
#include <cstdlib>
#include <span>
#include <vector>

namespace augur::testing {

/// Reads the bytes as an n-gram draft checkpoint for a vocabulary of ten, and searches it. Errors: augur::error only.
inline void read_ngram_table(std::span<const std::byte> bytes) {
    const auto table = io::read_ngrams(io::gguf_view(bytes, "fuzz"), 10);
    std::vector<token> text;
    for (int i = 0; i < 40; ++i) {
        text.push_back(i * i % 10);
        const auto found = table.find(text);
        if (found.matched == 0) continue;
        if (found.next < 0 || found.next >= 10 || found.matched > text.size()) std::abort();
    }
}

}  // namespace augur::testing
