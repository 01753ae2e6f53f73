#include "augur/switching/speaker.hpp"

#include <augur/commit/text_stream.hpp>
#include <augur/testing/models.hpp>
#include <boost/test/unit_test.hpp>
#include <random>
#include <string>
#include <vector>

#include "switching/codecs.hpp"

using namespace augur;
using switching::handover;
using switching::opening;
using testing::byte_codec;
using testing::bytes_of;
using testing::piece_codec;

BOOST_AUTO_TEST_SUITE(switching_speaker)

namespace {

const byte_codec bytes;
const piece_codec pieces;
const auto byte_model = testing::hashed_model(byte_codec::vocabulary, 1);
const auto piece_model = testing::hashed_model(pieces.vocabulary(), 2);

auto refused(const std::string& part) {
    return [part](const error& e) { return std::string(e.what()).find(part) != std::string::npos; };
}

template <class Speaker>
auto voice_of(const Speaker& speaker, std::vector<token> prompt = {0}) {
    return switching::voice<Speaker>(speaker, opening{std::move(prompt)}, {});
}

std::vector<token> generated(const auto& voice) {
    return {voice.own.generated().begin(), voice.own.generated().end()};
}

}  // namespace

struct without_bytes_of {
    std::vector<token> encode(std::string_view) const { return {}; }
};
static_assert(!switching::TextCodec<without_bytes_of>);

BOOST_AUTO_TEST_CASE(end_tokens_are_in_the_vocabulary) {
    const auto most = static_cast<token>(pieces.vocabulary());
    for (const token outside : {token{-1}, most}) {
        BOOST_CHECK_EXCEPTION(
            spoken(piece_model, pieces, std::vector<token>{0, outside}), error,
            refused("end token " + std::to_string(outside) + " is outside the vocabulary of " + std::to_string(most)));
    }
    const auto speaker = spoken(piece_model, pieces, std::vector<token>{0, most - 1});
    BOOST_TEST((speaker.ends(0) && speaker.ends(most - 1) && !speaker.ends(1)));
    BOOST_TEST(!spoken(piece_model, pieces).ends(0));
}

BOOST_AUTO_TEST_CASE(lvalues_are_referred_to_and_rvalues_kept) {
    const auto referring = spoken(byte_model, bytes);
    BOOST_TEST(&referring.model() == &byte_model);
    const auto keeping = spoken(testing::hashed_model(9, 1), piece_codec({"x"}));
    BOOST_TEST(keeping.model().vocabulary_size() == 9u);
    BOOST_TEST(keeping.codec().vocabulary() == 258u);
}

BOOST_AUTO_TEST_CASE(openings_fit_their_model) {
    const auto speaker = spoken(testing::hashed_model(9, 1, 2, 4), bytes);
    BOOST_CHECK_EXCEPTION(voice_of(speaker, {}), error, refused("the prompt is empty"));
    BOOST_CHECK_EXCEPTION(voice_of(speaker, {1, 2, 3, 4}), error, refused("4 tokens"));
    BOOST_CHECK_EXCEPTION(voice_of(speaker, {1, 9}), error, refused("prompt token 1 is 9"));
    const opening biased{{1}, transform::settings{.bias = {{{9, 1.0f}}}}};
    BOOST_CHECK_THROW(switching::voice<decltype(speaker)>(speaker, biased, {}), error);
}

/// "he" was written byte by byte, so it is not the start of the piece " hello" or any other; what follows is encoded
/// alone.
BOOST_AUTO_TEST_CASE(only_the_new_text_is_encoded) {
    const auto small = spoken(byte_model, bytes);
    const auto large = spoken(piece_model, pieces);
    auto speaks = voice_of(small);
    auto listens = voice_of(large);
    std::string text;
    const auto say = [&](std::string_view more) {
        for (const token t : bytes.encode(more)) speaks.write(t, text);
    };
    say(" hello");
    BOOST_TEST((listens.take_over(text) == handover::taken));
    BOOST_TEST(generated(listens) == (std::vector<token>{1, 2}), boost::test_tools::per_element());
    const auto written = std::vector<token>{pieces.byte_token(' '), pieces.byte_token('h'), 8, 4};
    for (const token t : written) listens.write(t, text);
    BOOST_TEST(text == " hello hl日");
    BOOST_TEST((speaks.take_over(text) == handover::taken));
    BOOST_TEST(bytes_of(bytes, speaks.own.generated()) == text);
    BOOST_TEST(generated(speaks).size() == text.size());
    say("本");
    BOOST_TEST((listens.take_over(text) == handover::taken));
    const char* const tail = "本";
    const std::vector<token> expected{1,
                                      2,
                                      written[0],
                                      written[1],
                                      8,
                                      4,
                                      pieces.byte_token(tail[0]),
                                      pieces.byte_token(tail[1]),
                                      pieces.byte_token(tail[2])};
    BOOST_TEST(generated(listens) == expected, boost::test_tools::per_element());
    BOOST_TEST(listens.heard == text.size());
}

BOOST_AUTO_TEST_CASE(nothing_new_is_no_tokens) {
    const auto large = spoken(piece_model, pieces);
    auto listens = voice_of(large);
    BOOST_TEST((listens.take_over("") == handover::taken));
    BOOST_TEST(listens.own.size() == 1u);
}

BOOST_AUTO_TEST_CASE(end_tokens_are_no_text) {
    const auto small = spoken(byte_model, bytes, std::vector<token>{'!'});
    auto speaks = voice_of(small);
    std::string text;
    BOOST_TEST(speaks.write('?', text) == "?");
    BOOST_TEST(speaks.write('!', text) == "");
    BOOST_TEST(text == "?");
    BOOST_TEST(speaks.heard == 1u);
    BOOST_TEST(speaks.own.size() == 3u);
}

/// A codec with one flaw.
struct flawed_codec : byte_codec {
    enum class flaw { none, drops, adds_a_space, repairs, invents } what;

    explicit flawed_codec(flaw of) : what(of) {}

    std::vector<token> encode(std::string_view text) const {
        auto tokens = byte_codec::encode(text);
        if (what == flaw::drops) std::erase(tokens, 'x');
        if (what == flaw::adds_a_space) tokens.insert(tokens.begin(), ' ');
        if (what == flaw::repairs) std::replace(tokens.begin(), tokens.end(), 'x', 'y');
        if (what == flaw::invents) tokens.push_back(vocabulary);
        return tokens;
    }
    std::string bytes_of(token t) const { return t < static_cast<token>(vocabulary) ? byte_codec::bytes_of(t) : ""; }
};

BOOST_AUTO_TEST_CASE(what_does_not_come_back_is_not_read) {
    using flaw = flawed_codec::flaw;
    for (const flaw what : {flaw::none, flaw::drops, flaw::adds_a_space, flaw::repairs, flaw::invents}) {
        const flawed_codec flawed(what);
        const auto speaker = spoken(byte_model, flawed);
        auto listens = voice_of(speaker);
        BOOST_TEST((listens.take_over("axb") == (what == flaw::none ? handover::taken : handover::lost)));
        BOOST_TEST(listens.own.size() == (what == flaw::none ? 4u : 1u));
        BOOST_TEST(listens.heard == (what == flaw::none ? 3u : 0u));
    }
}

BOOST_AUTO_TEST_CASE(the_context_has_room_for_the_text_and_a_token) {
    for (std::size_t length = 0; length < 8; ++length) {
        const auto speaker = spoken(testing::hashed_model(byte_codec::vocabulary, 1, 2, 6), bytes);
        auto listens = voice_of(speaker, {1, 2});
        const bool fits = length <= 3;
        BOOST_TEST((listens.take_over(std::string(length, 'x')) == (fits ? handover::taken : handover::full)));
        BOOST_TEST(listens.own.size() == 2 + (fits ? length : 0));
        BOOST_TEST(listens.heard == (fits ? length : 0));
        BOOST_TEST(!listens.full());
        if (length != 3) continue;
        std::string text = "xxx";
        listens.write('x', text);
        BOOST_TEST(listens.full());
    }
}

BOOST_AUTO_TEST_CASE(where_a_text_ends) {
    const auto after = [](const std::vector<std::string>& parts) {
        switching::code_points ends;
        std::string text, seen;
        for (const std::string& part : parts) {
            text += part;
            const bool broken = ends.find_broken(text);
            seen += broken ? (ends.open() ? '~' : '!') : (ends.open() ? '.' : '|');
        }
        return seen;
    };
    BOOST_TEST(after({"a", "\xC3", "\xA9", "é"}) == "|.||");
    BOOST_TEST(after({"\xF0", "\x9F", "\x98", "\x81"}) == "...|");
    BOOST_TEST(after({"\xE6", "a", "\x80", "\xFF"}) == ".!!!");
    BOOST_TEST(after({"\xE6", "\xE6", "\xE6\x97", "\xA5\xE6", ""}) == ".~~..");
    BOOST_TEST(after({"", "ok"}) == "||");
}

BOOST_AUTO_TEST_CASE(where_any_bytes_end) {
    std::mt19937 random(4);
    for (int round = 0; round < 400; ++round) {
        switching::code_points ends;
        std::string text;
        for (int i = 0; i < 12; ++i) {
            constexpr unsigned char likely[] = {'a', 0xC3, 0xA9, 0xE6, 0x97, 0xA5, 0xF0, 0x9F, 0x98, 0x81, 0xFF, 0xED};
            text += static_cast<char>(likely[random() % std::size(likely)]);
            if (random() % 3 == 0) continue;
            ends.find_broken(text);
            commit::text_stream stream;  // it holds back what could still become a code point
            stream.push(text);
            const std::size_t decided = stream.text().size();
            stream.finish();
            BOOST_TEST(ends.open() == (stream.text().size() > decided));
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
