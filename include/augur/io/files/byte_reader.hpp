#pragma once
// Reads little-endian values front to back out of untrusted bytes; never past their end.

#include <augur/io/files/checked.hpp>
#include <augur/io/files/mapped_file.hpp>
#include <augur/types/error.hpp>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>

namespace augur::io {

static_assert(std::endian::native == std::endian::little,
              "model files are read in place: a little-endian machine only");

/// Errors: `origin` (a file's name, which must outlive the reader), what was being read, where, how
/// many bytes it needed and how many were left.
class byte_reader {
 public:
    byte_reader(std::span<const std::byte> bytes, std::string_view origin) : bytes_(bytes), origin_(origin) {}
    /// All bytes of `file`, which keeps what is read.
    byte_reader(mapped_file& file, std::string_view origin) : bytes_(file.bytes()), origin_(origin), file_(&file) {}

    std::uint64_t position() const { return position_; }
    std::span<const std::byte> rest() const { return bytes_.subspan(position_); }
    std::uint64_t remaining() const { return bytes_.size() - position_; }
    std::string_view origin() const { return origin_; }

    std::span<const std::byte> take(std::uint64_t size, std::string_view what) {
        const auto slice = checked_slice(bytes_, position_, size);
        if (!slice) {
            augur::detail::fail(origin_, ": ", what, " at byte ", position_, " needs ", size, " bytes, ", remaining(),
                                " are left");
        }
        position_ += static_cast<std::size_t>(size);
        if (file_) file_->keep(position_);
        return *slice;
    }

    template <class T>
    requires std::is_arithmetic_v<T> T read(std::string_view what) {
        const auto raw = take(sizeof(T), what);
        T value;
        std::memcpy(&value, raw.data(), sizeof(T));
        return value;
    }

    /// A 64-bit length and that many bytes; the text stays where it is in the file.
    std::string_view read_string(std::string_view what) {
        const auto raw = take(read<std::uint64_t>(what), what);
        return {reinterpret_cast<const char*>(raw.data()), raw.size()};
    }

    /// A count of things that take at least `least_bytes` each, refused when the bytes left cannot hold that many.
    std::uint64_t read_count(std::string_view what, std::uint64_t least_bytes) {
        const auto count = read<std::uint64_t>(what);
        check_count(count, what, least_bytes);
        return count;
    }
    void check_count(std::uint64_t count, std::string_view what, std::uint64_t least_bytes) const {
        if (count > remaining() / least_bytes) {
            augur::detail::fail(origin_, ": ", what, " is ", count, ", but the ", remaining(),
                                " bytes left hold at most ", remaining() / least_bytes);
        }
    }

 private:
    std::span<const std::byte> bytes_;
    std::string_view origin_;
    std::size_t position_ = 0;
    mapped_file* file_ = nullptr;
};

}  // namespace augur::io
