// libFuzzer: any bytes at all as a member of a family. See docs/llama/members.md.

#include "fuzz/members.hpp"

#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    try {
        augur::testing::read_member(std::as_bytes(std::span(data, size)));
    } catch (const augur::error&) {  // the one refusal there is; all else is a finding
    }
    return 0;
}
