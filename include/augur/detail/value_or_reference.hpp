#pragma once
// Keeps what it is given: lvalues by reference, rvalues by value.

#include <memory>
#include <type_traits>
#include <utility>

namespace augur::detail {

template <class T>
class value_or_reference {
 public:
    using type = T;
    explicit value_or_reference(T value) : value_(std::move(value)) {}
    const T& get() const { return value_; }
    /// Of one that is not needed any more.
    T&& take() && { return std::move(value_); }

 private:
    T value_;
};

template <class T>
class value_or_reference<T&> {
 public:
    using type = std::remove_const_t<T>;
    explicit value_or_reference(const T& value) : value_(std::addressof(value)) {}
    const T& get() const { return *value_; }
    const T& take() && { return *value_; }

 private:
    const T* value_;
};

/// As what to hold again what was taken.
template <class T>
using taken_t = std::conditional_t<std::is_reference_v<T>, const std::remove_reference_t<T>&, T>;

}  // namespace augur::detail
