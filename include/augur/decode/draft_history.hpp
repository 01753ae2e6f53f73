#pragma once
// How often drafted tokens were accepted: of all requests together, and of each.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "augur/policy/learned_state.hpp"
#include "augur/round/allotment.hpp"
#include "augur/types/observation.hpp"
#include "augur/types/topology.hpp"
#include "augur/types/verdict.hpp"

namespace augur::decode {

/// What is known of a draft before it is verified: how its tokens are grouped with earlier ones.
struct draft_kind {
    static constexpr std::size_t drafters = 4, matches = 7, entropies = 5;
    static constexpr std::size_t of_a_drafter = matches + entropies;
    static constexpr std::size_t count = drafters * of_a_drafter;

    /// By the drafter, and the length of its match or the entropy of its first row, where the policy reads these.
    static std::size_t of(const observation& seen) {
        const std::size_t from = std::min(seen.source, drafters - 1) * of_a_drafter;
        if (seen.match_length > 0) {
            return from + (seen.match_length <= 4 ? seen.match_length : (seen.match_length <= 6 ? 5 : 6));
        }
        if (std::isnan(seen.first_draft_entropy_nats)) return from;
        constexpr std::array<double, entropies - 1> edges = {0.5, 1.5, 2.5, 3.5};  // nats
        const auto above = std::upper_bound(edges.begin(), edges.end(), seen.first_draft_entropy_nats);
        return from + matches + static_cast<std::size_t>(above - edges.begin());
    }
};

/// Shares of drafted tokens that were accepted where their parent was: by depth and by rank among siblings.
class draft_history {
 public:
    static constexpr std::size_t depths = 16, ranks = 4;

    /// That the child of this rank is accepted where its parent, at this depth, is. `expected` counts as three tokens.
    double rate(std::size_t depth, std::size_t rank, double expected) const {
        return at(depth, rank).rate(expected, 3);
    }
    /// The siblings along the accepted path, and those that were rejected at its end.
    void learn(std::size_t nodes, std::span<const std::int32_t> parents, const verdict& decided) {
        std::int32_t parent = after_prefix;
        for (std::size_t depth = 0; depth <= decided.accepted; ++depth) {
            const std::size_t taken = depth < decided.accepted ? decided.node(depth) : nodes;
            std::size_t child = parents::next_child(parents, nodes, parent, 0);
            for (std::size_t rank = 0; child < nodes; ++rank) {
                policy::counted& of = shares_[std::min(depth, depths - 1) * ranks + std::min(rank, ranks - 1)];
                of.judged += 1;
                of.accepted += child == taken ? 1 : 0;
                if (child == taken) break;
                child = parents::next_child(parents, nodes, parent, child + 1);
            }
            if (taken == nodes) return;
            parent = static_cast<std::int32_t>(taken);
        }
    }
    void fade(double memory) {
        for (policy::counted& each : shares_) each.fade(memory);
    }

 private:
    const policy::counted& at(std::size_t depth, std::size_t rank) const {
        return shares_[std::min(depth, depths - 1) * ranks + std::min(rank, ranks - 1)];
    }

    std::array<policy::counted, depths * ranks> shares_{};
};

/// The histories of all requests together, by kind of draft; what a request has of its own corrects them.
class draft_histories {
 public:
    /// Until told otherwise six of ten first tokens are accepted, and of those after them as many as before them.
    static constexpr double expected = 0.6;

    /// The expected number of tokens that each node of a draft adds, in its order: that it and its path are accepted;
    /// no larger than the one before, so that they can be granted in order.
    void values(const draft_history& own, const rounds::allotment& of, std::vector<double>& out) const {
        const draft_history& kind = kinds_[draft_kind::of(of.seen())];
        out.clear();
        for (std::size_t node = 0; node < of.size(); ++node) {
            const std::int32_t parent = parents::of(of.parents(), node);
            const std::size_t depth = parents::depth_of(of.parents(), static_cast<std::int32_t>(node)) - 1;
            const double above = parent == after_prefix ? 1 : out[static_cast<std::size_t>(parent)];
            out.push_back(above * share(own, kind, of, node, parent, depth));
        }
        for (std::size_t node = 1; node < out.size(); ++node) out[node] = std::min(out[node], out[node - 1]);
    }
    /// Of a chain of which nothing is known yet: of its first tokens, in order.
    void values(const draft_history& own, std::size_t length, std::vector<double>& out) const {
        out.clear();
        double stands = 1;
        for (std::size_t depth = 0; depth < length; ++depth) {
            stands *= corrected(own, all_, all_, depth, 0);
            out.push_back(stands);
        }
    }

    /// `confidences`: of the nodes that were verified; or empty.
    void learn(draft_history& own, std::size_t kind, std::size_t nodes, std::span<const std::int32_t> parents,
               std::span<const float> confidences, const verdict& decided) {
        own.fade(of_a_round);
        if (nodes == 0) return;
        own.learn(nodes, parents, decided);
        all_.learn(nodes, parents, decided);
        kinds_[kind].learn(nodes, parents, decided);
        std::int32_t parent = after_prefix;
        for (std::size_t depth = 0; depth <= decided.accepted && !confidences.empty(); ++depth) {
            const std::size_t taken = depth < decided.accepted ? decided.node(depth) : nodes;
            for (std::size_t child = parents::next_child(parents, nodes, parent, 0); child < nodes;
                 child = parents::next_child(parents, nodes, parent, child + 1)) {
                policy::counted& group = by_confidence_[group_of(confidences[child])];
                group.judged += 1;
                group.accepted += child == taken ? 1 : 0;
            }
            parent = static_cast<std::int32_t>(taken);
        }
    }
    /// Once a step: what was not tried lately is forgotten, and so tried again.
    void fade() {
        all_.fade(of_a_step);
        for (draft_history& each : kinds_) each.fade(of_a_step);
        for (policy::counted& each : by_confidence_) each.fade(of_a_step);
    }

 private:
    static constexpr double of_a_round = 0.95, of_a_step = 0.98, doubt = 3;
    static constexpr std::size_t groups = 11;

    static std::size_t group_of(float confidence) {
        const double within = std::clamp(static_cast<double>(confidence), 0.0, 1.0);
        return static_cast<std::size_t>(within * static_cast<double>(groups - 1));
    }

    double share(const draft_history& own, const draft_history& kind, const rounds::allotment& of, std::size_t node,
                 std::int32_t parent, std::size_t depth) const {
        if (!of.confidences().empty()) {
            const float confidence = of.confidences()[node];
            return by_confidence_[group_of(confidence)].rate(static_cast<double>(confidence), doubt);
        }
        std::size_t rank = 0;
        for (std::size_t sibling = parents::next_child(of.parents(), of.size(), parent, 0); sibling < node;
             sibling = parents::next_child(of.parents(), of.size(), parent, sibling + 1)) {
            ++rank;
        }
        return corrected(own, kind, all_, depth, rank);
    }

    /// The share of a kind, more or less by as much as the request's tokens are accepted more or less often than all.
    static double corrected(const draft_history& own, const draft_history& kind, const draft_history& all,
                            std::size_t depth, std::size_t rank) {
        const double first = expected * std::pow(0.4, static_cast<double>(rank));
        const double of_all = all.rate(depth, rank, all.rate(0, rank, first));
        const double of_kind = kind.rate(depth, rank, of_all);
        return std::clamp(of_kind * own.rate(depth, rank, of_all) / of_all, 0.001, 0.999);
    }

    draft_history all_{};
    std::array<draft_history, draft_kind::count> kinds_{};
    std::array<policy::counted, groups> by_confidence_{};
};

}  // namespace augur::decode
