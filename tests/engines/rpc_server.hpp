#pragma once
// A server of llama.cpp's RPC backend in a process of its own, as ggml-rpc-server is one.

#include <arpa/inet.h>
#include <fcntl.h>
#include <llama.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <string>

#include "augur/engines/llama_cpp/rpc.hpp"

namespace augur::testing {

/// A port of this machine that takes connections, and is no server.
class listening_socket {
 public:
    listening_socket() : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        ::bind(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address);
        ::listen(socket_, 4);
        socklen_t size = sizeof address;
        ::getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size);
        at_ = "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
    }
    listening_socket(const listening_socket&) = delete;
    listening_socket& operator=(const listening_socket&) = delete;
    ~listening_socket() { ::close(socket_); }

    const std::string& endpoint() const { return at_; }
    /// Waits for a connection and ends it.
    void close_next() const { ::close(::accept(socket_, nullptr, nullptr)); }

 private:
    int socket_;
    std::string at_;
};

/// With one device, this processor, and one thread. Started before the process has threads; ends with this.
class rpc_server {
 public:
    rpc_server() : at_("127.0.0.1:" + std::to_string(free_port())), process_(::fork()) {
        if (process_ == 0) serve();
        for (int tries = 0; tries < 500 && !listens(); ++tries) ::usleep(20000);
    }
    rpc_server(const rpc_server&) = delete;
    rpc_server& operator=(const rpc_server&) = delete;
    ~rpc_server() { kill(); }

    const std::string& endpoint() const { return at_; }
    void kill() {
        if (process_ <= 0) return;
        ::kill(process_, SIGKILL);
        ::waitpid(process_, nullptr, 0);
        process_ = 0;
    }
    /// Whether this llama.cpp can serve at all.
    static bool is_there() { return start() != nullptr; }

 private:
    using starter = void (*)(const char*, const char*, std::size_t, std::size_t, ggml_backend_dev_t*);
    static starter start() {
        const ggml_backend_reg_t backend = ggml_backend_reg_by_name("RPC");
        if (backend == nullptr) return nullptr;
        return reinterpret_cast<starter>(ggml_backend_reg_get_proc_address(backend, "ggml_backend_rpc_start_server"));
    }
    [[noreturn]] void serve() const {
        const int nowhere = ::open("/dev/null", O_WRONLY);
        ::dup2(nowhere, 1);
        ::dup2(nowhere, 2);
        ggml_backend_dev_t processor = ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU);
        start()(at_.c_str(), nullptr, 1, 1, &processor);
        ::_exit(1);
    }
    bool listens() const {
        try {
            engines::llama_cpp::detail::check_listens(at_, 1);
            return true;
        } catch (const error&) {
            return false;
        }
    }
    static int free_port() {
        const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        ::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address);
        socklen_t size = sizeof address;
        ::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size);
        ::close(socket);
        return ntohs(address.sin_port);
    }

    std::string at_;
    ::pid_t process_;
};

}  // namespace augur::testing
