#pragma once
// Opens regular files only, without blocking, and reads them without mapping. POSIX only.

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <augur/io/files/lfs_pointer.hpp>
#include <augur/types/error.hpp>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <system_error>

namespace augur::io {

/// A regular file, open for reading. Neither a pipe nor a device is waited for or read. Errors: the path and the
/// system's reason, or what it is instead of a regular file; a Git LFS pointer, which stands for a file that was not
/// fetched, so that none is taken for what it points at.
class regular_file {
 public:
    explicit regular_file(const std::filesystem::path& path)
        : path_(path), descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
        if (descriptor_ < 0) refuse("cannot open ");
        try {
            examine();
        } catch (...) {
            ::close(descriptor_);
            throw;
        }
    }
    regular_file(const regular_file&) = delete;
    regular_file& operator=(const regular_file&) = delete;
    ~regular_file() { ::close(descriptor_); }

    const std::filesystem::path& path() const { return path_; }
    int descriptor() const { return descriptor_; }
    /// In bytes, when it was opened.
    std::uint64_t size() const { return size_; }

    /// Copies what begins at `offset`, up to the end of the file or of `out`; returns how many bytes those are. May be
    /// called by several threads.
    std::size_t read_some(std::uint64_t offset, std::span<std::byte> out) const {
        std::size_t done = 0;
        while (done < out.size()) {
            const ::ssize_t got =
                ::pread(descriptor_, out.data() + done, out.size() - done, static_cast<::off_t>(offset + done));
            if (got < 0 && errno == EINTR) continue;
            if (got < 0) refuse("cannot read ");
            if (got == 0) break;
            done += static_cast<std::size_t>(got);
        }
        return done;
    }

    /// The same, but all of `out`. Errors: a file that ends before; it had these bytes when it was opened.
    void read(std::uint64_t offset, std::span<std::byte> out) const {
        const std::size_t got = read_some(offset, out);
        if (got == out.size()) return;
        augur::detail::fail(path_.string(), " was cut short while it was read: ", out.size(), " bytes from byte ",
                            offset, " on were wanted, ", got, " are left of the ", size_, " that it had");
    }

    [[noreturn]] void refuse(const char* action) const {
        const int code = errno;
        augur::detail::fail(action, path_.string(), ": ", std::generic_category().message(code));
    }

 private:
    void examine() {
        struct stat status {};
        if (::fstat(descriptor_, &status) != 0) refuse("cannot examine ");
        if (S_ISDIR(status.st_mode)) augur::detail::fail(path_.string(), " is a directory, not a file");
        if (!S_ISREG(status.st_mode)) augur::detail::fail(path_.string(), " is not a regular file");
        size_ = static_cast<std::uint64_t>(status.st_size);
        if (size_ <= longest_lfs_pointer) refuse_pointer();
    }

    void refuse_pointer() const {
        std::string text(static_cast<std::size_t>(size_), '\0');
        text.resize(read_some(0, std::as_writable_bytes(std::span(text))));
        if (const auto object = find_lfs_pointer(text)) {
            augur::detail::fail(path_.string(), " is a Git LFS pointer to an object of ", object->size,
                                " bytes, not the file itself: fetch that with `git lfs pull`");
        }
    }

    std::filesystem::path path_;
    int descriptor_;
    std::uint64_t size_ = 0;
};

/// The whole text of a file of at most `most_bytes`; a larger one is an error that names both sizes, and is not read.
/// Memory: the text's.
inline std::string read_text(const std::filesystem::path& path, std::uint64_t most_bytes) {
    const regular_file file(path);
    const auto check = [&](std::uint64_t size, const char* what) {
        if (size <= most_bytes) return;
        augur::detail::fail(path.string(), what, size, " bytes, more than the ", most_bytes, " that are read");
    };
    check(file.size(), " has ");
    std::string text(static_cast<std::size_t>(file.size()) + 1, '\0');  // one more: it may have grown since
    std::size_t size = 0;
    while (true) {
        size += file.read_some(size, std::as_writable_bytes(std::span(text)).subspan(size));
        check(size, " grew to ");
        if (size < text.size()) break;
        text.resize(2 * text.size());
    }
    text.resize(size);
    return text;
}

}  // namespace augur::io
