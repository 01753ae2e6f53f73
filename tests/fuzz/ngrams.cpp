// libFuzzer: any bytes at all as an n-gram draft checkpoint. See docs/io/read_ngrams.md.

#include "fuzz/ngrams.hpp"

#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    try {
        augur::testing::read_ngram_table(std::as_bytes(std::span(data, size)));
    } catch (const augur::error&) {  // the one refusal there is; all else is a finding
    }
    return 0;
}
