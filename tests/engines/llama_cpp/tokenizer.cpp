#include "augur/engines/llama_cpp/tokenizer.hpp"

#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "augur/io/files/gguf.hpp"
#include "augur/io/text/read_vocabulary.hpp"
#include "augur/io/text/tokenizer.hpp"
#include "engines/tiny_engines.hpp"

using namespace augur;
using namespace augur::testing;
namespace llama_cpp = augur::engines::llama_cpp;

BOOST_AUTO_TEST_SUITE(engines_tokenizer)

namespace {

tiny_gguf with_words() {
    tiny_gguf file;
    file.has_words = true;
    return file;
}

}  // namespace

BOOST_AUTO_TEST_CASE(ids_and_texts_are_those_of_the_bundled_tokenizer) {
    const temporary_directory folder;
    const auto path = with_words().write(folder / "words.gguf");
    const llama_cpp::tokenizer theirs(llama_cpp::weights::load(path, {.gpu_layers = 0}));
    const io::tokenizer ours(io::read_vocabulary(io::gguf_file(path)));
    for (const std::string text : {"", "a", "some words", " two  spaces ", "</s>mark<s>", "it's 42!"}) {
        for (const bool special : {false, true}) {
            for (const bool parsed : {false, true}) {
                const auto got = theirs.encode(text, {.add_special = special, .parse_special = parsed});
                const auto expected = ours.encode(text, {.add_special = special, .parse_special = parsed});
                BOOST_TEST(got == expected, boost::test_tools::per_element());
            }
        }
    }
    for (token id = 0; id < 96; ++id) {
        if (id == 0 || id == 3) continue;  // unknown and unused: each says them its own way
        BOOST_TEST(theirs.bytes_of(id) == ours.bytes_of(id), id);
    }
    BOOST_TEST(theirs.decode(theirs.encode("some words")) == " some words");
    BOOST_TEST(theirs.bytes_of(2, true) == "</s>");
    BOOST_TEST(theirs.bos() == 1);
    BOOST_TEST(theirs.eos() == 2);
    BOOST_TEST(theirs.ends() == (std::vector<token>{2}), boost::test_tools::per_element());
    BOOST_TEST(theirs.chat_template().empty());
}

BOOST_AUTO_TEST_CASE(long_texts_and_long_tokens_have_room) {
    const llama_cpp::tokenizer words(tiny_weights(with_words()));
    const std::string text(5000, 'a');
    BOOST_TEST(words.encode(text, {.add_special = false}).size() == 5001u);
}

BOOST_AUTO_TEST_CASE(what_has_no_text_is_refused) {
    BOOST_CHECK_EXCEPTION(llama_cpp::tokenizer(tiny_weights("llama")), error, says({"no vocabulary", "96"}));
    const llama_cpp::tokenizer words(tiny_weights(with_words()));
    BOOST_CHECK_EXCEPTION(words.bytes_of(96), error, says({"token 96", "vocabulary of 96"}));
    BOOST_CHECK_EXCEPTION(words.bytes_of(-1), error, says({"token -1"}));
}

BOOST_AUTO_TEST_SUITE_END()
