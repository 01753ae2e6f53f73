#pragma once
// What an error says.

#include <boost/test/unit_test.hpp>
#include <string>

#include "augur/types/error.hpp"

namespace augur::testing {

/// Whether the error says this among other things.
inline bool says(const error& problem, const std::string& what) {
    BOOST_TEST_INFO(problem.what());
    return std::string(problem.what()).find(what) != std::string::npos;
}

/// Whether this ends with an error that says so.
bool refuses(const auto& act, const std::string& what) {
    try {
        act();
    } catch (const error& problem) {
        return says(problem, what);
    }
    return false;
}

}  // namespace augur::testing
