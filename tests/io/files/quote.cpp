#include "augur/io/files/quote.hpp"

#include <boost/test/unit_test.hpp>
#include <string>

using augur::io::quote;

BOOST_AUTO_TEST_SUITE(io_quote)

BOOST_AUTO_TEST_CASE(plain_text_stays) {
    BOOST_TEST(quote("blk.0.attn_q.weight") == "'blk.0.attn_q.weight'");
}

BOOST_AUTO_TEST_CASE(what_a_terminal_would_obey_is_spelled_out) {
    BOOST_TEST(quote(std::string("\x1b\n\0\x7f\xff", 5)) == "'\\x1b\\x0a\\x00\\x7f\\xff'");
}

BOOST_AUTO_TEST_CASE(long_text_is_cut_and_its_length_told) {
    BOOST_TEST(quote(std::string(80, 'a')) == '\'' + std::string(80, 'a') + '\'');
    BOOST_TEST(quote(std::string(81, 'a')) == '\'' + std::string(80, 'a') + "... (81 bytes)'");
    BOOST_TEST(quote("abcdef", 3) == "'abc... (6 bytes)'");
}

BOOST_AUTO_TEST_CASE(printable_is_what_stays) {
    BOOST_TEST(augur::io::is_printable("model-00001-of-00002.safetensors ~"));
    BOOST_TEST(augur::io::is_printable(""));
    for (const char letter : {'\x1f', '\0', '\x7f', '\x80', '\xff'}) BOOST_TEST(!augur::io::is_printable({&letter, 1}));
}

BOOST_AUTO_TEST_SUITE_END()
