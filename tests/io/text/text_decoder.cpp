#include <augur/io/text/text_decoder.hpp>
#include <boost/test/unit_test.hpp>
#include <random>
#include <string>
#include <vector>

#include "io/vocabularies.hpp"

BOOST_AUTO_TEST_SUITE(io_text_decoder)

using namespace augur;
using namespace augur::io;
using augur::testing::byte_level_words;
using augur::testing::sentencepiece_words;

namespace {

/// What each push returns and then what flush does, with | between them.
std::string trace(const tokenizer& tokens, const std::vector<token>& ids, decode_options options = {}) {
    text_decoder decoder(tokens, options);
    std::string out;
    for (const auto id : ids) out += decoder.push(id) + "|";
    return out + decoder.flush();
}

}  // namespace

BOOST_AUTO_TEST_CASE(code_points_come_whole) {
    const tokenizer tokens(byte_level_words());
    BOOST_TEST(trace(tokens, {'a', 0xE6, 0x97, 0xA5, 'b'}) == "a|||日|b|");
    BOOST_TEST(trace(tokens, {0xF0, 0x9F, 0x98, 0x81}) == "|||😁|");
    BOOST_TEST(trace(tokens, {}) == "");
}

BOOST_AUTO_TEST_CASE(what_cannot_be_completed_shows_as_one_replacement) {
    const tokenizer tokens(byte_level_words());
    BOOST_TEST(trace(tokens, {0xE6, 0x97}) == "||\uFFFD");
    BOOST_TEST(trace(tokens, {0xE6, 0x97, 'a'}) == "||\uFFFDa|");
    BOOST_TEST(trace(tokens, {0xFF, 'a'}) == "\uFFFD|a|");
    BOOST_TEST(trace(tokens, {0xE6, 0xE6, 0x97, 0xA5}) == "|\uFFFD||日|");
}

BOOST_AUTO_TEST_CASE(a_flushed_decoder_starts_afresh) {
    const tokenizer tokens(byte_level_words());
    text_decoder decoder(tokens);
    BOOST_TEST(decoder.push(0xE6) == "");
    BOOST_TEST(decoder.flush() == "\uFFFD");
    BOOST_TEST(decoder.flush() == "");
    BOOST_TEST(decoder.push('a') == "a");
}

BOOST_AUTO_TEST_CASE(control_tokens_show_on_request) {
    const tokenizer tokens(byte_level_words());
    const auto end = augur::testing::token_of(tokens.words(), "<|im_end|>");
    BOOST_TEST(trace(tokens, {'a', end, 'b'}) == "a||b|");
    BOOST_TEST(trace(tokens, {'a', end, 'b'}, {.show_control = true}) == "a|<|im_end|>|b|");
    BOOST_TEST(trace(tokens, {0xE6, end, 0x97, 0xA5}) == "|||日|");
}

BOOST_AUTO_TEST_CASE(the_first_space_of_a_sentencepiece_text) {
    const tokenizer tokens(sentencepiece_words());
    const auto ids = tokens.encode("hello w");
    BOOST_TEST(trace(tokens, ids) == "|hello| w|");
    BOOST_TEST(trace(tokens, ids, {.continues = true}) == "| hello| w|");
}

BOOST_AUTO_TEST_CASE(all_pushes_together_are_decode) {
    for (const auto& tokens : {tokenizer(byte_level_words()), tokenizer(sentencepiece_words())}) {
        for (unsigned seed = 0; seed < 300; ++seed) {
            BOOST_TEST_CONTEXT("seed " << seed) {
                std::mt19937 random(seed);
                std::vector<token> ids(random() % 40);
                for (auto& id : ids) id = static_cast<token>(random() % tokens.vocabulary_size());
                for (const decode_options options : {decode_options{}, decode_options{true, false}, {false, true}}) {
                    text_decoder decoder(tokens, options);
                    std::string streamed;
                    for (const auto id : ids) {
                        const auto piece = decoder.push(id);
                        BOOST_TEST(!find_invalid_utf8(piece).has_value());
                        streamed += piece;
                    }
                    BOOST_TEST(streamed + decoder.flush() == tokens.decode(ids, options));
                }
            }
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
