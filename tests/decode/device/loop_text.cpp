#include "augur/decode/device/loop_text.hpp"

#include <augur/backend/device/system.hpp>
#include <augur/types/error.hpp>
#include <boost/test/unit_test.hpp>
#include <cstddef>
#include <cstdint>
#include <string>

using augur::backend::device::buffer, augur::backend::device::emulated_system;
using augur::decode::device::loop_launcher, augur::decode::device::most_verified;

BOOST_AUTO_TEST_SUITE(decode_loop_text)

BOOST_AUTO_TEST_CASE(rows_that_verify_a_draft_are_a_power_of_two_and_one_more_than_it) {
    for (std::size_t drafted = 0; drafted < 70; ++drafted) {
        const std::size_t rows = most_verified(drafted);
        BOOST_TEST((rows & (rows - 1)) == 0u);
        BOOST_TEST(rows > drafted);
        BOOST_TEST(rows / 2 <= drafted);
    }
}

namespace {

/// Records as emulated_system does, and says how often; or refuses to.
struct counting_system : emulated_system {
    int* recorded;
    bool refuses;

    explicit counting_system(int& count, bool refusing = false) : recorded(&count), refuses(refusing) {}

    template <class Body>
    recording record(const Body& body) const {
        if (refuses) throw augur::error("no room for 1300 nodes");
        ++*recorded;
        return emulated_system::record(body);
    }
};

/// Kernel: one round less.
struct count_down {
    static constexpr unsigned threads = 32;

    std::uint32_t* left;

    static constexpr std::size_t shared_bytes() { return 0; }

    template <class Team>
    void operator()(const Team& team) const {
        team.each([&](unsigned thread) {
            if (thread == 0) --*left;
        });
    }
};

}  // namespace

BOOST_AUTO_TEST_CASE(rounds_are_recorded_once_and_run_all_or_one_at_a_time) {
    const emulated_system on;
    const buffer<std::uint32_t, emulated_system> left(on, 1);
    const auto set = [&](std::uint32_t to) { on.upload(left.data(), &to, sizeof to); };
    int recorded = 0;
    loop_launcher<counting_system> launcher{counting_system(recorded)};
    const auto round = [&] { on.launch(1, count_down{left.data()}); };
    for (int again = 0; again < 2; ++again) {
        set(5);
        launcher.launch(false, true, left.data(), round);
        BOOST_TEST(left.on_host().front() == 4u);
        launcher.launch(true, true, left.data(), round);
        BOOST_TEST(left.on_host().front() == 0u);
        BOOST_TEST(recorded == 2);  // one of each kind
    }
    set(3);
    launcher.launch(true, false, left.data(), round);
    BOOST_TEST(left.on_host().front() == 0u);
    BOOST_TEST(recorded == 2);
    BOOST_TEST(launcher.refusal().empty());
}

BOOST_AUTO_TEST_CASE(where_recording_fails_rounds_are_launched_and_the_reason_is_kept) {
    const emulated_system on;
    const buffer<std::uint32_t, emulated_system> left(on, 1);
    const std::uint32_t four = 4;
    on.upload(left.data(), &four, sizeof four);
    int recorded = 0;
    loop_launcher<counting_system> launcher{counting_system(recorded, true)};
    const auto round = [&] { on.launch(1, count_down{left.data()}); };
    launcher.launch(false, true, left.data(), round);
    BOOST_TEST(left.on_host().front() == 3u);
    BOOST_TEST(launcher.refusal() == "rounds are not recorded, but launched one by one: no room for 1300 nodes");
    launcher.launch(true, true, left.data(), round);
    BOOST_TEST(left.on_host().front() == 0u);
    BOOST_TEST(recorded == 0);
}

BOOST_AUTO_TEST_SUITE_END()
