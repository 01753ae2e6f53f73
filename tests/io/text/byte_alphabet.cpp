#include <augur/io/text/byte_alphabet.hpp>
#include <augur/io/text/utf8.hpp>
#include <boost/test/unit_test.hpp>
#include <set>
#include <string>

BOOST_AUTO_TEST_SUITE(io_byte_alphabet)

using namespace augur::io;

BOOST_AUTO_TEST_CASE(known_letters) {
    BOOST_TEST(spell_bytes(" ") == "Ġ");
    BOOST_TEST(spell_bytes("\n") == "Ċ");
    BOOST_TEST(spell_bytes("\t") == "ĉ");
    BOOST_TEST(spell_bytes("Az~!") == "Az~!");
    BOOST_TEST(spell_bytes("\x7F") == "ġ");
    BOOST_TEST(spell_bytes("\xAD") == "Ń");
    BOOST_TEST(spell_bytes("\xFF") == "ÿ");
    BOOST_TEST(spell_bytes(std::string(1, '\0')) == "Ā");
}

BOOST_AUTO_TEST_CASE(every_byte_has_its_own_letter_and_comes_back) {
    std::set<std::string> letters;
    std::string all;
    for (int byte = 0; byte < 256; ++byte) {
        all += static_cast<char>(byte);
        letters.insert(spell_bytes(all.substr(all.size() - 1)));
    }
    BOOST_TEST(letters.size() == 256u);
    BOOST_TEST(!find_invalid_utf8(spell_bytes(all)).has_value());
    BOOST_TEST(unspell_bytes(spell_bytes(all)).value() == all);
}

BOOST_AUTO_TEST_CASE(other_characters_spell_nothing) {
    BOOST_TEST(unspell_bytes("").value() == "");
    for (const auto* text : {"日本", " ", "\n", "▁a", "\xC5\x84", "\xC3", "a\xFF", "\xC3z"}) {
        BOOST_TEST(!unspell_bytes(text).has_value(), text);
    }
}

BOOST_AUTO_TEST_SUITE_END()
