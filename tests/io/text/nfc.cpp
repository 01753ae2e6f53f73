#include <augur/io/text/nfc.hpp>
#include <boost/test/unit_test.hpp>
#include <string>

BOOST_AUTO_TEST_SUITE(io_nfc)

using namespace augur::io;

BOOST_AUTO_TEST_CASE(letters_and_marks_compose) {
    BOOST_TEST(to_nfc("") == "");
    BOOST_TEST(to_nfc("plain \u02ff") == "plain \u02ff");
    BOOST_TEST(to_nfc("e\u0301") == "\u00e9");
    BOOST_TEST(to_nfc("\u212b") == "\u00c5");                // to one letter, that composes
    BOOST_TEST(to_nfc("q\u0307\u0323") == "q\u0323\u0307");  // into the order of their classes
    BOOST_TEST(to_nfc("a\u0307\u0323") == "\u1ea1\u0307");   // past a mark of another class
    BOOST_TEST(to_nfc("e\u0301\u0301") == "\u00e9\u0301");   // of one class: the first alone
    BOOST_TEST(to_nfc("\u0301e") == "\u0301e");              // no starter before it
    BOOST_TEST(to_nfc("\u0344") == "\u0308\u0301");          // two marks, apart for ever
    BOOST_TEST(to_nfc("\u0958") == "\u0915\u093c");          // excluded from composition
    BOOST_TEST(to_nfc("\u1e69") == "\u1e69");                // of three
    BOOST_TEST(to_nfc("s\u0323\u0307") == "\u1e69");
    BOOST_TEST(to_nfc("\u09c7\u09be") == "\u09cb");  // two starters
    BOOST_TEST(to_nfc("\U0001d15e") == "\U0001d157\U0001d165");
    BOOST_TEST(to_nfc("\U00011938 \u1abf\u0323") == "\U00011938 \u1abf\u0323");  // later than Unicode 9.0
}

BOOST_AUTO_TEST_CASE(hangul_is_arithmetic) {
    BOOST_TEST(to_nfc("\u1112\u1161\u11ab") == "\ud55c");
    BOOST_TEST(to_nfc("\ud558\u11ab") == "\ud55c");
    BOOST_TEST(to_nfc("\ud55c\u11ab") == "\ud55c\u11ab");        // has a tail already
    BOOST_TEST(to_nfc("\u1100\u1175\u11a7") == "\uae30\u11a7");  // one before the tails
    BOOST_TEST(to_nfc("\u1113\u1161") == "\u1113\u1161");
    BOOST_TEST(to_nfc("\ud7a3\uac00") == "\ud7a3\uac00");
}

BOOST_AUTO_TEST_SUITE_END()
