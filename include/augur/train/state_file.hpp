#pragma once
// Files of training state: written atomically, read with every value checked. POSIX only.

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>

#include "augur/io/files/fnv_hash.hpp"
#include "augur/io/files/regular_file.hpp"
#include "augur/types/error.hpp"

namespace augur::train {

static_assert(std::endian::native == std::endian::little, "numbers are written as they lie in memory");

/// The identity of the model that was trained for: state of another model or depth is refused.
struct state_identity {
    std::string model{};  ///< its file's fingerprint
    std::size_t layer = 0, width = 0, vocabulary_size = 0;

    friend bool operator==(const state_identity&, const state_identity&) = default;

    /// Throws, with both values, where `here` is another.
    void check(const state_identity& here, const std::string& origin) const {
        const auto differ = [&](const char* what, const auto& there, const auto& own) {
            if (there == own) return;
            detail::fail(origin, ": it is of ", what, " ", there, ", but here it is ", own);
        };
        differ("hidden states after layer", layer, here.layer);
        differ("hidden states of a size of", width, here.width);
        differ("a vocabulary of", vocabulary_size, here.vocabulary_size);
        differ("the model", "'" + model + "'", "'" + here.model + "'");
    }
};

/// Creates a file for writing that is not there yet; -1 and `errno` as open(2) gives them where it cannot.
inline int create_file(const std::filesystem::path& path) {
    return ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
}

/// Creates unfinished files, for whoever removes them where a signal ends the program.
class unfinished_files {
 public:
    unfinished_files() = default;
    unfinished_files(const unfinished_files&) = delete;
    unfinished_files& operator=(const unfinished_files&) = delete;
    virtual ~unfinished_files() = default;

    /// As create_file(). That, and noticing that the file is there, is one step: a signal comes before or after both.
    virtual int create(const std::filesystem::path& part) = 0;
    /// It is there no longer: it was removed, or has its name.
    virtual void ends(const std::filesystem::path& part) = 0;
};

/// Writes a file atomically: it gets its name when it is complete. Whatever ends the program before, a file of that
/// name stays as it was. It has the permissions of the one that it replaces. What is unfinished is removed, unless a
/// signal ends the program: then a file `.augur-PID-N.part` stays, which `seen` has created.
/// Errors: the path and the system's reason; a pipe or a device, which it would replace.
class state_writer {
 public:
    /// `kind`: what the file says of itself, with its version. `seen` must outlive it.
    state_writer(const std::filesystem::path& path, std::string_view kind, std::uint32_t version,
                 unfinished_files* seen = nullptr)
        : state_writer(path, seen) {
        text(kind);
        put(version);
    }
    state_writer(const state_writer&) = delete;
    state_writer& operator=(const state_writer&) = delete;
    ~state_writer() {
        if (descriptor_ < 0) return;
        ::close(descriptor_);
        ::unlink(part_.c_str());
        if (seen_ != nullptr) seen_->ends(part_);
    }

    void bytes(std::span<const std::byte> what) {
        hash_.add(what);
        write_all(what);
    }
    template <class T>
    requires std::is_arithmetic_v<T>
    void put(T value) { bytes(std::as_bytes(std::span(&value, 1))); }
    void text(std::string_view what) {
        put(std::uint64_t{what.size()});
        bytes(std::as_bytes(std::span(what)));
    }
    void put(const state_identity& of) {
        text(of.model);
        for (const std::size_t each : {of.layer, of.width, of.vocabulary_size}) put(std::uint64_t{each});
    }
    template <class T>
    void array(std::span<const T> what) {
        put(std::uint64_t{what.size()});
        bytes(std::as_bytes(what));
    }

    /// Ends it with a checksum and gives it its name, once all of it is on the disk.
    void commit() {
        const std::string sum = hash_.text();
        write_all(std::as_bytes(std::span(sum)));
        if (::fsync(descriptor_) != 0) refuse();
        const bool has_its_name =
            ::close(std::exchange(descriptor_, -1)) == 0 && std::rename(part_.c_str(), path_.c_str()) == 0;
        const int reason = errno;
        if (!has_its_name) ::unlink(part_.c_str());
        if (seen_ != nullptr) seen_->ends(part_);
        errno = reason;
        if (!has_its_name) refuse();
    }

 private:
    /// Opens the unfinished file; once it is done, whatever throws removes that.
    state_writer(const std::filesystem::path& path, unfinished_files* seen) : path_(path), seen_(seen) {
        struct stat replaced {};
        const bool replaces = ::stat(path_.c_str(), &replaced) == 0;
        if (replaces && !S_ISREG(replaced.st_mode) && !S_ISDIR(replaced.st_mode)) {  // a folder refuses by itself
            detail::fail("cannot write ", path_.string(), ": it is not a regular file, and would be replaced by one");
        }
        std::error_code absent;
        if (std::filesystem::path linked = std::filesystem::canonical(path_, absent); !absent) path_ = linked;
        for (unsigned long number = 0; descriptor_ < 0; ++number) {
            const std::string name = ".augur-" + std::to_string(::getpid()) + "-" + std::to_string(number) + ".part";
            part_ = path_.parent_path() / name;
            descriptor_ = seen_ != nullptr ? seen_->create(part_) : create_file(part_);
            if (descriptor_ < 0 && errno != EEXIST) refuse();
        }
        // Where it may not have that one's permissions, the usual ones stay.
        if (replaces) static_cast<void>(::fchmod(descriptor_, replaced.st_mode & 0777));
    }
    void write_all(std::span<const std::byte> what) {
        while (!what.empty()) {
            const ::ssize_t done = ::write(descriptor_, what.data(), what.size());
            if (done < 0 && errno == EINTR) continue;
            if (done < 0) refuse();
            what = what.subspan(static_cast<std::size_t>(done));
        }
    }
    [[noreturn]] void refuse() const {
        const int reason = errno;
        detail::fail("cannot write ", path_.string(), ": ", std::generic_category().message(reason));
    }

    std::filesystem::path path_, part_;
    unfinished_files* seen_;
    int descriptor_ = -1;
    io::fnv_hash hash_;
};

/// Reads what state_writer wrote, in the same order. Errors: the path, and what is wrong with which values. Nothing is
/// to be believed before finish().
class state_reader {
 public:
    static constexpr std::uint64_t most_kind = 64;  ///< characters

    state_reader(const std::filesystem::path& path, std::string_view kind, std::uint32_t version) : file_(path) {
        if (const std::string found = text(most_kind, "its kind"); found != kind) {
            detail::fail(origin(), ": it is no ", kind, " of augur");
        }
        if (const auto found = get<std::uint32_t>("its version"); found != version) {
            detail::fail(origin(), ": its version is ", found, "; this program knows ", version);
        }
    }

    std::string origin() const { return file_.path().string(); }

    template <class T>
    requires std::is_arithmetic_v<T> T get(std::string_view what) {
        T value{};
        bytes(std::as_writable_bytes(std::span(&value, 1)), what);
        return value;
    }
    /// One of the choices 0 to `most`.
    std::uint32_t choice(std::string_view what, std::uint32_t most) {
        const auto found = get<std::uint32_t>(what);
        if (found > most) detail::fail(origin(), ": ", what, " is ", found, "; it is at most ", most);
        return found;
    }
    std::string text(std::uint64_t most, std::string_view what) {
        std::string read(count(most, 1, what), '\0');
        bytes(std::as_writable_bytes(std::span(read)), what);
        return read;
    }
    state_identity identity() {
        state_identity of{.model = text(4096, "the model's fingerprint")};
        for (std::size_t* each : {&of.layer, &of.width, &of.vocabulary_size}) {
            *each = static_cast<std::size_t>(get<std::uint64_t>("a size"));
        }
        return of;
    }
    /// As many as it was written with, at most `most`.
    template <class Array>
    void array(Array& out, std::uint64_t most, std::string_view what) {
        using T = std::remove_reference_t<decltype(*out.data())>;
        const std::size_t size = count(most, sizeof(T), what);
        out.resize(static_cast<decltype(out.size())>(size));
        bytes(std::as_writable_bytes(std::span<T>(out.data(), size)), what);
    }
    /// As many as there is room for.
    template <class T>
    void fill(std::span<T> out, std::string_view what) {
        if (const std::size_t size = count(out.size(), sizeof(T), what); size != out.size()) {
            detail::fail(origin(), ": ", what, " has ", size, " numbers, not ", out.size());
        }
        bytes(std::as_writable_bytes(out), what);
    }

    /// Throws unless this is the end, and what was read is what was written.
    void finish() {
        const std::string found = hash_.text();
        std::string stated(found.size(), '\0');
        const std::uint64_t at = position_;
        bytes(std::as_writable_bytes(std::span(stated)), "its checksum");
        if (stated != found) {
            detail::fail(origin(), ": it is damaged: the checksum of its ", at, " bytes is ", found,
                         ", not as it says");
        }
        if (position_ != file_.size()) {
            detail::fail(origin(), ": it has ", file_.size(), " bytes, but ends after ", position_);
        }
    }

 private:
    std::size_t count(std::uint64_t most, std::size_t bytes_each, std::string_view what) {
        const auto stated = get<std::uint64_t>(what);
        if (stated > most) detail::fail(origin(), ": ", what, " has a size of ", stated, "; at most ", most, " fit");
        require(stated * bytes_each, what);
        return static_cast<std::size_t>(stated);
    }
    void require(std::uint64_t size, std::string_view what) const {
        const std::uint64_t left = file_.size() - position_;
        if (size <= left) return;
        detail::fail(origin(), ": it is cut short: ", what, " at byte ", position_, " needs ", size, " bytes, ", left,
                     " are left");
    }
    void bytes(std::span<std::byte> out, std::string_view what) {
        require(out.size(), what);
        file_.read(position_, out);
        hash_.add(out);
        position_ += out.size();
    }

    io::regular_file file_;
    std::uint64_t position_ = 0;
    io::fnv_hash hash_;
};

/// Whether a file begins as a state_writer's of that kind does. Throws where it cannot be read.
inline bool is_state_of(const std::filesystem::path& path, std::string_view kind) {
    io::regular_file file(path);
    std::uint64_t stated = 0;
    if (file.size() < sizeof stated + kind.size()) return false;
    file.read(0, std::as_writable_bytes(std::span(&stated, 1)));
    std::string found(kind.size(), '\0');
    file.read(sizeof stated, std::as_writable_bytes(std::span(found)));
    return stated == kind.size() && found == kind;
}

}  // namespace augur::train
