// libFuzzer: any bytes at all as tokenizer.json and tokenizer_config.json. See docs/io/tokenizer.md.

#include "fuzz/tokenizer_json.hpp"

#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    try {
        augur::testing::read_tokenizer(std::as_bytes(std::span(data, size)));
    } catch (const augur::error&) {  // the one refusal there is; all else is a finding
    }
    return 0;
}
