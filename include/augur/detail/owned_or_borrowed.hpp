#pragma once
// Holds an argument: borrows lvalues, owns rvalues.

#include <memory>
#include <type_traits>
#include <utility>

namespace augur::detail {

/// A value has one address, however often this is moved or copied: sequences and sessions refer to it.
template <class T>
class owned_or_borrowed {
 public:
    using type = T;
    explicit owned_or_borrowed(T value) : value_(std::make_shared<const T>(std::move(value))) {}
    const T& get() const { return *value_; }

 private:
    std::shared_ptr<const T> value_;
};

template <class T>
class owned_or_borrowed<T&> {
 public:
    using type = std::remove_const_t<T>;
    explicit owned_or_borrowed(const T& value) : value_(std::addressof(value)) {}
    const T& get() const { return *value_; }

 private:
    const T* value_;
};

}  // namespace augur::detail
