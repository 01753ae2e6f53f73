#include "augur/testing/report.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <stdexcept>

using namespace augur;
using testing::choices;

BOOST_AUTO_TEST_SUITE(testing_report)

std::string printed(const testing::report& r) {
    std::ostringstream out;
    out << r;
    return out.str();
}

BOOST_AUTO_TEST_CASE(a_law_that_holds_is_listed) {
    testing::report r{"numbers"};
    BOOST_TEST(!r.kept());  // nothing was checked yet
    testing::check(r, "below 10", {}, [](choices& from) { return from.below(10) < 10 ? "" : "not below"; });
    BOOST_TEST(r.kept());
    r.skip("is prime", "nobody knows");
    BOOST_TEST(printed(r) == "numbers: 1 laws checked, 0 broken\n  not checked: is prime (nobody knows)");
}

BOOST_AUTO_TEST_CASE(a_broken_law_is_named_with_the_smallest_case_and_the_seed) {
    testing::report r{"numbers"};
    testing::check(r, "below 37", {.seed = 4}, [](choices& from) {
        const auto numbers = from.tokens(0, 5, 100);
        for (token t : numbers) {
            if (t >= 37) return "got " + testing::describe(numbers);
        }
        return std::string();
    });
    BOOST_TEST(!r.kept());
    BOOST_TEST(r.breaks("below 37"));
    BOOST_TEST(!r.breaks("below 38"));
    BOOST_TEST(printed(r) == "numbers: 1 laws checked, 1 broken\n  broken: below 37\n    seed 4, case 0: got {37}");
}

BOOST_AUTO_TEST_CASE(progress_names_each_law_and_shrinking_ends_by_time) {
    std::ostringstream progress;
    testing::report r{"numbers"};
    std::size_t calls = 0;
    const auto breaks = [&](choices& from) {
        ++calls;
        return from.below(1000) < 1000 ? "wrong" : "";
    };
    const testing::effort tries{.cases = 7, .shrink_seconds = 0, .progress = &progress};
    testing::check(r, "sound", tries, [](choices&) { return ""; });
    testing::check(r, "wrong", tries, breaks);
    BOOST_TEST(progress.str() == "numbers: sound: 7 cases\nnumbers: wrong: 1 cases, broken\n");
    const std::size_t bounded = calls;
    testing::check(r, "wrong again", {.cases = 7}, breaks);
    BOOST_TEST(calls - bounded > bounded);  // and shrinks
}

BOOST_AUTO_TEST_CASE(equal_seeds_take_the_same_inputs_for_longer_or_shorter) {
    const auto first_numbers = [](const testing::effort& tries, std::size_t stop_after) {
        std::vector<std::size_t> seen;
        testing::report r{"numbers"};
        testing::check(r, "seen", tries, [&](choices& from) {
            seen.push_back(from.below(1000));
            return seen.size() < stop_after ? "" : "enough";
        });
        BOOST_TEST(r.kept() == (seen.size() < stop_after));
        return seen;
    };
    BOOST_TEST(first_numbers({.seed = 3, .cases = 0}, 9).empty());
    const auto few = first_numbers({.seed = 3, .cases = 50}, 1000);
    BOOST_TEST(few.size() == 50u);
    // For an hour, or until the 2000th breaks the law.
    const auto many = first_numbers({.seed = 3, .cases = 1, .shrinks = 0, .seconds = 3600}, 2000);
    BOOST_TEST_REQUIRE(many.size() == 2000u);
    BOOST_TEST(std::equal(few.begin(), few.end(), many.begin()));
    BOOST_TEST(first_numbers({.seed = 3, .cases = 50, .seconds = 1e-9}, 1000).size() >= 50u);
    BOOST_TEST(first_numbers({.seed = 4, .cases = 50}, 1000) != few);
}

BOOST_AUTO_TEST_CASE(what_a_law_throws_is_a_violation) {
    testing::report r{"numbers"};
    testing::check(r, "quiet", {}, [](choices& from) -> std::string {
        if (from.below(5) > 2) throw std::runtime_error("too loud");
        return "";
    });
    BOOST_TEST(r.broken.at(0).what.ends_with(": threw: too loud"));
}

/// The smallest that throws, in the words of who made it; who made it is not asked where nothing is thrown.
BOOST_AUTO_TEST_CASE(what_it_threw_on_is_said) {
    testing::report r{"numbers"};
    std::size_t asked = 0;
    const auto level = [&](choices& from) {
        const std::size_t number = from.below(9);
        from.note([&, number] {
            ++asked;
            return "level " + std::to_string(number);
        });
        return number;
    };
    testing::check(r, "quiet", {}, [&](choices& from) -> std::string {
        const std::size_t one = level(from), other = level(from);
        if (one > 2 && other > 4) throw std::runtime_error("too loud");
        return "";
    });
    BOOST_TEST(r.broken.at(0).what.ends_with(": threw: too loud, on level 3; level 5"), r);
    const std::size_t before = asked;
    testing::check(r, "a number", {}, [&](choices& from) { return level(from) < 9 ? "" : "none"; });
    BOOST_TEST(asked == before);
}

/// Two numbers that should be equal: some hundredths apart, and some rounding.
std::string apart(choices& from) {
    const double by = static_cast<double>(from.below(100)) / 100 + 1e-9 * static_cast<double>(from.between(1, 8));
    return by > from.tolerance() ? augur::detail::message("apart by ", by) : "";
}

BOOST_AUTO_TEST_CASE(a_gross_fault_is_not_shrunk_to_one_of_rounding) {
    testing::report r{"numbers"};
    testing::check(r, "equal", {}, apart);
    BOOST_TEST(r.broken.at(0).what.ends_with(": apart by 0.01"), r);
    testing::check(r, "as it came", {.shrinks = 0}, apart);
    BOOST_TEST(!r.broken.at(1).what.ends_with(": apart by 0.01"), r);
}

BOOST_AUTO_TEST_CASE(a_fault_of_rounding_is_shrunk_as_one) {
    testing::report r{"numbers"};
    testing::check(r, "equal", {}, [](choices& from) {
        const double by = 1e-8 * static_cast<double>(from.between(2, 90));
        return by > from.tolerance() ? augur::detail::message("apart by ", by) : "";
    });
    BOOST_TEST(r.broken.at(0).what.ends_with(": apart by 2e-08"), r);
}

BOOST_AUTO_TEST_SUITE_END()
