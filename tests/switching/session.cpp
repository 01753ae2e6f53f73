#include "augur/switching/session.hpp"

#include <algorithm>
#include <augur/commit/text_stream.hpp>
#include <augur/decode/generate.hpp>
#include <augur/measure/entropy.hpp>
#include <augur/switching/rolling_entropy.hpp>
#include <augur/testing/counting_model.hpp>
#include <augur/testing/faulty_model.hpp>
#include <augur/testing/models.hpp>
#include <augur/types/utf8.hpp>
#include <boost/test/unit_test.hpp>
#include <functional>
#include <limits>
#include <random>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "switching/codecs.hpp"

using namespace augur;
using switching::opening;
using switching::rolling_entropy;
using testing::byte_codec;
using testing::handed;
using testing::handed_options;
using testing::letter_codec;
using testing::piece_codec;
using testing::saying_model;
using testing::written_token;

BOOST_AUTO_TEST_SUITE(switching_session)

namespace {

const byte_codec bytes;
const piece_codec pieces;
const letter_codec letters;
const std::vector<token> byte_ends{byte_codec::special}, piece_ends{piece_codec::special};

using bits_of = std::function<int(std::size_t)>;

auto byte_speaker(std::string text, bits_of bits) {
    return spoken(saying_model(bytes, byte_codec::vocabulary, byte_codec::special, std::move(text), std::move(bits)),
                  bytes, byte_ends);
}
auto piece_speaker(const piece_codec& codec, std::string text, bits_of bits) {
    return spoken(saying_model(codec, codec.vocabulary(), piece_codec::special, std::move(text), std::move(bits)),
                  codec, piece_ends);
}

/// The prompt and settings of a model that begins with its special token, greedily.
opening greedy(token special, std::size_t length = 1) {
    opening start{std::vector<token>(length, special)};
    start.sampling = transform::settings{.temperature = {0}};
    return start;
}

/// Who wrote each token, as letters of `names`.
std::string writers(const std::vector<std::size_t>& models, std::string_view names) {
    std::string result;
    for (const std::size_t each : models) result += names[each];
    return result;
}

template <class Scheme>
auto session_of(const Scheme& scheme, const typename Scheme::prompt_type& from, const handed_options& chosen) {
    return decode::session<Scheme>(scheme, from, {}, {.max_tokens = chosen.max_tokens},
                                   random::philox_chooser(chosen.seed));
}

template <class Scheme>
std::string who_writes(const Scheme& scheme, const typename Scheme::prompt_type& from) {
    return writers(handed(scheme, from).writers, "SL");
}

}  // namespace

/// Worked out by hand: rows have 4 bits after 1, 2 and 3 bytes of the text, else none; the threshold is 1 bit.
BOOST_AUTO_TEST_CASE(a_golden_trace) {
    // token     a   C3  A9  日      _he  !   end
    // model     S   S   S   L       L    S   S
    // entropy   0   4   4   4       0    0   0
    // wanted    S   L   L   L       S    S   S    the first waits: C3 is half of a code point
    const std::string text = "aé日 he!";
    const bits_of bits = [](std::size_t said) { return said >= 1 && said <= 3 ? 4 : 0; };
    const auto scheme = switched(byte_speaker(text, bits), piece_speaker(pieces, text, bits),
                                 rolling_entropy({.thresholds_bits = {1}, .window = 1, .dwell = 1}));
    auto s = session_of(scheme, {greedy(byte_codec::special), greedy(piece_codec::special, 2)}, {});
    while (s.finished == finish_reason::running) decode::step(scheme, s);
    BOOST_TEST(s.text == text);
    BOOST_TEST((s.finished == finish_reason::stop_token));
    BOOST_TEST(writers(s.writers, "SL") == "SSSLLSS");
    const auto written = testing::tokens_by(scheme, s.writers, s.committed.generated());
    BOOST_TEST((written[3] == written_token{1, 4, "日"}));
    BOOST_TEST((written[6] == written_token{0, 256, ""}));
    BOOST_TEST(s.counts.turns.switches == 2u);
    BOOST_TEST(s.counts.turns.waited == 1u);
    BOOST_TEST(s.counts.turns.lost + s.counts.turns.full == 0u);
    const auto& small = s.counts.models[0];
    const auto& large = s.counts.models[1];
    BOOST_TEST((small.written == 5u && small.passes == 5u && small.caught_up == 6u));  // what the other wrote, in bytes
    BOOST_TEST((large.written == 2u && large.passes == 2u && large.caught_up == 3u));  // its prompt, and "a"
    const auto own = std::get<1>(s.voices).own.generated();
    BOOST_TEST((std::vector<token>(own.begin(), own.end()) == std::vector<token>{7, 6, 4, 1}));
    BOOST_TEST(switching::parameter_ratio(s.counts.models, std::vector<double>{1, 4}) == (5 + 2 * 4) / 7.0 / 4);
}

BOOST_AUTO_TEST_CASE(a_wish_can_be_withdrawn_while_it_waits) {
    const std::string text = "aé日 he!";
    const bits_of bits = [](std::size_t said) { return said == 1 ? 4 : 0; };
    const auto scheme = switched(byte_speaker(text, bits), piece_speaker(pieces, text, bits),
                                 rolling_entropy({.thresholds_bits = {1}, .window = 1, .dwell = 1}));
    const auto decoded = handed(scheme, {greedy(byte_codec::special), greedy(piece_codec::special)});
    BOOST_TEST(writers(decoded.writers, "SL") == "SSSSSSSSSSS");
    BOOST_TEST(decoded.counts.turns.waited == 1u);
    BOOST_TEST(decoded.counts.turns.switches == 0u);
    BOOST_TEST(decoded.counts.models[1].passes == 0u);
}

/// The policy counts from its answer: with a dwell of 2, A9, which was written while the switch waited, is the first of
/// two.
BOOST_AUTO_TEST_CASE(tokens_written_while_it_waits_count_for_the_model_that_is_to_come) {
    const std::string text = "aé日 he!";
    const bits_of bits = [](std::size_t said) { return said == 1 ? 4 : 0; };
    const auto scheme = switched(byte_speaker(text, bits), piece_speaker(pieces, text, bits),
                                 rolling_entropy({.thresholds_bits = {1}, .window = 1, .dwell = 2}));
    BOOST_TEST(who_writes(scheme, {greedy(byte_codec::special), greedy(piece_codec::special)}) == "SSSLSSSSS");
}

BOOST_AUTO_TEST_CASE(one_vocabulary_of_bytes_makes_it_switching) {
    std::mt19937 random(5);
    std::size_t mixed = 0;
    for (std::uint64_t seed = 0; seed < 80; ++seed) {
        const std::size_t context = seed % 5 == 0 ? 30 : 256;
        const auto small = testing::hashed_model(8, 2 * seed, static_cast<float>(1 + seed % 3), context);
        const auto large = testing::hashed_model(8, 2 * seed + 1, static_cast<float>(1 + seed % 4), context);
        const rolling_entropy policy(
            {{1.5 + 0.02 * static_cast<double>(random() % 60)}, 1 + random() % 6, 1 + random() % 6});
        const std::size_t first = seed % 3 == 2 ? 1 : 0;
        const std::vector<token> prompt{1, 2, 3}, ends{static_cast<token>(seed % 4 == 1 ? 5 : 7)};
        decode::options chosen;
        chosen.seed = seed;
        chosen.stop.max_tokens = 50;
        chosen.sampling.temperature.value = seed % 4 == 0 ? 0.0f : 0.8f;
        chosen.sampling.penalties.frequency = seed % 2 == 0 ? 0.3f : 0.0f;
        chosen.sampling.bias.added = {{7, -100.0f}};
        if (seed % 4 == 1) chosen.stop.stop_tokens = ends;
        const auto expected =
            decode::generate<any_guarantee>(switched(small, large, policy).with({.first = first}), prompt, chosen);
        const auto decoded =
            handed(switched(spoken(small, letters, ends), spoken(large, letters, ends), policy),
                   {opening{prompt, chosen.sampling}, opening{prompt, chosen.sampling}}, {seed, 50, first});
        BOOST_TEST(decoded.tokens == expected.tokens, boost::test_tools::per_element());
        BOOST_TEST(decoded.writers == expected.writers, boost::test_tools::per_element());
        BOOST_TEST((decoded.finish == expected.finish));
        for (std::size_t i = 0; i < 2; ++i) {
            BOOST_TEST(decoded.counts.models[i].written == expected.counts.models[i].written);
            BOOST_TEST(decoded.counts.models[i].caught_up == expected.counts.models[i].caught_up);
        }
        BOOST_TEST(decoded.policy.mean_bits() == expected.policy.mean_bits());
        BOOST_TEST(decoded.counts.turns.waited == 0u);
        mixed += decoded.counts.turns.switches > 0;
    }
    BOOST_TEST(mixed > 50u);  // or the cases show nothing
}

BOOST_AUTO_TEST_CASE(the_ends_are_the_models_alone) {
    const auto small = testing::hashed_model(byte_codec::vocabulary, 1), large = testing::hashed_model(8, 2);
    const std::vector<token> prompt{1, 2, 3}, other{4};
    decode::options chosen;
    chosen.seed = 9;
    chosen.stop.max_tokens = 40;
    const rolling_entropy never({.thresholds_bits = {std::numeric_limits<double>::infinity()}});
    const auto alone = handed(switched(spoken(small, bytes), spoken(large, letters), never),
                              {opening{prompt}, opening{other}}, {9, 40});
    BOOST_TEST(alone.tokens == decode::generate(plain(small), prompt, chosen).tokens, boost::test_tools::per_element());
    BOOST_TEST(alone.counts.models[1].passes == 0u);
    BOOST_TEST(alone.seed == 9u);
    const rolling_entropy always({.thresholds_bits = {0}, .window = 1, .dwell = 1});
    const auto large_alone = handed(switched(spoken(small, bytes), spoken(large, letters), always),
                                    {opening{prompt}, opening{other}}, {9, 40, 1});
    BOOST_TEST(large_alone.tokens == decode::generate(plain(large), other, chosen).tokens,
               boost::test_tools::per_element());
    // At 0 the large one writes all that follows the dwell of the small one.
    const rolling_entropy soon({.thresholds_bits = {0}, .window = 1, .dwell = 3});
    const auto little = testing::hashed_model(8, 3);
    const auto decoded = handed(switched(spoken(little, letters), spoken(large, letters), soon),
                                {opening{prompt}, opening{prompt}}, {9, 40});
    auto begun = prompt;
    for (std::size_t i = 0; i < 3; ++i) begun.push_back(decoded.tokens[i]);
    chosen.stop.max_tokens = 37;
    const auto rest = decode::generate(plain(large), begun, chosen).tokens;
    const auto& all = decoded.tokens;
    BOOST_TEST(std::vector<token>(all.begin() + 3, all.end()) == rest, boost::test_tools::per_element());
    BOOST_TEST(decoded.counts.models[0].written == 3u);
}

namespace {

/// Code points of all lengths.
std::string random_text(std::mt19937& random, std::size_t length) {
    const std::vector<std::string> some{"a", "l", "é", "ß", "日", "本", "語", "😁", "🦙", " ", " he", "llo", "x"};
    std::string text;
    while (text.size() < length) text += some[random() % some.size()];
    return text;
}

/// Whether the text ends inside what could still become a code point, by the stream that holds it back.
bool ends_inside(const std::string& text) {
    commit::text_stream stream;
    stream.push(text);
    const std::size_t decided = stream.text().size();
    stream.finish();
    return stream.text().size() > decided;
}

/// What holds after every step, whoever writes what.
void check_voices(const auto& scheme, auto& s) {
    for (std::size_t i = 0; i < s.models; ++i) {
        s.with_voice(i, [&](const auto& voice) {
            BOOST_TEST(testing::bytes_of(voice.who->codec(), voice.own.generated()) == s.text.substr(0, voice.heard));
            if (i == s.writer) BOOST_TEST(voice.heard == s.text.size());
            const auto held = voice.cache.tokens();
            BOOST_TEST(held.size() < voice.own.size());
            BOOST_TEST(std::equal(held.begin(), held.end(), voice.own.tokens().begin()));
        });
    }
    std::string joined;
    std::size_t written = 0;
    for (const auto& each : testing::tokens_by(scheme, s.writers, s.committed.generated())) joined += each.bytes;
    for (const auto& each : s.counts.models) written += each.written;
    BOOST_TEST(joined == s.text);
    BOOST_TEST(written == s.writers.size());
}

}  // namespace

/// Three models say one text, one of them in tokens that end one code point and begin another.
BOOST_AUTO_TEST_CASE(every_model_has_the_text_and_turns_come_at_whole_code_points) {
    std::mt19937 random(7);
    const piece_codec torn({"\xA5\xE6", "\xAC\xF0\x9F", "\xE6\x97", "l", "▁h", "\xA9\xC3", "日本"});
    std::size_t switches = 0, waited = 0;
    for (unsigned round = 0; round < 60; ++round) {
        const std::string text = random_text(random, 60);
        const unsigned salt = round + 1;
        const bits_of bits = [=](std::size_t said) {
            return static_cast<int>((said + 3) * salt * 2654435761u >> 29) % 5;
        };
        const rolling_entropy policy({{1.2, 2.4}, 1 + random() % 4, 1 + random() % 4});
        const auto scheme = switched(byte_speaker(text, bits), piece_speaker(torn, text, bits),
                                     piece_speaker(pieces, text, bits), policy);
        auto s = session_of(
            scheme, {greedy(byte_codec::special), greedy(piece_codec::special, 3), greedy(piece_codec::special)}, {});
        while (s.finished == finish_reason::running) {
            const std::size_t before = s.writer;
            decode::step(scheme, s);
            check_voices(scheme, s);
            if (s.writer != before) BOOST_TEST(!detail::find_invalid_utf8(s.text).has_value());
            if (s.finished != finish_reason::running) break;
            if (s.wanted != s.writer) BOOST_TEST(detail::find_invalid_utf8(s.text).has_value());
        }
        BOOST_TEST((s.finished == finish_reason::stop_token));
        BOOST_TEST(s.text == text);
        BOOST_TEST(s.counts.turns.lost + s.counts.turns.full == 0u);
        switches += s.counts.turns.switches;
        waited += s.counts.turns.waited;
    }
    BOOST_TEST(switches > 200u);
    BOOST_TEST(waited > 30u);
}

BOOST_AUTO_TEST_CASE(any_bytes_are_handed_over_and_none_wait_for_ever) {
    std::mt19937 random(8);
    std::size_t switches = 0, waited = 0;
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
        const auto small = testing::hashed_model(byte_codec::vocabulary, 2 * seed, 3);
        const auto large = testing::hashed_model(pieces.vocabulary(), 2 * seed + 1, 3);
        const rolling_entropy policy(
            {{6.2 + 0.01 * static_cast<double>(random() % 80)}, 1 + random() % 3, 1 + random() % 4});
        const auto scheme = switched(spoken(small, bytes), spoken(large, pieces), policy);
        auto s = session_of(scheme, {opening{{1, 2}}, opening{{3}}}, {seed, 80});
        std::size_t in_a_row = 0;
        while (s.finished == finish_reason::running) {
            const std::size_t before = s.writer, waits = s.counts.turns.waited;
            const std::string text = s.text;
            decode::step(scheme, s);
            check_voices(scheme, s);
            if (s.writer != before && waits == 0) BOOST_TEST(!ends_inside(s.text));
            if (s.counts.turns.waited > waits) BOOST_TEST(ends_inside(s.text));
            in_a_row = s.counts.turns.waited > waits ? in_a_row + 1 : 0;
            if (testing::tokens_by(scheme, s.writers, s.committed.generated()).back().bytes.size() == 1)
                BOOST_TEST(in_a_row <= 3u);
        }
        switches += s.counts.turns.switches;
        waited += s.counts.turns.waited;
    }
    BOOST_TEST(switches > 80u);
    BOOST_TEST(waited > 10u);
}

BOOST_AUTO_TEST_CASE(bytes_that_are_no_text_do_not_block) {
    for (const std::string stream : {"\xE6\xE6\xE6\xE6\xE6\xE6", "\xF0\x9F\xF0\x9F\xF0\x9F"}) {
        const bits_of bits = [](std::size_t) { return 2; };
        const auto scheme = switched(byte_speaker(stream, bits), piece_speaker(pieces, stream, bits),
                                     rolling_entropy({.thresholds_bits = {1}, .window = 1, .dwell = 1}));
        const auto decoded = handed(scheme, {greedy(byte_codec::special), greedy(piece_codec::special)});
        BOOST_TEST(decoded.bytes == stream);
        BOOST_TEST(decoded.counts.turns.switches == 1u);
        BOOST_TEST(decoded.counts.models[0].written == (stream[1] == '\xE6' ? 2u : 3u));
    }
}

BOOST_AUTO_TEST_CASE(what_was_no_text_before_the_wish_does_not_hasten_it) {
    const std::string text = "\xE6\xE6\x97\xA5llo";
    const bits_of bits = [](std::size_t) { return 2; };
    const auto scheme = switched(byte_speaker(text, bits), piece_speaker(pieces, text, bits),
                                 rolling_entropy({.thresholds_bits = {1}, .window = 1, .dwell = 2}));
    BOOST_TEST(who_writes(scheme, {greedy(byte_codec::special), greedy(piece_codec::special)}) == "SSSSLL");
}

namespace {

/// Has no token for 'x'.
struct without_x : byte_codec {
    std::vector<token> encode(std::string_view text) const {
        auto tokens = byte_codec::encode(text);
        std::erase(tokens, 'x');
        return tokens;
    }
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_text_that_does_not_come_back_is_not_handed_over) {
    const std::string text = "hexhe hello";
    const bits_of bits = [](std::size_t) { return 2; };
    const without_x lossy;
    const auto model = saying_model(bytes, byte_codec::vocabulary, byte_codec::special, text, bits);
    const auto large = spoken(model, lossy, byte_ends);
    const auto from = greedy(byte_codec::special);
    const auto late =
        switched(byte_speaker(text, bits), large, rolling_entropy({.thresholds_bits = {1}, .window = 1, .dwell = 4}));
    const auto decoded = handed(late, {from, from});
    BOOST_TEST(decoded.bytes == text);
    BOOST_TEST(decoded.counts.turns.lost == 2u);  // after four tokens and after eight, as if the turns had changed
    BOOST_TEST(decoded.counts.turns.switches == 0u);
    BOOST_TEST(decoded.counts.models[1].passes == 0u);
    const auto soon =
        switched(byte_speaker(text, bits), large, rolling_entropy({.thresholds_bits = {1}, .window = 1, .dwell = 2}));
    const auto taken = handed(soon, {from, from});
    BOOST_TEST(taken.bytes == text);
    BOOST_TEST(writers(taken.writers, "SL") == "SSLLLLLLLLLL");  // who writes an x has it
    BOOST_TEST(taken.counts.turns.lost == 0u);
}

BOOST_AUTO_TEST_CASE(a_full_context_takes_no_turn_and_ends_its_own) {
    const auto roomy = testing::hashed_model(8, 1), cramped = testing::hashed_model(8, 2, 2, 6);
    const rolling_entropy policy({.thresholds_bits = {0}, .window = 1, .dwell = 4});
    const std::array<opening, 2> from{opening{{1, 2}}, opening{{1, 2}}};
    const auto refused = handed(switched(spoken(roomy, letters), spoken(cramped, letters), policy), from, {1, 9});
    BOOST_TEST(refused.counts.turns.full == 2u);
    BOOST_TEST(refused.counts.turns.lost == 0u);
    BOOST_TEST(refused.counts.models[0].written == 9u);
    BOOST_TEST((refused.finish == finish_reason::max_tokens));
    // The one that begins is full after four tokens: then the other goes on, or nobody.
    const auto goes_on = handed(switched(spoken(cramped, letters), spoken(roomy, letters), policy), from, {1, 9});
    BOOST_TEST(writers(goes_on.writers, "SL") == "SSSSLLLLL");
    const rolling_entropy stays({.thresholds_bits = {99}});
    const auto ends = handed(switched(spoken(cramped, letters), spoken(roomy, letters), stays), from, {1, 9});
    BOOST_TEST((ends.finish == finish_reason::context));
    BOOST_TEST(ends.tokens.size() == 4u);
}

/// Token 256 ends a text of the byte model's, and is the byte F7 to the other, whose end is token 0.
BOOST_AUTO_TEST_CASE(each_model_has_end_tokens_of_its_own) {
    const std::string text = "l\xF7";
    const bits_of bits = [](std::size_t) { return 0; };
    const auto scheme = switched(byte_speaker(text, bits), piece_speaker(pieces, text, bits),
                                 rolling_entropy({.thresholds_bits = {1}}));
    const std::array from{greedy(byte_codec::special), greedy(piece_codec::special)};
    const auto large = handed(scheme, from, {.first = 1});
    BOOST_TEST(large.bytes == text);
    BOOST_TEST((large.finish == finish_reason::stop_token));
    BOOST_TEST((large.by[1] == written_token{1, 256, "\xF7"}));
    BOOST_TEST((large.by[2] == written_token{1, 0, ""}));
    const auto small = handed(scheme, from, {.max_tokens = 3});
    BOOST_TEST((small.finish == finish_reason::stop_token));  // the first of two reasons
    BOOST_TEST((small.by[2] == written_token{0, 256, ""}));
}

BOOST_AUTO_TEST_CASE(tokens_count_whoever_writes_them) {
    std::mt19937 random(1);
    const std::string text = random_text(random, 40);
    const bits_of bits = [](std::size_t said) { return said % 7 < 3 ? 3 : 0; };
    const auto scheme = switched(byte_speaker(text, bits), piece_speaker(pieces, text, bits),
                                 rolling_entropy({.thresholds_bits = {1}, .window = 1, .dwell = 1}));
    const std::array from{greedy(byte_codec::special), greedy(piece_codec::special)};
    for (std::size_t most = 0; most < 12; ++most) {
        const auto decoded = handed(scheme, from, {.max_tokens = most});
        BOOST_TEST(decoded.tokens.size() == most);
        BOOST_TEST((decoded.finish == finish_reason::max_tokens));
        BOOST_TEST(text.starts_with(decoded.bytes));
    }
}

namespace {

/// The production chooser, which notes the positions that it is asked for.
struct noting_chooser : random::philox_chooser {
    explicit noting_chooser(std::vector<std::size_t>& notes) : philox_chooser(1), positions(&notes) {}
    std::size_t exponential_race(const auto& weights, std::size_t position) {
        positions->push_back(position);
        return philox_chooser::exponential_race(weights, position);
    }
    std::vector<std::size_t>* positions;
};

}  // namespace

/// Whatever the models' own positions are: five pieces may be fifteen bytes.
BOOST_AUTO_TEST_CASE(noise_is_used_once) {
    const auto small = testing::hashed_model(byte_codec::vocabulary, 1),
               large = testing::hashed_model(pieces.vocabulary(), 2);
    const auto scheme = switched(spoken(small, bytes), spoken(large, pieces),
                                 rolling_entropy({.thresholds_bits = {7.2}, .window = 1, .dwell = 3}));
    std::vector<std::size_t> positions, expected;
    decode::session<std::remove_const_t<decltype(scheme)>, noting_chooser> s(
        scheme, {opening{{1, 2}}, opening{{1, 2, 3, 4}}}, {}, {.max_tokens = 40}, noting_chooser(positions));
    while (s.finished == finish_reason::running) decode::step(scheme, s);
    for (std::size_t i = 0; i < 40; ++i) expected.push_back(2 + i);
    BOOST_TEST(positions == expected, boost::test_tools::per_element());
    BOOST_TEST(s.counts.turns.switches > 0u);
}

BOOST_AUTO_TEST_CASE(settings_are_each_models_own) {
    const auto small = testing::hashed_model(byte_codec::vocabulary, 1), large = testing::hashed_model(8, 2);
    const opening biased{{1}, transform::settings{.bias = {{{'c', 1000.0f}}}}};
    const opening other{{1}, transform::settings{.bias = {{{4, 1000.0f}}}}};
    const rolling_entropy policy({.thresholds_bits = {0}, .window = 1, .dwell = 5});
    const auto decoded =
        handed(switched(spoken(small, bytes), spoken(large, letters), policy), {biased, other}, {1, 9});
    BOOST_TEST(decoded.bytes == "ccccceeee");
}

BOOST_AUTO_TEST_CASE(a_model_catches_up_in_one_pass) {
    const std::string text = "hello hello";
    const bits_of bits = [](std::size_t said) { return said < 7 ? 2 : 0; };
    const testing::counting_model small(saying_model(bytes, byte_codec::vocabulary, byte_codec::special, text, bits));
    const testing::counting_model large(saying_model(pieces, pieces.vocabulary(), piece_codec::special, text, bits));
    const rolling_entropy policy({.thresholds_bits = {1}, .window = 1, .dwell = 5});
    const auto decoded = handed(switched(spoken(small, bytes, byte_ends), spoken(large, pieces, piece_ends), policy),
                                {greedy(byte_codec::special), greedy(piece_codec::special)});
    BOOST_TEST(decoded.bytes == text);
    BOOST_TEST(writers(decoded.writers, "SL") == "SSSSSLLL");  // he, llo | _he, llo, end
    BOOST_TEST(small.counts().calls == 5u);
    BOOST_TEST(small.counts().tokens == 5u);
    BOOST_TEST(large.counts().calls == 3u);
    BOOST_TEST(large.counts().rows == 3u);
    BOOST_TEST(large.counts().tokens == 1u + 3u + 2u);  // its prompt, h e llo, two of its own
    BOOST_TEST(decoded.counts.models[1].caught_up == 3u);
    BOOST_TEST(decoded.counts.models[1].passes == 3u);
}

BOOST_AUTO_TEST_CASE(a_row_of_nan_ends_the_text_and_says_where) {
    const testing::faulty_model broken(testing::hashed_model(8, 1), testing::fault::not_a_number, 5);
    const auto sound = testing::hashed_model(8, 2);
    const auto decoded = handed(switched(spoken(broken, letters), spoken(sound, letters), rolling_entropy{}),
                                {opening{{1, 2}}, opening{{1}}}, {3, 20});
    BOOST_TEST((decoded.finish == finish_reason::invalid_logits));
    BOOST_TEST(decoded.tokens.size() == 3u);
    BOOST_TEST(decoded.detail.find("the draft's logit") == 0u);
    BOOST_TEST(decoded.detail.find("position 5") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_pass_that_throws_can_be_repeated) {
    const std::string text = "hello hello";
    const bits_of bits = [](std::size_t) { return 2; };
    const auto sound = saying_model(pieces, pieces.vocabulary(), piece_codec::special, text, bits);
    const rolling_entropy policy({.thresholds_bits = {1}, .window = 1, .dwell = 5});
    for (std::size_t call = 0; call < 3; ++call) {
        const testing::faulty_model large(sound, testing::fault::throws_after_growing, call);
        const auto scheme = switched(byte_speaker(text, bits), spoken(large, pieces, piece_ends), policy);
        auto s = session_of(scheme, {greedy(byte_codec::special), greedy(piece_codec::special)}, {});
        std::size_t thrown = 0;
        while (s.finished == finish_reason::running) {
            try {
                decode::step(scheme, s);
            } catch (const error&) {
                ++thrown;
            }
            check_voices(scheme, s);
        }
        BOOST_TEST(thrown == 1u);
        BOOST_TEST(s.text == text);
        BOOST_TEST(writers(s.writers, "SL") == "SSSSSLLL");
    }
}

BOOST_AUTO_TEST_CASE(what_cannot_be_is_refused_with_its_values) {
    const auto small = testing::hashed_model(8, 1), large = testing::hashed_model(9, 2);
    const auto refused = [](const std::string& part) {
        return [part](const error& e) { return std::string(e.what()).find(part) != std::string::npos; };
    };
    BOOST_CHECK_EXCEPTION(
        switched(spoken(small, letters), spoken(large, letters), rolling_entropy({.thresholds_bits = {1, 2}})), error,
        refused("between 3 models, but 2 are given"));
    BOOST_CHECK_EXCEPTION(switched(spoken(small, letters), spoken(small, letters), rolling_entropy{}), error,
                          refused("model 0 and model 1 are one and the same"));
    const auto scheme = switched(spoken(small, letters), spoken(large, letters), rolling_entropy{});
    BOOST_CHECK_EXCEPTION(handed(scheme, {opening{{1}}, opening{{1}}}, {.first = 2}), error,
                          refused("model 2 is to start, but there are 2"));
    for (const switching::switching_options& unread :
         {switching::switching_options{.draft_length = 3}, switching::switching_options{.keep_warm = true}}) {
        BOOST_CHECK_EXCEPTION(
            scheme.with(unread), error,
            refused(unread.keep_warm ? "a draft of 0 tokens, keep_warm=1" : "a draft of 3 tokens, keep_warm=0"));
    }
    BOOST_CHECK_EXCEPTION(handed(scheme, {opening{{1}}, opening{{9}}}), error, refused("prompt token 0 is 9"));
}

namespace {

/// Three models that say a text by turns, which change where `salt` has it; of one the tokens are torn code points.
auto three_speakers(const std::string& text, unsigned salt) {
    static const piece_codec torn({"\xA5\xE6", "\xAC\xF0\x9F", "\xE6\x97", "l", "▁h", "\xA9\xC3", "日本"});
    const bits_of bits = [salt](std::size_t said) {
        return static_cast<int>((said + 3) * salt * 2654435761u >> 29) % 5;
    };
    return switched(byte_speaker(text, bits), piece_speaker(torn, text, bits), piece_speaker(pieces, text, bits),
                    rolling_entropy({{1.2, 2.4}, 1 + salt % 3, 1 + salt % 2}));
}
const std::array<opening, 3> three_openings{greedy(byte_codec::special), greedy(piece_codec::special, 3),
                                            greedy(piece_codec::special)};

}  // namespace

/// Whoever writes its parts: the text ends before the stop string, and the sink is never shown a part of it.
BOOST_AUTO_TEST_CASE(stop_strings_are_found_over_handovers) {
    std::mt19937 random(9);
    std::size_t spanned = 0;
    for (unsigned salt = 1; salt < 50; ++salt) {
        const std::string text = random_text(random, 60);
        const auto scheme = three_speakers(text, salt);
        std::size_t begin = random() % (text.size() - 12), end = begin + 1 + random() % 9;
        while ((text[begin] & 0xC0) == 0x80) ++begin;
        while (end <= begin || (end < text.size() && (text[end] & 0xC0) == 0x80)) ++end;
        const std::string stop = text.substr(begin, end - begin);
        std::string shown;
        std::vector<std::size_t> models;
        decode::options chosen;
        chosen.stop.stop_strings = {stop};
        chosen.on_token = [&](const commit::committed_token& t) {
            shown += t.text;
            models.push_back(t.model);
            return true;
        };
        const auto decoded = decode::generate<any_guarantee>(scheme, three_openings, chosen);
        BOOST_TEST((decoded.finish == finish_reason::stop_string));
        BOOST_TEST(decoded.detail == stop);
        BOOST_TEST(decoded.text() == text.substr(0, text.find(stop)));
        BOOST_TEST(shown == decoded.text());
        BOOST_TEST(models == decoded.writers, boost::test_tools::per_element());
        const auto whole = handed(scheme, three_openings);
        BOOST_TEST_REQUIRE(decoded.tokens.size() < whole.tokens.size());
        BOOST_TEST(std::equal(decoded.tokens.begin(), decoded.tokens.end(), whole.tokens.begin()));
        std::size_t bytes_before_last = 0;
        for (std::size_t i = 0; i + 1 < decoded.tokens.size(); ++i) bytes_before_last += whole.by[i].bytes.size();
        BOOST_TEST(bytes_before_last < text.find(stop) + stop.size());  // the last token completed it
        std::size_t at = 0;
        std::vector<std::size_t> who;
        for (const written_token& each : whole.by) {
            if (at < text.find(stop) + stop.size() && at + each.bytes.size() > text.find(stop))
                who.push_back(each.model);
            at += each.bytes.size();
        }
        spanned += std::adjacent_find(who.begin(), who.end(), std::not_equal_to<>()) != who.end();
    }
    BOOST_TEST(spanned > 10u);  // or the cases show nothing
}

BOOST_AUTO_TEST_CASE(a_sink_ends_the_text_or_only_the_round) {
    const std::string text = "hello hello";
    const auto scheme = three_speakers(text, 5);
    const auto whole = handed(scheme, three_openings);
    for (std::size_t most = 1; most < whole.tokens.size(); ++most) {
        decode::options chosen;
        std::size_t seen = 0;
        chosen.on_token = [&](const commit::committed_token& t) {
            BOOST_TEST((t.id == whole.by[seen].id && t.model == whole.by[seen].model));
            return ++seen < most;
        };
        const auto cut = decode::generate<any_guarantee>(scheme, three_openings, chosen);
        BOOST_TEST((cut.finish == finish_reason::cancelled));
        BOOST_TEST(cut.tokens.size() == most);
        BOOST_TEST(cut.counts.committed() == most);
        BOOST_TEST(cut.counts.rounds() == most);
        auto s = session_of(scheme, three_openings, {});
        std::size_t thrown = 0, shown = 0;
        const decode::step_options each{.on_token = [&](const commit::committed_token&) {
            if (++shown == most) throw std::runtime_error("sink");
            return true;
        }};
        while (s.finished == finish_reason::running) {
            try {
                decode::step(scheme, s, each);
            } catch (const std::runtime_error&) {
                ++thrown;
                BOOST_TEST(s.last.committed.size() == 1u);
            }
            check_voices(scheme, s);
        }
        BOOST_TEST(thrown == 1u);
        BOOST_TEST(shown == whole.tokens.size());
        BOOST_TEST(s.text == text);
        BOOST_TEST(s.writers == whole.writers, boost::test_tools::per_element());
        BOOST_TEST(s.counts.turns.switches == whole.counts.turns.switches);
    }
}

namespace {

struct side_watcher {
    const switching::opening* from;
    std::vector<std::size_t> vocabularies{};
    std::vector<double> log_probabilities{};
    void watch(const auto& view) {
        BOOST_TEST_REQUIRE(view.committed.size() == 1u);
        const commit::committed_token& t = view.committed[0];
        BOOST_TEST(view.prefix.size() == view.length_before + 1);
        BOOST_TEST(view.prefix.tokens().back() == t.id);
        const auto& prompt = from[t.model].prompt;
        BOOST_TEST(std::equal(prompt.begin(), prompt.end(), view.prefix.tokens().begin()));
        BOOST_TEST(view.decided.next == t.id);
        vocabularies.push_back(view.rows[0].size());
        log_probabilities.push_back(measure::log_probability(view.rows[0], t.id));
    }
};

}  // namespace

/// Ids, rows and prefix are of the model that wrote.
BOOST_AUTO_TEST_CASE(watchers_are_shown_the_writers_side) {
    const auto scheme = three_speakers("aé日 he, hello", 3);
    side_watcher seen{three_openings.data()};
    decode::options chosen;
    chosen.log_probabilities = true;
    const auto decoded = decode::generate<any_guarantee>(scheme, three_openings, chosen, seen);
    const auto vocabulary_of = [&](std::size_t model) {
        return model == 0   ? byte_codec::vocabulary
               : model == 1 ? std::get<1>(scheme.speakers()).model().vocabulary_size()
                            : pieces.vocabulary();
    };
    BOOST_TEST_REQUIRE(seen.vocabularies.size() == decoded.tokens.size());
    for (std::size_t i = 0; i < decoded.tokens.size(); ++i) {
        BOOST_TEST(seen.vocabularies[i] == vocabulary_of(decoded.writers[i]));
    }
    BOOST_TEST(decoded.log_probabilities == seen.log_probabilities, boost::test_tools::per_element());
    BOOST_TEST(decoded.counts.turns.switches > 2u);
}

namespace {

auto letters_by_turns(const testing::function_model& small, const testing::function_model& large) {
    return switched(spoken(small, letters), spoken(large, letters),
                    rolling_entropy({.thresholds_bits = {2.2}, .window = 2, .dwell = 2}));
}
void finish(const auto& scheme, auto& s) {
    while (s.finished == finish_reason::running) decode::step(scheme, s);
}
std::vector<token> prompt_of(const auto& session, std::size_t model) {
    const auto& all = model == 0 ? std::get<0>(session.voices).own : std::get<1>(session.voices).own;
    return {all.tokens().begin(), all.tokens().end()};
}

}  // namespace

/// A text that is cut and goes on is the text in one piece; with tokens added, the one that begins with all of that.
BOOST_AUTO_TEST_CASE(a_text_is_resumed_by_the_model_whose_turn_it_is) {
    const auto small = testing::hashed_model(8, 3), large = testing::hashed_model(8, 4);
    const auto scheme = letters_by_turns(small, large);
    const std::array<opening, 2> from{opening{{1, 2}}, opening{{1, 2}}};
    auto whole = session_of(scheme, from, {.seed = 6, .max_tokens = 30});
    finish(scheme, whole);
    BOOST_TEST(whole.counts.turns.switches > 2u);
    std::size_t turned = 0;
    for (std::size_t cut = 1; cut < 30; ++cut) {
        auto s = session_of(scheme, from, {.seed = 6, .max_tokens = cut});
        finish(scheme, s);
        turned += s.writer != s.wanted;
        auto first = s.writers;
        decode::resume(scheme, s, {}, {.max_tokens = 30 - cut});
        BOOST_TEST(s.text.empty());
        BOOST_TEST((s.writers.empty() && s.committed.generated().empty()));
        finish(scheme, s);
        BOOST_TEST(s.committed.tokens() == whole.committed.tokens(), boost::test_tools::per_element());
        first.insert(first.end(), s.writers.begin(), s.writers.end());
        BOOST_TEST(first == whole.writers, boost::test_tools::per_element());
        BOOST_TEST(s.counts.turns.switches == whole.counts.turns.switches);
        BOOST_TEST(s.counts.committed() == 30u);

        decode::resume(scheme, s, {std::vector<token>{5}, std::vector<token>{6, 7}}, {.max_tokens = 9});
        for (std::size_t i = 0; i < 2; ++i) {
            s.with_voice(i, [&](const auto& voice) {
                BOOST_TEST((voice.heard == 0u && voice.own.generated().empty()));
                if (i == s.writer) BOOST_TEST(voice.cache.tokens().size() == voice.own.size() - 1);
            });
        }
        const std::array<opening, 2> again{opening{prompt_of(s, 0)}, opening{prompt_of(s, 1)}};
        BOOST_TEST(again[0].prompt.back() == 5);
        BOOST_TEST(again[1].prompt.back() == 7);
        BOOST_TEST(again[0].prompt.size() == 2u + 30 + 1);
        const auto begun = scheme.with({.first = s.writer});
        decode::session<std::remove_cvref_t<decltype(scheme)>> fresh(begun, again, {}, {.max_tokens = 1},
                                                                     random::philox_chooser(6));
        decode::step(scheme, s);
        decode::step(begun, fresh);
        BOOST_TEST(s.committed.generated()[0] == fresh.committed.generated()[0]);
    }
    BOOST_TEST(turned > 1u);
}

BOOST_AUTO_TEST_CASE(what_cannot_be_resumed_is_refused_and_changes_nothing) {
    const auto small = testing::hashed_model(8, 3), large = testing::hashed_model(8, 4, 2, 20);
    const auto scheme = letters_by_turns(small, large);
    auto s = session_of(scheme, {opening{{1, 2}}, opening{{1, 2}}}, {.seed = 6, .max_tokens = 12});
    finish(scheme, s);
    const std::string text = s.text;
    const auto refuses = [&](const std::array<std::vector<token>, 2>& added, commit::stop_conditions conditions,
                             const std::string& part) {
        BOOST_CHECK_EXCEPTION(decode::resume(scheme, s, added, conditions), error, [&](const error& problem) {
            return std::string(problem.what()).find(part) != std::string::npos;
        });
        BOOST_TEST(s.text == text);
        BOOST_TEST((s.finished == finish_reason::max_tokens));
        BOOST_TEST(s.committed.generated().size() == 12u);
        check_voices(scheme, s);
    };
    refuses({std::vector<token>{1}, std::vector<token>(6, 1)}, {}, "20 tokens, which leaves no room");
    refuses({std::vector<token>{8}, std::vector<token>{}}, {}, "prompt token 14 is 8");
    refuses({}, {.stop_tokens = {1}}, "1 stop tokens, 0 stop marks and no text_of");

    const without_x lossy;
    const std::string cross = "hexhe hello";
    const bits_of bits = [](std::size_t) { return 0; };
    const auto model = saying_model(bytes, byte_codec::vocabulary, byte_codec::special, cross, bits);
    const auto half_deaf = switched(byte_speaker(cross, bits), spoken(model, lossy, byte_ends), rolling_entropy{});
    auto lost = session_of(half_deaf, {greedy(byte_codec::special), greedy(byte_codec::special)}, {});
    finish(half_deaf, lost);
    BOOST_CHECK_EXCEPTION(decode::resume(half_deaf, lost, {}, {}), error, [](const error& problem) {
        return std::string(problem.what())
                   .find("model 1 cannot continue the text: its codec does not give back the 11") != std::string::npos;
    });
    BOOST_TEST(lost.text == cross);
}

BOOST_AUTO_TEST_CASE(one_sampling_is_of_all_models_that_have_none_of_their_own) {
    const auto small = testing::hashed_model(8, 3), large = testing::hashed_model(8, 4);
    const auto scheme = letters_by_turns(small, large);
    const transform::settings cool{.temperature = {0.3f}};
    decode::options chosen;
    chosen.seed = 4;
    const std::array<opening, 2> each{opening{{1}, cool}, opening{{2}, cool}};
    const auto expected = decode::generate<any_guarantee>(scheme, each, chosen).tokens;
    chosen.sampling = cool;
    const auto decoded = decode::generate<any_guarantee>(scheme, {opening{{1}}, opening{{2}}}, chosen);
    BOOST_TEST(decoded.tokens == expected, boost::test_tools::per_element());
    const auto refused = [&](const std::string& part) {
        BOOST_CHECK_EXCEPTION(
            decode::generate<any_guarantee>(scheme, {opening{{1}, cool}, opening{{2}}}, chosen), error,
            [&](const error& problem) { return std::string(problem.what()).find(part) != std::string::npos; });
    };
    chosen.sampling.bias.added = {{1, 1.0f}, {2, 1.0f}};
    refused("a bias of 2 tokens, whose ids are of one vocabulary");
    BOOST_CHECK_NO_THROW(decode::generate<any_guarantee>(scheme, each, chosen));
    chosen.sampling.mask = [](std::span<float>, const prefix&) {};
    refused("a mask, whose ids");
    chosen.sampling = {};
    chosen.stop.text_of = [](token) { return std::string(); };
    refused("0 stop tokens, 0 stop marks and a text_of, which are of one vocabulary, but the text is written in 2");
    chosen.stop = {.stop_marks = {{1, "<end>"}}};
    refused("0 stop tokens, 1 stop marks and no text_of");
}

BOOST_AUTO_TEST_CASE(the_text_of_a_generation_is_the_codecs) {
    const auto small = testing::hashed_model(byte_codec::vocabulary, 1), large = testing::hashed_model(8, 2);
    const auto scheme = switched(spoken(small, bytes), spoken(large, letters),
                                 rolling_entropy({.thresholds_bits = {5}, .window = 1, .dwell = 2}));
    const auto decoded = handed(scheme, {opening{{1}}, opening{{1}}}, {.seed = 3, .max_tokens = 40});
    commit::text_stream stream;
    stream.push(decoded.bytes);
    stream.finish();
    BOOST_TEST(decoded.text() == stream.text());
    BOOST_TEST(decoded.counts.committed() == 40u);
    BOOST_TEST(decoded.counts.rounds() == 40u);
    BOOST_CHECK_EXCEPTION(scheme.bytes_of(2, 0), error, [](const error& problem) {
        return std::string(problem.what()) == "switched: model 2 wrote nothing: there are 2, from 0 on";
    });
}

BOOST_AUTO_TEST_CASE(nothing_is_promised) {
    const auto small = testing::hashed_model(8, 1), large = testing::hashed_model(9, 2);
    using scheme = decltype(switched(spoken(small, letters), spoken(large, letters), rolling_entropy{}));
    static_assert(std::is_same_v<guarantee_of<scheme>, guarantee::none> && !Lossless<scheme>);
}

BOOST_AUTO_TEST_SUITE_END()
