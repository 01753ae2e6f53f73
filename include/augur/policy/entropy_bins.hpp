#pragma once
// EAAD: chooses the draft length by the entropy of the draft model's next token.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <ostream>
#include <span>
#include <utility>
#include <vector>

#include "augur/detail/host_device.hpp"
#include "augur/measure/entropy.hpp"
#include "augur/policy/concept.hpp"
#include "augur/types/error.hpp"

namespace augur::policy {

/// Whose row is measured.
enum class entropy_of {
    draft,  ///< the draft model's row for the first token of the round (EAAD); costs one draft pass to look at
    target  ///< the target's row that the last committed token was drawn from; free, works with any drafter
};

/// How it is measured.
enum class entropy_form {
    exact,   ///< -sum p ln p, in one stable pass
    offset,  ///< -sum p ln(p + 1e-9), as EAAD's published code computes it
};

/// Acceptance in one bin, from rounds whose length that bin chose.
struct bin_statistics {
    std::size_t rounds = 0;
    std::size_t drafted = 0;
    std::size_t accepted = 0;
    double average = 0;  ///< exponential average of accepted/drafted per round

    double rate() const { return drafted == 0 ? 0 : static_cast<double>(accepted) / static_cast<double>(drafted); }

    /// A round that drafted, with its weight in the average.
    AUGUR_HOST_DEVICE void add(const outcome& happened, double alpha) {
        ++rounds;
        drafted += happened.drafted;
        accepted += happened.accepted;
        const double of_round = static_cast<double>(happened.accepted) / static_cast<double>(happened.drafted);
        average += alpha * (of_round - average);
    }
    friend bool operator==(const bin_statistics&, const bin_statistics&) = default;
};

struct entropy_bins_options {
    std::size_t max_k = std::numeric_limits<std::size_t>::max();  ///< upper bound on every length
    double acceptance_alpha = 0.1;  ///< weight of the newest round in the exponential average, in [0, 1]
    double acceptance_init = 0.5;   ///< where the average starts, in [0, 1]
};

/// Which bin an entropy falls into, by upper edges that are exclusive; what is not finite falls into the last.
inline std::size_t bin_of(std::span<const double> edges_nats, double entropy_nats) {
    if (!std::isfinite(entropy_nats)) return edges_nats.size();
    std::size_t bin = 0;
    while (bin < edges_nats.size() && edges_nats[bin] <= entropy_nats) ++bin;
    return bin;
}

/// "{.edges_nats={0.5, 1}, .lengths={3, 2, 1}", left open for more.
inline void write_bins(std::ostream& out, std::span<const double> edges_nats, std::span<const std::size_t> lengths) {
    out << "{.edges_nats={";
    for (std::size_t i = 0; i < edges_nats.size(); ++i) out << (i ? ", " : "") << edges_nats[i];
    out << "}, .lengths={";
    for (std::size_t i = 0; i < lengths.size(); ++i) out << (i ? ", " : "") << lengths[i];
    out << '}';
}

/// Refuses what makes no bins: edges that do not rise or are not finite, and more or fewer lengths than one more of
/// them.
inline void check_bins(std::span<const double> edges_nats, std::span<const std::size_t> lengths) {
    using augur::detail::fail;
    const std::size_t edges = edges_nats.size();
    if (lengths.size() != edges + 1) {
        fail("entropy bins: ", edges, " edges make ", edges + 1, " bins, but there are ", lengths.size(), " lengths");
    }
    for (std::size_t i = 0; i < edges; ++i) {
        if (!std::isfinite(edges_nats[i])) fail("entropy bins: edge ", i, " is ", edges_nats[i], "; it must be finite");
        if (i > 0 && !(edges_nats[i - 1] < edges_nats[i])) {
            fail("entropy bins: edges must rise, but edge ", i - 1, " is ", edges_nats[i - 1], " and edge ", i, " is ",
                 edges_nats[i]);
        }
    }
}

/// The first bin whose upper edge (nats, exclusive) exceeds the entropy chooses the length; the last length is for
/// everything above. NaN and infinity count as maximum entropy and give length 1 (or less, where max_k is less).
/// Bins are filled with acceptance while decoding: read them after the run.
/// No effect on the distribution, no randomness. Source: EAAD, "The Entropy-Adaptive k Selection Mechanism".
template <entropy_of Of = entropy_of::draft, entropy_form Form = entropy_form::exact>
class basic_entropy_bins {
 public:
    static constexpr signals_read reads{
        .required = Of == entropy_of::draft ? signals::draft_entropy : signals::target_entropy,
        .entropy_nats =
            Form == entropy_form::offset ? +[](logit_row row) { return measure::entropy_nats_offset(row); } : nullptr};

    /// EAAD's published bins: edges 0.5, 1.5, 2.5 nats, lengths 4, 3, 2, 1.
    basic_entropy_bins() : basic_entropy_bins({0.5, 1.5, 2.5}, {4, 3, 2, 1}) {}

    basic_entropy_bins(std::vector<double> edges_nats, std::vector<std::size_t> lengths,
                       entropy_bins_options options = {})
        : edges_(std::move(edges_nats)), lengths_(std::move(lengths)), options_(options) {
        check();
        bins_.resize(lengths_.size());
        for (bin_statistics& bin : bins_) bin.average = options_.acceptance_init;
    }

    /// A length, which the round's first row decides.
    draft_plan plan(const observation& seen) const {
        const double entropy = entropy_seen(seen);
        const std::size_t chosen = std::isfinite(entropy) ? lengths_[bin_of(entropy)] : 1;
        return {.length = std::min(chosen, options_.max_k)};
    }

    void learn(const outcome& happened) noexcept {
        if (happened.drafted == 0) return;
        bins_[bin_of(entropy_seen(happened.decided_on))].add(happened, options_.acceptance_alpha);
    }

    /// Which bin an entropy falls into; what is not finite falls into the last.
    std::size_t bin_of(double entropy_nats) const { return policy::bin_of(edges_, entropy_nats); }

    std::span<const double> edges_nats() const { return edges_; }
    std::span<const std::size_t> lengths() const { return lengths_; }
    std::size_t max_k() const { return options_.max_k; }
    const entropy_bins_options& options() const { return options_; }
    std::span<const bin_statistics> bins() const { return bins_; }

    friend std::ostream& operator<<(std::ostream& out, const basic_entropy_bins& p) {
        write_bins(out << "entropy_bins", p.edges_, p.lengths_);
        if (p.max_k() != entropy_bins_options{}.max_k) out << ", .max_k=" << p.max_k();
        if (Form == entropy_form::offset) out << ", .form=offset";
        return out << '}';
    }

 private:
    static double entropy_seen(const observation& seen) {
        return Of == entropy_of::draft ? seen.first_draft_entropy_nats : seen.target_entropy_nats;
    }

    void check() const {
        check_bins(edges_, lengths_);
        check_unit("acceptance_alpha", options_.acceptance_alpha);
        check_unit("acceptance_init", options_.acceptance_init);
    }

    static void check_unit(const char* name, double value) {
        if (!(value >= 0 && value <= 1)) detail::fail("entropy bins: ", name, " is ", value, "; it must be in [0, 1]");
    }

    std::vector<double> edges_;
    std::vector<std::size_t> lengths_;
    entropy_bins_options options_;
    std::vector<bin_statistics> bins_;
};

/// Bins on the draft model's entropy, as EAAD has them.
using entropy_bins = basic_entropy_bins<entropy_of::draft>;
/// Bins on the target's last entropy, for drafters that have no rows.
using target_entropy_bins = basic_entropy_bins<entropy_of::target>;

/// EAAD's policy as published: its bins, at most 4 tokens, its averages, and the entropy with the offset inside the
/// logarithm. Its rule of acceptance is accept::exact, at temperature 0; above that the published rule changes the
/// distribution.
template <class Bins = basic_entropy_bins<entropy_of::draft, entropy_form::offset>>
Bins eaad_as_published() {
    return {{0.5, 1.5, 2.5}, {4, 3, 2, 1}, {.max_k = 4, .acceptance_alpha = 0.1, .acceptance_init = 0.5}};
}

}  // namespace augur::policy
