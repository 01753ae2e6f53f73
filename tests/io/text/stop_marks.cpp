#include <augur/io/text/stop_marks.hpp>
#include <augur/types/error.hpp>
#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "io/files.hpp"
#include "io/vocabularies.hpp"

BOOST_AUTO_TEST_SUITE(io_stop_marks)

using augur::token;
using namespace augur::io;
using augur::testing::says;

namespace {

using strings = std::vector<std::string>;

std::vector<token> ids_of(const tokenizer& words, const strings& stops) {
    std::vector<token> ids;
    for (const auto& mark : stop_marks_of(words, stops)) ids.push_back(mark.id);
    return ids;
}

}  // namespace

BOOST_AUTO_TEST_CASE(names_of_control_tokens_are_marks_and_texts_are_not) {
    const tokenizer words(augur::testing::byte_level_words());
    BOOST_TEST((ids_of(words, {"<|im_start|>", "hello", "<|im_end|>"}) == std::vector<token>{263, 264}));
    BOOST_TEST(ids_of(words, {"<|im_", "im_start", "", "<tool>", "a<tool>b", "h\u00e9"}).empty());
    BOOST_TEST(stop_marks_of(words, strings{"<|im_start|>"})[0].name == "<|im_start|>");
    const tokenizer pieces(augur::testing::sentencepiece_words());
    BOOST_TEST((ids_of(pieces, {"<unk>", "</s>", "<0x0A>"}) == std::vector<token>{0, 2}));
}

BOOST_AUTO_TEST_CASE(a_name_beside_other_text_is_refused) {
    const tokenizer words(augur::testing::byte_level_words());
    for (const std::string stop : {"<|im_end|>\n", "a<|im_end|>", "<|im_end|><|im_end|>", "<tool><|im_end|>"}) {
        BOOST_CHECK_EXCEPTION(stop_marks_of(words, strings{"x", stop}), augur::error,
                              says({"'<|im_end|>' (token 264)", "alone"}));
    }
    BOOST_CHECK_EXCEPTION(stop_marks_of(words, strings{"\xff"}), augur::error, says({"the stop string"}));
}

/// The whole way, as a user of the library goes it.
BOOST_AUTO_TEST_CASE(a_marked_token_ends_the_text_as_a_stop_string) {
    const tokenizer words(augur::testing::byte_level_words());
    const strings stops = {"<|im_start|>", "zz"};
    augur::commit::stop_watcher watcher({.stop_tokens = {264},
                                         .stop_strings = stops,
                                         .text_of = [&](token t) { return words.bytes_of(t); },
                                         .stop_marks = stop_marks_of(words, stops)},
                                        words.vocabulary_size(), 100);
    BOOST_TEST(name_of(watcher.admit('h', 1, 5)) == "running");
    BOOST_TEST(name_of(watcher.admit(265, 2, 6)) == "running");  // <tool>, which writes its text
    BOOST_TEST(watcher.matched() == "");
    BOOST_TEST(name_of(watcher.admit(263, 3, 7)) == "stop_string");
    BOOST_TEST(watcher.matched() == "<|im_start|>");
    BOOST_TEST(watcher.text().text() == "h<tool>");
}

BOOST_AUTO_TEST_SUITE_END()
