#pragma once
// Measures the time between two calls.

#include <chrono>
#include <utility>

namespace augur::detail {

/// Wall-clock seconds since it was made, or since the last lap. One that does not run says a millisecond, and never
/// looks at the clock.
class stopwatch {
 public:
    explicit stopwatch(bool runs = true) : runs_(runs), start_(runs ? clock::now() : clock::time_point()) {}

    double seconds() const { return !runs_ ? 1e-3 : std::chrono::duration<double>(clock::now() - start_).count(); }
    double lap() {
        if (!runs_) return 1e-3;
        const auto now = clock::now();
        return std::chrono::duration<double>(now - std::exchange(start_, now)).count();
    }

 private:
    using clock = std::chrono::steady_clock;
    bool runs_;
    clock::time_point start_;
};

}  // namespace augur::detail
