// Every file the fuzzers kept either parses or is refused with augur::error, under any compiler.

#include <boost/test/unit_test.hpp>
#include <filesystem>

#include "fuzz/chat_template.hpp"
#include "fuzz/gguf.hpp"
#include "fuzz/members.hpp"
#include "fuzz/ngrams.hpp"
#include "fuzz/safetensors.hpp"
#include "fuzz/tokenizer_json.hpp"
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

BOOST_AUTO_TEST_CASE(tokenizer_json) {
    const auto seen = replay("tokenizer_json", augur::testing::read_tokenizer);
    BOOST_TEST(seen.parsed >= 5);
    BOOST_TEST(seen.refused >= 10);
}

BOOST_AUTO_TEST_CASE(chat_template) {
    const auto seen = replay("chat_template", augur::testing::read_chat_template);
    BOOST_TEST(seen.parsed >= 5);
    BOOST_TEST(seen.refused >= 2);
}

BOOST_AUTO_TEST_CASE(ngrams) {
    const auto seen = replay("ngrams", augur::testing::read_ngram_table);
    BOOST_TEST(seen.parsed >= 3);
    BOOST_TEST(seen.refused >= 5);
}

BOOST_AUTO_TEST_CASE(members) {
    const auto seen = replay("members", augur::testing::read_checkpoint);
    BOOST_TEST(seen.parsed >= 6);
    BOOST_TEST(seen.refused >= 5);
}

BOOST_AUTO_TEST_SUITE_END()
