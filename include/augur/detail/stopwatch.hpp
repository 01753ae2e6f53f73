#pragma once
// Times what happens between two calls.

#include <chrono>
#include <utility>

namespace augur::detail {

/// Wall-clock seconds since it was made, or since the last lap.
class stopwatch {
 public:
    double seconds() const { return std::chrono::duration<double>(clock::now() - start_).count(); }
    double lap() {
        const auto now = clock::now();
        return std::chrono::duration<double>(now - std::exchange(start_, now)).count();
    }

 private:
    using clock = std::chrono::steady_clock;
    clock::time_point start_ = clock::now();
};

}  // namespace augur::detail
