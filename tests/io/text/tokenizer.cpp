#include "augur/io/text/tokenizer.hpp"

#include <augur/io/text/text_decoder.hpp>
#include <boost/test/unit_test.hpp>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "io/files.hpp"
#include "io/vocabularies.hpp"

BOOST_AUTO_TEST_SUITE(io_tokenizer)

using namespace augur;
using namespace augur::io;
using namespace std::string_literals;
using augur::testing::byte_level_words;
using augur::testing::says;
using augur::testing::sentencepiece_words;

namespace {

/// The names of the tokens with | between them.
std::string names(const tokenizer& tokens, const std::vector<token>& ids) {
    std::string out;
    for (const auto id : ids) out.append("|").append(tokens.words().texts[static_cast<std::size_t>(id)]);
    return out;
}

vocabulary with_bos(vocabulary words) {
    words.add_bos = true;
    return words;
}

/// Every vocabulary that stands for text without a loss.
std::vector<tokenizer> lossless_tokenizers() {
    std::vector<tokenizer> all;
    for (const auto& rules : known_split_rules) {
        auto words = byte_level_words();
        words.pre_tokenizer = rules.names[0];
        words.ignore_merges = rules.ignore_merges;
        all.emplace_back(std::move(words));
    }
    for (const auto prefix : {space_prefix::never, space_prefix::at_start, space_prefix::always}) {
        auto words = sentencepiece_words();
        words.prefix = prefix;
        all.emplace_back(std::move(words));
    }
    return all;
}

}  // namespace

BOOST_AUTO_TEST_CASE(empty_text) {
    BOOST_TEST(tokenizer(byte_level_words()).encode("").empty());
    const tokenizer tokens(sentencepiece_words());
    BOOST_TEST(names(tokens, tokens.encode("")) == "|<s>");
    BOOST_TEST(tokens.encode("", {.add_special = false}).empty());
    BOOST_TEST(tokens.decode({}) == "");
}

BOOST_AUTO_TEST_CASE(special_tokens_next_to_text) {
    const tokenizer tokens(byte_level_words());
    const auto text = "<|im_start|>he<|im_end|><tool_call>ll";
    BOOST_TEST(names(tokens, tokens.encode(text, {.parse_special = true})) ==
               "|<|im_start|>|he|<|im_end|>|<tool_call>|ll");
    const auto ordinary = tokens.encode(text);
    BOOST_TEST(std::none_of(ordinary.begin(), ordinary.end(), [&](token id) { return tokens.is_control(id); }));
    BOOST_TEST(std::count(ordinary.begin(), ordinary.end(), augur::testing::token_of(tokens.words(), "<tool_call>")) ==
               1);
    BOOST_TEST(tokens.decode(ordinary) == text);
}

BOOST_AUTO_TEST_CASE(bos_is_never_doubled) {
    const tokenizer tokens(with_bos(byte_level_words()));
    BOOST_TEST(names(tokens, tokens.encode("he")) == "|<|im_start|>|he");
    BOOST_TEST(names(tokens, tokens.encode("<|im_start|>he", {.parse_special = true})) == "|<|im_start|>|he");
    // What the text repeats, it repeats.
    BOOST_TEST(names(tokens, tokens.encode("<|im_start|><|im_start|>he", {.parse_special = true})) ==
               "|<|im_start|>|<|im_start|>|he");
    BOOST_TEST(names(tokens, tokens.encode("<|im_start|>he", {.add_special = false, .parse_special = true})) ==
               "|<|im_start|>|he");
    // Shown as text and encoded again, tokens stay what they were.
    const auto ids = tokens.encode("hello", {.parse_special = true});
    BOOST_TEST(tokens.encode(tokens.decode(ids, {.show_control = true}), {.parse_special = true}) == ids);
}

BOOST_AUTO_TEST_CASE(eos_is_never_doubled) {
    auto words = byte_level_words();
    words.add_eos = true;
    const tokenizer tokens(words);
    BOOST_TEST(names(tokens, tokens.encode("he")) == "|he|<|endoftext|>");
    BOOST_TEST(names(tokens, tokens.encode("he<|endoftext|>", {.parse_special = true})) == "|he|<|endoftext|>");
    BOOST_TEST(names(tokens, tokens.encode("")) == "|<|endoftext|>");
}

BOOST_AUTO_TEST_CASE(a_sentencepiece_text_gets_its_space) {
    auto words = sentencepiece_words();
    const tokenizer always(words);
    BOOST_TEST(names(always, always.encode("hello</s>hello", {.parse_special = true})) == "|<s>|▁hello|</s>|▁hello");
    BOOST_TEST(names(always, always.encode(" w")) == "|<s>|▁|▁w");
    words.prefix = space_prefix::at_start;
    const tokenizer at_start(words);
    BOOST_TEST(names(at_start, at_start.encode("hello</s>hello", {.parse_special = true})) == "|<s>|▁hello|</s>|hello");
    words.prefix = space_prefix::never;
    const tokenizer never(words);
    BOOST_TEST(names(never, never.encode("hello</s>hello", {.parse_special = true})) == "|<s>|hello|</s>|hello");
}

/// What follows tokens is encoded as in the whole text, where nothing merges across.
BOOST_AUTO_TEST_CASE(a_text_that_continues_gets_no_space) {
    const encode_options parsed{.parse_special = true};
    for (const auto prefix : {space_prefix::never, space_prefix::at_start, space_prefix::always}) {
        auto words = sentencepiece_words();
        words.prefix = prefix;
        augur::testing::add_token(words, "<tool>", token_kind::user_defined);
        words.scores.push_back(0);
        const tokenizer tokens(words);
        for (const std::string before : {"a", "hello</s>", "<tool>", "<unk>"}) {
            auto options = parsed;
            options.add_special = false;
            options.continues = !tokens.parts_texts(tokens.encode(before, parsed).back());
            BOOST_TEST(options.continues == (before == "a" || prefix != space_prefix::always));
            for (const std::string rest : {"hello", "", " \n", "</s>hello", "<tool> w</s>w"}) {
                BOOST_TEST(names(tokens, tokens.encode(before, parsed)) + names(tokens, tokens.encode(rest, options)) ==
                           names(tokens, tokens.encode(before + rest, parsed)));
            }
        }
    }
    const tokenizer bytes(with_bos(byte_level_words()));
    BOOST_TEST(names(bytes, bytes.encode("he", {.continues = true})) == "|<|im_start|>|he");
    BOOST_TEST(!bytes.parts_texts(bytes.words().bos));
}

BOOST_AUTO_TEST_CASE(decoding_takes_the_space_away_again_unless_the_text_continues) {
    const tokenizer tokens(sentencepiece_words());
    const auto ids = tokens.encode("hello w");
    BOOST_TEST(tokens.decode(ids) == "hello w");
    BOOST_TEST(tokens.decode(ids, {.continues = true}) == " hello w");
    BOOST_TEST(tokens.decode(ids, {.show_control = true}) == "<s>hello w");
    BOOST_TEST(tokens.decode(tokens.encode("  hello")) == "  hello");
}

BOOST_AUTO_TEST_CASE(a_space_behind_a_control_token_at_the_start_comes_back) {
    const encode_options parsed{.parse_special = true};
    for (const auto prefix : {space_prefix::never, space_prefix::at_start, space_prefix::always}) {
        for (const bool add_bos : {false, true}) {
            auto words = sentencepiece_words();
            words.prefix = prefix;
            words.add_bos = add_bos;
            const tokenizer tokens(words);
            for (const std::string text : {"</s> hello", "</s>hello", "<unk> w", "</s></s>  w"}) {
                const auto ids = tokens.encode(text, parsed);
                const std::string bos = add_bos ? "<s>" : "";
                BOOST_TEST(tokens.decode(ids, {.show_control = true}) == bos + text);
                text_decoder stream(tokens, {.show_control = true});
                std::string streamed;
                for (const token id : ids) streamed += stream.push(id);
                BOOST_TEST(streamed + stream.flush() == bos + text);
            }
            BOOST_TEST(tokens.decode(tokens.encode(" hello")) == " hello");
        }
    }
}

BOOST_AUTO_TEST_CASE(text_that_is_not_utf8_is_refused) {
    for (const auto& tokens : lossless_tokenizers()) {
        BOOST_CHECK_EXCEPTION(tokens.encode("ab\xFFz"), augur::error, says({"the text", "0xff", "offset 2 of 4"}));
        BOOST_CHECK_EXCEPTION(tokens.encode("日\xE6"), augur::error, says({"0xe6", "offset 3 of 4"}));
    }
}

BOOST_AUTO_TEST_CASE(bytes_without_a_token_are_left_out_or_refused) {
    auto words = byte_level_words();
    words.texts[4] = "<no 4>";
    const tokenizer tokens(words);
    BOOST_TEST(tokens.decode(tokens.encode("he\x04he")) == "hehe");
    BOOST_CHECK_EXCEPTION(tokens.encode("he\x04", {.refuse_unknown = true}), augur::error,
                          says({"no token", "\\x04", "267"}));
    BOOST_CHECK_NO_THROW(tokens.encode("he", {.refuse_unknown = true}));
    BOOST_TEST(tokens.left_out("\x04he\x04he") == "\x04\x04");
    BOOST_TEST(tokens.left_out("hello") == "");
    words.texts[4] = "<no 4>";
    words.texts[0xC3] = "<no C3>";
    BOOST_TEST(tokenizer(words).left_out("h\xC3\xA9\x04", {.refuse_unknown = true}) == "\xC3\x04");
}

BOOST_AUTO_TEST_CASE(single_tokens) {
    const tokenizer bytes(byte_level_words());
    const auto id_of = [&](std::string_view text) { return augur::testing::token_of(bytes.words(), text); };
    BOOST_TEST(bytes.bytes_of(id_of("Ġwo")) == " wo");
    BOOST_TEST(bytes.bytes_of(0xE6) == "\xE6");
    BOOST_TEST(bytes.bytes_of(id_of("<|im_end|>")) == "");
    BOOST_TEST(bytes.bytes_of(id_of("<|im_end|>"), true) == "<|im_end|>");
    BOOST_TEST(bytes.bytes_of(id_of("<tool>")) == "<tool>");
    BOOST_TEST(bytes.decode(std::vector<token>{0xE6, 'a'}) == "\xEF\xBF\xBD"s + "a");
    BOOST_TEST(bytes.decode_bytes(std::vector<token>{0xE6, 'a'}) == "\xE6"s + "a");
    const tokenizer pieces(sentencepiece_words());
    BOOST_TEST(pieces.bytes_of(3 + 0x0A) == "\n");
    BOOST_TEST(pieces.bytes_of(0) == "");
    BOOST_TEST(pieces.is_control(0));
    BOOST_TEST(!pieces.is_control(3));
    BOOST_TEST(pieces.vocabulary_size() == pieces.words().texts.size());
    BOOST_TEST(pieces.token_count("hello w") == 3u);
}

BOOST_AUTO_TEST_CASE(ids_outside_the_vocabulary_are_refused) {
    const tokenizer tokens(byte_level_words());
    for (const token id : {-1, 267, 1'000'000}) {
        BOOST_CHECK_EXCEPTION(tokens.bytes_of(id), augur::error, says({std::to_string(id), "vocabulary of 267"}));
        BOOST_CHECK_THROW(tokens.is_control(id), augur::error);
        BOOST_CHECK_THROW(tokens.decode(std::vector<token>{'a', id}), augur::error);
        BOOST_TEST(!tokens.is_end(id));
    }
}

BOOST_AUTO_TEST_CASE(end_tokens_are_found_by_name_and_by_role) {
    auto words = byte_level_words();
    words.eot = 'a';
    augur::testing::add_token(words, "<|eot_id|>", token_kind::user_defined);
    augur::testing::add_token(words, "</s>");
    const tokenizer tokens(words);
    BOOST_TEST((std::vector<token>(tokens.end_tokens().begin(), tokens.end_tokens().end()) ==
                std::vector<token>{'a', 262, 264, 267}));
    BOOST_TEST(tokens.is_end(264));
    BOOST_TEST(!tokens.is_end(263));
    BOOST_TEST(tokens.is_control(267));
    // An ordinary token is one whatever it looks like.
    BOOST_TEST(!tokens.is_end(268));
}

BOOST_AUTO_TEST_CASE(in_the_format_of_gpt_oss_end_parts_messages) {
    auto words = byte_level_words();
    const token end = augur::testing::add_token(words, "<|end|>", token_kind::control);
    const token back = augur::testing::add_token(words, "<|return|>", token_kind::control);
    BOOST_TEST(tokenizer(words).is_end(end));
    const token call = augur::testing::add_token(words, "<|call|>", token_kind::control);
    BOOST_TEST(!tokenizer(words).is_end(end));
    BOOST_TEST(tokenizer(words).is_end(back));
    BOOST_TEST(tokenizer(words).is_end(call));
    words.ends = {end, 5000};  // the files' own word goes before the name's
    BOOST_TEST(tokenizer(words).is_end(end));
    BOOST_TEST(tokenizer(words).is_end(5000));
}

BOOST_AUTO_TEST_CASE(flawed_vocabularies_are_refused) {
    auto words = byte_level_words();
    words.bos = 5000;
    BOOST_CHECK_EXCEPTION(tokenizer{words}, augur::error, says({"bos", "5000"}));
    words = byte_level_words();
    words.pre_tokenizer = "nothing";
    BOOST_CHECK_EXCEPTION(tokenizer{words}, augur::error, says({"'nothing'"}));
}

BOOST_AUTO_TEST_CASE(known_texts_come_back) {
    const std::vector<std::string> texts = {"",
                                            " ",
                                            "   \n\t  ",
                                            "\0"s,
                                            "a\0b"s,
                                            "hello world",
                                            " hello",
                                            "日本語 한국어 ไทย हिन्दी",
                                            "e\u0301 n\u0303 \u0301",
                                            "😁🦙 👨\u200d👩\u200d👧 🇺🇸",
                                            "\r\n\r\n",
                                            "▁he▁"s.substr(3, 2),
                                            "<|im_end|",
                                            "\u180E\u0085\uFEFF",
                                            std::string(5000, 'l')};
    for (const auto& tokens : lossless_tokenizers()) {
        for (const auto& text : texts) BOOST_TEST(tokens.decode(tokens.encode(text)) == text);
    }
}

BOOST_AUTO_TEST_CASE(random_texts_come_back) {
    for (const auto& tokens : lossless_tokenizers()) {
        for (unsigned seed = 0; seed < 150; ++seed) {
            BOOST_TEST_CONTEXT(tokens.words().pre_tokenizer << ", seed " << seed) {
                std::mt19937 random(seed);
                const auto text = augur::testing::random_text(random, random() % 300);
                BOOST_TEST(tokens.decode(tokens.encode(text)) == text);
                const auto all = tokens.encode(text, {.parse_special = true});
                BOOST_TEST(tokens.decode_bytes(all) == tokens.decode(all));
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(random_bytes_come_back_or_are_refused) {
    const tokenizer tokens(byte_level_words());
    for (unsigned seed = 0; seed < 500; ++seed) {
        BOOST_TEST_CONTEXT("seed " << seed) {
            std::mt19937 random(seed);
            std::string bytes(random() % 24, '\0');
            for (auto& byte : bytes) byte = static_cast<char>(random() % 4 == 0 ? random() : random() % 128);
            const auto invalid = find_invalid_utf8(bytes);
            if (invalid) {
                BOOST_CHECK_EXCEPTION(tokens.encode(bytes), augur::error,
                                      says({"offset " + std::to_string(*invalid) + " of"}));
            } else {
                BOOST_TEST(tokens.decode(tokens.encode(bytes)) == bytes);
            }
            std::vector<token> ids;
            for (const char byte : bytes) ids.push_back(static_cast<unsigned char>(byte));
            BOOST_TEST(tokens.decode_bytes(ids) == bytes);
            BOOST_TEST(tokens.decode(ids) == repair_utf8(bytes));
        }
    }
}

BOOST_AUTO_TEST_CASE(threads_share_a_tokenizer) {
    const tokenizer tokens(byte_level_words());
    const auto expected = tokens.encode("hello world, hello");
    std::vector<int> equal(4);
    std::vector<std::thread> threads;
    for (auto& count : equal) {
        threads.emplace_back([&] {
            for (int i = 0; i < 100; ++i) count += tokens.encode("hello world, hello") == expected ? 1 : 0;
        });
    }
    for (auto& thread : threads) thread.join();
    for (const int count : equal) BOOST_TEST(count == 100);
}

BOOST_AUTO_TEST_CASE(copies_and_moves_need_nothing_of_the_original) {
    auto original = std::make_unique<tokenizer>(sentencepiece_words());
    const tokenizer copy = *original;
    const tokenizer moved = std::move(*original);
    original.reset();
    BOOST_TEST(copy.decode(copy.encode("hello 日本")) == "hello 日本");
    BOOST_TEST(moved.decode(moved.encode("hello 日本")) == "hello 日本");
}

BOOST_AUTO_TEST_SUITE_END()
