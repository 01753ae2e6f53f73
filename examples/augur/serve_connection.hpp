#pragma once
// An HTTP server that no client can hold: connections, bytes and seconds are limited.

#include <httplib.h>

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <map>
#include <mutex>

namespace augur::program {

struct connection_limits {
    std::size_t connections = 128;  ///< open at a time; others are told so (429) and closed
    std::size_t body_bytes = std::size_t{1} << 20;
    double client_seconds = 10;  ///< for a request to arrive, or the next one to begin; and to take what is written
};

/// cpp-httplib's server, each connection on a thread of its own, and read and written by a stream that counts. A
/// connection is closed after an answer that is an error, so that no body that was not read is taken for a request.
class limited_server : public httplib::Server {
 public:
    explicit limited_server(connection_limits limits);

    /// Whether the client of the request that this thread answers has hung up. It may have sent more.
    static bool client_is_gone();
    std::size_t connections() const { return open_; }
    /// Ends listening and, at once, connections that wait for a client.
    void halt();
    bool is_halted() const { return halted_; }
    /// How many answers had which status.
    std::map<int, std::size_t> answers() const;

 private:
    class threads;

    bool process_and_close_socket(socket_t sock) override;
    void refuse(socket_t sock);
    void count(int status);

    connection_limits limits_;
    std::atomic<std::size_t> open_ = 0;
    std::atomic<bool> halted_ = false;
    mutable std::mutex mutex_;
    std::map<int, std::size_t> answers_;
};

}  // namespace augur::program
