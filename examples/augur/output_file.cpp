#include "output_file.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <augur/io/files/safetensors.hpp>
#include <augur/train/state_file.hpp>
#include <augur/types/error.hpp>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

namespace augur::program {
namespace {

namespace fs = std::filesystem;

/// A file that is not finished. Whoever writes has the place; the handler of signals reads the name while `is_named`.
struct unfinished_file {
    std::atomic<bool> is_taken = false, is_named = false;
    char name[4096];
};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler must not wait for a lock");

// What a handler of signals removes; files beyond these stay.
std::array<unfinished_file, 16> unfinished;

// Once a signal ends the program no thread creates a file, and the handler waits for those that do.
std::atomic<bool> is_ending = false;
std::atomic<int> creating = 0;
static_assert(std::atomic<int>::is_always_lock_free);

[[noreturn]] void wait_for_the_end() {
    for (;;) ::pause();
}

/// While it lives, this thread creates a file: it is given no signal, and no handler has begun to remove files.
class creation {
 public:
    creation() {
        sigset_t all;
        ::sigfillset(&all);
        ::pthread_sigmask(SIG_SETMASK, &all, &before_);
        ++creating;
        if (!is_ending) return;
        --creating;
        wait_for_the_end();
    }
    creation(const creation&) = delete;
    creation& operator=(const creation&) = delete;
    ~creation() {
        --creating;
        ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    }

 private:
    sigset_t before_;
};

void remove_and_end(int number) {
    is_ending = true;
    while (creating != 0) {
    }
    for (const unfinished_file& each : unfinished) {
        if (each.is_named) ::unlink(each.name);
    }
    struct sigaction ends {};
    ends.sa_handler = SIG_DFL;
    ::sigaction(number, &ends, nullptr);
    ::raise(number);
}

void install_handler() {
    static const bool installed = [] {
        for (const int number : {SIGHUP, SIGINT, SIGQUIT, SIGPIPE, SIGTERM, SIGXCPU}) {
            struct sigaction before {};
            ::sigaction(number, nullptr, &before);
            if (before.sa_handler != SIG_DFL) continue;
            struct sigaction removing {};
            removing.sa_handler = remove_and_end;
            ::sigaction(number, &removing, nullptr);
        }
        return true;
    }();
    static_cast<void>(installed);
}

}  // namespace

int create_removed_on_signals(const fs::path& path) {
    install_handler();
    const creation alone;
    const int file = train::create_file(path);
    const std::string& name = path.native();
    if (file < 0 || name.size() >= sizeof unfinished[0].name) return file;
    for (unfinished_file& each : unfinished) {
        if (each.is_taken.exchange(true)) continue;
        std::memcpy(each.name, name.c_str(), name.size() + 1);
        each.is_named = true;
        break;
    }
    return file;
}

void leave_on_signals(const fs::path& path) {
    if (is_ending) wait_for_the_end();
    for (unfinished_file& each : unfinished) {
        if (!each.is_named || path.native() != each.name) continue;
        each.is_named = false;
        each.is_taken = false;
    }
}

fs::path followed(const fs::path& path) {
    std::error_code problem;  // then opening it says why
    if (fs::path target = fs::canonical(path, problem); !problem) return target;
    constexpr int most_links = 40;  // of a path, as Linux follows them
    fs::path target = path;
    for (int links = 0; links < most_links; ++links) {
        if (!fs::is_symlink(target, problem)) return target;
        const fs::path next = fs::read_symlink(target, problem);
        if (problem) return path;
        target = target.parent_path() / next;
    }
    return path;
}

bool is_same_file(const fs::path& a, const fs::path& b) {
    std::error_code absent;
    if (fs::equivalent(a, b, absent) && !absent) return true;
    const fs::path at_a = fs::absolute(followed(a)), at_b = fs::absolute(followed(b));
    return at_a.filename() == at_b.filename() && fs::equivalent(at_a.parent_path(), at_b.parent_path(), absent) &&
           !absent;
}

namespace {

/// What may be read where this is named: of a model in safetensors the whole folder's.
std::vector<fs::path> files_of(const fs::path& input) {
    if (!io::holds_safetensors(input)) return {input};
    std::error_code problem;
    const fs::path folder = fs::is_directory(input, problem) ? input : fs::absolute(input).parent_path();
    std::vector<fs::path> files;
    for (fs::directory_iterator at(folder, problem), end; !problem && at != end; at.increment(problem)) {
        const std::string name = at->path().filename().string();
        for (const char* read :
             {".safetensors", ".safetensors.index.json", "config.json", "tokenizer.json", ".jinja"}) {
            if (name.ends_with(read)) files.push_back(at->path());
        }
    }
    return files;
}

bool is_special(const fs::path& path) {
    std::error_code unknown;
    return fs::exists(path, unknown) && !fs::is_regular_file(path, unknown);
}

}  // namespace

output_file::output_file(fs::path path) : path_(std::move(path)), target_(followed(path_)) {
    if (is_special(target_)) {
        file_ = std::fopen(target_.c_str(), "wbe");
    } else {
        create_beside();
    }
    if (!file_) refuse();
}

/// Never a file that is there already, whoever else writes in this folder. With the permissions of what it will
/// replace.
void output_file::create_beside() {
    struct stat replaced {};
    const bool replaces = ::stat(target_.c_str(), &replaced) == 0;
    if (!replaces && errno != ENOENT) return;  // a name that no file can have
    if (replaces && ::access(target_.c_str(), W_OK) != 0) return;
    int file = -1;
    for (unsigned long number = 0; file < 0; ++number) {
        const std::string name = ".augur-" + std::to_string(::getpid()) + "-" + std::to_string(number) + ".part";
        part_ = target_.parent_path() / name;
        file = create_removed_on_signals(part_);
        if (file < 0 && errno != EEXIST) return;
    }
    if (replaces) static_cast<void>(::fchmod(file, replaced.st_mode & 0777));  // where it may not, the usual ones stay
    file_ = ::fdopen(file, "wb");
}

output_file::~output_file() {
    if (!file_) return;
    std::fclose(file_);
    std::error_code ignored;  // a destructor cannot report it
    if (part_.empty()) return;
    fs::remove(part_, ignored);
    leave_on_signals(part_);
}

void output_file::write(std::string_view bytes) {
    if (std::fwrite(bytes.data(), 1, bytes.size(), file_) != bytes.size()) refuse();
}

void output_file::commit() {
    if (std::fflush(file_) != 0) refuse();
    if (!part_.empty()) {
        if (::fsync(::fileno(file_)) != 0) refuse();
        std::error_code problem;
        fs::rename(part_, target_, problem);
        if (problem) detail::fail("cannot rename ", part_.string(), " to ", target_.string(), ": ", problem.message());
        leave_on_signals(part_);
    }
    if (std::fclose(std::exchange(file_, nullptr)) != 0) refuse();
}

void output_file::refuse() const {
    detail::fail("cannot write ", path_.string(), ": ", std::strerror(errno));
}

void check_output(const std::string& flag, const fs::path& path, const std::vector<fs::path>& inputs) {
    if (path.empty()) detail::fail(flag, " is ''; it must be the name of a file");
    std::error_code unknown;
    if (fs::is_directory(path, unknown)) detail::fail(flag, " ", path.string(), " is a directory, not a file");
    for (const fs::path& input : inputs) {
        for (const fs::path& read : files_of(input)) {
            if (!is_same_file(path, read)) continue;
            detail::fail(flag, " ", path.string(), " would overwrite ", read.string(), ", which is read");
        }
    }
    if (!is_special(path)) output_file tried(path);
}

void open_standard_streams() {
    for (const int number : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        if (::fcntl(number, F_GETFD) >= 0) continue;
        const int opened =
            ::open("/dev/null", number == STDIN_FILENO ? O_WRONLY : O_RDONLY);  // the lowest that is free
        if (opened != number) detail::fail("descriptor ", number, " is closed, and /dev/null cannot be opened");
    }
    ::signal(SIGXFSZ, SIG_IGN);
}

void check_standard_output() {
    const int flags = ::fcntl(STDOUT_FILENO, F_GETFL);
    if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY)
        detail::fail("standard output is closed, but the result goes there");
}

void print(std::string_view bytes) {
    if (std::fwrite(bytes.data(), 1, bytes.size(), stdout) == bytes.size() && std::fflush(stdout) == 0) return;
    detail::fail("cannot write to standard output: ", std::strerror(errno));
}

}  // namespace augur::program
