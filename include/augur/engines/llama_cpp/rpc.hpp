#pragma once
// Other machines' devices, by llama.cpp's RPC backend.

#include <llama.h>
#include <netdb.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "augur/engines/llama_cpp/complaints.hpp"
#include "augur/types/error.hpp"

namespace augur::engines::llama_cpp {

namespace detail {

/// Splits "host:port"; throws where it is not that.
struct endpoint {
    std::string host, port;

    explicit endpoint(std::string_view text) {
        const std::size_t colon = text.rfind(':');
        host = text.substr(0, colon);
        port = colon == std::string_view::npos ? "" : text.substr(colon + 1);
        unsigned number = 0;
        const auto read = std::from_chars(port.data(), port.data() + port.size(), number);
        const bool whole = read.ec == std::errc() && read.ptr == port.data() + port.size();
        if (host.empty() || !whole || number == 0 || number > 65535) {
            augur::detail::fail("an RPC server is \"host:port\", not \"", text, "\"");
        }
    }
};

/// Throws unless something listens there within `seconds`. llama.cpp ends the process where it cannot connect.
inline void check_listens(const std::string& server, int seconds) {
    const endpoint at(server);
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    if (const int problem = getaddrinfo(at.host.c_str(), at.port.c_str(), &hints, &found); problem != 0) {
        augur::detail::fail("the RPC server ", server, " is not found: ", gai_strerror(problem));
    }
    const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> addresses(found, &freeaddrinfo);
    std::string why = "it has no address";
    for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
        const int socket = ::socket(each->ai_family, each->ai_socktype, each->ai_protocol);
        if (socket < 0) continue;
        const timeval limit{.tv_sec = seconds, .tv_usec = 0};
        setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
        const bool connected = ::connect(socket, each->ai_addr, each->ai_addrlen) == 0;
        if (!connected) why = std::generic_category().message(errno);
        ::close(socket);
        if (connected) return;
    }
    augur::detail::fail("the RPC server ", server, " does not answer within ", seconds, " s: ", why);
}

using server_adder = ggml_backend_reg_t (*)(const char* server);

/// Throws unless a process of its own gets llama.cpp's greeting answered within `seconds`: llama.cpp waits for a server
/// without limit, as for one that is busy with another client, and ends the process where another program answers.
inline void check_answers(server_adder add, const std::string& server, int seconds) {
    const ::pid_t asks = ::fork();
    if (asks < 0) augur::detail::fail("the RPC server ", server, " is not asked: ", std::strerror(errno));
    if (asks == 0) {
        ::signal(SIGABRT, SIG_DFL);
        ::setenv("GGML_NO_BACKTRACE", "1", 1);
        ::close(STDERR_FILENO);
        ::_exit(add(server.c_str()) == nullptr ? 1 : 0);
    }
    for (int waited = 0; waited < 100 * seconds; ++waited) {
        int status = 0;
        const ::pid_t ended = ::waitpid(asks, &status, WNOHANG);
        if (ended == asks && status != 0) {
            augur::detail::fail("at ", server, " there is no RPC server of this llama.cpp's version");
        }
        if (ended != 0) return;  // also where this process hears of no child's end
        ::usleep(10000);
    }
    ::kill(asks, SIGKILL);
    ::waitpid(asks, nullptr, 0);
    augur::detail::fail("the RPC server ", server, " takes connections, but does not answer within ", seconds,
                        " s: it may serve somebody else");
}

}  // namespace detail

/// The devices of these servers, in order, and then this machine's accelerators; ended by null, as llama.cpp wants it.
/// Throws where a server is no "host:port", does not answer within five seconds, or is another program, or where
/// llama.cpp has no RPC backend. Asking takes a child process for each server. What a server that
/// vanishes later does is llama.cpp's: it ends this process (docs/engines/llama_cpp.md).
inline std::vector<ggml_backend_dev_t> devices_of(const std::vector<std::string>& servers) {
    complaints said;
    const ggml_backend_reg_t backend = ggml_backend_reg_by_name("RPC");
    const auto add = backend == nullptr ? nullptr
                                        : reinterpret_cast<detail::server_adder>(ggml_backend_reg_get_proc_address(
                                              backend, "ggml_backend_rpc_add_server"));
    if (add == nullptr) said.fail("this llama.cpp was built without its RPC backend, which ", servers[0], " needs");
    std::vector<ggml_backend_dev_t> devices;
    for (const std::string& server : servers) {
        detail::check_listens(server, 5);
        detail::check_answers(add, server, 5);
        const ggml_backend_reg_t there = add(server.c_str());
        if (there == nullptr) said.fail("the RPC server ", server, " has no device");
        for (std::size_t i = 0; i < ggml_backend_reg_dev_count(there); ++i) {
            devices.push_back(ggml_backend_reg_dev_get(there, i));
        }
    }
    for (std::size_t i = 0; i < ggml_backend_dev_count(); ++i) {
        const ggml_backend_dev_t here = ggml_backend_dev_get(i);
        if (ggml_backend_dev_type(here) == GGML_BACKEND_DEVICE_TYPE_GPU) devices.push_back(here);
    }
    devices.push_back(nullptr);
    return devices;
}

}  // namespace augur::engines::llama_cpp
