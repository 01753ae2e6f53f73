#include "augur/io/text/chat_tokens.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <vector>

#include "io/files.hpp"
#include "io/vocabularies.hpp"

BOOST_AUTO_TEST_SUITE(io_chat_tokens)

using namespace augur::io;
using augur::token;

namespace {

const std::vector<chat_message> question = {{"user", "hi"}};

std::vector<token> encoded(const vocabulary& words) {
    const tokenizer tokens(words);
    const chat_template layout(tokens.words());
    return encode_chat(tokens, layout, layout.render(question));
}

}  // namespace

/// Template and flag, each with and without bos, for both kinds of tokenizers.
BOOST_AUTO_TEST_CASE(one_bos_wherever_it_comes_from) {
    for (auto words : {augur::testing::byte_level_words(), augur::testing::sentencepiece_words()}) {
        words.add_eos = true;  // a conversation goes on: none behind it
        for (const bool by_template : {false, true}) {
            for (const bool by_flag : {false, true}) {
                words.chat_template =
                    by_template ? "{{ bos_token }}{{ messages[0].content }}" : "{{ messages[0].content }}";
                words.add_bos = by_flag;
                const auto ids = encoded(words);
                const auto count = std::count(ids.begin(), ids.end(), words.bos);
                BOOST_TEST(count == (by_template || by_flag ? 1 : 0));
                BOOST_TEST((ids.front() == words.bos) == (by_template || by_flag));
                BOOST_TEST(std::count(ids.begin(), ids.end(), words.eos) == 0);
            }
        }
    }
}

/// A template that writes bos elsewhere decides where; a bos that only a message spells is no reason to leave it out.
BOOST_AUTO_TEST_CASE(the_template_decides_where) {
    auto words = augur::testing::byte_level_words();
    words.add_bos = true;
    words.chat_template = "\nx{{ bos_token }}y";
    auto ids = encoded(words);
    BOOST_TEST(std::count(ids.begin(), ids.end(), words.bos) == 1);
    BOOST_TEST(ids.front() != words.bos);
    words.chat_template = "x{{ 'A<|im_' ~ 'start|>' }}";
    ids = encoded(words);
    BOOST_TEST(ids.front() == words.bos);
}

BOOST_AUTO_TEST_SUITE_END()
