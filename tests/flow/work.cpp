#include <augur/flow/work.hpp>
//
#include <augur/types/error.hpp>
#include <boost/test/unit_test.hpp>
#include <deque>
#include <sstream>
#include <string>
#include <vector>

BOOST_AUTO_TEST_SUITE(flow_work)

using namespace augur;

std::vector<std::vector<int>>& runs() {
    static std::vector<std::vector<int>> all;
    return all;
}

/// A number; negative ones cannot be done.
struct numbered : flow::work {
    numbered(const void* subject, int of) : work(subject, &numbered::all), number(of) {}
    using work::check;

    static void all(std::span<flow::work* const> together) {
        runs().emplace_back();
        for (flow::work* each : together) runs().back().push_back(static_cast<numbered*>(each)->number);
        for (const int number : runs().back()) {
            if (number < 0) throw error("negative");
        }
    }
    int number;
};

/// Another kind for the same subject.
struct other_kind : flow::work {
    explicit other_kind(const void* subject) : work(subject, [](std::span<flow::work* const>) {}) {}
};

BOOST_AUTO_TEST_CASE(what_goes_together_is_done_at_once) {
    runs().clear();
    const int a = 0, b = 0;
    std::deque<numbered> works;
    std::vector<flow::work*> wanted;
    for (int i = 0; i < 6; ++i) wanted.push_back(&works.emplace_back(i % 3 == 1 ? &b : &a, i));
    other_kind other(&a);
    wanted.push_back(&other);
    BOOST_TEST(wanted[0]->goes_with(*wanted[2]));
    BOOST_TEST(!wanted[0]->goes_with(*wanted[1]));
    BOOST_TEST(!wanted[0]->goes_with(other));
    flow::run_all(wanted);
    const std::vector<std::vector<int>> expected{{0, 2, 3, 5}, {1, 4}};
    BOOST_TEST((runs() == expected));
    for (const flow::work* each : wanted) BOOST_TEST(each->done());
}

BOOST_AUTO_TEST_CASE(passes_of_two_models_are_no_run) {
    runs().clear();
    const int subjects[2] = {};
    numbered one(&subjects[0], 1), two(&subjects[1], 2);
    other_kind three(&subjects[0]);
    const auto names_both = [&](const error& e) {
        std::ostringstream first, second;
        first << static_cast<const void*>(&subjects[0]);
        second << static_cast<const void*>(&subjects[1]);
        const std::string said = e.what();
        return said.find(first.str()) != said.npos && said.find(second.str()) != said.npos;
    };
    const std::vector<flow::work*> both{&one, &two}, kinds{&one, &three};
    BOOST_CHECK_EXCEPTION(flow::work::run_together(both), error, names_both);
    BOOST_CHECK_THROW(flow::work::run_together(kinds), error);
    BOOST_TEST(runs().empty());
    BOOST_TEST(!one.done());
}

BOOST_AUTO_TEST_CASE(none_fails_for_another) {
    runs().clear();
    const int subject = 0;
    numbered one(&subject, 1), bad(&subject, -2), three(&subject, 3);
    std::vector<flow::work*> wanted{&one, &bad, &three};
    flow::run_all(wanted);
    const std::vector<std::vector<int>> expected{{1, -2, 3}, {1}, {-2}, {3}};
    BOOST_TEST((runs() == expected));
    one.check();
    three.check();
    BOOST_CHECK_THROW(bad.check(), error);
}

BOOST_AUTO_TEST_CASE(work_that_was_not_done_has_no_result) {
    const int subject = 0;
    const numbered waiting(&subject, 1);
    BOOST_TEST(!waiting.done());
    BOOST_CHECK_THROW(waiting.check(), error);
}

BOOST_AUTO_TEST_SUITE_END()
