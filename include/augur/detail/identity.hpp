#pragma once
// An id that is unique among the objects of a process.

#include <atomic>
#include <cstdint>

namespace augur::detail {

/// Names an object's content as it goes on. A copy has another number, for it may go on otherwise; a move takes the
/// number along and leaves another.
class identity {
 public:
    identity() : value_(next()) {}
    identity(const identity&) : identity() {}
    identity(identity&& other) noexcept : value_(other.value_) { other.renew(); }
    identity& operator=(const identity& other) {
        if (this != &other) renew();
        return *this;
    }
    identity& operator=(identity&& other) noexcept {
        if (this == &other) return *this;
        value_ = other.value_;
        other.renew();
        return *this;
    }
    ~identity() = default;

    /// Never 0.
    std::uint64_t value() const { return value_; }
    void renew() noexcept { value_ = next(); }

 private:
    static std::uint64_t next() noexcept {
        static std::atomic<std::uint64_t> last{0};
        return last.fetch_add(1, std::memory_order_relaxed) + 1;
    }

    std::uint64_t value_;
};

}  // namespace augur::detail
