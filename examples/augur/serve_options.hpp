#pragma once
// What `augur serve` is told on its command line.

#include <cstddef>
#include <optional>
#include <string>

#include "options.hpp"
#include "scoring_engine.hpp"

namespace augur::program {

struct serve_options {
    model_options model;
    engine_options engine;
    std::string scheme = "lookup";
    std::optional<std::size_t> length{};  ///< of lookup: the most tokens that are drafted a round
    std::string host = "127.0.0.1";
    std::size_t port = 8080;  ///< 0: one that is free
    std::string api_key_file{}, model_name{};

    std::size_t together = 16;      ///< requests that are decoded at once
    std::size_t queue = 64;         ///< requests that wait
    std::size_t connections = 128;  ///< open at a time
    std::size_t max_tokens = 4096;  ///< of one text
    std::size_t body_bytes = std::size_t{1} << 20;
    std::size_t cached_tokens = 0;  ///< of all requests together; 0: their number times the context
    std::size_t prefill_tokens = 256;
    double request_seconds = 600;  ///< from its arrival to its end
    double client_seconds = 10;    ///< to send a request, and to take what it is sent
    double drain_seconds = 30;     ///< after SIGTERM
};

}  // namespace augur::program
