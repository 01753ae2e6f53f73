#pragma once
// Uploads the draft distributions of a host drafter to the device that judges its tokens.

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "augur/backend/device/round.hpp"
#include "augur/backend/device/send.hpp"
#include "augur/backend/device/system.hpp"
#include "augur/model/device_verifier.hpp"
#include "augur/types/distribution.hpp"
#include "augur/types/token.hpp"

namespace augur::backend::device {

/// The rows that drafted tokens were drawn from, in a system's memory; the next proposal's overwrite them. Cost: four
/// bytes per token of the vocabulary and row; a row that is certain of a token takes no more than that token.
template <System S>
class uploaded_draft_rows {
 public:
    /// Of a proposal that is not certain. Takes memory for `room` rows where there is too little.
    void upload(const S& on, const judged_proposal& proposed, std::size_t vocabulary_size, std::size_t room) {
        require(on, std::max(room, proposed.size()), vocabulary_size);
        host_totals_.clear();
        host_points_.clear();
        for (std::size_t i = 0; i < proposed.size(); ++i) {
            const distribution& row = proposed.row(i);
            host_totals_.push_back(row.total());
            host_points_.push_back(row.is_point() ? row.mode() : no_token);
            if (row.is_point()) continue;
            on.upload(weights_.data() + i * vocabulary_size, row.weights().data(), vocabulary_size * sizeof(float));
        }
        send(on, totals_.data(), host_totals_);
        send(on, points_.data(), host_points_);
    }

    /// Those of these tokens, which lie in the system's memory.
    drawn_chain of(const token* tokens, std::size_t size) const {
        return {tokens, size, weights_.data(), totals_.data(), points_.data()};
    }

 private:
    void require(const S& on, std::size_t rows, std::size_t vocabulary_size) {
        if (totals_.size() >= rows) return;
        weights_ = buffer<float, S>(on, rows * vocabulary_size);
        totals_ = buffer<double, S>(on, rows);
        points_ = buffer<token, S>(on, rows);
    }

    buffer<float, S> weights_;
    buffer<double, S> totals_;
    buffer<token, S> points_;
    std::vector<double> host_totals_;
    std::vector<token> host_points_;
};

}  // namespace augur::backend::device
