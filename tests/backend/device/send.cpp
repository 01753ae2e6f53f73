#include "augur/backend/device/send.hpp"

#include <boost/test/unit_test.hpp>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <vector>

namespace device = augur::backend::device;
using device::emulated_system;

namespace {

struct odd_size {
    char letters[3];
};

}  // namespace

BOOST_AUTO_TEST_SUITE(backend_send)

static_assert(device::Kernel<device::send_bytes> && sizeof(device::send_bytes) <= 4096);

BOOST_AUTO_TEST_CASE(values_arrive_and_nothing_beside_them) {
    for (const bool backwards : {false, true}) {
        const emulated_system on{backwards};
        for (const std::size_t count : {0u, 1u, 511u, 512u, 513u, 1024u, 1500u}) {
            std::vector<std::uint32_t> values(count), there(count + 2, 77);
            std::iota(values.begin(), values.end(), 1000u);
            device::send(on, there.data() + 1, values);
            BOOST_TEST(there.front() == 77u);
            BOOST_TEST(there.back() == 77u);
            BOOST_TEST(std::vector(there.begin() + 1, there.end() - 1) == values, boost::test_tools::per_element());
        }
    }
}

BOOST_AUTO_TEST_CASE(values_may_straddle_launches) {
    const std::vector<odd_size> values(1000, odd_size{{'a', 'b', 'c'}});
    std::vector<odd_size> there(1000);
    device::send(emulated_system{}, there.data(), values);
    for (const odd_size& value : there) BOOST_TEST(std::string(value.letters, 3) == "abc");
}

BOOST_AUTO_TEST_CASE(there_is_a_launch_for_each_2048_bytes) {
    const emulated_system on;
    std::vector<std::byte> there(2 * 2048 + 1);
    const auto launches = [&](std::size_t bytes) {
        return on.record([&] { device::send(on, there.data(), std::span(there).first(bytes)); }).size();
    };
    BOOST_TEST(launches(0) == 0u);
    BOOST_TEST(launches(1) == 1u);
    BOOST_TEST(launches(2048) == 1u);
    BOOST_TEST(launches(2049) == 2u);
    BOOST_TEST(launches(4097) == 3u);
}

BOOST_AUTO_TEST_CASE(a_recording_holds_the_values_as_they_were) {
    const emulated_system on;
    std::vector<std::uint32_t> values{1, 2, 3}, there(3, 0);
    const auto recorded = on.record([&] { device::send(on, there.data(), values); });
    values = {4, 5, 6};
    BOOST_TEST(there[0] == 0u);
    on.replay(recorded);
    BOOST_TEST(there == (std::vector<std::uint32_t>{1, 2, 3}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()
