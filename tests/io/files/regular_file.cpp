#include "augur/io/files/regular_file.hpp"

#include <sys/stat.h>

#include <boost/test/unit_test.hpp>
#include <span>
#include <string>

#include "io/files.hpp"

using augur::io::read_text;
using augur::io::regular_file;
using augur::testing::says;
using augur::testing::temporary_directory;
using augur::testing::write_file;

namespace {

std::string part(const regular_file& file, std::uint64_t offset, std::size_t size) {
    std::string out(size, '?');
    file.read(offset, std::as_writable_bytes(std::span(out)));
    return out;
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(io_regular_file, temporary_directory)

BOOST_AUTO_TEST_CASE(parts_are_read) {
    const regular_file file(write_file(path() / "a", "some text"));
    BOOST_TEST(file.size() == 9u);
    BOOST_TEST(part(file, 5, 4) == "text");
    BOOST_TEST(part(file, 9, 0) == "");
    BOOST_CHECK_EXCEPTION(part(file, 5, 5), augur::error,
                          says({"/a was cut short", "5 bytes from byte 5", "4 are left"}));
}

BOOST_AUTO_TEST_CASE(a_file_that_is_cut_while_it_is_open_is_an_error_that_names_it) {
    const auto place = write_file(path() / "a", std::string(100000, 'x'));
    const regular_file file(place);
    std::filesystem::resize_file(place, 10);
    BOOST_TEST(part(file, 0, 10) == "xxxxxxxxxx");
    BOOST_CHECK_EXCEPTION(part(file, 50000, 1), augur::error, says({place.string(), "cut short", "of the 100000"}));
}

BOOST_AUTO_TEST_CASE(only_regular_files_are_opened) {
    BOOST_CHECK_EXCEPTION(regular_file(path() / "absent"), augur::error,
                          says({"cannot open", "absent", "No such file"}));
    BOOST_CHECK_EXCEPTION(regular_file{path()}, augur::error, says({path().string(), "is a directory"}));
    BOOST_CHECK_EXCEPTION(regular_file("/dev/zero"), augur::error, says({"/dev/zero is not a regular file"}));
    BOOST_REQUIRE(mkfifo((path() / "pipe").c_str(), 0600) == 0);
    BOOST_CHECK_EXCEPTION(regular_file(path() / "pipe"), augur::error, says({"pipe is not a regular file"}));
}

BOOST_AUTO_TEST_CASE(a_text_is_read_whole_and_bounded) {
    const auto place = write_file(path() / "a", std::string(70000, 'x'));
    BOOST_TEST(read_text(place, 100000).size() == 70000u);
    BOOST_TEST(read_text(write_file(path() / "b", ""), 0) == "");
    BOOST_TEST(read_text(place, 70000) == std::string(70000, 'x'));
    BOOST_CHECK_EXCEPTION(read_text(place, 69999), augur::error, says({"/a has 70000 bytes", "69999"}));
    BOOST_CHECK_EXCEPTION(read_text("/dev/zero", 10), augur::error, says({"not a regular file"}));
    BOOST_TEST(!read_text("/proc/self/status", 1 << 20).empty());  // its size is said to be 0
    BOOST_CHECK_EXCEPTION(read_text("/proc/self/status", 5), augur::error, says({"grew to", "the 5 that"}));
}

BOOST_AUTO_TEST_SUITE_END()
