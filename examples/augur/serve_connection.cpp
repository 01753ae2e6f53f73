#include "serve_connection.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "serve_error.hpp"

namespace augur::program {
namespace {

using steady = std::chrono::steady_clock;
constexpr std::size_t head_bytes = std::size_t{1} << 16;  ///< of a request line and its headers

constexpr int unread_bytes = 1 << 16;  ///< that wait for a client, beyond which it is slow

steady::time_point after(double seconds) {
    return steady::now() + std::chrono::duration_cast<steady::duration>(std::chrono::duration<double>(seconds));
}

/// A connection: what a request may read is limited in bytes and in time, whatever its parts are, and so is the time
/// that a write waits for the client.
class limited_stream : public httplib::Stream {
 public:
    limited_stream(socket_t sock, const connection_limits& limits, const limited_server& server)
        : socket_(sock), limits_(limits), server_(server) {}

    /// Waits for the next request; false where none comes in time.
    bool begin() {
        left_ = head_bytes + limits_.body_bytes;
        until_ = after(limits_.client_seconds);
        return next_ < filled_ || wait(POLLIN, until_);
    }
    bool is_readable() const override { return next_ < filled_ || wait(POLLIN, steady::now()); }
    bool is_writable() const override { return wait(POLLOUT, after(limits_.client_seconds)); }
    ssize_t read(char* into, std::size_t size) override {
        if (next_ == filled_) {
            if (left_ == 0 || !wait(POLLIN, until_)) return -1;
            const ssize_t got = recv(socket_, buffer_.data(), std::min(buffer_.size(), left_), 0);
            if (got <= 0) return got;
            next_ = 0;
            filled_ = static_cast<std::size_t>(got);
            left_ -= filled_;
        }
        const std::size_t part = std::min(size, filled_ - next_);
        std::copy_n(buffer_.begin() + static_cast<std::ptrdiff_t>(next_), part, into);
        next_ += part;
        return static_cast<ssize_t>(part);
    }
    ssize_t write(const char* data, std::size_t size) override {
        const auto until = after(limits_.client_seconds);
        std::size_t sent = 0;
        while (sent < size) {
            const ssize_t part = send(socket_, data + sent, size - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
            if (part > 0) {
                sent += static_cast<std::size_t>(part);
            } else if ((errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) || !wait(POLLOUT, until)) {
                return -1;
            }
        }
        return static_cast<ssize_t>(size);
    }
    void get_remote_ip_and_port(std::string&, int&) const override {}  // nobody asks
    void get_local_ip_and_port(std::string&, int&) const override {}
    socket_t socket() const override { return socket_; }

    /// Reads what the client is still sending, however much in half a second, and keeps none of it, so that the client
    /// sees the answer: to close a socket with unread bytes resets the connection.
    void drain() {
        until_ = after(std::min(limits_.client_seconds, 0.5));
        left_ = std::numeric_limits<std::size_t>::max();
        do next_ = filled_;
        while (read(buffer_.data(), 1) > 0);
    }

    /// Whether its other end was closed.
    bool is_gone() const {
        pollfd one{socket_, POLLRDHUP, 0};
        return poll(&one, 1, 0) > 0 && (one.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
    }

    bool ends = false;  ///< after this request

 private:
    /// False where the time is over, or the server halts.
    bool wait(short event, steady::time_point until) const {
        while (true) {
            const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - steady::now()).count();
            pollfd one{socket_, event, 0};
            const int ready = poll(&one, 1, static_cast<int>(std::clamp<std::int64_t>(left, 0, 50)));
            if (ready > 0) return true;
            if ((ready < 0 && errno != EINTR) || left <= 50 || server_.is_halted()) return false;
        }
    }

    socket_t socket_;
    const connection_limits& limits_;
    const limited_server& server_;
    std::array<char, 4096> buffer_{};
    std::size_t next_ = 0, filled_ = 0, left_ = 0;
    steady::time_point until_{};
};

thread_local limited_stream* answered_now = nullptr;
thread_local bool is_refused = false;

}  // namespace

/// A thread for each connection. One that is too many is refused by the thread that accepts.
class limited_server::threads : public httplib::TaskQueue {
 public:
    explicit threads(limited_server& of) : of_(&of) {}
    ~threads() override { shutdown(); }

    void enqueue(std::function<void()> serve) override {
        if (++of_->open_ <= of_->limits_.connections) {
            try {
                std::thread([this, serve] {
                    serve();
                    leave();
                }).detach();
                return;
            } catch (const std::system_error&) {  // no thread is to be had
            }
        }
        is_refused = true;
        serve();
        is_refused = false;
        leave();
    }
    void shutdown() override {
        std::unique_lock lock(mutex_);
        idle_.wait(lock, [this] { return of_->open_ == 0; });
    }

 private:
    void leave() {
        const std::lock_guard lock(mutex_);
        --of_->open_;
        idle_.notify_all();
    }

    limited_server* of_;
    std::mutex mutex_;
    std::condition_variable idle_;
};

limited_server::limited_server(connection_limits limits) : limits_(limits) {
    new_task_queue = [this] { return new threads(*this); };
    set_payload_max_length(limits_.body_bytes);
    set_socket_options([](socket_t sock) {  // not SO_REUSEPORT, by which two servers would share a port in silence
        const int yes = 1;
        setsockopt(sock, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    });
    set_logger([this](const httplib::Request&, const httplib::Response& answer) {
        count(answer.status);
        if (answered_now != nullptr && answer.status >= 400) answered_now->ends = true;
    });
}

bool limited_server::client_is_gone() {
    return answered_now != nullptr && answered_now->is_gone();
}

std::map<int, std::size_t> limited_server::answers() const {
    const std::lock_guard lock(mutex_);
    return answers_;
}

void limited_server::halt() {
    halted_ = true;
    stop();
}

void limited_server::count(int status) {
    const std::lock_guard lock(mutex_);
    ++answers_[status];
}

bool limited_server::process_and_close_socket(socket_t sock) {
    if (is_refused) {
        refuse(sock);
        return false;
    }
    const int yes = 1;
    setsockopt(sock, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    setsockopt(sock, SOL_SOCKET, SO_SNDBUF, &unread_bytes, sizeof unread_bytes);
    limited_stream stream(sock, limits_, *this);
    answered_now = &stream;
    while (!halted_ && !stream.ends && stream.begin()) {
        bool closed = false;
        if (!process_request(stream, false, closed, nullptr) || closed) break;
    }
    answered_now = nullptr;
    shutdown(sock, SHUT_WR);
    if (stream.ends) stream.drain();
    close(sock);
    return true;
}

void limited_server::refuse(socket_t sock) {
    count(429);
    const std::string body =
        api_error(429, "too_many_connections",
                  "there are " + std::to_string(limits_.connections) + " connections, and no more may be opened")
            .json()
            .dump();
    const std::string answer =
        "HTTP/1.1 429 Too Many Requests\r\nContent-Type: application/json\r\nRetry-After: 1\r\nConnection: close\r\n"
        "Content-Length: " +
        std::to_string(body.size()) + "\r\n\r\n" + body;
    static_cast<void>(send(sock, answer.data(), answer.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
    shutdown(sock, SHUT_WR);
    close(sock);
}

}  // namespace augur::program
