#pragma once
// Files that are written by processes that end before they are done.

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "augur/types/error.hpp"

namespace augur::testing {

/// A folder of its own, removed at the end.
class scratch_folder {
 public:
    scratch_folder() {
        std::string name = (std::filesystem::temp_directory_path() / "augur-train-").string() + std::string(6, 'X');
        if (::mkdtemp(name.data()) == nullptr) augur::detail::fail("cannot create ", name);
        path_ = name;
    }
    scratch_folder(const scratch_folder&) = delete;
    scratch_folder& operator=(const scratch_folder&) = delete;
    ~scratch_folder() { std::filesystem::remove_all(path_); }

    std::filesystem::path operator/(const char* name) const { return path_ / name; }
    std::size_t files() const {
        return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(path_), {}));
    }

 private:
    std::filesystem::path path_;
};

inline std::string content_of(const std::filesystem::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}
inline void write(const std::filesystem::path& path, const std::string& content) {
    std::ofstream(path, std::ios::binary) << content;
}

enum class ending { done, refused, killed };

/// Runs `what` in a process that can write no byte beyond the `limit`-th of a file: it is killed there, or told that
/// there is no room.
template <class What>
ending limited(std::size_t limit, bool killed, const What& what) {
    const ::pid_t child = ::fork();
    if (child < 0) augur::detail::fail("cannot fork");
    if (child == 0) {
        const ::rlimit bound{limit, limit};
        ::setrlimit(RLIMIT_FSIZE, &bound);
        ::signal(SIGXFSZ, killed ? SIG_DFL : SIG_IGN);
        const ::rlimit no_core{0, 0};
        ::setrlimit(RLIMIT_CORE, &no_core);
        try {
            what();
        } catch (const error&) {
            ::_exit(1);
        }
        ::_exit(0);
    }
    int status = 0;
    if (::waitpid(child, &status, 0) != child) augur::detail::fail("a child was lost");
    if (WIFSIGNALED(status)) return ending::killed;
    return WEXITSTATUS(status) == 0 ? ending::done : ending::refused;
}

}  // namespace augur::testing
