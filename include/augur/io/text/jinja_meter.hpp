#pragma once
// Limits time, memory and output of a rendering: templates are programs from untrusted files.

#include <augur/types/error.hpp>
#include <cstddef>
#include <cstdint>

namespace augur::io {

/// Bounds of one rendering. A step is one node of the program, or 64 bytes or 8 elements that an operation reads.
struct template_limits {
    std::uint64_t steps = std::uint64_t{1} << 25;
    std::uint64_t bytes = std::uint64_t{1} << 29;   ///< of all values that are made, those no longer needed included
    std::uint64_t output = std::uint64_t{1} << 26;  ///< of the text
    std::size_t depth = 600;                        ///< of expressions, blocks and macros in one another
};

namespace jinja {

/// Of values in one another: lists in lists, as a program can build them.
inline constexpr std::size_t deepest_value = 200;

/// The most elements that range() gives, as in Jinja2's sandbox.
inline constexpr std::int64_t longest_range = 100'000;

/// Counts what a rendering takes, and names the line in errors.
class meter {
 public:
    explicit meter(const template_limits& limits) : limits_(limits) {}

    std::size_t line = 1;  ///< of what is being run

    template <class... Parts>
    [[noreturn]] void fail(const Parts&... parts) const {
        augur::detail::fail("the chat template, line ", line, ": ", parts...);
    }

    void step(std::uint64_t count = 1) {
        if (count > limits_.steps - steps_) fail("it takes more than ", limits_.steps, " steps");
        steps_ += count;
    }
    /// An operation reads so many bytes.
    void read(std::size_t bytes) { step(1 + bytes / 64); }
    /// An operation makes so many bytes; asked for before they are there.
    void make(std::uint64_t bytes) {
        if (bytes > limits_.bytes - bytes_) fail("its values take more than ", limits_.bytes, " bytes");
        bytes_ += bytes;
        step(bytes / 64);
    }
    void write(std::uint64_t bytes) {
        if (bytes > limits_.output - output_) fail("its text has more than ", limits_.output, " bytes");
        output_ += bytes;
    }

    /// One level deeper, as long as this lives.
    class level {
     public:
        explicit level(meter& of) : of_(of) {
            if (of_.depth_ == of_.limits_.depth) of_.fail("nested more than ", of_.limits_.depth, " levels deep");
            ++of_.depth_;
        }
        ~level() { --of_.depth_; }
        level(const level&) = delete;
        level& operator=(const level&) = delete;

     private:
        meter& of_;
    };

 private:
    template_limits limits_;
    std::uint64_t steps_ = 0;
    std::uint64_t bytes_ = 0;
    std::uint64_t output_ = 0;
    std::size_t depth_ = 0;
};

}  // namespace jinja
}  // namespace augur::io
