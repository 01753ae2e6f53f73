// Models with a byte-level and a SentencePiece vocabulary hand each other text.
#include <augur/io/text/text_codec.hpp>
#include <augur/io/text/tokenizer.hpp>
#include <augur/switching/rolling_entropy.hpp>
#include <augur/testing/models.hpp>
#include <boost/test/unit_test.hpp>
#include <random>
#include <string>
#include <vector>

#include "io/vocabularies.hpp"
#include "switching/codecs.hpp"

BOOST_AUTO_TEST_SUITE(io_handed_text)

using namespace augur;
using augur::switching::opening;
using augur::switching::rolling_entropy;
using augur::testing::handed;
using augur::testing::saying_model;

namespace {

const io::tokenizer byte_level(augur::testing::byte_level_words());
const io::tokenizer sentencepiece(augur::testing::sentencepiece_words());
const io::text_codec byte_codec(byte_level), piece_codec(sentencepiece);

opening greedy(const io::tokenizer& tokens) {
    opening start{{tokens.words().bos}};
    start.sampling = transform::settings{.temperature = {0}};
    return start;
}

auto saying(const io::tokenizer& tokens, const io::text_codec& codec, const std::string& text,
            std::function<int(std::size_t)> bits) {
    return spoken(saying_model(codec, tokens.vocabulary_size(), tokens.words().eos, text, std::move(bits)), codec,
                  tokens.end_tokens());
}

}  // namespace

/// "日" is three tokens of the small model and one of the large one, so the turn that comes after its first byte waits.
BOOST_AUTO_TEST_CASE(a_golden_trace) {
    const std::string text = "hello日本 w";
    const auto bits = [](std::size_t said) { return said >= 5 && said < 8 ? 4 : 0; };
    const auto scheme =
        switched(saying(byte_level, byte_codec, text, bits), saying(sentencepiece, piece_codec, text, bits),
                 rolling_entropy({.thresholds_bits = {1}, .window = 1, .dwell = 1}));
    const auto decoded = handed(scheme, {greedy(byte_level), greedy(sentencepiece)});
    BOOST_TEST(decoded.bytes == text);
    std::string trace;
    for (const auto& each : decoded.by) {
        const auto& words = (each.model == 0 ? byte_level : sentencepiece).words();
        trace += (each.model == 0 ? " S:" : " L:") + words.texts[static_cast<std::size_t>(each.id)];
    }
    BOOST_TEST(trace == " S:hello S:æ S:Ĺ S:¥ L:<0xE6> L:<0x9C> L:<0xAC> S:Ġw S:<|endoftext|>");
    BOOST_TEST(decoded.counts.turns.waited == 4u);
    BOOST_TEST(decoded.counts.turns.switches == 2u);
    BOOST_TEST(decoded.counts.models[1].caught_up == 2u);  // <s> and hello; 日 makes its first row
}

BOOST_AUTO_TEST_CASE(texts_of_all_kinds_are_handed_over) {
    std::size_t switches = 0, waited = 0;
    for (unsigned seed = 0; seed < 40; ++seed) {
        BOOST_TEST_CONTEXT("seed " << seed) {
            std::mt19937 random(seed);
            const std::string text = augur::testing::random_text(random, 60) + "▁<|im_end|></s><tool>";
            const auto bits = [seed](std::size_t said) {
                return static_cast<int>((said + 5) * (seed + 1) * 2654435761u >> 29) % 4;
            };
            const rolling_entropy policy({{1.2}, 1 + random() % 3, 1 + random() % 4});
            const auto scheme = switched(saying(byte_level, byte_codec, text, bits),
                                         saying(sentencepiece, piece_codec, text, bits), policy);
            const auto decoded =
                handed(scheme, {greedy(byte_level), greedy(sentencepiece)}, {.max_tokens = 500, .first = seed % 2});
            BOOST_TEST(decoded.bytes == text);
            BOOST_TEST((decoded.finish == finish_reason::stop_token));
            BOOST_TEST(decoded.counts.turns.lost + decoded.counts.turns.full == 0u);
            switches += decoded.counts.turns.switches;
            waited += decoded.counts.turns.waited;
        }
    }
    BOOST_TEST(switches > 100u);
    BOOST_TEST(waited > 10u);
}

BOOST_AUTO_TEST_CASE(any_bytes_are_handed_over) {
    std::size_t switches = 0;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        const auto small = augur::testing::hashed_model(byte_level.vocabulary_size(), 2 * seed, 3);
        const auto large = augur::testing::hashed_model(sentencepiece.vocabulary_size(), 2 * seed + 1, 3);
        const auto scheme = switched(spoken(small, byte_codec), spoken(large, piece_codec),
                                     rolling_entropy({.thresholds_bits = {6.5}, .window = 2, .dwell = 2}));
        const auto decoded = handed(scheme, {opening{{1}}, opening{{1}}}, {.seed = seed, .max_tokens = 80});
        std::string joined;
        for (const auto& each : decoded.by) joined += each.bytes;
        BOOST_TEST(joined == decoded.bytes);
        BOOST_TEST(decoded.counts.turns.lost == 0u);
        switches += decoded.counts.turns.switches;
    }
    BOOST_TEST(switches > 15u);
}

/// The byte 04 has no token in the small model's vocabulary, so it cannot take over a text that has it.
BOOST_AUTO_TEST_CASE(a_vocabulary_that_lacks_a_byte_is_not_handed_a_text_with_it) {
    auto words = augur::testing::byte_level_words();
    words.texts[4] = "<no 4>";
    const io::tokenizer tokens(words);
    const io::text_codec codec(tokens);
    const std::string text = "hello\x04hello hello";
    const auto bits = [](std::size_t) { return 0; };
    const auto model = augur::testing::scripted_model(tokens.vocabulary_size(), {});
    const auto scheme =
        switched(spoken(model, codec, tokens.end_tokens()), saying(sentencepiece, piece_codec, text, bits),
                 rolling_entropy({.thresholds_bits = {1}, .window = 1, .dwell = 2}));
    const auto decoded = handed(scheme, {greedy(tokens), greedy(sentencepiece)}, {.first = 1});
    BOOST_TEST(decoded.bytes == text);
    BOOST_TEST(decoded.counts.turns.lost == 2u);  // after two tokens of five and after four
    BOOST_TEST(decoded.counts.models[0].written == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
