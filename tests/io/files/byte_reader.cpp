#include "augur/io/files/byte_reader.hpp"

#include <boost/test/unit_test.hpp>
#include <limits>

#include "io/files.hpp"

using augur::io::byte_reader;
using augur::testing::byte_writer;
using augur::testing::says;

BOOST_AUTO_TEST_SUITE(io_byte_reader)

BOOST_AUTO_TEST_CASE(values_come_back_in_order_at_any_alignment) {
    byte_writer out;
    out.number(std::uint8_t{7}).number(std::uint32_t{0x01020304}).number(-2.5).string("text").number(std::int16_t{-3});
    byte_reader in(out.bytes(), "file");
    BOOST_TEST(in.read<std::uint8_t>("a") == 7);
    BOOST_TEST(in.read<std::uint32_t>("b") == 0x01020304u);
    BOOST_TEST(in.read<double>("c") == -2.5);
    BOOST_TEST(in.read_string("d") == "text");
    BOOST_TEST(in.position() == 25u);
    BOOST_TEST(in.remaining() == 2u);
    BOOST_TEST(in.read<std::int16_t>("e") == -3);
    BOOST_TEST(in.take(0, "nothing").empty());
}

BOOST_AUTO_TEST_CASE(the_end_is_an_error_that_says_what_was_read_and_where) {
    byte_writer out;
    out.number(std::uint16_t{1}).number(std::uint8_t{1});
    byte_reader in(out.bytes(), "file");
    in.read<std::uint16_t>("first");
    BOOST_CHECK_EXCEPTION(in.read<std::uint32_t>("second"), augur::error,
                          says({"file: second at byte 2 needs 4 bytes, 1 are left"}));
    BOOST_TEST(in.read<std::uint8_t>("what is there") == 1);
    BOOST_CHECK_EXCEPTION(in.take(std::numeric_limits<std::uint64_t>::max(), "all"), augur::error,
                          says({"needs 18446744073709551615 bytes, 0 are left"}));
}

BOOST_AUTO_TEST_CASE(a_count_is_bounded_by_what_can_follow) {
    byte_writer out;
    out.number(std::uint64_t{3}).number(std::uint64_t{0}).number(std::uint64_t{0});
    BOOST_TEST(byte_reader(out.bytes(), "file").read_count("n", 5) == 3u);
    BOOST_CHECK_EXCEPTION(byte_reader(out.bytes(), "file").read_count("n", 6), augur::error,
                          says({"file: n is 3, but the 16 bytes left hold at most 2"}));
}

BOOST_AUTO_TEST_SUITE_END()
