// libFuzzer: any bytes at all as what a calibration of `augur tune` holds, its checksum aside. See docs/program.md.

#include "calibration.hpp"

#include <CLI/CLI.hpp>  // as main does: its code is where all of it is included
#include <cstdint>
#include <string_view>

#include "limits.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace augur;
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    try {
        const auto content = io::parse_json<nlohmann::ordered_json>(text, "fuzz", program::most::calibration);
        program::calibration_of(content, "fuzz").text();
    } catch (const error&) {  // the one refusal there is; all else is a finding
    }
    return 0;
}
