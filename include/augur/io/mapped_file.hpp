#pragma once
// A file's bytes without reading them: pages arrive when they are touched. POSIX only.

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <augur/types/error.hpp>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <system_error>
#include <utility>

namespace augur::io {

/// A regular, non-empty file mapped read-only; the bytes stay at the same (page-aligned) address until destruction,
/// also when the object is moved. Errors: the path and the system's reason. Cost: a few system calls, whatever the
/// size. A file that another process shortens while it is mapped ends this one with SIGBUS: replace model files, never
/// truncate them.
class mapped_file {
 public:
    explicit mapped_file(const std::filesystem::path& path) {
        const descriptor file(path);
        struct stat status {};
        if (::fstat(file.number, &status) != 0) refuse("cannot examine ", path);
        if (S_ISDIR(status.st_mode)) augur::detail::fail(path.string(), " is a directory, not a file");
        if (!S_ISREG(status.st_mode)) augur::detail::fail(path.string(), " is not a regular file");
        if (status.st_size <= 0) augur::detail::fail(path.string(), " is empty (", status.st_size, " bytes)");
        const auto size = static_cast<std::size_t>(status.st_size);
        void* const start = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.number, 0);
        if (start == MAP_FAILED) refuse("cannot map ", path);
        bytes_ = {static_cast<const std::byte*>(start), size};
    }
    mapped_file(mapped_file&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}
    mapped_file& operator=(mapped_file&& other) noexcept {
        std::swap(bytes_, other.bytes_);
        return *this;
    }
    ~mapped_file() {
        if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
    }

    std::span<const std::byte> bytes() const { return bytes_; }

    /// Says that this part, if it is of this file, will hardly be read again: its whole pages no longer count as this
    /// process's memory. They stay readable, and are then fetched anew.
    void release(std::span<const std::byte> part) const noexcept {
        const std::uintptr_t page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
        const auto start = reinterpret_cast<std::uintptr_t>(bytes_.data());
        const auto first = reinterpret_cast<std::uintptr_t>(part.data()), last = first + part.size();
        if (first < start || last > start + bytes_.size()) return;
        const std::uintptr_t from = (first + page - 1) / page * page, to = last / page * page;
        if (from < to) static_cast<void>(::madvise(reinterpret_cast<void*>(from), to - from, MADV_DONTNEED));  // a hint
    }

 private:
    /// Opening never blocks, not even on a pipe.
    struct descriptor {
        explicit descriptor(const std::filesystem::path& path)
            : number(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
            if (number < 0) refuse("cannot open ", path);
        }
        descriptor(const descriptor&) = delete;
        descriptor& operator=(const descriptor&) = delete;
        ~descriptor() { ::close(number); }
        int number;
    };

    [[noreturn]] static void refuse(const char* action, const std::filesystem::path& path) {
        const int code = errno;
        augur::detail::fail(action, path.string(), ": ", std::generic_category().message(code));
    }

    std::span<const std::byte> bytes_;
};

}  // namespace augur::io
