#pragma once
// The exception type for bad input. Messages name the values at fault.

#include <initializer_list>
#include <ostream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>

namespace augur {

/// Thrown at construction or at an entry point, never from inside a decoding step.
class error : public std::runtime_error {
 public:
    using std::runtime_error::runtime_error;
};

namespace detail {

/// One part of a message; refers to what it was made from. Messages are joined by one function that is no template:
/// hundreds of places throw, and a user's compiler would write an ostream's code for each.
class message_part {
 public:
    message_part(const char* text) : text_(text) {}
    message_part(std::string_view text) : text_(text) {}
    message_part(const std::string& text) : text_(text) {}
    message_part(char of) : kind_(kind::character), character_(of) {}
    message_part(int of) : message_part(static_cast<long long>(of)) {}
    message_part(long of) : message_part(static_cast<long long>(of)) {}
    message_part(long long of) : kind_(kind::integer), integer_(of) {}
    message_part(bool of) : message_part(static_cast<unsigned long long>(of)) {}
    message_part(unsigned of) : message_part(static_cast<unsigned long long>(of)) {}
    message_part(unsigned long of) : message_part(static_cast<unsigned long long>(of)) {}
    message_part(unsigned long long of) : kind_(kind::natural), natural_(of) {}
    message_part(double of) : kind_(kind::real), real_(of) {}
    message_part(const void* of) : kind_(kind::address), address_(of) {}
    /// Whatever has an operator<<.
    template <class T>
    requires(std::is_class_v<T> && !std::is_convertible_v<const T&, std::string_view>) message_part(const T& of)
        : kind_(kind::other),
          address_(&of),
          print_([](std::ostream& out, const void* at) { out << *static_cast<const T*>(at); }) {}

    void print(std::ostream& out) const {
        switch (kind_) {
            case kind::text:
                out << text_;
                break;
            case kind::character:
                out << character_;
                break;
            case kind::integer:
                out << integer_;
                break;
            case kind::natural:
                out << natural_;
                break;
            case kind::real:
                out << real_;
                break;
            case kind::address:
                out << address_;
                break;
            case kind::other:
                print_(out, address_);
                break;
        }
    }

 private:
    enum class kind { text, character, integer, natural, real, address, other };

    kind kind_ = kind::text;
    union {
        std::string_view text_;
        char character_;
        long long integer_;
        unsigned long long natural_;
        double real_;
        const void* address_;
    };
    void (*print_)(std::ostream&, const void*) = nullptr;
};

inline std::string join(std::initializer_list<message_part> parts) {
    std::ostringstream out;
    for (const message_part& each : parts) each.print(out);
    return out.str();
}
[[noreturn]] inline void fail_with(std::initializer_list<message_part> parts) {
    throw error(join(parts));
}

/// Concatenates its arguments as an ostream would print them.
template <class... Parts>
std::string message(const Parts&... parts) {
    return join({parts...});
}

}  // namespace detail

/// Throws augur::error with its arguments, one after the other, as an ostream would print them: for engines, criteria
/// and policies, whose messages have the values at fault.
template <class... Parts>
[[noreturn]] void fail(const Parts&... parts) {
    detail::fail_with({parts...});
}

namespace detail {
using augur::fail;
}  // namespace detail
}  // namespace augur
