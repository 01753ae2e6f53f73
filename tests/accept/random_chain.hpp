#pragma once
// Proposals without a model, and rows to judge them by.

#include <augur/random/chooser.hpp>
#include <augur/transform/pipeline.hpp>
#include <augur/types/distribution.hpp>
#include <augur/types/prefix.hpp>
#include <augur/types/proposal.hpp>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <random>
#include <vector>

namespace augur::testing {

inline std::vector<float> random_logits(std::mt19937& random, std::size_t vocabulary) {
    std::vector<float> row(vocabulary);
    for (float& logit : row) logit = random() % 7 == 0 ? -INFINITY : static_cast<float>(random() % 5);
    row[random() % vocabulary] = 1;
    return row;
}

/// A drafted chain of up to four tokens and the rows to judge it by; now and then one that cannot be drawn from.
template <class DraftDistribution>
struct random_chain {
    proposal<DraftDistribution> proposed;
    std::vector<std::vector<float>> rows;

    random_chain(std::mt19937& random, std::size_t vocabulary) {
        for (std::size_t i = random() % 5; i > 0; --i) {
            distribution row;
            transform::pipeline({}, vocabulary).apply(random_logits(random, vocabulary), prefix{}, row);
            const random::philox_chooser chooser(random());
            push(static_cast<token>(chooser.choose(row, {})), row);
        }
        for (std::size_t i = 0; i <= proposed.size(); ++i) rows.push_back(random_logits(random, vocabulary));
        if (random() % 8 == 0) rows[random() % rows.size()].assign(vocabulary, -INFINITY);
    }
    void push(token t, const distribution& row) {
        if constexpr (std::same_as<DraftDistribution, distribution>) {
            proposed.push(t, row);
        } else {
            proposed.push(t);
        }
    }
};

/// Two paths of two nodes each: 3 then 4, and 1 then 2 or 0.
inline proposal<point_mass> two_paths() {
    proposal<point_mass> proposed;
    proposed.push(3, after_prefix);
    proposed.push(1, after_prefix);
    proposed.push(4, 0);
    proposed.push(2, 1);
    proposed.push(0, 1);
    return proposed;
}

}  // namespace augur::testing
