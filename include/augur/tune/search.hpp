#pragma once
// Searches settings by successive halving, and returns their Pareto front. See docs/tune/search.md.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "augur/types/error.hpp"

namespace augur::tune {

/// The measurement of one setting on one problem.
struct sample {
    std::size_t tokens = 0;
    double seconds = 0;
    double plain_seconds = 0;  ///< of plain decoding, as many tokens of the same problem
    double divergence = 0;     ///< from the target's distribution, summed over the tokens

    sample& operator+=(const sample& more) {
        tokens += more.tokens;
        seconds += more.seconds;
        plain_seconds += more.plain_seconds;
        divergence += more.divergence;
        return *this;
    }
    /// Over plain decoding; 0 until something was measured.
    double speedup() const { return seconds > 0 ? plain_seconds / seconds : 0; }
    double divergence_per_token() const { return tokens > 0 ? divergence / static_cast<double>(tokens) : 0; }
};

/// A setting and its totals over problems.
struct standing {
    std::size_t candidate = 0;
    std::size_t problems = 0;  ///< the first so many
    sample measured{};
};

/// Faster or nearer to the target, and not worse in the other.
inline bool dominates(const sample& a, const sample& b) {
    const double speed_a = a.speedup(), speed_b = b.speedup();
    const double far_a = a.divergence_per_token(), far_b = b.divergence_per_token();
    return speed_a >= speed_b && far_a <= far_b && (speed_a > speed_b || far_a < far_b);
}

/// Those that none of the others dominates, the one nearest to the target first; of equals the first.
template <class All = std::span<const standing>>
std::vector<standing> pareto_front(const All& all) {
    std::vector<standing> sorted(all.begin(), all.end());
    std::stable_sort(sorted.begin(), sorted.end(), [](const standing& a, const standing& b) {
        const double far_a = a.measured.divergence_per_token(), far_b = b.measured.divergence_per_token();
        return far_a != far_b ? far_a < far_b : a.measured.speedup() > b.measured.speedup();
    });
    std::vector<standing> front;
    double fastest = -std::numeric_limits<double>::infinity();
    for (const standing& each : sorted) {
        if (!(each.measured.speedup() > fastest)) continue;
        fastest = each.measured.speedup();
        front.push_back(each);
    }
    return front;
}

/// The fastest that is no further from the target than this, per token; nullptr if there is none. Of equals the
/// nearest.
inline const standing* fastest_within(std::span<const standing> all, double divergence) {
    const standing* best = nullptr;
    for (const standing& each : all) {
        if (!(each.measured.divergence_per_token() <= divergence)) continue;
        const bool better = best == nullptr || each.measured.speedup() > best->measured.speedup() ||
                            (each.measured.speedup() == best->measured.speedup() &&
                             each.measured.divergence_per_token() < best->measured.divergence_per_token());
        if (better) best = &each;
    }
    return best;
}

struct halving_options {
    std::size_t first_problems = 2;  ///< of the first rung, at least 1
    std::size_t factor = 2;          ///< of a rung this part goes on, on so many times the problems; at least 2
    /// Divergence per token within which the fastest is wanted: of a front, what is next to that goes on first.
    double within = std::numeric_limits<double>::infinity();
};

/// A rung: so many settings, each measured on the first so many problems.
struct rung {
    std::size_t candidates = 0;
    std::size_t problems = 0;
    friend bool operator==(const rung&, const rung&) = default;
};

/// The rungs of a search, the last on all problems. Throws where there is nothing to search, or the options leave
/// nothing.
template <class Options = halving_options>
std::vector<rung> rungs_of(std::size_t candidates, std::size_t problems, const Options& options) {
    if (candidates == 0 || problems == 0) {
        augur::detail::fail("a search has at least 1 setting and 1 problem, but there are ", candidates, " and ",
                            problems);
    }
    if (options.first_problems == 0) augur::detail::fail("the first rung has 0 problems; it must have at least 1");
    if (!(options.within >= 0)) {
        augur::detail::fail("the divergence within which the fastest is wanted is ", options.within,
                            "; it must be 0 or more");
    }
    if (options.factor < 2) augur::detail::fail("the factor is ", options.factor, "; it must be at least 2");
    std::vector<rung> rungs{{candidates, std::min(problems, options.first_problems)}};
    while (rungs.back().problems < problems) {
        const rung& last = rungs.back();
        const bool reaches = last.problems > problems / options.factor;
        rungs.push_back({(last.candidates + options.factor - 1) / options.factor,
                         reaches ? problems : last.problems * options.factor});
    }
    return rungs;
}

/// Calls of `measure` that a search makes.
inline std::size_t samples_of(std::span<const rung> rungs) {
    std::size_t samples = 0;
    std::size_t before = 0;
    for (const rung& each : rungs) {
        samples += each.candidates * (each.problems - before);
        before = each.problems;
    }
    return samples;
}

namespace detail {
/// Throws where a sample is none: figures must be finite, and none below 0.
inline const sample& checked(const sample& measured, std::size_t candidate, std::size_t problem) {
    for (const double value : {measured.seconds, measured.plain_seconds, measured.divergence}) {
        if (value >= 0 && std::isfinite(value)) continue;
        augur::detail::fail("setting ", candidate, " measured ", value, " on problem ", problem,
                            "; seconds and divergences are finite, 0 or more");
    }
    return measured;
}

/// Throws where a setting is there twice: it would be measured twice as much as its rivals.
inline void check_distinct(std::span<const std::size_t> candidates) {
    std::vector<std::size_t> sorted(candidates.begin(), candidates.end());
    std::sort(sorted.begin(), sorted.end());
    const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
    if (twice != sorted.end()) augur::detail::fail("setting ", *twice, " is listed twice; a search has each once");
}

/// The best first: fronts one after the other, each from the fastest within the distance on, to both sides.
template <class Standings = std::vector<standing>>
std::vector<standing> ranked(Standings left, double within) {
    std::vector<standing> order;
    while (!left.empty()) {
        std::vector<standing> front = pareto_front(left);
        std::erase_if(left, [&](const standing& each) {
            return std::any_of(front.begin(), front.end(),
                               [&](const standing& of) { return of.candidate == each.candidate; });
        });
        const standing* aim = fastest_within(front, within);
        auto below = aim == nullptr ? front.begin() : front.begin() + (aim - front.data()) + 1;
        for (auto above = below; below != front.begin() || above != front.end();) {
            if (below != front.begin()) order.push_back(*--below);
            if (above != front.end()) order.push_back(*above++);
        }
    }
    return order;
}
}  // namespace detail

/// Successive halving over two aims. All settings meet the first problems; of each rung those on the best fronts go on
/// to more, and who gets that far has met the same problems as its rivals. `measure(candidate, problem) -> sample` is
/// called once for each pair; problem by problem, so that what else the machine does meets all settings alike. Returns
/// all settings, those that got furthest first. Deterministic given the samples; throws where one is negative or not
/// finite, or a setting is listed twice. Cost: samples_of(rungs_of(...)) calls. Source: Jamieson and Talwalkar 2016,
/// "Non-stochastic best arm identification"; for two aims by fronts (Deb et al. 2002).
template <class Measure>
std::vector<standing> halve(std::span<const std::size_t> candidates, std::size_t problems,
                            const halving_options& options, const Measure& measure) {
    detail::check_distinct(candidates);
    std::vector<standing> going, stopped;
    for (const std::size_t each : candidates) going.push_back({.candidate = each});
    for (const rung& at : rungs_of(candidates.size(), problems, options)) {
        going = detail::ranked(std::move(going), options.within);
        stopped.insert(stopped.begin(), going.begin() + static_cast<std::ptrdiff_t>(at.candidates), going.end());
        going.resize(at.candidates);
        for (std::size_t problem = going.front().problems; problem < at.problems; ++problem) {
            for (standing& each : going) {
                each.measured += detail::checked(measure(each.candidate, problem), each.candidate, problem);
                each.problems = problem + 1;
            }
        }
    }
    going = detail::ranked(std::move(going), options.within);
    going.insert(going.end(), stopped.begin(), stopped.end());
    return going;
}

}  // namespace augur::tune
