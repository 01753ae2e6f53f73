#pragma once
// EAAD's entropy bins, with edges that are learned from acceptance and measured cost.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <ostream>
#include <span>
#include <utility>
#include <vector>

#include "augur/policy/concept.hpp"
#include "augur/policy/entropy_bins.hpp"
#include "augur/policy/pass_seconds.hpp"
#include "augur/types/error.hpp"

namespace augur::policy {

struct learned_bins_options {
    double memory = 0.99;          ///< weight of the past when a figure is updated, in (0, 1)
    double rate = 0.02;            ///< nats that an edge moves per round at most, above 0
    std::size_t probe_every = 16;  ///< rounds from one try of a neighbouring length to the next, at least 1
    /// Seconds of a verify pass over 1, 2, ... rows that were measured before; fades as what is measured comes in.
    std::vector<double> verify_seconds{};
};

/// entropy_bins whose edges move. The token at each position of a draft has an acceptance that does not rise with the
/// entropy (nats) of the round's first row, from rounds that fade; it is judged where all before it were accepted. An
/// edge moves towards the entropy at which the best length before it gains as much as the best after it: tokens
/// expected, less what the seconds of drafting and verifying them yield at the present pace. It moves by `rate` a round
/// at most, and all stay in order. An edge at 0 or below leaves the lengths before it unused. Every `probe_every`
/// rounds a neighbouring length is tried, the next longer and the next shorter in turn, so that every edge can come
/// back. An entropy of NaN or infinity gives length 1, as in entropy_bins, and teaches nothing. Effect on the
/// distribution: none. Lengths depend on the clock, so the rounds of two runs may differ; under exact and coupled the
/// text does not. Cost: O(cells * (longest + lengths^2)) per round, no randomness, nothing allocated.
/// Source: EAAD, "Future directions" (learned entropy thresholds); Ayer et al. 1955 (pooling); Dinkelbach 1967 (pace).
template <std::size_t Cells>
class basic_learned_bins {
 public:
    static constexpr signals_read reads{.required = signals::draft_entropy};
    /// Entropies that are distinguished: cell c is from (c / 4)^2 nats to ((c + 1) / 4)^2, the last open.
    static constexpr std::size_t cells = Cells;

    /// Begins with EAAD's published bins: edges 0.5, 1.5, 2.5 nats, lengths 4, 3, 2, 1.
    basic_learned_bins() : basic_learned_bins({0.5, 1.5, 2.5}, {4, 3, 2, 1}) {}

    /// Where the edges begin, rising, and the lengths, falling: one more than edges.
    basic_learned_bins(std::vector<double> edges_nats, std::vector<std::size_t> lengths,
                       learned_bins_options options = {})
        : edges_(std::move(edges_nats)),
          lengths_(std::move(lengths)),
          options_(checked(edges_, lengths_, std::move(options))),
          bins_(lengths_.size(), {.average = entropy_bins_options{}.acceptance_init}),
          positions_(lengths_.front()),
          passes_(lengths_.front() - lengths_.back() + 1, options_.memory, measured_before()) {
        fit();
    }

    /// A length, which the round's first row decides.
    draft_plan plan(const observation& seen) const {
        const double entropy = seen.first_draft_entropy_nats;
        return {.length = std::isfinite(entropy) ? lengths_[tried(bin_of(entropy))] : 1};
    }

    void learn(const outcome& happened) noexcept {
        const double entropy = happened.decided_on.first_draft_entropy_nats;
        if (happened.drafted > 0) bins_[bin_of(entropy)].add(happened, entropy_bins_options{}.acceptance_alpha);
        if (std::isfinite(entropy)) {
            learn_acceptance(cell_of(entropy), happened);
            learn_seconds(happened);
            if (passes_.known() && round_seconds_.weight > 0) move_edges();
        }
        ++rounds_;
    }

    /// Which bin an entropy falls into; what is not finite falls into the last.
    std::size_t bin_of(double entropy_nats) const { return policy::bin_of(edges_, entropy_nats); }

    std::span<const double> edges_nats() const { return edges_; }
    std::span<const std::size_t> lengths() const { return lengths_; }
    /// By the edges of the time, and with the weights of entropy_bins.
    std::span<const bin_statistics> bins() const { return bins_; }

    /// Estimated probability that the token at `position` (below the greatest length) is accepted if those before it
    /// are.
    double acceptance(double entropy_nats, std::size_t position) const {
        return positions_[position].rates[cell_of(entropy_nats)];
    }

    friend std::ostream& operator<<(std::ostream& out, const basic_learned_bins& p) {
        write_bins(out << "learned_bins", p.edges_, p.lengths_);
        return out << ", .memory=" << p.options_.memory << ", .rate=" << p.options_.rate
                   << ", .probe_every=" << p.options_.probe_every << '}';
    }

 private:
    static constexpr double least_width = 1e-3;  ///< nats, between where two edges move to
    static constexpr double most_seconds = 1e9;  ///< to be believed
    static constexpr double doubt = 0.25;        ///< judged tokens that an expectation counts as

    using by_cell = std::array<double, cells>;
    struct counted {
        double accepted = 0;
        double judged = 0;

        /// Where nothing was judged, `expected`.
        double rate(double expected) const { return (accepted + doubt * expected) / (judged + doubt); }
    };
    struct curve {
        std::array<counted, cells> counts{};
        by_cell rates{};   ///< that a token is accepted, given that those before it are
        by_cell tokens{};  ///< expected of a draft up to here
    };

    static learned_bins_options checked(const std::vector<double>& edges_nats, const std::vector<std::size_t>& lengths,
                                        learned_bins_options options) {
        using augur::detail::fail;
        check_bins(edges_nats, lengths);
        for (std::size_t i = 1; i < lengths.size(); ++i) {
            if (lengths[i] < lengths[i - 1]) continue;
            fail("learned_bins: lengths must fall, but length ", i - 1, " is ", lengths[i - 1], " and length ", i,
                 " is ", lengths[i]);
        }
        if (lengths.front() == 0) fail("learned_bins: the greatest length is 0; then it could never draft");
        if (!(options.memory > 0 && options.memory < 1)) {
            fail("learned_bins: memory is ", options.memory, "; it must be between 0 and 1");
        }
        if (!(std::isfinite(options.rate) && options.rate > 0)) {
            fail("learned_bins: rate is ", options.rate, " nats; it must be positive and finite");
        }
        if (options.probe_every == 0) fail("learned_bins: probe_every is 0; it must be at least 1");
        for (double seconds : options.verify_seconds) {
            if (believable(seconds)) continue;
            fail("learned_bins: verify_seconds holds ", seconds, "; it must be in [1e-12, 1e9]");
        }
        return options;
    }

    static bool believable(double seconds) { return seconds >= 1e-12 && seconds <= most_seconds; }

    /// What was measured before, from the shortest length's rows on.
    std::span<const double> measured_before() const {
        const std::span<const double> all = options_.verify_seconds;
        return all.subspan(std::min(lengths_.back(), all.size()));
    }

    static std::size_t cell_of(double entropy_nats) {
        if (!std::isfinite(entropy_nats)) return cells - 1;
        return static_cast<std::size_t>(std::clamp(4 * std::sqrt(std::max(entropy_nats, 0.0)), 0.0, cells - 1.0));
    }
    /// The entropy in the middle of a cell, and between cells.
    static double middle_of(double cell) { return (cell + 0.5) * (cell + 0.5) / 16; }

    /// The bin whose length this round takes. A pass of the shortest is what all are measured by.
    std::size_t tried(std::size_t bin) const {
        if (rounds_ % options_.probe_every + 1 != options_.probe_every) return bin;
        const std::size_t last = lengths_.size() - 1;
        if (!passes_.known()) return last;
        const bool longer = rounds_ / options_.probe_every % 2 == 0;
        return longer ? bin - std::min<std::size_t>(bin, 1) : std::min(bin + 1, last);
    }

    void learn_acceptance(std::size_t cell, const outcome& happened) {
        for (std::size_t i = 0; i < positions_.size(); ++i) {
            auto& counts = positions_[i].counts;
            for (counted& each : counts) each = {each.accepted * options_.memory, each.judged * options_.memory};
            if (i >= happened.drafted || i > happened.accepted) continue;
            counted& at = counts[cell];
            at.judged += 1;
            at.accepted += i < happened.accepted ? 1 : 0;
        }
        fit();
    }

    /// Of a first token 1 / (1 + entropy) is expected until told otherwise, of later ones their rate at all entropies.
    void fit() {
        by_cell stands, tokens{}, weights;
        stands.fill(1);
        double overall = 0.5;
        for (std::size_t i = 0; i < positions_.size(); ++i) {
            curve& at = positions_[i];
            overall = total(at.counts).rate(overall);
            for (std::size_t c = 0; c < cells; ++c) {
                at.rates[c] = at.counts[c].rate(i > 0 ? overall : 1 / (1 + middle_of(static_cast<double>(c))));
                weights[c] = at.counts[c].judged + doubt;
            }
            make_falling(at.rates, weights);
            for (std::size_t c = 0; c < cells; ++c) tokens[c] += stands[c] *= at.rates[c];
            at.tokens = tokens;
        }
    }

    static counted total(const std::array<counted, cells>& counts) {
        counted sum;
        for (const counted& each : counts) sum = {sum.accepted + each.accepted, sum.judged + each.judged};
        return sum;
    }

    /// The nearest rates that do not rise, by weighted squares: neighbours that do are pooled.
    static void make_falling(by_cell& rates, const by_cell& weights) {
        struct block {
            double mean, weight;
            std::size_t end;
        };
        std::array<block, cells> blocks;
        std::size_t count = 0;
        for (std::size_t c = 0; c < cells; ++c) {
            block next{rates[c], weights[c], c + 1};
            for (; count > 0 && blocks[count - 1].mean < next.mean; --count) {
                const block& before = blocks[count - 1];
                const double weight = before.weight + next.weight;
                next.mean = (before.mean * before.weight + next.mean * next.weight) / weight;
                next.weight = weight;
            }
            blocks[count++] = next;
        }
        for (std::size_t b = 0, c = 0; b < count; ++b) {
            for (; c < blocks[b].end; ++c) rates[c] = blocks[b].mean;
        }
    }

    /// Leaves out rounds of no bin's length, and times that no pass can take.
    void learn_seconds(const outcome& happened) {
        const std::size_t drafted = happened.drafted;
        if (drafted < lengths_.back() || drafted > lengths_.front() || !believable(happened.verify_seconds)) return;
        if (!(happened.draft_seconds >= 0 && happened.draft_seconds <= most_seconds)) return;
        for (auto* each : {&token_seconds_, &round_seconds_, &round_tokens_}) each->weight *= options_.memory;
        const double passes = draft_passes(drafted);
        const double drafting = token_seconds_.add(happened.draft_seconds / passes, token_seconds_.mean) * passes;
        const double verifying = passes_.learn(drafted - lengths_.back() + 1, happened.verify_seconds);
        round_seconds_.add(drafting + verifying, 0);
        round_tokens_.add(static_cast<double>(std::min(happened.accepted, drafted)) + 1, 0);
    }

    /// The row that decides takes one, also where none is drafted.
    static double draft_passes(std::size_t length) { return static_cast<double>(std::max<std::size_t>(length, 1)); }

    void move_edges() {
        for (std::size_t k = 0; k < edges_.size(); ++k) {
            edges_[k] = std::clamp(aim(k), edges_[k] - options_.rate, edges_[k] + options_.rate);
        }
    }

    /// Where the lengths up to k gain as much as those after it: between the middles of two cells, or at an end.
    double aim(std::size_t k) const {
        std::size_t cell = 0;
        double more = 0, before = 0;
        for (; cell < cells && (more = advantage(k, cell)) > 0; ++cell) before = more;
        double nats = 0;
        if (cell == cells) nats = middle_of(cells - 0.5);
        if (cell > 0 && cell < cells) nats = middle_of(static_cast<double>(cell) - more / (more - before));
        return nats - least_width * static_cast<double>(edges_.size() - 1 - k);
    }

    /// What the best length up to k gains over the best after it, in tokens: falls with the cell and rises with k.
    double advantage(std::size_t k, std::size_t cell) const {
        double longer = gain(0, cell);
        for (std::size_t i = 1; i <= k; ++i) longer = std::max(longer, gain(i, cell));
        double shorter = gain(k + 1, cell);
        for (std::size_t i = k + 2; i < lengths_.size(); ++i) shorter = std::max(shorter, gain(i, cell));
        return longer - shorter;
    }

    /// Tokens expected of a draft, less what its time yields elsewhere.
    double gain(std::size_t bin, std::size_t cell) const {
        const std::size_t length = lengths_[bin];
        const double seconds = passes_(length - lengths_.back() + 1) + token_seconds_.mean * draft_passes(length);
        const double tokens = length == 0 ? 0 : positions_[length - 1].tokens[cell];
        return tokens - round_tokens_.mean / round_seconds_.mean * seconds;
    }

    std::vector<double> edges_;
    std::vector<std::size_t> lengths_;
    learned_bins_options options_;
    std::vector<bin_statistics> bins_;
    std::vector<curve> positions_;
    pass_seconds passes_;          ///< over the shortest length's rows, and more
    faded_average token_seconds_;  ///< of drafting
    faded_average round_seconds_;
    faded_average round_tokens_;
    std::size_t rounds_ = 0;
};

using learned_bins = basic_learned_bins<16>;

}  // namespace augur::policy
