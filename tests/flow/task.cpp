#include <augur/flow/task.hpp>
//
#include <augur/types/error.hpp>
#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "allocations.hpp"

BOOST_AUTO_TEST_SUITE(flow_task)

using namespace augur;

/// Writes down what happens to it.
struct diary {
    flow::frames own;
    std::vector<std::string> lines{};

    flow::frames& frames() { return own; }
};

/// Says when it goes.
struct guard {
    diary& in;
    std::string name;
    ~guard() { in.lines.push_back("~" + name); }
};

flow::task inner(diary& in, int depth) {
    const guard here{in, "inner" + std::to_string(depth)};
    co_await flow::alone{[&] { in.lines.push_back("work" + std::to_string(depth)); }};
    if (depth > 0) co_await inner(in, depth - 1);
    in.lines.push_back("end" + std::to_string(depth));
}

flow::task outer(diary& in) {
    const guard here{in, "outer"};
    co_await inner(in, 1);
    co_await flow::alone{[&] { in.lines.push_back("last"); }};
}

BOOST_AUTO_TEST_CASE(stops_at_every_work_however_deep) {
    diary in;
    flow::runner run(outer(in));
    std::size_t stops = 0;
    for (; run.wanted() != nullptr; ++stops) {
        BOOST_TEST(!run.wanted()->done());
        run.wanted()->run();
        BOOST_TEST(run.wanted()->done());
        run.resume();
    }
    BOOST_TEST(stops == 3u);
    const std::vector<std::string> expected{"work1", "work0", "end0", "~inner0", "end1", "~inner1", "last", "~outer"};
    BOOST_TEST(in.lines == expected, boost::test_tools::per_element());
    BOOST_CHECK_THROW(run.resume(), error);
}

BOOST_AUTO_TEST_CASE(does_nothing_before_it_is_run) {
    diary in;
    { const flow::task never = outer(in); }
    BOOST_TEST(in.lines.empty());
    BOOST_TEST(in.own.used() == 0u);
}

BOOST_AUTO_TEST_CASE(goes_on_only_when_the_work_is_done) {
    diary in;
    flow::runner run(outer(in));
    BOOST_CHECK_EXCEPTION(run.resume(), error, [](const error& e) {
        return std::string(e.what()) == "a round was resumed before what it waits for was done";
    });
    run.finish();
    BOOST_TEST(in.lines.back() == "~outer");
}

BOOST_AUTO_TEST_CASE(destroyed_in_the_middle_it_ends_innermost_first) {
    diary in;
    {
        flow::runner run(outer(in));
        run.wanted()->run();
        run.resume();
        BOOST_TEST(in.own.used() > 0u);
    }
    const std::vector<std::string> expected{"work1", "~inner0", "~inner1", "~outer"};
    BOOST_TEST(in.lines == expected, boost::test_tools::per_element());
    BOOST_TEST(in.own.used() == 0u);
}

flow::task failing(diary& in) {
    const guard here{in, "failing"};
    co_await flow::alone{[] { throw error("broken"); }};
    in.lines.push_back("never");
}

flow::task catching(diary& in) {
    try {
        co_await failing(in);
    } catch (const error& e) {
        in.lines.push_back(e.what());
    }
    co_await flow::alone{[&] { in.lines.push_back("went on"); }};
    co_await failing(in);
}

BOOST_AUTO_TEST_CASE(what_is_thrown_goes_to_who_awaits) {
    diary in;
    flow::runner run(catching(in));
    BOOST_CHECK_EXCEPTION(run.finish(), error, [](const error& e) { return std::string(e.what()) == "broken"; });
    const std::vector<std::string> expected{"~failing", "broken", "went on", "~failing"};
    BOOST_TEST(in.lines == expected, boost::test_tools::per_element());
    BOOST_TEST((run.wanted() == nullptr));
}

BOOST_AUTO_TEST_CASE(allocates_nothing_once_its_frames_have_grown) {
    struct quiet {
        flow::frames own;
        flow::frames& frames() { return own; }
        std::size_t sum = 0;
    } in;
    struct deep {
        static flow::task of(quiet& with, std::size_t depth) {
            co_await flow::alone{[&] { ++with.sum; }};
            if (depth > 0) co_await of(with, depth - 1);
        }
    };
    const auto run = [&] { flow::runner(deep::of(in, 40)).finish(); };
    run();
    const std::size_t grown = in.own.memory_bytes();
    const std::size_t before = allocations::made;
    run();
    BOOST_TEST(allocations::made == before);
    BOOST_TEST(in.sum == 82u);
    BOOST_TEST(in.own.memory_bytes() == grown);
}

BOOST_AUTO_TEST_SUITE_END()
