// Loops and choices as nodes of CUDA graphs, memory that the host shares, and values that are sent.
#include <augur/backend/device/cuda_system.hpp>
#include <boost/test/unit_test.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "augur/detail/stopwatch.hpp"
#include "augur/types/error.hpp"
#include "backend/device/controlled.hpp"

BOOST_AUTO_TEST_SUITE(gpu_control)

namespace {

namespace device = augur::backend::device;
using controlled::words;
using device::cuda_system;

/// Doubles numbers, says how many, and waits until it is told that this was seen.
struct double_and_wait {
    static constexpr unsigned threads = 64;
    static constexpr long most_turns = 20'000'000;  // across the bus: seconds
    std::uint32_t *numbers, *done, *seen;

    static constexpr std::size_t shared_bytes() { return 0; }
    template <class Team>
    AUGUR_KERNEL void operator()(const Team& team) const {
        team.each([&](unsigned thread) { numbers[thread] *= 2; });
        team.each([&](unsigned thread) {
            if (thread != 0) return;
            device::publish(done, threads);
            for (long turns = 0; device::published(seen) == 0 && turns < most_turns; ++turns) {
            }
        });
    }
};

}  // namespace

BOOST_AUTO_TEST_CASE(loops_and_choices_nest_at_once_and_recorded) {
    const auto on = cuda_system::with_stream();
    BOOST_TEST_REQUIRE(on.controls());
    controlled::check_all(on);
}

BOOST_AUTO_TEST_CASE(a_stream_of_ones_own_serves_as_well) {
    cudaStream_t stream = nullptr;
    device::check_cuda(cudaStreamCreate(&stream), "creating a stream");
    {
        const cuda_system on{stream};
        BOOST_TEST(on.stream() == stream);
        controlled::check_all(on);
        BOOST_TEST(on.stream() == stream);
    }
    device::check_cuda(cudaStreamDestroy(stream), "destroying a stream");
}

/// Where nothing can be recorded the host decides.
BOOST_AUTO_TEST_CASE(the_default_stream_loops_and_chooses_at_once) {
    const cuda_system on;
    BOOST_TEST(!on.records());
    BOOST_TEST(!on.controls());
    controlled::check_loops(on, false);
    controlled::check_nested_loops(on, false);
    controlled::check_choices(on, false);
    controlled::check_choices_in_loops(on, false);
    controlled::check_loops_in_choices(on, false);
    BOOST_CHECK_THROW(on.record([] {}), augur::error);
}

BOOST_AUTO_TEST_CASE(what_a_recording_cannot_hold_is_refused) {
    const auto on = cuda_system::with_stream();
    const device::buffer<std::uint32_t, cuda_system> there(on, 3);
    const std::uint32_t word = 1;
    const auto empty = on.record([] {});
    BOOST_CHECK_THROW(on.record([&] { on.upload(there.data(), &word, sizeof word); }), augur::error);
    BOOST_CHECK_THROW(on.record([&] { on.record([] {}); }), augur::error);
    BOOST_CHECK_THROW(on.record([&] { on.replay(empty); }), augur::error);
    BOOST_CHECK_THROW(on.record([&] { on.wait(); }), augur::error);
    BOOST_CHECK_THROW(on.record([&] { on.repeat_while(there.data(), [&] { on.wait(); }); }), augur::error);
    BOOST_TEST(on.records());
    controlled::check_replays(on);
}

BOOST_AUTO_TEST_CASE(shared_memory_is_read_while_kernels_run) {
    const auto on = cuda_system::with_stream();
    const device::shared_buffer<std::uint32_t, cuda_system> numbers(on, 64), done(on, 1), seen(on, 1);
    for (std::uint32_t i = 0; i < 64; ++i) numbers.values()[i] = i;
    done.values()[0] = seen.values()[0] = 0;
    on.launch(1, double_and_wait{numbers.data(), done.data(), seen.data()});
    const augur::detail::stopwatch watch;
    while (device::published(done.data()) == 0 && watch.seconds() < 10) {
    }
    BOOST_REQUIRE_MESSAGE(device::published(done.data()) == 64u, "a kernel that runs published nothing within 10 s");
    for (std::uint32_t i = 0; i < 64; ++i) BOOST_TEST(numbers.values()[i] == 2 * i);
    device::publish(seen.data(), 1);
    on.wait();
}

BOOST_AUTO_TEST_CASE(values_are_sent_in_order_and_recorded_as_they_were) {
    const auto on = cuda_system::with_stream();
    words values(1500);
    for (std::uint32_t i = 0; i < 1500; ++i) values[i] = i * i;
    const device::buffer<std::uint32_t, cuda_system> there(on, values.size());
    device::send(on, there.data(), values);
    BOOST_TEST(there.on_host() == values, boost::test_tools::per_element());
    const auto before = values;
    const auto recorded = on.record([&] { device::send(on, there.data(), values); });
    values.assign(1500, 1);
    device::send(on, there.data(), values);
    BOOST_TEST(there.on_host() == values, boost::test_tools::per_element());
    on.replay(recorded);
    BOOST_TEST(there.on_host() == before, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()
