// Every file the fuzzers kept either parses or is refused with augur::error, under any compiler.

#include <boost/test/unit_test.hpp>
#include <filesystem>

#include "fuzz/gguf.hpp"
#include "fuzz/safetensors.hpp"
#include "io/files.hpp"

namespace {

struct outcome {
    int parsed = 0;
    int refused = 0;
};

template <class Read>
outcome replay(const char* format, Read read) {
    const auto folder = std::filesystem::path(AUGUR_TEST_DATA).parent_path() / "fuzz" / "corpus" / format;
    outcome seen;
    for (const auto& file : std::filesystem::directory_iterator(folder)) {
        const auto bytes = augur::testing::read_file(file.path());
        BOOST_TEST_CONTEXT(file.path()) {
            try {
                read(bytes);
                ++seen.parsed;
            } catch (const augur::error&) {
                ++seen.refused;
            }
        }
    }
    return seen;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(io_fuzz_corpus)

BOOST_AUTO_TEST_CASE(gguf) {
    const auto seen = replay("gguf", augur::testing::read_gguf);
    BOOST_TEST(seen.parsed >= 10);
    BOOST_TEST(seen.refused >= 10);
}

BOOST_AUTO_TEST_CASE(safetensors) {
    const auto seen = replay("safetensors", augur::testing::read_safetensors);
    BOOST_TEST(seen.parsed >= 10);
    BOOST_TEST(seen.refused >= 10);
}

BOOST_AUTO_TEST_CASE(safetensors_header) {
    const auto seen = replay("safetensors", augur::testing::read_safetensors_header);
    BOOST_TEST(seen.parsed >= 10);
    BOOST_TEST(seen.refused >= 10);
}

BOOST_AUTO_TEST_SUITE_END()
