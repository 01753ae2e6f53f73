#pragma once
// Random trees of drafts, judged on the host and on a system, for tests that compare the two.

#include <boost/test/unit_test.hpp>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "augur/backend/device/round.hpp"
#include "augur/backend/device/system.hpp"
#include "augur/random/chooser.hpp"
#include "augur/transform/pipeline.hpp"
#include "augur/types/token_selector.hpp"
#include "augur/types/topology.hpp"
#include "backend/device/random_rounds.hpp"
#include "sanitized.hpp"
#include "transform/rows.hpp"

namespace trees {

namespace device = augur::backend::device;
using augur::distribution;
using augur::point_mass;
using augur::token;
using augur::transform::settings;

inline constexpr std::size_t most_nodes = 24;

/// A round whose drafts are a tree, or, as it happens, a chain.
struct one_tree {
    std::size_t vocabulary;
    std::uint64_t seed;
    std::size_t number;
    settings chosen;
    augur::prefix before;
    std::vector<float> target;  ///< the row after the prefix, then that after each node
    augur::proposal<point_mass> certain;
    augur::proposal<distribution> drawn;
};

/// A chain with side branches, a bush, children of few nodes, or anything.
inline std::int32_t random_parent(std::mt19937& random, std::size_t kind, std::size_t node) {
    const auto last = static_cast<std::int32_t>(node) - 1;
    const auto any = static_cast<std::int32_t>(random() % (node + 1)) - 1;
    switch (kind) {
        case 0:
            return random() % 4 == 0 ? any : last;
        case 1:
            return random() % 2 == 0 ? augur::after_prefix : any;
        case 2:
            return static_cast<std::int32_t>(node / 3) - 1;
        default:
            return any;
    }
}

/// The first node whose path has the tokens of this node's path.
inline std::size_t first_with_its_text(const augur::proposal<point_mass>& tree, std::size_t node) {
    const auto same = [&](std::int32_t a, std::int32_t b) {
        while (a != b && a >= 0 && b >= 0) {
            if (tree.tokens()[static_cast<std::size_t>(a)] != tree.tokens()[static_cast<std::size_t>(b)]) return false;
            a = tree.parent(static_cast<std::size_t>(a));
            b = tree.parent(static_cast<std::size_t>(b));
        }
        return a == b;
    };
    std::size_t other = 0;
    while (!same(static_cast<std::int32_t>(other), static_cast<std::int32_t>(node))) ++other;
    return other;
}

/// Siblings are drawn from one row: with replacement, or each without those before it. After the same text the draft
/// has the same row.
template <class TokenSelector>
one_tree random_tree(std::mt19937& random, std::size_t vocabulary, const settings& chosen,
                     const TokenSelector& token_selector, bool with_replacement) {
    one_tree round{.vocabulary = vocabulary,
                   .seed = std::uint64_t{random()} << 32 | random(),
                   .number = random() % 3,
                   .chosen = chosen,
                   .before = augur::prefix(rows::tokens(random, random() % 9, vocabulary)),
                   .target = {},
                   .certain = {},
                   .drawn = {}};
    for (const token t : rows::tokens(random, random() % 9, vocabulary + 3)) round.before.push(t);
    const augur::transform::pipeline transform(chosen, vocabulary);
    const augur::random::philox_chooser chooser(round.seed);
    const std::size_t nodes = random() % (most_nodes + 1), kind = random() % 4;
    const std::size_t invalid = random() % 5 == 0 ? random() % (nodes + 1) : nodes + 1;
    std::vector<std::vector<float>> targets;
    std::vector<distribution> drafts;  // by row
    for (std::size_t row = 0; row <= nodes; ++row) {
        targets.push_back(row == invalid ? rounds::invalid_row(random, vocabulary)
                                         : rounds::random_row(random, vocabulary));
        drafts.push_back(transform(rounds::disturbed(random, targets.back()), round.before));
        if (with_replacement && drafts.back().empty()) {  // siblings share it
            drafts.back() = distribution::point(static_cast<token>(random() % vocabulary), vocabulary);
        }
        round.target.insert(round.target.end(), targets.back().begin(), targets.back().end());
    }
    for (std::size_t node = 0; node < nodes; ++node) {
        const std::int32_t parent = random_parent(random, kind, node);
        distribution from = drafts[static_cast<std::size_t>(parent + 1)];
        std::size_t sibling = 0;
        for (std::size_t i = 0; i < node; ++i) {
            if (round.certain.parent(i) != parent) continue;
            if (!with_replacement && !from.empty()) from.exclude(round.certain.tokens()[i]);
            ++sibling;
        }
        if (from.empty()) from = distribution::point(static_cast<token>(random() % vocabulary), vocabulary);
        augur::position_draws draws(chooser,
                                    round.before.size() + augur::parents::depth_of(round.certain.parents(), parent),
                                    round.number, round.certain.aside(parent));
        draws.at_sibling(sibling);
        const token picked = token_selector.pick(from, draws);
        round.certain.push(picked, parent);
        round.drawn.push(picked, from, parent);
        drafts[node + 1] = drafts[first_with_its_text(round.certain, node) + 1];
    }
    return round;
}

/// The same in a system's memory.
template <class System>
class tree_on_device {
 public:
    tree_on_device(const System& on, const one_tree& of)
        : vocabulary_(of.vocabulary),
          target_(on, std::span<const float>(of.target)),
          tokens_(on, of.certain.tokens()),
          parents_(on, of.certain.parents()) {
        std::vector<float> weights;
        std::vector<double> totals;
        std::vector<token> points;
        for (std::size_t node = 0; node < of.drawn.size(); ++node) {
            const distribution& row = *of.drawn[node].row;
            for (std::size_t t = 0; t < vocabulary_; ++t) {
                weights.push_back(row.is_point() ? -1.0f : static_cast<float>(row[t]));  // of a point nobody looks
            }
            totals.push_back(row.total());
            points.push_back(row.is_point() ? row.mode() : augur::no_token);
        }
        weights_ = {on, std::span<const float>(weights)};
        totals_ = {on, std::span<const double>(totals)};
        points_ = {on, std::span<const token>(points)};
    }

    const float* rows() const { return target_.data(); }
    auto tree(const augur::proposal<point_mass>&) const {
        return made_of(device::certain_chain{tokens_.data(), tokens_.size()});
    }
    auto tree(const augur::proposal<distribution>&) const {
        return made_of(
            device::drawn_chain{tokens_.data(), tokens_.size(), weights_.data(), totals_.data(), points_.data()});
    }

 private:
    template <class Nodes>
    device::drafted_tree<Nodes> made_of(const Nodes& nodes) const {
        return {nodes, parents_.data(), vocabulary_};
    }

    std::size_t vocabulary_;
    device::buffer<float, System> target_, weights_;
    device::buffer<token, System> tokens_, points_;
    device::buffer<std::int32_t, System> parents_;
    device::buffer<double, System> totals_;
};

/// How often each outcome was seen.
struct outcomes {
    std::size_t accepted = 0, aside = 0, corrected = 0, bonus = 0, invalid = 0, trees = 0;
};

template <class System, class Criterion>
void check_tree(const std::vector<System>& systems, const Criterion& criterion, one_tree& played, const auto& proposed,
                outcomes& seen) {
    const augur::verdict expected = rounds::judged_on_host(criterion, played, proposed);
    for (const System& on : systems) {
        const tree_on_device<System> there(on, played);
        device::round_judge<Criterion, System> judge(on, played.vocabulary, most_nodes + 1, played.chosen, played.seed,
                                                     criterion);
        judge.on_commit(played.before);
        judge.on_draft(played.before, proposed.tokens(), proposed.parents());
        augur::verdict decided{.path = std::vector<std::size_t>(3)};
        for (int again = 0; again < 2; ++again) {  // what a round leaves in memory does not matter to the next
            judge.judge(there.rows(), there.tree(proposed), played.before.size(), played.number);
            judge.result(proposed.parents(), proposed.size(), decided);
            BOOST_TEST((decided == expected), "accepted " << decided.accepted << ", not " << expected.accepted
                                                          << "; next " << decided.next << ", not " << expected.next
                                                          << "; leaf " << decided.at_leaf << ", not "
                                                          << expected.at_leaf);
        }
        device::tree_verdict whole;
        on.download(&whole, judge.decided_tree(), sizeof whole);
        BOOST_TEST(whole.valid == (expected.invalid_row() ? 0u : 1u));
    }
    const bool tree = !proposed.is_chain();
    seen.trees += tree;
    seen.accepted += expected.accepted;
    for (std::size_t i = 0; i < expected.path.size(); ++i) seen.aside += expected.path[i] > i;
    seen.invalid += expected.invalid_row();
    seen.bonus += tree && expected.at_leaf && !expected.invalid_row();
    seen.corrected += tree && !expected.at_leaf && !expected.invalid_row();
}

/// Random topologies of every kind, judged on both sides, with the draft's rows and with certainty: a third with a
/// temperature alone, the others with all that settings have.
template <class System, class Criterion>
void check_trees(const std::vector<System>& systems, const Criterion& criterion, const std::vector<float>& temperatures,
                 int times = 1) {
    std::mt19937 random(11);
    outcomes seen;
    constexpr unsigned few = augur::testing::unless_sanitized(1u, 4u);
    for (const std::size_t vocabulary : {1u, 2u, 5u, 17u, 257u, 3000u}) {
        const int repeats = times * (vocabulary < 100 ? 60 : vocabulary < 1000 ? 20 : 4) / static_cast<int>(few);
        for (int repeat = 0; repeat < repeats; ++repeat) {
            settings chosen = repeat % 3 == 0 ? settings{} : rounds::random_settings(random, vocabulary);
            chosen.temperature.value = temperatures[random() % temperatures.size()];
            const bool again = augur::draft::with_replacement<typename Criterion::token_selector> || repeat % 2 == 0;
            one_tree played = random_tree(random, vocabulary, chosen, typename Criterion::token_selector{}, again);
            BOOST_TEST_CONTEXT(vocabulary << " logits, repeat " << repeat) {
                if constexpr (augur::AcceptanceCriterionFor<Criterion, point_mass>) {
                    check_tree(systems, criterion, played, played.certain, seen);
                }
                check_tree(systems, criterion, played, played.drawn, seen);
            }
        }
    }
    BOOST_TEST(seen.trees > 200u * static_cast<unsigned>(times) / few);
    BOOST_TEST(seen.accepted > 200u / few);
    BOOST_TEST(seen.aside > 50u / few);
    BOOST_TEST(seen.corrected > 30u / few);
    BOOST_TEST(seen.bonus > 50u / few);
    BOOST_TEST(seen.invalid > 10u / few);
}

}  // namespace trees
