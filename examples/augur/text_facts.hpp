#pragma once
// What entropy-aware schemes see of a text: entropies, best tokens, and how near models are to each other.

#include <augur/policy/entropy_bins.hpp>
#include <augur/switching/rolling_entropy.hpp>
#include <augur/types/scores.hpp>
#include <augur/types/token.hpp>
#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace augur::program {

/// Of one row of one model. Numbers are of the softmax at temperature 1.
struct row_facts {
    double entropy_nats = 0;
    double next_probability = 0;                   ///< of the token that follows in the text; 0 where none does
    std::vector<std::pair<token, double>> best{};  ///< the most probable, with their probabilities
};

/// Of two models' rows: `draft` is the cheaper one's.
struct pair_facts {
    bool agree = false;     ///< both have the same most probable token
    double acceptance = 0;  ///< sum of min(target, draft): what rejection sampling accepts, expected
    double total_variation = 0;
    double kl_nats = 0;          ///< sum of target log(target / draft)
    double reverse_kl_nats = 0;  ///< sum of draft log(draft / target)
};

/// After `position` tokens.
struct position_facts {
    std::size_t position = 0;
    token next = no_token;            ///< that follows; none after the last
    std::vector<row_facts> models{};  ///< cheapest first
    std::vector<pair_facts> pairs{};  ///< as model_pairs
    std::size_t bin = 0;              ///< of the cheapest model's entropy
    std::size_t length = 0;           ///< that EAAD would draft here
    std::size_t writer = 0;           ///< who would write the next token in EAD: 0 the cheapest, 1 the last model
    double rolling_bits = 0;          ///< mean of the writers' entropies over EAD's window, this row included
};

/// Which models are compared, each cheaper one with each better one: (0, 1), (0, 2), (1, 2).
std::vector<std::pair<std::size_t, std::size_t>> model_pairs(std::size_t models);

/// Looks at one position's rows after the other. Keeps nothing of a row.
class text_observer {
 public:
    /// `best`: how many of the most probable tokens are kept.
    text_observer(policy::entropy_bins bins, switching::rolling_entropy turns, std::size_t best)
        : bins_(std::move(bins)), turns_(std::move(turns)), best_(best) {}

    /// `rows`: each model's after `position` tokens, cheapest first. O(models^2 * vocabulary).
    position_facts look(std::span<const logit_row> rows, std::size_t position, token next);

 private:
    policy::entropy_bins bins_;
    switching::rolling_entropy turns_;
    std::size_t best_;
    std::size_t writer_ = 0;
};

/// Means over positions.
struct fact_means {
    std::size_t positions = 0;
    std::vector<double> entropy_nats;  ///< of each model
    std::vector<double> next_nats;     ///< of each model, -log probability of the token that follows, where one does
    std::size_t followed = 0;
    struct pair_means {
        double agree = 0, acceptance = 0, total_variation = 0, kl_nats = 0, reverse_kl_nats = 0;
    };
    std::vector<pair_means> pairs;
    double length = 0;
    double written_by_cheapest = 0;  ///< share of positions that EAD would leave to the cheapest model
};

/// Adds up positions; over all, and by bin.
class fact_sums {
 public:
    void add(const position_facts& at);
    fact_means means() const;

 private:
    fact_means sums_{};
};

}  // namespace augur::program
