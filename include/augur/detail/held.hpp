#pragma once
// Keeps what it is given: lvalues by reference, rvalues by value.

#include <memory>
#include <type_traits>
#include <utility>

namespace augur::detail {

template <class T>
class held {
 public:
    using type = T;
    explicit held(T value) : value_(std::move(value)) {}
    const T& get() const { return value_; }

 private:
    T value_;
};

template <class T>
class held<T&> {
 public:
    using type = std::remove_const_t<T>;
    explicit held(const T& value) : value_(std::addressof(value)) {}
    const T& get() const { return *value_; }

 private:
    const T* value_;
};

}  // namespace augur::detail
