// libFuzzer: any bytes at all as a model file. See docs/io/safetensors.md.

#include "fuzz/safetensors.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    for (const auto read : {augur::testing::read_safetensors, augur::testing::read_safetensors_header}) {
        try {
            read(std::as_bytes(std::span(data, size)));
        } catch (const augur::error&) {  // the one refusal there is; all else is a finding
        }
    }
    return 0;
}
