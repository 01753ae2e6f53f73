#pragma once
// Measures draft trees on prompts: many at once while a tree grows, one by itself afterwards.

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "augur/accept/typical.hpp"
#include "augur/decode/generate.hpp"
#include "augur/policy/tree_static.hpp"
#include "augur/scheme/speculator.hpp"
#include "augur/tree/growth.hpp"
#include "augur/types/topology.hpp"

namespace augur::tune {

/// Counts, while a joint tree is judged, which augmentation would have been accepted; accepts nodes of the tree as it
/// is alone, so that the trajectory is that tree's. Around criteria that judge each drafted token by itself and leave
/// the target as it was (`exact`, `coupled`): then the accepted path of every smaller tree is the beginning of the
/// joint one's.
template <class Criterion>
class joint_probe {
    static_assert(
        !requires(const Criterion& c, const distribution& t, const drafted_token<point_mass>& d) {
            c.after_rejection(t, d);
        },
        "augur: trees are scored together by criteria that compare tokens, as accept::exact and accept::coupled");

 public:
    using guarantee = typename Criterion::guarantee;

    /// Where it is in a walk, and what it counts. Outlives the probe.
    struct record {
        const tree::augmentations* trees;
        tree::tally counted{};
        std::int32_t parent = after_prefix;
        std::size_t node = 0;  ///< the next one to be judged is the first child of `parent` from here on

        /// Before a round: a walk may end at a row that nothing can be drawn from, and so without a word.
        void begin() {
            parent = after_prefix;
            node = 0;
        }
    };

    joint_probe(Criterion inner, record& of) : inner_(inner), of_(&of) {}

    bool accepts(const auto& target, const auto& drafted, auto& draws) const {
        record& r = *of_;
        const auto parents = r.trees->joint.parents();
        const std::size_t node = parents::next_child(parents, parents.size(), r.parent, r.node);
        r.node = node + 1;
        if (!inner_.accepts(target, drafted, draws)) return false;
        const std::size_t place = r.trees->place.at(node);
        if (place != tree::augmentations::none) {
            ++r.counted.gained[place];
            return false;
        }
        r.parent = static_cast<std::int32_t>(node);
        return true;
    }

    token draw(const auto& target, auto& draws) const { return inner_.draw(target, draws); }

    void check(const transform::settings& chosen) const { accept::check(inner_, chosen); }

 private:
    Criterion inner_;
    record* of_;
};

/// The same of typical acceptance, of which every path is judged by itself: the tree's own is the longest of its nodes
/// alone, and an augmentation gains where it is accepted and lies deeper than that.
class typical_probe {
 public:
    using guarantee = accept::typical::guarantee;
    using storage_type = accept::typical::storage_type;
    static constexpr bool certain = true;

    /// As that of joint_probe.
    struct record {
        const tree::augmentations* trees;
        tree::tally counted{};

        void begin() {}
    };

    typical_probe(const accept::typical& inner, record& of) : inner_(inner), of_(&of) {}

    template <ChainProposal Proposal>
    token judge_tree(const auto& targets, const Proposal& proposed, const auto& draws, std::vector<std::size_t>& path,
                     storage_type& storage) const {
        const auto& place = of_->trees->place;
        const auto is_own = [&](std::size_t node) { return place.at(node) == tree::augmentations::none; };
        const token next = inner_.judge_tree(targets, proposed, draws, path, storage, is_own);
        for (std::size_t node = 0; node < proposed.size(); ++node) {
            const accept::typical_path& to = storage[node + 1];
            if (!is_own(node) && to.accepted() && to.length > path.size()) ++of_->counted.gained[place[node]];
        }
        return next;
    }
    template <ChainProposal Proposal>
    token judge_tree(const auto& targets, const Proposal& proposed, const auto& draws,
                     std::vector<std::size_t>& path) const {
        storage_type storage;
        return judge_tree(targets, proposed, draws, path, storage);
    }
    token draw(const auto& target, auto& draws) const { return inner_.draw(target, draws); }

    void check(const transform::settings& chosen) const { accept::check(inner_, chosen); }

 private:
    accept::typical inner_;
    record* of_;
};

template <class Criterion>
struct probe_of {
    using type = joint_probe<Criterion>;
};
template <>
struct probe_of<accept::typical> {
    using type = typical_probe;
};

/// Whether the next round has room for all of a tree.
bool has_budget(const auto& session, std::size_t depth) {
    return session.finished == finish_reason::running &&
           session.stops.budget(session.committed.generated().size(), session.committed.size()) > depth;
}

/// One joint rollout over the prompts: rounds of `trees.joint` that advance with the tree as it is. Rounds without room
/// for all of it, and those in which not all of it was drafted, are not counted. Deterministic. Any drafter whose nodes
/// are the same in every tree: heads, layers and models that pick by rank, or by the noise of the position under
/// `coupled`. Criteria: those, and `typical`.
template <class Drafter, class Target, class Criterion>
tree::tally joint_rollout(const Drafter& drafter, const Target& target, const Criterion& criterion,
                          const tree::augmentations& trees, std::span<const std::vector<token>> prompts,
                          const decode::options& chosen) {
    using probe = typename probe_of<Criterion>::type;
    typename probe::record record{&trees};
    record.counted.gained.assign(trees.added.size(), 0);
    tree::tally before;
    const auto scheme = speculate(drafter, target, policy::tree_static(trees.joint), probe(criterion, record));
    for (const std::vector<token>& prompt : prompts) {
        decode::session session(scheme, prompt, chosen.sampling, chosen.stop, random::philox_chooser(chosen.seed));
        while (has_budget(session, trees.joint.depth())) {
            record.begin();
            before = record.counted;
            const auto& round = decode::step(scheme, session, {.timed = false});
            if (round.decided.drafted != trees.joint.size()) {
                std::swap(record.counted, before);
                continue;
            }
            // The text has ended in what is committed: no tree has more of it.
            if (session.finished != finish_reason::running) std::swap(record.counted.gained, before.gained);
            ++record.counted.rounds;
            record.counted.committed += round.committed.size();
        }
    }
    return record.counted;
}

/// The results of a scheme on all prompts.
struct rollout_result {
    std::uint64_t rounds = 0, committed = 0;  ///< of the rounds that had room for the deepest tree
    std::uint64_t tokens = 0;
    double seconds = 0;  ///< prefill included

    double accepted_length() const {
        return rounds == 0 ? 0 : static_cast<double>(committed) / static_cast<double>(rounds);
    }
    double tokens_per_second() const { return seconds > 0 ? static_cast<double>(tokens) / seconds : 0; }
};

/// A rollout of a scheme's own: its own proposals, masks and cache updates. Watchers are shown every round.
template <class Scheme, class... Watchers>
rollout_result own_rollout(const Scheme& scheme, std::size_t depth, std::span<const std::vector<token>> prompts,
                           const decode::options& chosen, Watchers&... watchers) {
    rollout_result result;
    for (const std::vector<token>& prompt : prompts) {
        decode::session session(scheme, prompt, chosen.sampling, chosen.stop, random::philox_chooser(chosen.seed));
        while (session.finished == finish_reason::running) {
            const bool counts = has_budget(session, depth);
            const auto& round = decode::step(scheme, session, {}, watchers...);
            if (!counts || (depth > 0 && round.decided.drafted == 0)) continue;
            ++result.rounds;
            result.committed += round.committed.size();
        }
        result.tokens += session.committed.generated().size();
        result.seconds += session.counts.seconds.prefill + session.counts.seconds.decoding();
    }
    return result;
}

}  // namespace augur::tune
