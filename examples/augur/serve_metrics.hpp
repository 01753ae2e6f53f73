#pragma once
// What the server has done, for Prometheus and for the page.

#include <array>
#include <augur/decode/request.hpp>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "serve_decoder.hpp"

namespace augur::program {

class serve_metrics {
 public:
    /// A text has ended. `drafts`: it was not to be decoded plainly.
    void note(const decode::served& result, bool drafts);

    /// Prometheus' text format. `answers`: of HTTP, by status.
    std::string text(const request_decoder& decoder, const std::map<int, std::size_t>& answers, std::size_t connections,
                     const std::string& drafter) const;

 private:
    struct of_drafter {
        std::uint64_t texts = 0, tokens = 0, rounds = 0, drafted = 0, accepted = 0;
        double seconds = 0;  ///< from first tokens to ends
    };

    mutable std::mutex mutex_;
    std::array<of_drafter, 2> drafters_{};  ///< plain, drafting
    double first_token_seconds_ = 0;        ///< of all texts that had one
    std::uint64_t first_tokens_ = 0;
};

}  // namespace augur::program
