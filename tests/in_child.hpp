#pragma once
// What a forked child does, with an end to the wait for it.

#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <functional>
#include <optional>
#include <thread>

namespace augur::testing {

/// What `work` returned in a child, 0 to 255; -1 if the child ended otherwise, nothing if it had not ended after half a
/// minute.
inline std::optional<int> in_child(const std::function<int()>& work) {
    const ::pid_t id = ::fork();
    if (id == 0) ::_exit(work());
    for (int waited = 0; waited < 3000; ++waited) {
        int status = 0;
        if (::waitpid(id, &status, WNOHANG) == id) return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    ::kill(id, SIGKILL);
    ::waitpid(id, nullptr, 0);
    return std::nullopt;
}

}  // namespace augur::testing
