#pragma once
// Bytes and files for tests.

#include <augur/types/error.hpp>
#include <boost/test/unit_test.hpp>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

namespace augur::testing {

/// Bytes written front to back, little-endian.
class byte_writer {
 public:
    template <class T>
    requires std::is_arithmetic_v<T> byte_writer& number(T value) {
        const auto raw = std::as_bytes(std::span(&value, 1));
        return raw_bytes(raw);
    }
    byte_writer& string(std::string_view text) {
        return number(std::uint64_t{text.size()}).raw_bytes(std::as_bytes(std::span(text)));
    }
    byte_writer& raw_bytes(std::span<const std::byte> raw) {
        bytes_.insert(bytes_.end(), raw.begin(), raw.end());
        return *this;
    }
    byte_writer& pad_to(std::uint64_t alignment) {
        bytes_.resize((bytes_.size() + alignment - 1) / alignment * alignment);
        return *this;
    }
    std::uint64_t size() const { return bytes_.size(); }
    const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
    std::vector<std::byte> bytes_;
};

/// Writes a file and returns its path.
inline std::filesystem::path write_file(const std::filesystem::path& path, std::span<const std::byte> bytes) {
    std::ofstream file(path, std::ios::binary);
    file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    if (!file.flush()) augur::detail::fail("cannot write ", path.string());
    return path;
}
inline std::filesystem::path write_file(const std::filesystem::path& path, std::string_view text) {
    return write_file(path, std::as_bytes(std::span(text)));
}

/// All bytes of a file.
inline std::vector<std::byte> read_file(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) augur::detail::fail("cannot read ", path.string());
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const auto bytes = std::as_bytes(std::span(text));
    return {bytes.begin(), bytes.end()};
}

/// A fresh directory, removed with everything in it at the end of the scope.
class temporary_directory {
 public:
    temporary_directory() {
        std::random_device random;
        do {
            path_ = std::filesystem::temp_directory_path() / ("augur_test_" + std::to_string(random()));
        } while (!std::filesystem::create_directory(path_));
    }
    temporary_directory(const temporary_directory&) = delete;
    temporary_directory& operator=(const temporary_directory&) = delete;
    ~temporary_directory() {
        std::error_code ignored;  // a leftover directory must not fail a test
        std::filesystem::remove_all(path_, ignored);
    }

    std::filesystem::path operator/(std::string_view name) const { return path_ / name; }
    const std::filesystem::path& path() const { return path_; }

 private:
    std::filesystem::path path_;
};

/// A predicate for BOOST_CHECK_EXCEPTION: the message contains every fragment. Prints a message that does not.
inline auto says(std::vector<std::string> fragments) {
    return [fragments = std::move(fragments)](const augur::error& caught) {
        const std::string message = caught.what();
        for (const auto& fragment : fragments) {
            if (message.find(fragment) == std::string::npos) {
                BOOST_TEST_MESSAGE("the message is: " << message);
                return false;
            }
        }
        return true;
    };
}

}  // namespace augur::testing
