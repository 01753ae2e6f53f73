#pragma once
// What loops, choices and shared memory must do, on every system.

#include <boost/test/unit_test.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <stdexcept>
#include <vector>

#include "augur/backend/device/send.hpp"
#include "augur/backend/device/shared_buffer.hpp"
#include "augur/backend/device/system.hpp"
#include "augur/detail/host_device.hpp"

namespace controlled {

namespace device = augur::backend::device;
using words = std::vector<std::uint32_t>;

/// Work of a single thread on a few words.
template <class Work>
struct one_thread {
    static constexpr unsigned threads = device::warp_size;
    std::uint32_t* at;

    static constexpr std::size_t shared_bytes() { return 0; }
    template <class Team>
    AUGUR_KERNEL void operator()(const Team& team) const {
        team.each([&](unsigned thread) {
            if (thread == 0) Work::run(at);
        });
    }
};

/// {whether there is more to do, number, steps}: halves an even number, or takes an odd one three times and one more.
struct collatz {
    AUGUR_HOST_DEVICE static void run(std::uint32_t* at) {
        at[1] = at[1] % 2 == 0 ? at[1] / 2 : 3 * at[1] + 1;
        at[2] += 1;
        at[0] = at[1] != 1;
    }
};

/// The same, by two bodies: {whether there is more to do, number, steps, which body}.
struct collatz_branch {
    AUGUR_KERNEL static void run(std::uint32_t* at) {
        at[0] = at[1] != 1;
        at[3] = at[1] % 2;
    }
};
struct collatz_halve {
    AUGUR_KERNEL static void run(std::uint32_t* at) {
        at[1] /= 2;
        at[2] += 1;
    }
};
struct collatz_triple {
    AUGUR_KERNEL static void run(std::uint32_t* at) {
        at[1] = 3 * at[1] + 1;
        at[2] += 1;
    }
};

/// {outer turns left, inner turns left, inner turns of each outer one, inner turns so far}
struct begin_inner {
    AUGUR_KERNEL static void run(std::uint32_t* at) { at[1] = at[2]; }
};
struct inner_turn {
    AUGUR_KERNEL static void run(std::uint32_t* at) {
        at[1] -= at[1] > 0;
        at[3] += 1;
    }
};
struct end_outer {
    AUGUR_KERNEL static void run(std::uint32_t* at) { at[0] -= 1; }
};

/// How `launches` leaves these words, at once or as a recording that is replayed once.
template <class S>
words after(const S& on, bool recorded, const words& before, const auto& launches) {
    const device::buffer<std::uint32_t, S> there(on, before.size());
    const auto run = [&] { launches(there.data()); };
    if (recorded) {
        const auto recording = on.record(run);
        device::send(on, there.data(), before);
        on.replay(recording);
    } else {
        device::send(on, there.data(), before);
        run();
    }
    return there.on_host();
}

template <class Work, class S>
void launch(const S& on, std::uint32_t* at) {
    on.launch(1, one_thread<Work>{at});
}

/// What the host makes of it: {0, 1, steps}.
inline words collatz_of(std::uint32_t number) {
    words at{number != 1, number, 0};
    while (at[0] != 0) collatz::run(at.data());
    return at;
}

template <class S>
void check_loops(const S& on, bool recorded) {
    for (const std::uint32_t number : {1u, 2u, 7u, 27u}) {
        const auto left = after(on, recorded, {number != 1, number, 0},
                                [&](std::uint32_t* at) { on.repeat_while(at, [&] { launch<collatz>(on, at); }); });
        BOOST_TEST(left == collatz_of(number), boost::test_tools::per_element());
    }
}

template <class S>
void check_nested_loops(const S& on, bool recorded) {
    for (const std::uint32_t inner : {0u, 1u, 5u}) {
        const auto left = after(on, recorded, {3, 99, inner, 0}, [&](std::uint32_t* at) {
            on.repeat_while(at, [&] {
                launch<begin_inner>(on, at);
                on.repeat_while(at + 1, [&] { launch<inner_turn>(on, at); });
                launch<end_outer>(on, at);
            });
        });
        BOOST_TEST(left == (words{0, 0, inner, 3 * inner}), boost::test_tools::per_element());
    }
}

template <class S>
void check_choices(const S& on, bool recorded) {
    for (const std::uint32_t index : {0u, 1u, 2u, 3u, 4u, std::numeric_limits<std::uint32_t>::max()}) {
        const auto left = after(on, recorded, {index, 5, 6, 7}, [&](std::uint32_t* at) {
            on.choose(at, 3, [&](std::uint32_t i) { on.clear(at + 1 + i, sizeof *at); });
            on.choose(at, 0, [&](std::uint32_t) { on.clear(at, 4 * sizeof *at); });
        });
        words expected{index, 5, 6, 7};
        if (index < 3) expected[1 + index] = 0;
        BOOST_TEST(left == expected, boost::test_tools::per_element());
    }
}

/// A choice in a loop.
template <class S>
void check_choices_in_loops(const S& on, bool recorded) {
    const auto left = after(on, recorded, {1, 27, 0, 1}, [&](std::uint32_t* at) {
        on.repeat_while(at, [&] {
            on.choose(at + 3, 2, [&](std::uint32_t i) {
                i == 0 ? launch<collatz_halve>(on, at) : launch<collatz_triple>(on, at);
            });
            launch<collatz_branch>(on, at);
        });
    });
    BOOST_TEST(left == (words{0, 1, collatz_of(27)[2], 1}), boost::test_tools::per_element());
}

/// A loop in a choice, and what comes after both.
template <class S>
void check_loops_in_choices(const S& on, bool recorded) {
    for (const std::uint32_t index : {0u, 1u, 2u}) {
        const auto left = after(on, recorded, {1, 27, 0, index, 0}, [&](std::uint32_t* at) {
            on.choose(at + 3, 2, [&](std::uint32_t i) {
                if (i == 1) on.repeat_while(at, [&] { launch<collatz>(on, at); });
            });
            on.copy(at + 4, at + 1, sizeof *at);
        });
        const auto looped = collatz_of(27);
        const auto expected = index == 1 ? words{0, 1, looped[2], 1, 1} : words{1, 27, 0, index, 27};
        BOOST_TEST(left == expected, boost::test_tools::per_element());
    }
}

/// A recording can be replayed for other words, and reads them anew.
template <class S>
void check_replays(const S& on) {
    const device::buffer<std::uint32_t, S> there(on, 3);
    const auto recorded = on.record([&] { on.repeat_while(there.data(), [&] { launch<collatz>(on, there.data()); }); });
    for (const std::uint32_t number : {27u, 1u, 9u}) {
        device::send(on, there.data(), words{number != 1, number, 0});
        on.replay(recorded);
        BOOST_TEST(there.on_host() == collatz_of(number), boost::test_tools::per_element());
    }
}

/// What goes wrong in a body goes to who records, and nothing of it stays.
template <class S>
void check_exceptions(const S& on) {
    const device::buffer<std::uint32_t, S> there(on, std::span<const std::uint32_t>(words{1, 27, 0}));
    const auto fails = [&] {
        launch<collatz>(on, there.data());
        throw std::runtime_error("of the body");
    };
    BOOST_CHECK_THROW(on.record([&] { on.repeat_while(there.data(), fails); }), std::runtime_error);
    BOOST_CHECK_THROW(on.record([&] {
        on.repeat_while(there.data(), [&] { on.choose(there.data(), 2, [&](std::uint32_t) { fails(); }); });
    }),
                      std::runtime_error);
    BOOST_TEST(on.records());
    BOOST_TEST(there.on_host() == (words{1, 27, 0}), boost::test_tools::per_element());
    check_replays(on);
}

/// On copies of a system, as buffers and models hold them, bodies are of the same recording.
template <class S>
void check_copies(const S& on) {
    const S copy = on;
    const auto left = after(on, true, {1, 27, 0}, [&](std::uint32_t* at) {
        copy.repeat_while(at, [&] {
            launch<collatz>(on, at);
            launch<collatz>(copy, at);
        });
    });
    words expected{1, 27, 0};
    while (expected[0] != 0) {
        collatz::run(expected.data());
        collatz::run(expected.data());
    }
    BOOST_TEST(left == expected, boost::test_tools::per_element());
}

template <class S>
void check_all(const S& on) {
    for (const bool recorded : {false, true}) {
        BOOST_TEST_CONTEXT((recorded ? "recorded" : "at once")) {
            check_loops(on, recorded);
            check_nested_loops(on, recorded);
            check_choices(on, recorded);
            check_choices_in_loops(on, recorded);
            check_loops_in_choices(on, recorded);
        }
    }
    check_replays(on);
    check_exceptions(on);
    check_copies(on);
}

}  // namespace controlled
