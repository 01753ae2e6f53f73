// libFuzzer: any bytes at all as a draft checkpoint of a draft bundle. See docs/llama/draft_checkpoints.md.

#include "fuzz/members.hpp"

#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    try {
        augur::testing::read_checkpoint(std::as_bytes(std::span(data, size)));
    } catch (const augur::error&) {  // the one refusal there is; all else is a finding
    }
    return 0;
}
