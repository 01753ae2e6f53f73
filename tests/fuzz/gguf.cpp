// libFuzzer: any bytes at all as a model file. See docs/io/gguf.md.

#include "fuzz/gguf.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    try {
        augur::testing::read_gguf(std::as_bytes(std::span(data, size)));
    } catch (const augur::error&) {  // the one refusal there is; all else is a finding
    }
    return 0;
}
