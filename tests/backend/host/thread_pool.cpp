#include "augur/backend/host/thread_pool.hpp"

#include <atomic>
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "in_child.hpp"
#include "sanitized.hpp"

BOOST_AUTO_TEST_SUITE(backend_thread_pool)

using augur::backend::host::thread_pool;
using augur::testing::in_child;

BOOST_AUTO_TEST_CASE(every_chunk_runs_once_and_a_worker_runs_one_at_a_time) {
    for (const std::size_t threads : {1u, 2u, 3u, 8u}) {
        thread_pool pool(threads);
        BOOST_TEST(pool.size() == threads);
        for (int round = 0; round < 300; ++round) {
            const std::size_t chunks = static_cast<std::size_t>(round) % 50;
            std::vector<int> ran(chunks, 0);
            std::vector<std::atomic<int>> busy(threads);
            std::atomic<int> doubled{0};
            pool.for_each(chunks, [&](std::size_t chunk, std::size_t worker) {
                if (busy[worker].fetch_add(1) != 0) ++doubled;
                ++ran[chunk];
                busy[worker].fetch_sub(1);
            });
            BOOST_TEST(ran == std::vector<int>(chunks, 1));
            BOOST_TEST(doubled == 0);
        }
    }
}

BOOST_AUTO_TEST_CASE(who_has_run_out_of_chunks_takes_others) {
    // One chunk ends when all others have ended. Whoever runs it leaves the rest of them to the other worker; without
    // that the loop would not end.
    for (std::size_t slow = 0; slow < 9; ++slow) {
        thread_pool pool(2);  // a new one has both workers
        std::atomic<int> ended{0};
        std::vector<std::size_t> by(9);
        pool.for_each(9, [&](std::size_t chunk, std::size_t worker) {
            while (chunk == slow && ended < 8) std::this_thread::yield();
            by[chunk] = worker;
            ++ended;
        });
        BOOST_TEST(ended == 9);
        // The workers have 4 and 5 chunks in a row: unless it is the last of them, another is left to the other one.
        if (slow != 3 && slow != 8) BOOST_TEST(by[slow + 1] != by[slow]);
    }
}

BOOST_AUTO_TEST_CASE(what_a_loop_wrote_the_next_one_reads) {
    thread_pool pool(4);
    std::vector<long> values(64, 1);
    for (int round = 0; round < 200; ++round) {
        long sum = 0;
        for (const long value : values) sum += value;
        BOOST_TEST(sum == 64 * (round + 1));
        pool.for_each(64, [&](std::size_t chunk, std::size_t) { ++values[(chunk * 13) % 64]; });
    }
}

BOOST_AUTO_TEST_CASE(helpers_that_fell_asleep_wake_up) {
    thread_pool pool(3);
    std::atomic<int> count{0};
    for (int round = 0; round < 3; ++round) {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        pool.for_each(30, [&](std::size_t, std::size_t) { ++count; });
    }
    BOOST_TEST(count == 90);
}

BOOST_AUTO_TEST_CASE(who_share_a_pool_take_turns) {
    thread_pool pool(3);
    std::vector<long> sums(24, 0);  // which every run of loops reads and writes
    const auto run = [&] {
        for (int round = 0; round < 200; ++round) {
            const std::lock_guard lock(pool);
            for (int loop = 0; loop < 3; ++loop) {
                const std::lock_guard again(pool);
                pool.for_each(24, [&](std::size_t chunk, std::size_t) { ++sums[(chunk * 5) % 24]; });
            }
        }
    };
    std::thread other(run);
    run();
    other.join();
    BOOST_TEST(sums == std::vector<long>(24, 1200));
    const std::lock_guard lock(pool);
    bool taken = true;
    std::thread([&] { taken = pool.try_lock(); }).join();
    BOOST_TEST(!taken);
}

BOOST_AUTO_TEST_CASE(parts_make_up_the_whole) {
    for (const std::size_t size : {0u, 1u, 7u, 100u}) {
        std::size_t end = 0;
        for (std::size_t i = 0; i < 3; ++i) {
            const auto part = augur::backend::host::part_of(size, i, 3);
            BOOST_TEST(part.first == end);
            BOOST_TEST(part.last - part.first <= size / 3 + 1);
            end = part.last;
        }
        BOOST_TEST(end == size);
    }
}

BOOST_AUTO_TEST_CASE(pools_come_and_go) {
    // A helper that looks for work while its pool ends must not wait for more: it did once, and the pool never ended.
    std::atomic<std::size_t> ran = 0;
    constexpr std::size_t pools = augur::testing::unless_sanitized(10000, 1000);
    for (std::size_t i = 0; i < pools; ++i) {
        thread_pool pool(4);
        if (i % 2 == 0) pool.for_each(3, [&](std::size_t, std::size_t) { ++ran; });
    }
    BOOST_TEST(ran == 3 * pools / 2);
}

BOOST_AUTO_TEST_CASE(one_to_sixty_four_threads) {
    for (const std::size_t threads : {0u, 65u}) {
        BOOST_CHECK_EXCEPTION(thread_pool{threads}, augur::error, [&](const augur::error& caught) {
            return caught.what() == "threads must be 1 to 64, not " + std::to_string(threads);
        });
    }
}

/// 10 if all is well.
int run_loops(thread_pool& pool) {
    const std::lock_guard lock(pool);
    std::atomic<int> ran{0};
    for (int loop = 0; loop < 10; ++loop) pool.for_each(100, [&](std::size_t, std::size_t) { ++ran; });
    return pool.size() == 3 ? ran / 100 : -1;
}

int end_of_life(thread_pool& pool) {
    pool.~thread_pool();
    thread_pool fresh(3);  // with helpers of its own
    return run_loops(fresh);
}

BOOST_AUTO_TEST_CASE(a_child_of_a_process_whose_pool_is_busy_runs_loops_alone) {
    thread_pool pool(3);
    std::atomic<bool> is_over{false};
    std::thread busy([&] {
        while (!is_over) {
            const std::lock_guard lock(pool);
            for (int loop = 0; loop < 20; ++loop) pool.for_each(30, [](std::size_t, std::size_t) {});
        }
    });
    for (int fork = 0; fork < 20; ++fork) {
        BOOST_TEST_REQUIRE(in_child([&] { return run_loops(pool); }).value_or(-2) == 10);
    }
#if !defined(__SANITIZE_THREAD__)  // which lets a child start no threads
    BOOST_TEST(in_child([&] { return end_of_life(pool); }).value_or(-2) == 10);
#endif
    is_over = true;
    busy.join();
    BOOST_TEST(run_loops(pool) == 10);
}

BOOST_AUTO_TEST_CASE(who_forks_may_hold_a_pool) {
    thread_pool one(3), other(3);
    {
        const std::lock_guard lock(one), again(one);
        BOOST_TEST(in_child([&] { return run_loops(one); }).value_or(-2) == 10);
        BOOST_TEST(in_child([&] { return run_loops(other); }).value_or(-2) == 10);
#if !defined(__SANITIZE_THREAD__)
        const auto give_back = [&] {
            one.unlock();
            one.unlock();
            std::atomic<int> got{0};
            std::thread([&] { got = one.try_lock() ? 10 : 0; }).join();
            return got.load();
        };
        BOOST_TEST(in_child(give_back).value_or(-2) == 10);
#endif
    }
    std::atomic<int> got{0};
    std::thread taker([&] { got = run_loops(one); });  // it was given back in the parent
    taker.join();
    BOOST_TEST(got == 10);
}

BOOST_AUTO_TEST_SUITE_END()
