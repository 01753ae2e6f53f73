#pragma once
// A memory-mapped, read-only file. POSIX only.

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <augur/io/files/regular_file.hpp>
#include <augur/types/error.hpp>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

namespace augur::io {

/// A regular, non-empty file mapped read-only; its bytes stay at the same (page-aligned) address until destruction.
/// Errors: those of regular_file. Cost: a few system calls, whatever the size.
///
/// Another process may shorten the file meanwhile. Then touching bytes that are no longer there ends this process with
/// SIGBUS; read() copies them or throws, and what was kept() is no longer the file's but this process's own.
class mapped_file {
 public:
    explicit mapped_file(const std::filesystem::path& path) : file_(path) {
        const auto size = static_cast<std::size_t>(file_.size());
        if (size == 0) augur::detail::fail(path.string(), " is empty (0 bytes)");
        void* const start = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file_.descriptor(), 0);
        if (start == MAP_FAILED) file_.refuse("cannot map ");
        bytes_ = {static_cast<std::byte*>(start), size};
    }
    mapped_file(const mapped_file&) = delete;
    mapped_file& operator=(const mapped_file&) = delete;
    ~mapped_file() { ::munmap(bytes_.data(), bytes_.size()); }

    std::span<const std::byte> bytes() const { return bytes_; }

    /// Copies some of bytes(), those from `from` on. Errors: a file that has become shorter.
    void read(const std::byte* from, std::span<std::byte> out) const {
        file_.read(static_cast<std::uint64_t>(from - bytes_.data()), out);
    }

    /// What is kept of a file at most: its description, not its data.
    static constexpr std::size_t most_kept = std::size_t{1} << 27;

    /// Makes the first `end` bytes this process's own, where they are, and some of those behind. Errors: those of
    /// read(); more than most_kept.
    void keep(std::size_t end) {
        if (end > kept_) keep_more(std::min(end, bytes_.size()));
    }

 private:
    void keep_more(std::size_t end) {
        if (end > most_kept) {
            augur::detail::fail(file_.path().string(), " describes its data in ", end, " bytes or more, over the ",
                                most_kept, " that are kept");
        }
        const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
        const std::size_t least = std::max(end, kept_ + (std::size_t{1} << 20));
        const std::size_t up_to = std::min((least + page - 1) / page * page, bytes_.size());
        const auto fresh = bytes_.subspan(kept_, up_to - kept_);
        void* const start =
            ::mmap(fresh.data(), fresh.size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        if (start == MAP_FAILED) file_.refuse("cannot keep the start of ");
        read(fresh.data(), fresh);
        kept_ = up_to;
    }

    regular_file file_;
    std::span<std::byte> bytes_;
    std::size_t kept_ = 0;  // a whole number of pages, or everything
};

}  // namespace augur::io
