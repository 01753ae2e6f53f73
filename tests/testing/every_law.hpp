#pragma once
// Every law of a suite must have a wrong type that breaks it.

#include <augur/testing/report.hpp>
#include <boost/test/unit_test.hpp>
#include <set>
#include <string>

namespace every_law {

/// Collects which laws were broken by which wrong types.
struct watch {
    std::set<std::string> stated;
    std::set<std::string> broken;

    /// Of a right type.
    void holds(const augur::testing::report& r) {
        BOOST_TEST(r.kept(), r);
        stated.insert(r.checked.begin(), r.checked.end());
    }
    /// Of a wrong type, that breaks this law, perhaps others too.
    void breaks(const augur::testing::report& r, const std::string& law) {
        BOOST_TEST(r.breaks(law), "should break \"" << law << "\"\n" << r);
        broken.insert(law);
    }
    ~watch() { BOOST_TEST(stated == broken, boost::test_tools::per_element()); }
};

}  // namespace every_law
