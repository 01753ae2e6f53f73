#include "augur/io/files/mapped_file.hpp"

#include <sys/stat.h>

#include <boost/test/unit_test.hpp>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "io/files.hpp"

using augur::io::mapped_file;
using augur::testing::says;
using augur::testing::temporary_directory;
using augur::testing::write_file;

static_assert(!std::is_copy_constructible_v<mapped_file> && !std::is_copy_assignable_v<mapped_file>);

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

BOOST_AUTO_TEST_CASE(parts_are_copied) {
    const mapped_file file(write_file(path() / "a", "some text"));
    std::string out(4, '?');
    file.read(file.bytes().data() + 5, std::as_writable_bytes(std::span(out)));
    BOOST_TEST(out == "text");
}

BOOST_AUTO_TEST_CASE(a_file_that_is_cut_is_an_error_where_it_is_read) {
    const auto place = write_file(path() / "a", std::string(100'000, 'x'));
    const mapped_file file(place);
    std::filesystem::resize_file(place, 5000);
    std::string out(5000, '?');
    file.read(file.bytes().data(), std::as_writable_bytes(std::span(out)));
    BOOST_TEST((out == std::string(5000, 'x')));
    BOOST_CHECK_EXCEPTION(file.read(file.bytes().data() + 4000, std::as_writable_bytes(std::span(out))), augur::error,
                          says({place.string(), "cut short", "1000 are left of the 100000"}));
}

BOOST_AUTO_TEST_CASE(what_is_kept_outlives_the_file) {
    std::string text;
    while (text.size() < 3'000'001) text += std::to_string(text.size()) + ' ';
    const auto place = write_file(path() / "a", text);
    mapped_file file(place);
    const auto* start = file.bytes().data();
    file.keep(10);
    file.keep(1'500'000);
    file.keep(1'400'000);
    std::filesystem::resize_file(place, 100);
    BOOST_TEST((file.bytes().data() == start));
    BOOST_TEST((text_of(file).substr(0, 1'500'000) == text.substr(0, 1'500'000)));
    BOOST_CHECK_EXCEPTION(file.keep(3'000'000), augur::error, says({place.string(), "cut short"}));
    mapped_file whole(write_file(path() / "b", text));
    whole.keep(text.size());
    std::filesystem::resize_file(path() / "b", 0);
    BOOST_TEST((text_of(whole) == text));
}

/// Otherwise a file of holes, which takes no room, would take all memory.
BOOST_AUTO_TEST_CASE(what_is_kept_is_bounded) {
    const auto place = write_file(path() / "a", "x");
    std::filesystem::resize_file(place, std::uintmax_t{1} << 36);
    mapped_file file(place);
    BOOST_CHECK_EXCEPTION(file.keep(mapped_file::most_kept + 1), augur::error,
                          says({place.string(), "134217729 bytes or more", "134217728"}));
    file.keep(1);
    BOOST_TEST(text_of(file)[0] == 'x');
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
