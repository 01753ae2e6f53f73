#include "augur/backend/device/system.hpp"

#include <atomic>
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "augur/types/error.hpp"
#include "backend/device/controlled.hpp"

namespace device = augur::backend::device;
using device::emulated_system;

BOOST_AUTO_TEST_SUITE(backend_system)

namespace {

std::string refusal(const std::function<void()>& of) {
    try {
        of();
    } catch (const augur::error& e) {
        return e.what();
    }
    return "none";
}

}  // namespace

static_assert(device::ControllingSystem<emulated_system>);

BOOST_AUTO_TEST_CASE(loops_and_choices_nest_at_once_and_recorded) {
    for (const bool backwards : {false, true}) controlled::check_all(emulated_system{backwards});
}

BOOST_AUTO_TEST_CASE(a_recording_runs_when_it_is_replayed_and_not_before) {
    const emulated_system on;
    std::uint32_t from = 3, to = 0, flag = 1;
    const auto recorded = on.record([&] {
        on.copy(&to, &from, sizeof to);
        on.clear(&flag, sizeof flag);
    });
    BOOST_TEST(to == 0u);
    BOOST_TEST(flag == 1u);
    from = 4;
    on.replay(recorded);
    BOOST_TEST(to == 4u);
    BOOST_TEST(flag == 0u);
}

BOOST_AUTO_TEST_CASE(each_body_is_recorded_once) {
    const emulated_system on;
    std::uint32_t words[] = {0, 7};
    std::vector<std::uint32_t> bodies;
    const auto recorded = on.record([&] {
        on.repeat_while(words, [&] { bodies.push_back(9); });
        on.choose(words + 1, 3, [&](std::uint32_t i) { bodies.push_back(i); });
    });
    on.replay(recorded);
    BOOST_TEST(bodies == (std::vector<std::uint32_t>{9, 0, 1, 2}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(what_a_recording_cannot_hold_is_refused) {
    const emulated_system on;
    std::uint32_t word = 0, other = 5;
    BOOST_TEST(on.records());
    const auto empty = on.record([&] { BOOST_TEST(!on.records()); });
    const auto recording = [&](const std::function<void()>& body) {
        const auto said = refusal([&] { on.record(body); });
        BOOST_TEST(on.records());
        return said;
    };
    BOOST_TEST(recording([&] { on.release(on.allocate(4)); }) == "a recording cannot hold memory");
    BOOST_TEST(recording([&] { on.release_shared(on.allocate_shared(4)); }) == "a recording cannot hold memory");
    BOOST_TEST(recording([&] { on.upload(&word, &other, 4); }) == "a recording cannot hold an upload");
    BOOST_TEST(recording([&] { on.download(&word, &other, 4); }) == "a recording cannot hold a download");
    BOOST_TEST(recording([&] { on.wait(); }) == "a recording cannot hold a wait");
    BOOST_TEST(recording([&] { on.record([] {}); }) == "a recording cannot hold another");
    BOOST_TEST(recording([&] { on.replay(empty); }) == "a recording cannot hold another");
    const auto in_body = [&] { on.repeat_while(&word, [&] { on.wait(); }); };
    BOOST_TEST(recording(in_body) == "a recording cannot hold a wait");
    BOOST_TEST(word == 0u);
}

/// What another thread launches meanwhile is neither recorded nor lost.
BOOST_AUTO_TEST_CASE(threads_take_turns_and_a_recording_is_one_turn) {
    const emulated_system on;
    std::uint32_t from = 3, recorded = 0, launched = 0, uploaded = 0;
    std::atomic<bool> begins = false, is_done = false;
    std::thread other;
    const auto recording = on.record([&] {
        other = std::thread([&] {
            begins = true;
            on.copy(&launched, &from, sizeof from);
            on.upload(&uploaded, &from, sizeof from);
            BOOST_TEST(on.records());
            is_done = true;
        });
        while (!begins) std::this_thread::yield();
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        BOOST_TEST(!is_done);
        on.copy(&recorded, &from, sizeof from);
    });
    other.join();
    BOOST_TEST(recording.size() == 1U);
    BOOST_TEST(launched == 3U);
    BOOST_TEST(uploaded == 3U);
    BOOST_TEST(recorded == 0U);
    from = 4;
    on.replay(recording);
    BOOST_TEST(recorded == 4U);
    BOOST_TEST(launched == 3U);
}

BOOST_AUTO_TEST_SUITE_END()
