#include "augur/io/text/text_codec.hpp"

#include <augur/io/text/tokenizer.hpp>
#include <augur/switching/speaker.hpp>
#include <boost/test/unit_test.hpp>
#include <random>
#include <string>
#include <vector>

#include "io/vocabularies.hpp"

BOOST_AUTO_TEST_SUITE(io_text_codec)

using namespace augur;
using namespace augur::io;
using namespace std::string_literals;
using augur::testing::byte_level_words;
using augur::testing::sentencepiece_words;

static_assert(switching::TextCodec<text_codec>);

namespace {

/// The names of the tokens with | between them.
std::string names(const vocabulary& words, const std::vector<token>& ids) {
    std::string out;
    for (const auto id : ids) out.append("|").append(words.texts[static_cast<std::size_t>(id)]);
    return out;
}

std::string there_and_back(const text_codec& codec, std::string_view bytes) {
    std::string back;
    for (const token t : codec.encode(bytes)) back += codec.bytes_of(t);
    return back;
}

/// Every vocabulary that has a token for each byte.
std::vector<vocabulary> whole_vocabularies() {
    std::vector<vocabulary> all{byte_level_words()};
    for (const auto prefix : {space_prefix::never, space_prefix::at_start, space_prefix::always}) {
        all.push_back(sentencepiece_words());
        all.back().prefix = prefix;
    }
    return all;
}

}  // namespace

BOOST_AUTO_TEST_CASE(no_space_and_no_bos_are_put_in_front) {
    const auto words = sentencepiece_words();  // asks for both
    const text_codec codec{tokenizer(words)};
    BOOST_TEST(names(words, codec.encode("hello")) == "|hello");
    BOOST_TEST(names(words, codec.encode(" hello")) == "|▁hello");
    BOOST_TEST(names(words, codec.encode(" w")) == "|▁w");
    BOOST_TEST(codec.encode("").empty());
    auto ending = byte_level_words();
    ending.add_bos = ending.add_eos = true;
    BOOST_TEST(names(ending, text_codec{tokenizer(ending)}.encode("he")) == "|he");
}

BOOST_AUTO_TEST_CASE(what_is_no_text_is_spelled) {
    const auto words = sentencepiece_words();
    const text_codec codec{tokenizer(words)};
    BOOST_TEST(names(words, codec.encode("he\xE6\x97")) == "|he|<0xE6>|<0x97>");
    BOOST_TEST(names(words, codec.encode("\xA5hello\xFF日")) == "|<0xA5>|hello|<0xFF>|日");
    const auto bytes = byte_level_words();
    BOOST_TEST((text_codec{tokenizer(bytes)}.encode("he\xFFhe") == std::vector<token>{256, 0xFF, 256}));
}

/// Inside SentencePiece's tokens U+2581 is a space.
BOOST_AUTO_TEST_CASE(the_mark_of_a_space_stays_itself) {
    const auto words = sentencepiece_words();
    const text_codec codec{tokenizer(words)};
    BOOST_TEST(names(words, codec.encode("he▁w w")) == "|he|<0xE2>|<0x96>|<0x81>|w|▁w");
    BOOST_TEST(there_and_back(codec, "▁") == "▁");
    auto merging = byte_level_words({"â ĸ", "âĸ ģ"});  // elsewhere it is a character like any other
    BOOST_TEST(names(merging, text_codec{tokenizer(merging)}.encode("▁")) == "|âĸģ");
}

BOOST_AUTO_TEST_CASE(special_tokens_typed_as_text_are_text) {
    for (const auto& words : whole_vocabularies()) {
        const tokenizer tokens(words);
        const text_codec codec(tokens);
        const std::string text = "<s></s><|im_end|><|endoftext|>he<tool_call>";
        for (const token t : codec.encode(text)) BOOST_TEST(!tokens.is_control(t));
        BOOST_TEST(there_and_back(codec, text) == text);
    }
}

BOOST_AUTO_TEST_CASE(special_tokens_stand_for_nothing) {
    const auto words = byte_level_words();
    const text_codec codec{tokenizer(words)};
    BOOST_TEST(codec.bytes_of(words.eos) == "");
    BOOST_TEST(codec.bytes_of(augur::testing::token_of(words, "<tool>")) == "<tool>");
    BOOST_TEST(codec.bytes_of(0xE6) == "\xE6");
    for (const token outside : {-1, static_cast<token>(words.texts.size()), 1'000'000}) {
        BOOST_TEST(codec.bytes_of(outside) == "");
    }
}

BOOST_AUTO_TEST_CASE(any_text_comes_back) {
    for (const auto& words : whole_vocabularies()) {
        const text_codec codec{tokenizer(words)};
        for (unsigned seed = 0; seed < 100; ++seed) {
            BOOST_TEST_CONTEXT("seed " << seed) {
                std::mt19937 random(seed);
                const auto text = augur::testing::random_text(random, random() % 200);
                BOOST_TEST(there_and_back(codec, text) == text);
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(any_bytes_come_back) {
    for (const auto& words : whole_vocabularies()) {
        const text_codec codec{tokenizer(words)};
        for (unsigned seed = 0; seed < 300; ++seed) {
            BOOST_TEST_CONTEXT("seed " << seed) {
                std::mt19937 random(seed);
                constexpr unsigned char likely[] = {0xE2, 0x96, 0x81, 0xF0, 0x9F, 'h', 'e', ' '};
                std::string bytes(random() % 24, '\0');
                for (auto& byte : bytes) {
                    byte = static_cast<char>(random() % 3 == 0 ? random() : likely[random() % std::size(likely)]);
                }
                BOOST_TEST(there_and_back(codec, bytes) == bytes);
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(bytes_without_a_token_are_left_out) {
    auto words = byte_level_words();
    words.texts[4] = "<no 4>";
    words.texts[0xFF] = "<no 255>";
    BOOST_TEST(there_and_back(text_codec{tokenizer(words)},
                              "he\x04he\xFF"
                              "he") == "hehehe");
    auto pieces = sentencepiece_words();
    for (auto& kind : pieces.kinds) kind = kind == token_kind::byte ? token_kind::unused : kind;
    BOOST_TEST(there_and_back(text_codec{tokenizer(pieces)}, "he?\x80▁he") == "hehe");  // one by way of <unk>
}

BOOST_AUTO_TEST_CASE(it_needs_nothing_of_the_tokenizer_afterwards) {
    auto tokens = std::make_unique<tokenizer>(sentencepiece_words());
    const text_codec codec(*tokens);
    tokens.reset();
    BOOST_TEST(there_and_back(codec, "hello 日本") == "hello 日本");
}

BOOST_AUTO_TEST_SUITE_END()
