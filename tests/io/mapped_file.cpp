#include "augur/io/mapped_file.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "io/files.hpp"

using augur::io::mapped_file;
using augur::testing::says;
using augur::testing::temporary_directory;
using augur::testing::write_file;

static_assert(!std::is_copy_constructible_v<mapped_file> && !std::is_copy_assignable_v<mapped_file>);
static_assert(std::is_nothrow_move_constructible_v<mapped_file> && std::is_nothrow_move_assignable_v<mapped_file>);

namespace {

std::string_view text_of(const mapped_file& file) {
    return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(io_mapped_file, temporary_directory)

BOOST_AUTO_TEST_CASE(the_bytes_are_the_file) {
    const mapped_file file(write_file(path() / "a", "some text"));
    BOOST_TEST(text_of(file) == "some text");
}

BOOST_AUTO_TEST_CASE(what_is_released_stays_readable) {
    std::string text(300000, 'x');
    for (std::size_t i = 0; i < text.size(); i += 1000) text[i] = static_cast<char>('a' + i / 1000 % 26);
    const mapped_file file(write_file(path() / "a", text));
    BOOST_TEST((text_of(file) == text));
    file.release(file.bytes().subspan(10, 200000));
    BOOST_TEST((text_of(file) == text));
    std::vector<std::byte> own(100000, std::byte{7});
    file.release(own);  // not of this file: left alone
    BOOST_TEST((std::count(own.begin(), own.end(), std::byte{7}) == 100000));
}

BOOST_AUTO_TEST_CASE(a_move_keeps_the_address) {
    mapped_file a(write_file(path() / "a", "first"));
    mapped_file b(write_file(path() / "b", "second"));
    const auto* start = a.bytes().data();
    mapped_file c(std::move(a));
    BOOST_TEST(c.bytes().data() == start);
    BOOST_TEST(a.bytes().empty());
    b = std::move(c);
    BOOST_TEST(b.bytes().data() == start);
    BOOST_TEST(text_of(b) == "first");
}

BOOST_AUTO_TEST_CASE(a_replaced_file_stays_readable) {
    const mapped_file file(write_file(path() / "a", "before"));
    std::filesystem::rename(write_file(path() / "b", "after"), path() / "a");
    BOOST_TEST(text_of(file) == "before");
}

BOOST_AUTO_TEST_CASE(what_cannot_be_mapped_is_named_with_the_reason) {
    BOOST_CHECK_EXCEPTION(mapped_file(path() / "absent"), augur::error, says({"absent", "No such file or directory"}));
    BOOST_CHECK_EXCEPTION(mapped_file{path()}, augur::error, says({path().string(), "is a directory"}));
    BOOST_CHECK_EXCEPTION(mapped_file(write_file(path() / "void", "")), augur::error, says({"void", "is empty"}));
    const auto file = write_file(path() / "file", "x");
    BOOST_CHECK_EXCEPTION(mapped_file(file / "inside"), augur::error, says({"inside", "Not a directory"}));
}

BOOST_AUTO_TEST_CASE(a_pipe_is_refused_without_waiting_for_its_writer) {
    BOOST_TEST_REQUIRE(::mkfifo((path() / "pipe").c_str(), 0600) == 0);
    BOOST_CHECK_EXCEPTION(mapped_file(path() / "pipe"), augur::error, says({"pipe", "not a regular file"}));
}

BOOST_AUTO_TEST_SUITE_END()
