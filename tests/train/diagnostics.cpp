#include "augur/train/diagnostics.hpp"

#include <boost/test/unit_test.hpp>
#include <limits>
#include <sstream>
#include <string>

BOOST_AUTO_TEST_SUITE(train_diagnostics)
using namespace augur::train;

diagnostics calm() {
    diagnostics d;
    d.updates = 300;
    d.std_s = 2;
    d.std_t = 2.5;
    d.alpha = 1.1;
    d.acceptance = 0.5;
    d.losses.total = 0.75;
    return d;
}

BOOST_AUTO_TEST_CASE(a_line_is_one_object) {
    diagnostics d = calm();
    d.gradient_norm = std::numeric_limits<double>::quiet_NaN();
    std::ostringstream out;
    out.precision(3);
    write_json(out, d);
    const std::string line = out.str();
    BOOST_TEST(line.starts_with("{\"updates\":300,\"dropped\":0,"));
    BOOST_TEST(line.ends_with("\"decoding_seconds\":0}"));
    BOOST_TEST(line.find("\"loss\":0.75,") != std::string::npos);
    BOOST_TEST(line.find("\"slope_norm\":null,") != std::string::npos);
    BOOST_TEST(line.find('\n') == std::string::npos);
    BOOST_TEST(out.precision() == 3);
}

BOOST_AUTO_TEST_CASE(the_notes_are_read_from_the_numbers) {
    const diagnostics before = calm();
    BOOST_TEST(reading(before, before).empty());
    const auto says = [&](auto&& change, const std::string& what) {
        diagnostics now = before;
        change(now);
        const auto notes = reading(now, before);
        BOOST_REQUIRE(notes.size() == 1U);
        BOOST_TEST(notes[0].find(what) != std::string::npos, notes[0]);
    };
    says([](auto& d) { d.std_s = 4; }, "std_s >> std_t: lower the anchor");
    says([](auto& d) { d.std_s = 1; }, "std_s << std_t");
    says([](auto& d) { d.exit_norm = 1.6; }, "clamp");
    says([](auto& d) { d.alpha = 1.7; }, "over-confident");
    says([](auto& d) { d.losses.total = 0.85; }, "too small");
    diagnostics restored = before, now = before;  // a report that had no batch
    restored.losses.total = restored.std_s = restored.std_t = 0;
    BOOST_TEST(reading(now, restored).empty());
    says([](auto& d) { d.dropped = 1; }, "dropped");
    says(
        [](auto& d) {
            d.lambda = 0.5;
            d.acceptance = 0.4;
        },
        "raise tau");
}

BOOST_AUTO_TEST_SUITE_END()
