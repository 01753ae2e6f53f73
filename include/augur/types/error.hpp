#pragma once
// One exception type for bad input. Messages name the values at fault.

#include <sstream>
#include <stdexcept>
#include <string>

namespace augur {

/// Thrown at construction or at an entry point, never from inside a decoding step.
class error : public std::runtime_error {
 public:
    using std::runtime_error::runtime_error;
};

namespace detail {

/// Concatenates its arguments as an ostream would print them.
template <class... Parts>
std::string message(const Parts&... parts) {
    std::ostringstream out;
    (out << ... << parts);
    return out.str();
}

/// Throws augur::error with the concatenated message.
template <class... Parts>
[[noreturn]] void fail(const Parts&... parts) {
    throw error(message(parts...));
}

}  // namespace detail
}  // namespace augur
