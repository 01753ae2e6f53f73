#pragma once
// Finds the hierarchy of draft models with the least expected time for a token. See docs/tune/hierarchy.md.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "augur/types/error.hpp"

namespace augur::tune {

/// What is known of some models, at most 64, in any order but that the target is the last.
struct hierarchy_figures {
    /// [model][n - 1]: seconds of a pass over n rows, never falling; of all models for as many n, 2 at least. The
    /// longest draft has one token less.
    std::vector<std::vector<double>> pass_seconds{};
    /// [drafter][verifier][k - 1]: the probability that the verifier accepts the first k tokens of a longer draft;
    /// never rising, one number for each length. Of the target as drafter, and of a model by itself, nothing is read.
    std::vector<std::vector<std::vector<double>>> accepted{};

    std::size_t models() const { return pass_seconds.size(); }
    std::size_t longest() const { return pass_seconds.empty() ? 0 : pass_seconds.front().size() - 1; }
};

/// Models that draft for each other: the first writes alone, each next one verifies what the one before it proposes,
/// the last is the target. Plain decoding is the target alone.
struct hierarchy {
    std::vector<std::size_t> models{};   ///< places in the figures
    std::vector<std::size_t> lengths{};  ///< tokens that each but the last proposes at a time
    double seconds_per_token = 0;        ///< expected
};

/// What hierarchy_figures::accepted is where each token is accepted with this probability, whatever came before.
inline std::vector<double> constant_acceptance(double rate, std::size_t longest) {
    if (!(rate >= 0 && rate <= 1)) augur::detail::fail("an acceptance is ", rate, "; it must be between 0 and 1");
    std::vector<double> accepted;
    for (double stands = rate; accepted.size() < longest; stands *= rate) accepted.push_back(stands);
    return accepted;
}

/// The same as it was measured: of each text the probabilities, at position after position, that a token drafted there
/// is accepted (1 - total variation under rejection sampling). A draft begins anywhere; whether its tokens are accepted
/// depends on where they stand, so that easy passages count as what they are. Throws where no text is so long.
inline std::vector<double> measured_acceptance(std::span<const std::vector<double>> texts, std::size_t longest) {
    std::vector<double> accepted;
    double before = 1;
    for (std::size_t length = 1; length <= longest; ++length) {
        double shorter = 0, all = 0;  // over the places that have room for a draft of this length
        std::size_t places = 0;
        for (const std::vector<double>& rates : texts) {
            for (std::size_t begin = 0; begin + length <= rates.size(); ++begin, ++places) {
                double stands = 1;
                for (std::size_t i = 0; i + 1 < length; ++i) stands *= rates[begin + i];
                shorter += stands;
                all += stands * rates[begin + length - 1];
            }
        }
        if (places == 0) augur::detail::fail("no text has ", length, " positions, as a draft of that length needs");
        accepted.push_back(before = shorter > 0 ? before * std::clamp(all / shorter, 0.0, 1.0) : 0);
    }
    return accepted;
}

namespace hierarchy_parts {

inline void check_row(std::span<const double> row, std::size_t size, const auto& fits, const auto&... what) {
    if (row.size() != size) augur::detail::fail(what..., " has ", row.size(), " numbers; it must have ", size);
    for (std::size_t i = 0; i < size; ++i) {
        if (fits(i)) continue;
        augur::detail::fail(what..., " is ", row[i], " at ", i + 1, ", after ", i == 0 ? 0 : row[i - 1]);
    }
}

inline void check(const hierarchy_figures& of) {
    const std::size_t models = of.models(), longest = of.longest();
    if (models == 0 || models > 64) augur::detail::fail("a hierarchy is of 1 to 64 models, not of ", models);
    if (longest == 0)
        augur::detail::fail("passes over 1 and 2 rows must be known, but there are ", longest + 1, " numbers");
    for (std::size_t i = 0; i < models; ++i) {
        const auto& row = of.pass_seconds[i];
        const auto rises = [&](std::size_t n) {
            return std::isfinite(row[n]) && row[n] > 0 && (n == 0 || row[n] >= row[n - 1]);
        };
        check_row(row, longest + 1, rises, "seconds of passes of model ", i, ", positive and never falling,");
    }
    if (models > 1 && of.accepted.size() + 1 < models) {
        augur::detail::fail("there are ", models - 1, " draft models, but acceptance of ", of.accepted.size());
    }
    for (std::size_t drafter = 0; drafter + 1 < models; ++drafter) {
        const auto& by = of.accepted[drafter];
        if (by.size() != models)
            augur::detail::fail("model ", drafter, " drafts for ", by.size(), " models, not for ", models);
        for (std::size_t verifier = 0; verifier < models; ++verifier) {
            if (verifier == drafter) continue;
            const auto& row = by[verifier];
            const auto falls = [&](std::size_t k) { return row[k] >= 0 && row[k] <= (k == 0 ? 1 : row[k - 1]); };
            check_row(row, longest, falls, "acceptance of ", drafter, " by ", verifier,
                      ", from 1 to 0 and never rising,");
        }
    }
}

/// [r - 1]: seconds until a model alone has proposed r tokens.
inline std::vector<double> alone(std::span<const double> passes) {
    std::vector<double> seconds;
    for (std::size_t tokens = 1; tokens < passes.size(); ++tokens)
        seconds.push_back(static_cast<double>(tokens) * passes[0]);
    return seconds;
}

/// The same of a model that verifies rounds of up to `length` tokens, of what takes `below`: as scheme::stage does, so
/// that the last token wanted is its own, but of a single one wanted it judges one draft.
inline std::vector<double> above(std::span<const double> below, std::span<const double> passes,
                                 std::span<const double> accepted, std::size_t length) {
    std::vector<double> left{0};
    for (std::size_t wanted = 1; wanted <= below.size(); ++wanted) {
        const std::size_t drafts = std::min(length, wanted - 1);
        double seconds = passes[drafts] + (drafts > 0 ? below[drafts - 1] : 0);
        double stands = 1;
        for (std::size_t kept = 0; kept <= drafts; ++kept) {
            const double longer = kept < drafts ? accepted[kept] : 0;
            seconds += (stands - longer) * left[wanted - kept - 1];
            stands = longer;
        }
        left.push_back(seconds);
    }
    left.erase(left.begin());
    left.front() = below[0] + passes[1];
    return left;
}

/// Of the target, whose rounds draft `length` tokens.
inline double of_target(std::span<const double> below, std::span<const double> passes, std::span<const double> accepted,
                        std::size_t length) {
    double tokens = 1;
    for (std::size_t i = 0; i < length; ++i) tokens += accepted[i];
    return (below[length - 1] + passes[length]) / tokens;
}

/// A hierarchy without the target, and seconds until its last model has proposed 1, 2, ... tokens.
struct part {
    hierarchy models{};
    std::vector<double> seconds{};
    std::uint64_t used = 0;  ///< bits of the models

    /// Whatever can be built on the other can be built on this, and is no slower.
    bool replaces(const part& other) const {
        return (used & ~other.used) == 0 && std::equal(seconds.begin(), seconds.end(), other.seconds.begin(),
                                                       [](double own, double its) { return own <= its; });
    }
};

/// Keeps what nothing else in the front replaces.
inline bool add(std::vector<part>& front, const part& found) {
    if (std::any_of(front.begin(), front.end(), [&](const part& each) { return each.replaces(found); })) return false;
    std::erase_if(front, [&](const part& each) { return found.replaces(each); });
    front.push_back(found);
    return true;
}

inline hierarchy longer(hierarchy of, std::size_t length, std::size_t model) {
    of.lengths.push_back(length);
    of.models.push_back(model);
    return of;
}

/// Parts of one model more, of those that are worth it.
inline std::vector<part> grown(const hierarchy_figures& of, std::span<const part> from,
                               std::vector<std::vector<part>>& fronts) {
    std::vector<part> found;
    for (const part& below : from) {
        const auto& accepted = of.accepted[below.models.models.back()];
        for (std::size_t model = 0; model + 1 < of.models(); ++model) {
            const std::uint64_t bit = std::uint64_t{1} << model;
            if (below.used & bit) continue;
            for (std::size_t length = 1; length <= std::max<std::size_t>(1, of.longest() - 1); ++length) {
                part next{longer(below.models, length, model),
                          above(below.seconds, of.pass_seconds[model], accepted[model], length), below.used | bit};
                if (add(fronts[model], next)) found.push_back(std::move(next));
            }
        }
    }
    return found;
}

}  // namespace hierarchy_parts

/// Expected seconds of a token, as `cascaded` decodes with lossless links of fixed lengths; `seconds_per_token` is not
/// read. Throws where figures or hierarchy make no sense, with the values. Cost: O(models * longest^2).
inline double seconds_per_token(const hierarchy_figures& of, const hierarchy& chosen) {
    hierarchy_parts::check(of);
    const auto& models = chosen.models;
    if (models.empty() || models.back() + 1 != of.models() || chosen.lengths.size() + 1 != models.size()) {
        augur::detail::fail("a hierarchy of ", models.size(), " models and ", chosen.lengths.size(),
                            " lengths: it must end with the target, model ", of.models() - 1,
                            ", and have one length for each of the others");
    }
    for (std::size_t i = 0; i + 1 < models.size(); ++i) {
        const std::size_t length = chosen.lengths[i];
        const bool is_new = std::find(models.begin(), models.begin() + static_cast<std::ptrdiff_t>(i), models[i]) ==
                            models.begin() + static_cast<std::ptrdiff_t>(i);
        if (models[i] + 1 < of.models() && is_new && length > 0 && length <= of.longest()) continue;
        augur::detail::fail("place ", i, " of the hierarchy is model ", models[i], " with length ", length,
                            "; it must be another of the ", of.models() - 1, " draft models, and 1 to ", of.longest());
    }
    if (models.size() == 1) return of.pass_seconds.back()[0];
    std::vector<double> seconds = hierarchy_parts::alone(of.pass_seconds[models[0]]);
    for (std::size_t i = 1; i + 1 < models.size(); ++i) {
        seconds = hierarchy_parts::above(seconds, of.pass_seconds[models[i]], of.accepted[models[i - 1]][models[i]],
                                         chosen.lengths[i - 1]);
    }
    const std::size_t last = models[models.size() - 2];
    return hierarchy_parts::of_target(seconds, of.pass_seconds.back(), of.accepted[last].back(), chosen.lengths.back());
}

/// The fastest hierarchy of at most so many draft models, in any order, with any lengths up to the longest; plain
/// decoding where none is faster, and of equally fast ones one of the fewest models. Throws where the figures make no
/// sense, with the values. Cost: for each number of models those parts are grown by one that no other part of the same
/// last model replaces (no more models, and as fast for every number of tokens); few in practice, in the worst case
/// all. Source: Mohri et al. 2025, "Fast Inference via Hierarchical Speculative Decoding" (arXiv:2510.19705), where the
/// best hierarchy is a shortest path; there a token of a part has one cost, here one for each number of tokens wanted.
inline hierarchy best_hierarchy(const hierarchy_figures& of,
                                std::size_t most_drafts = std::numeric_limits<std::size_t>::max()) {
    hierarchy_parts::check(of);
    const std::size_t target = of.models() - 1;
    hierarchy best{{target}, {}, of.pass_seconds[target][0]};
    std::vector<std::vector<hierarchy_parts::part>> fronts(target);
    std::vector<hierarchy_parts::part> parts;
    for (std::size_t model = 0; model < target; ++model) {
        parts.push_back({{{model}, {}}, hierarchy_parts::alone(of.pass_seconds[model]), std::uint64_t{1} << model});
        fronts[model].push_back(parts.back());
    }
    for (std::size_t drafts = 1; drafts <= std::min(most_drafts, target); ++drafts) {
        for (const hierarchy_parts::part& below : parts) {
            const auto& accepted = of.accepted[below.models.models.back()][target];
            for (std::size_t length = 1; length <= of.longest(); ++length) {
                const double seconds =
                    hierarchy_parts::of_target(below.seconds, of.pass_seconds[target], accepted, length);
                if (!(seconds < best.seconds_per_token)) continue;
                best = hierarchy_parts::longer(below.models, length, target);
                best.seconds_per_token = seconds;
            }
        }
        if (drafts < std::min(most_drafts, target)) parts = hierarchy_parts::grown(of, parts, fronts);
    }
    return best;
}

}  // namespace augur::tune
