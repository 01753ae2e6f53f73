#include "augur/backend/device/shared_buffer.hpp"

#include <boost/test/unit_test.hpp>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <utility>
#include <vector>

namespace device = augur::backend::device;
using device::emulated_system, device::shared_buffer;

namespace {

/// Doubles numbers, and says how many.
struct double_and_publish {
    static constexpr unsigned threads = 64;
    std::uint32_t* numbers;
    std::uint32_t* done;

    static constexpr std::size_t shared_bytes() { return 0; }
    template <class Team>
    void operator()(const Team& team) const {
        team.each([&](unsigned thread) { numbers[thread] *= 2; });
        team.each([&](unsigned thread) {
            if (thread == 0) device::publish(done, threads);
        });
    }
};

/// Counts memory that nobody has released.
struct counting_system : emulated_system {
    int* held = nullptr;

    void* allocate_shared(std::size_t bytes) const {
        ++*held;
        return emulated_system::allocate_shared(bytes);
    }
    void release_shared(void* memory) const {
        --*held;
        emulated_system::release_shared(memory);
    }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(backend_shared_buffer)

BOOST_AUTO_TEST_CASE(kernels_and_the_host_see_one_memory) {
    for (const bool backwards : {false, true}) {
        const emulated_system on{backwards};
        const shared_buffer<std::uint32_t, emulated_system> numbers(on, 64), done(on, 1);
        BOOST_TEST(numbers.size() == 64u);
        BOOST_TEST(numbers.memory_bytes() == 256u);
        for (std::uint32_t i = 0; i < 64; ++i) numbers.values()[i] = i;
        done.values()[0] = 0;
        on.launch(1, double_and_publish{numbers.data(), done.data()});
        on.wait();
        BOOST_TEST(done.values()[0] == 64u);
        for (std::uint32_t i = 0; i < 64; ++i) BOOST_TEST(numbers.values()[i] == 2 * i);
    }
}

BOOST_AUTO_TEST_CASE(what_was_written_before_a_word_is_seen_with_it) {
    const emulated_system on;
    const shared_buffer<std::uint32_t, emulated_system> numbers(on, 64), words(on, 2);
    std::uint32_t* const done = words.data();
    std::uint32_t* const go = words.data() + 1;
    for (std::uint32_t i = 0; i < 64; ++i) numbers.values()[i] = i;
    done[0] = go[0] = 0;
    std::thread device([&] {
        while (device::published(go) == 0) std::this_thread::yield();
        on.launch(1, double_and_publish{numbers.data(), done});
    });
    numbers.values()[5] = 100;
    device::publish(go, 1);
    while (device::published(done) == 0) std::this_thread::yield();
    BOOST_TEST(device::published(done) == 64u);
    BOOST_TEST(numbers.values()[5] == 200u);
    BOOST_TEST(numbers.values()[63] == 126u);
    device.join();
}

BOOST_AUTO_TEST_CASE(memory_goes_back_once) {
    int held = 0;
    {
        counting_system on;
        on.held = &held;
        shared_buffer<double, counting_system> first(on, 3);
        const shared_buffer<double, counting_system> none(on, 0), nothing;
        BOOST_TEST(held == 1);
        BOOST_TEST(none.data() == nullptr);
        BOOST_TEST(nothing.values().empty());
        const auto second = std::move(first);
        BOOST_TEST(second.size() == 3u);
        BOOST_TEST(held == 1);
    }
    BOOST_TEST(held == 0);
}

BOOST_AUTO_TEST_SUITE_END()
