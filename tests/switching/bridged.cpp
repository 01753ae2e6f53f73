#include "augur/switching/bridged.hpp"

#include <algorithm>
#include <augur/commit/text_stream.hpp>
#include <augur/decode/generate.hpp>
#include <augur/switching/rolling_entropy.hpp>
#include <augur/testing/counting_model.hpp>
#include <augur/testing/faulty_model.hpp>
#include <augur/testing/models.hpp>
#include <augur/types/utf8.hpp>
#include <boost/test/unit_test.hpp>
#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "switching/codecs.hpp"

using namespace augur;
using switching::bridged_generate;
using switching::bridged_options;
using switching::opening;
using switching::rolling_entropy;
using testing::byte_codec;
using testing::letter_codec;
using testing::piece_codec;
using testing::saying_model;

BOOST_AUTO_TEST_SUITE(switching_bridged)

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
    start.sampling.temperature.value = 0;
    return start;
}

/// Who wrote each token, as letters of `names`.
std::string writers(const std::vector<switching::bridged_token>& tokens, std::string_view names) {
    std::string result;
    for (const auto& each : tokens) result += names[each.model];
    return result;
}

template <class Scheme>
auto session_of(const Scheme& scheme, const typename Scheme::openings_type& from, const bridged_options& chosen) {
    return switching::bridged_session<Scheme>(scheme, from, chosen, random::philox_chooser(chosen.seed));
}

template <class Scheme>
std::string who_writes(const Scheme& scheme, const typename Scheme::openings_type& from) {
    return writers(bridged_generate(scheme, from).tokens, "SL");
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
    while (s.finished == finish_reason::running) step(s);
    BOOST_TEST(s.text == text);
    BOOST_TEST((s.finished == finish_reason::stop_token));
    BOOST_TEST(writers(s.written, "SL") == "SSSLLSS");
    BOOST_TEST((s.written[3] == switching::bridged_token{1, 4, "日"}));
    BOOST_TEST((s.written[6] == switching::bridged_token{0, 256, ""}));
    BOOST_TEST(s.counts.switches == 2u);
    BOOST_TEST(s.counts.waited == 1u);
    BOOST_TEST(s.counts.lost + s.counts.full == 0u);
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
    const auto decoded = bridged_generate(scheme, {greedy(byte_codec::special), greedy(piece_codec::special)});
    BOOST_TEST(writers(decoded.tokens, "SL") == "SSSSSSSSSSS");
    BOOST_TEST(decoded.counts.waited == 1u);
    BOOST_TEST(decoded.counts.switches == 0u);
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
            bridged_generate(switched(spoken(small, letters, ends), spoken(large, letters, ends), policy),
                             {opening{prompt, chosen.sampling}, opening{prompt, chosen.sampling}}, {seed, 50, first});
        std::vector<token> tokens;
        for (const auto& each : decoded.tokens) tokens.push_back(each.id);
        BOOST_TEST(tokens == expected.tokens, boost::test_tools::per_element());
        BOOST_TEST((decoded.finish == expected.finish));
        for (std::size_t i = 0; i < 2; ++i) {
            BOOST_TEST(decoded.counts.models[i].written == expected.counts.models[i].written);
            BOOST_TEST(decoded.counts.models[i].caught_up == expected.counts.models[i].caught_up);
        }
        BOOST_TEST(decoded.policy.mean_bits() == expected.policy.mean_bits());
        BOOST_TEST(decoded.counts.waited == 0u);
        mixed += decoded.counts.switches > 0;
    }
    BOOST_TEST(mixed > 50u);  // or the cases show nothing
}

BOOST_AUTO_TEST_CASE(the_ends_are_the_models_alone) {
    const auto small = testing::hashed_model(byte_codec::vocabulary, 1), large = testing::hashed_model(8, 2);
    const std::vector<token> prompt{1, 2, 3}, other{4};
    decode::options chosen;
    chosen.seed = 9;
    chosen.stop.max_tokens = 40;
    const auto ids = [](const auto& decoded) {
        std::vector<token> tokens;
        for (const auto& each : decoded.tokens) tokens.push_back(each.id);
        return tokens;
    };
    const rolling_entropy never({.thresholds_bits = {std::numeric_limits<double>::infinity()}});
    const auto alone = bridged_generate(switched(spoken(small, bytes), spoken(large, letters), never),
                                        {opening{prompt}, opening{other}}, {9, 40});
    BOOST_TEST(ids(alone) == decode::generate(plain(small), prompt, chosen).tokens, boost::test_tools::per_element());
    BOOST_TEST(alone.counts.models[1].passes == 0u);
    BOOST_TEST(alone.seed == 9u);
    const rolling_entropy always({.thresholds_bits = {0}, .window = 1, .dwell = 1});
    const auto large_alone = bridged_generate(switched(spoken(small, bytes), spoken(large, letters), always),
                                              {opening{prompt}, opening{other}}, {9, 40, 1});
    BOOST_TEST(ids(large_alone) == decode::generate(plain(large), other, chosen).tokens,
               boost::test_tools::per_element());
    // At 0 the large one writes all that follows the dwell of the small one.
    const rolling_entropy soon({.thresholds_bits = {0}, .window = 1, .dwell = 3});
    const auto little = testing::hashed_model(8, 3);
    const auto decoded = bridged_generate(switched(spoken(little, letters), spoken(large, letters), soon),
                                          {opening{prompt}, opening{prompt}}, {9, 40});
    auto begun = prompt;
    for (std::size_t i = 0; i < 3; ++i) begun.push_back(decoded.tokens[i].id);
    chosen.stop.max_tokens = 37;
    const auto rest = decode::generate(plain(large), begun, chosen).tokens;
    const auto all = ids(decoded);
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
template <class Session>
void check_voices(Session& s) {
    for (std::size_t i = 0; i < Session::models; ++i) {
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
    for (const auto& each : s.written) joined += each.bytes;
    for (const auto& each : s.counts.models) written += each.written;
    BOOST_TEST(joined == s.text);
    BOOST_TEST(written == s.written.size());
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
            step(s);
            check_voices(s);
            if (s.writer != before) BOOST_TEST(!detail::find_invalid_utf8(s.text).has_value());
            if (s.finished != finish_reason::running) break;
            if (s.wanted != s.writer) BOOST_TEST(detail::find_invalid_utf8(s.text).has_value());
        }
        BOOST_TEST((s.finished == finish_reason::stop_token));
        BOOST_TEST(s.text == text);
        BOOST_TEST(s.counts.lost + s.counts.full == 0u);
        switches += s.counts.switches;
        waited += s.counts.waited;
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
            const std::size_t before = s.writer, waits = s.counts.waited;
            const std::string text = s.text;
            step(s);
            check_voices(s);
            if (s.writer != before && waits == 0) BOOST_TEST(!ends_inside(s.text));
            if (s.counts.waited > waits) BOOST_TEST(ends_inside(s.text));
            in_a_row = s.counts.waited > waits ? in_a_row + 1 : 0;
            if (s.written.back().bytes.size() == 1) BOOST_TEST(in_a_row <= 3u);
        }
        switches += s.counts.switches;
        waited += s.counts.waited;
    }
    BOOST_TEST(switches > 80u);
    BOOST_TEST(waited > 10u);
}

BOOST_AUTO_TEST_CASE(bytes_that_are_no_text_do_not_block) {
    for (const std::string stream : {"\xE6\xE6\xE6\xE6\xE6\xE6", "\xF0\x9F\xF0\x9F\xF0\x9F"}) {
        const bits_of bits = [](std::size_t) { return 2; };
        const auto scheme = switched(byte_speaker(stream, bits), piece_speaker(pieces, stream, bits),
                                     rolling_entropy({.thresholds_bits = {1}, .window = 1, .dwell = 1}));
        const auto decoded = bridged_generate(scheme, {greedy(byte_codec::special), greedy(piece_codec::special)});
        BOOST_TEST(decoded.bytes == stream);
        BOOST_TEST(decoded.counts.switches == 1u);
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
    const auto decoded = bridged_generate(late, {from, from});
    BOOST_TEST(decoded.bytes == text);
    BOOST_TEST(decoded.counts.lost == 2u);  // after four tokens and after eight, as if the turns had changed
    BOOST_TEST(decoded.counts.switches == 0u);
    BOOST_TEST(decoded.counts.models[1].passes == 0u);
    const auto soon =
        switched(byte_speaker(text, bits), large, rolling_entropy({.thresholds_bits = {1}, .window = 1, .dwell = 2}));
    const auto handed = bridged_generate(soon, {from, from});
    BOOST_TEST(handed.bytes == text);
    BOOST_TEST(writers(handed.tokens, "SL") == "SSLLLLLLLLLL");  // who writes an x has it
    BOOST_TEST(handed.counts.lost == 0u);
}

BOOST_AUTO_TEST_CASE(a_full_context_takes_no_turn_and_ends_its_own) {
    const auto roomy = testing::hashed_model(8, 1), cramped = testing::hashed_model(8, 2, 2, 6);
    const rolling_entropy policy({.thresholds_bits = {0}, .window = 1, .dwell = 4});
    const std::array<opening, 2> from{opening{{1, 2}}, opening{{1, 2}}};
    const auto refused =
        bridged_generate(switched(spoken(roomy, letters), spoken(cramped, letters), policy), from, {1, 9});
    BOOST_TEST(refused.counts.full == 2u);
    BOOST_TEST(refused.counts.lost == 0u);
    BOOST_TEST(refused.counts.models[0].written == 9u);
    BOOST_TEST((refused.finish == finish_reason::max_tokens));
    // The one that begins is full after four tokens: then the other goes on, or nobody.
    const auto goes_on =
        bridged_generate(switched(spoken(cramped, letters), spoken(roomy, letters), policy), from, {1, 9});
    BOOST_TEST(writers(goes_on.tokens, "SL") == "SSSSLLLLL");
    const rolling_entropy stays({.thresholds_bits = {99}});
    const auto ends = bridged_generate(switched(spoken(cramped, letters), spoken(roomy, letters), stays), from, {1, 9});
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
    const auto large = bridged_generate(scheme, from, {.first = 1});
    BOOST_TEST(large.bytes == text);
    BOOST_TEST((large.finish == finish_reason::stop_token));
    BOOST_TEST((large.tokens[1] == switching::bridged_token{1, 256, "\xF7"}));
    BOOST_TEST((large.tokens[2] == switching::bridged_token{1, 0, ""}));
    const auto small = bridged_generate(scheme, from, {.max_tokens = 3});
    BOOST_TEST((small.finish == finish_reason::stop_token));  // the first of two reasons
    BOOST_TEST((small.tokens[2] == switching::bridged_token{0, 256, ""}));
}

BOOST_AUTO_TEST_CASE(tokens_count_whoever_writes_them) {
    std::mt19937 random(1);
    const std::string text = random_text(random, 40);
    const bits_of bits = [](std::size_t said) { return said % 7 < 3 ? 3 : 0; };
    const auto scheme = switched(byte_speaker(text, bits), piece_speaker(pieces, text, bits),
                                 rolling_entropy({.thresholds_bits = {1}, .window = 1, .dwell = 1}));
    const std::array from{greedy(byte_codec::special), greedy(piece_codec::special)};
    for (std::size_t most = 0; most < 12; ++most) {
        const auto decoded = bridged_generate(scheme, from, {.max_tokens = most});
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
    switching::bridged_session<std::remove_const_t<decltype(scheme)>, noting_chooser> s(
        scheme, {opening{{1, 2}}, opening{{1, 2, 3, 4}}}, {.max_tokens = 40}, noting_chooser(positions));
    while (s.finished == finish_reason::running) step(s);
    for (std::size_t i = 0; i < 40; ++i) expected.push_back(2 + i);
    BOOST_TEST(positions == expected, boost::test_tools::per_element());
    BOOST_TEST(s.counts.switches > 0u);
}

BOOST_AUTO_TEST_CASE(settings_are_each_models_own) {
    const auto small = testing::hashed_model(byte_codec::vocabulary, 1), large = testing::hashed_model(8, 2);
    opening biased{{1}};
    biased.sampling.bias.added = {{'c', 1000.0f}};
    opening other{{1}};
    other.sampling.bias.added = {{4, 1000.0f}};
    const rolling_entropy policy({.thresholds_bits = {0}, .window = 1, .dwell = 5});
    const auto decoded =
        bridged_generate(switched(spoken(small, bytes), spoken(large, letters), policy), {biased, other}, {1, 9});
    BOOST_TEST(decoded.bytes == "ccccceeee");
}

BOOST_AUTO_TEST_CASE(a_model_catches_up_in_one_pass) {
    const std::string text = "hello hello";
    const bits_of bits = [](std::size_t said) { return said < 7 ? 2 : 0; };
    const testing::counting_model small(saying_model(bytes, byte_codec::vocabulary, byte_codec::special, text, bits));
    const testing::counting_model large(saying_model(pieces, pieces.vocabulary(), piece_codec::special, text, bits));
    const rolling_entropy policy({.thresholds_bits = {1}, .window = 1, .dwell = 5});
    const auto decoded =
        bridged_generate(switched(spoken(small, bytes, byte_ends), spoken(large, pieces, piece_ends), policy),
                         {greedy(byte_codec::special), greedy(piece_codec::special)});
    BOOST_TEST(decoded.bytes == text);
    BOOST_TEST(writers(decoded.tokens, "SL") == "SSSSSLLL");  // he, llo | _he, llo, end
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
    const auto decoded = bridged_generate(switched(spoken(broken, letters), spoken(sound, letters), rolling_entropy{}),
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
                step(s);
            } catch (const error&) {
                ++thrown;
            }
            check_voices(s);
        }
        BOOST_TEST(thrown == 1u);
        BOOST_TEST(s.text == text);
        BOOST_TEST(writers(s.written, "SL") == "SSSSSLLL");
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
    BOOST_CHECK_EXCEPTION(bridged_generate(scheme, {opening{{1}}, opening{{1}}}, {.first = 2}), error,
                          refused("model 2 is to start, but there are 2"));
    BOOST_CHECK_EXCEPTION(bridged_generate(scheme, {opening{{1}}, opening{{9}}}), error,
                          refused("prompt token 0 is 9"));
}

BOOST_AUTO_TEST_CASE(nothing_is_promised) {
    const auto small = testing::hashed_model(8, 1), large = testing::hashed_model(9, 2);
    using scheme = decltype(switched(spoken(small, letters), spoken(large, letters), rolling_entropy{}));
    static_assert(std::is_same_v<guarantee_of<scheme>, guarantee::none> && !Lossless<scheme>);
}

BOOST_AUTO_TEST_SUITE_END()
