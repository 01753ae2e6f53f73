#include <augur/io/files/gguf_output.hpp>
//
#include <augur/io/files/gguf.hpp>
#include <boost/test/unit_test.hpp>
#include <cstring>
#include <string>
#include <vector>

BOOST_AUTO_TEST_SUITE(io_gguf_output)

using namespace augur;

BOOST_AUTO_TEST_CASE(what_is_written_is_read) {
    io::gguf_output out;
    out.add("a.size", std::uint32_t{7});
    out.add("a.number", 0.5f);
    out.add("a.text", "what \"else\"");
    out.add("a.list", std::vector<std::uint32_t>{3, 1, 2});
    const std::vector<std::uint64_t> shape{3, 5}, single{2};
    out.add_tensor("m", io::tensor_type::f32, shape);
    out.add_tensor("v", io::tensor_type::f16, single);
    auto bytes = out.head();
    std::vector<float> numbers(15);
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i) / 4;
    const auto append = [&](std::span<const std::byte> data) {
        bytes.insert(bytes.end(), data.begin(), data.end());
        bytes.resize(bytes.size() + io::gguf_output::padding(data.size()));
    };
    append(std::as_bytes(std::span(numbers)));
    append(std::as_bytes(std::span("\x00\x3c\x00\x40", 4)));
    BOOST_TEST(bytes.size() == out.byte_size());

    const io::gguf_view read(bytes);
    BOOST_TEST(read.get<std::uint32_t>("a.size") == 7u);
    BOOST_TEST(read.get<float>("a.number") == 0.5f);
    BOOST_TEST(read.get<std::string>("a.text") == "what \"else\"");
    BOOST_TEST(read.array<std::uint32_t>("a.list") == (std::vector<std::uint32_t>{3, 1, 2}),
               boost::test_tools::per_element());
    const auto& m = read.tensor("m");
    BOOST_TEST(m.shape == shape, boost::test_tools::per_element());
    BOOST_TEST(std::memcmp(m.bytes.data(), numbers.data(), 60) == 0);
    BOOST_TEST((read.tensor("v").type == io::tensor_type::f16));

    // Keys as they were found, of every kind.
    io::gguf_output again;
    read.metadata().each([&](std::string_view key, const io::gguf_value& value) { again.add(key, value); });
    again.add_tensor("m", io::tensor_type::f32, shape);
    again.add_tensor("v", io::tensor_type::f16, single);
    auto copy = again.head();
    copy.insert(copy.end(), bytes.begin() + static_cast<std::ptrdiff_t>(out.head().size()), bytes.end());
    const io::gguf_view twice(copy);
    BOOST_TEST(twice.get<std::string>("a.text") == "what \"else\"");
    BOOST_TEST(twice.array<std::uint32_t>("a.list").size() == 3u);
    BOOST_TEST(copy.size() == bytes.size());
}

BOOST_AUTO_TEST_CASE(what_no_file_can_have_is_refused) {
    io::gguf_output out;
    BOOST_CHECK_THROW(out.add("", std::uint32_t{1}), error);
    const std::vector<std::uint64_t> none, odd{4, 33};
    BOOST_CHECK_THROW(out.add_tensor("m", io::tensor_type::f32, none), error);
    BOOST_CHECK_THROW(out.add_tensor("m", io::tensor_type::q8_0, odd), error);
}

BOOST_AUTO_TEST_SUITE_END()
