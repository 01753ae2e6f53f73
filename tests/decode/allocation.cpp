// A step allocates nothing once its storage has grown, if its drafter takes back its proposals.

#include <algorithm>
#include <allocations.hpp>
#include <array>
#include <augur/accept/block.hpp>
#include <augur/accept/coupled.hpp>
#include <augur/accept/exact.hpp>
#include <augur/accept/multipath_block.hpp>
#include <augur/accept/rejection_sampling.hpp>
#include <augur/accept/traversal.hpp>
#include <augur/accept/typical.hpp>
#include <augur/decode/batch.hpp>
#include <augur/decode/step.hpp>
#include <augur/draft/draft_model.hpp>
#include <augur/draft/eagle.hpp>
#include <augur/draft/fallback.hpp>
#include <augur/draft/heads.hpp>
#include <augur/draft/merged.hpp>
#include <augur/draft/ngram_store.hpp>
#include <augur/draft/prompt_lookup.hpp>
#include <augur/policy/confidence_stop.hpp>
#include <augur/policy/cost_aware.hpp>
#include <augur/policy/entropy_bins.hpp>
#include <augur/policy/tree_hysteresis.hpp>
#include <augur/policy/tree_static.hpp>
#include <augur/scheme/speculator.hpp>
#include <augur/switching/rolling_entropy.hpp>
#include <augur/switching/scheme.hpp>
#include <augur/switching/step.hpp>
#include <augur/testing/models.hpp>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <list>
#include <sanitized.hpp>
#include <utility>
#include <vector>

using namespace augur;

namespace {

constexpr std::size_t vocabulary = 700;  // of several chunks

/// Rows that exist already, by the number of tokens before: models of the tests that make rows allocate them.
class rows_at_hand {
 public:
    static constexpr bool bitwise_rows = true;
    struct sequence_type {
        std::size_t length = 0, first = 0, rows = 0;  // of the last pass
    };

    /// `lead`: how many positions ahead its rows are.
    explicit rows_at_hand(std::uint64_t seed, std::size_t lead = 0) {
        const auto model = testing::hashed_model(vocabulary, seed, 6);
        auto sequence = model.make_sequence();
        for (std::size_t i = 0; i < context_length() + 1; ++i) {
            const std::vector<token> next{static_cast<token>(i % 5)};  // few tokens, so that text repeats itself
            const auto scored = model.extend(sequence, next);
            rows_.insert(rows_.end(), scored[0].begin(), scored[0].end());
            rows_[rows_.size() - vocabulary + (i + lead) % 5] += 12;
        }
    }

    std::size_t vocabulary_size() const { return vocabulary; }
    std::size_t context_length() const { return 900; }
    sequence_type make_sequence() const { return {}; }
    std::size_t length(const sequence_type& s) const { return s.length; }
    void truncate(sequence_type& s, std::size_t length) const { s.length = length; }
    scores extend(sequence_type& s, std::span<const token> tokens) const {
        s.first = s.length;
        s.rows = tokens.size();
        s.length += tokens.size();
        return {rows_.data() + s.first * vocabulary, s.rows, vocabulary};
    }
    std::size_t hidden_size() const { return 16; }
    scores hidden(const sequence_type& s) const { return {rows_.data() + s.first * 16, s.rows, 16}; }

 protected:
    logit_row rows_after(std::size_t tokens) const { return {rows_.data() + (tokens - 1) * vocabulary, vocabulary}; }

 private:
    std::vector<float> rows_;
};
static_assert(HiddenStateModel<rows_at_hand>);

/// The same, which runs trees: the row of a node is that of its position.
class trees_at_hand : public rows_at_hand {
 public:
    static constexpr pass_features passes = pass_features::trees | pass_features::states;
    struct sequence_type : rows_at_hand::sequence_type {
        std::vector<float> logits{};
    };
    using rows_at_hand::rows_at_hand;

    sequence_type make_sequence() const { return {}; }
    scores run(std::span<const pass<sequence_type>> asked) const {
        const pass<sequence_type>& one = asked.front();
        sequence_type& s = *one.sequence;
        const std::size_t wanted = one.wanted(), tokens = one.tokens.size();
        s.logits.resize(wanted * vocabulary);
        for (std::size_t i = tokens - wanted; i < tokens; ++i) {
            const std::size_t depth =
                one.parents.empty() ? i + 1 : parents::depth_of(one.parents, static_cast<std::int32_t>(i));
            const auto row = rows_after(s.length + depth);
            std::copy(row.begin(), row.end(),
                      s.logits.begin() + static_cast<std::ptrdiff_t>((i - (tokens - wanted)) * vocabulary));
        }
        s.first = s.length;
        s.rows = tokens;
        if (one.parents.empty()) s.length += tokens;
        return {s.logits.data(), wanted, vocabulary};
    }
    void keep(sequence_type& s, std::span<const std::size_t> path) const { s.length += path.size(); }
};
static_assert(TreeModel<trees_at_hand> && PrefillsStates<trees_at_hand>);

/// The same in two parts, and a head on the states between them.
class halves_at_hand : public rows_at_hand {
 public:
    static constexpr pass_features passes = pass_features::layers;
    struct sequence_type : rows_at_hand::sequence_type {
        std::size_t waiting = 0;
    };
    using rows_at_hand::rows_at_hand;

    sequence_type make_sequence() const { return {}; }
    std::size_t layer_count() const { return 2; }
    std::size_t waiting(const sequence_type& s) const { return s.waiting; }
    void truncate(sequence_type& s, std::size_t length) const {
        s.waiting -= std::min(s.waiting, s.length - length);
        s.length = length;
    }
    scores extend(sequence_type& s, std::span<const token> tokens) const { return rows_at_hand::extend(s, tokens); }
    scores run(std::span<const pass<sequence_type>> asked) const {
        const auto& one = asked[0];
        sequence_type& s = *one.sequence;
        const std::size_t wanted = one.wanted(s.waiting), waited = s.waiting;
        s.length -= one.from_layer > 0 ? std::exchange(s.waiting, 0) : 0;
        if (one.to_layer != all_layers) s.waiting += one.tokens.size();
        static const std::vector<token> any(400);
        const auto rows = extend(s, one.from_layer > 0 ? std::span(any).first(waited) : one.tokens);
        if (wanted == 0) return {};
        return {rows[rows.size() - wanted].data(), wanted, vocabulary};
    }
};
static_assert(SplitModel<halves_at_hand>);

struct exit_at_hand {
    rows_at_hand rows{2};

    std::size_t layer() const { return 1; }
    std::size_t vocabulary_size() const { return vocabulary; }
    std::size_t hidden_size() const { return 16; }
    void row(std::span<const float> hidden, std::span<float> out) const {
        rows_at_hand::sequence_type s{.length = std::size_t(std::abs(hidden[0]) * 100) % 390};
        const auto row = rows.extend(s, std::array<token, 1>{0})[0];
        std::copy(row.begin(), row.end(), out.begin());
    }
};

/// The same as a layer on hidden states, and as heads.
class layer_at_hand {
 public:
    using sequence_type = rows_at_hand::sequence_type;

    explicit layer_at_hand(std::uint64_t seed) : rows_(seed, 1) {}  // its first input is the second token
    std::size_t vocabulary_size() const { return vocabulary; }
    std::size_t context_length() const { return rows_.context_length(); }
    std::size_t hidden_size() const { return rows_.hidden_size(); }
    sequence_type make_sequence() const { return {}; }
    std::size_t length(const sequence_type& s) const { return s.length; }
    void truncate(sequence_type& s, std::size_t length) const { s.length = length; }
    scores extend(sequence_type& s, std::span<const token> tokens, std::span<const float>, std::size_t) const {
        return rows_.extend(s, tokens);
    }
    scores hidden(const sequence_type& s) const { return rows_.hidden(s); }

 private:
    rows_at_hand rows_;
};
static_assert(FusedModel<layer_at_hand>);

struct heads_at_hand {
    using workspace_type = rows_at_hand::sequence_type;
    rows_at_hand rows{2};

    std::size_t vocabulary_size() const { return vocabulary; }
    std::size_t hidden_size() const { return rows.hidden_size(); }
    std::size_t head_count() const { return 3; }
    workspace_type make_workspace() const { return {}; }
    logit_row row(workspace_type& s, std::span<const float>, std::span<const token> tokens, std::size_t) const {
        s.length = static_cast<std::size_t>(tokens.back() % 5 + 1);
        return rows.extend(s, tokens)[0];
    }
};
static_assert(DraftHeads<heads_at_hand>);

/// Proposes what stood five tokens before, in the storage of the last proposal.
struct repeats {
    struct state_type {};
    using draft_distribution_type = point_mass;

    state_type make_state() const { return {}; }
    void propose(state_type&, auto& context, proposal<point_mass>& proposed) const {
        const auto known = context.prefix().tokens();
        while (context.wants_more(proposed.size())) proposed.push(known[known.size() - 5 + proposed.size()]);
    }
    void on_commit(state_type&, const prefix&) const {}
};
static_assert(Drafter<repeats>);

/// Allocations in the later of a decoding's rounds, in which some draft was accepted and some was not: from the one
/// with so many tokens on to the end, or to `until`.
template <class Scheme>
std::size_t allocations_of(const Scheme& scheme, const transform::settings& sampling, std::size_t from = 200,
                           std::size_t until = 1000) {
    const std::vector<token> prompt{0, 1, 2, 3, 4, 0, 1, 2, 3, 4};
    decode::session<Scheme> s(scheme, prompt, sampling, {.max_tokens = from + 180}, random::philox_chooser(3));
    while (s.finished == finish_reason::running && s.committed.size() < from) decode::step(scheme, s);
    BOOST_TEST_REQUIRE((s.finished == finish_reason::running), s.fault);
    const std::size_t before = allocations::made;
    while (s.finished == finish_reason::running && s.committed.size() < until) decode::step(scheme, s);
    const std::size_t count = allocations::made - before;
    BOOST_TEST(s.counts.rounds() > 50u);
    return count;
}

/// Allocations in the later turns of a batch, whose rounds wait for two models in turns that differ.
template <class Scheme>
std::size_t allocations_of_a_batch(const Scheme& scheme, const transform::settings& sampling) {
    const std::vector<token> prompt{0, 1, 2, 3, 4, 0, 1, 2, 3, 4};
    std::list<decode::session<Scheme>> sessions;
    decode::batch<Scheme> together(scheme);
    for (std::uint64_t seed = 0; seed < 5; ++seed) {
        together.add(sessions.emplace_back(scheme, std::span(prompt).first(6 + seed), sampling,
                                           commit::stop_conditions{.max_tokens = 380}, random::philox_chooser(seed)));
    }
    const auto committed = [&] { return sessions.front().committed.size(); };
    while (committed() < 200) BOOST_TEST_REQUIRE(together.advance());
    const std::size_t before = allocations::made;
    while (committed() < 300) together.advance();
    return allocations::made - before;
}

/// Knows some of what follows in a text that repeats itself.
draft::ngram_table repeating() {
    const std::vector<std::vector<token>> texts{{0, 1, 2, 3, 4, 0, 1, 2}, {3, 0, 2, 4, 1, 1}};
    return draft::ngram_table::count(texts, {.shortest = 1, .longest = 3, .vocabulary_size = vocabulary});
}

transform::settings greedy() {
    return {.temperature = {0}};
}

/// Softmax, each cut, and all of them with penalties.
std::vector<transform::settings> samplings() {
    const transform::settings plain, k{.top_k = {20}}, p{.top_p = {0.9f}}, min{.min_p = {0.1f}};
    const transform::settings all{
        .penalties = {1.1f, 0.1f, 0.1f}, .temperature = {0.7f}, .top_k = {20}, .top_p = {0.9f}, .min_p = {0.01f}};
    if (testing::sanitized) return {all};
    return {plain, k, p, min, all};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(decode_allocation)

BOOST_AUTO_TEST_CASE(allocations_are_counted) {
    const std::size_t before = allocations::made;
    ::operator delete(::operator new(3));  // a call by name, which compilers must not leave out
    BOOST_TEST(allocations::made == before + 1);
}

BOOST_AUTO_TEST_CASE(greedy_steps_allocate_nothing) {
    const rows_at_hand target(1), other(2);
    BOOST_TEST(allocations_of(plain(target), greedy()) == 0u);
    BOOST_TEST(allocations_of(speculate(other, target, policy::entropy_bins{}, accept::exact{}), greedy()) == 0u);
    const auto scheme = speculate(repeats{}, target, policy::fixed_length{4}, accept::exact{});
    BOOST_TEST(allocations_of(scheme, greedy()) == 0u);
    const auto lookup = speculate(draft::prompt_lookup{}, target, policy::fixed_length{4}, accept::exact{});
    BOOST_TEST(allocations_of(lookup, greedy()) == 0u);
    const layer_at_hand layer(2);
    BOOST_TEST(allocations_of(speculate(layer, target, policy::entropy_bins{}, accept::exact{}), greedy()) == 0u);
    const auto headed = speculate(heads_at_hand{}, target, policy::fixed_length{4}, accept::exact{});
    BOOST_TEST(allocations_of(headed, greedy()) == 0u);
    const halves_at_hand halves(1);
    const policy::confidence_stop sure({.threshold = 0.01});
    BOOST_TEST(allocations_of(speculate(exit_at_hand{}, halves, sure, accept::exact{}), greedy()) == 0u);
    const draft::fallback several(draft::prompt_lookup(2), draft::ngram_store(repeating()), other);
    BOOST_TEST(allocations_of(speculate(several, target, policy::cost_aware{}, accept::exact{}), greedy()) == 0u);
    auto penalised = greedy();
    penalised.penalties.presence = 0.5f;
    BOOST_TEST(allocations_of(scheme, penalised) == 0u);
}

BOOST_AUTO_TEST_CASE(sampling_steps_allocate_nothing) {
    const rows_at_hand target(1), other(2);
    const halves_at_hand halves(1);
    const exit_at_hand head;
    const layer_at_hand layer(2);
    const policy::fixed_length four{4};
    const draft::fallback several(draft::prompt_lookup(4), draft::ngram_store(repeating(), 2), other);
    for (const transform::settings& sampling : samplings()) {
        BOOST_TEST(allocations_of(plain(target), sampling) == 0u);
        BOOST_TEST(allocations_of(speculate(repeats{}, target, four, accept::coupled{}), sampling) == 0u);
        BOOST_TEST(allocations_of(speculate(repeats{}, target, four, accept::block{}), sampling) == 0u);
        BOOST_TEST(allocations_of(speculate(other, target, four, accept::coupled{}), sampling) == 0u);
        BOOST_TEST(allocations_of(speculate(other, target, four, accept::rejection_sampling{}), sampling) == 0u);
        BOOST_TEST(allocations_of(speculate(other, target, four, accept::block{}), sampling) == 0u);
        BOOST_TEST(allocations_of(speculate(other, target, four, accept::traversal{}), sampling) == 0u);
        BOOST_TEST(allocations_of(speculate(other, target, four, accept::typical{}), sampling) == 0u);
        BOOST_TEST(allocations_of(speculate(layer, target, four, accept::rejection_sampling{}), sampling) == 0u);
        BOOST_TEST(allocations_of(speculate(several, target, four, accept::rejection_sampling{}), sampling) == 0u);
        BOOST_TEST(allocations_of(speculate(head, halves, four, accept::rejection_sampling{}), sampling) == 0u);
        BOOST_TEST(allocations_of(speculate(head, halves, four, accept::coupled{}), sampling) == 0u);
    }
}

/// Storage grows as long as nodes are accepted that never were; a tree is cut where the text ends.
template <class Scheme>
std::size_t allocations_of_trees(const Scheme& scheme, const transform::settings& sampling) {
    return allocations_of(scheme, sampling, 600, 770);
}

const topology tree = topology::of_paths({{0}, {1}, {0, 0}, {0, 1}, {1, 0}, {0, 0, 0}});

BOOST_AUTO_TEST_CASE(steps_over_trees_allocate_nothing) {
    const trees_at_hand target(1), trees(2);
    const rows_at_hand chains(2);
    const policy::tree_static wide(tree), narrow(topology{-1, -1, 0});
    for (const transform::settings& sampling : samplings()) {
        const auto none_by = [&](const auto& model, const auto& criterion, const policy::tree_static& planned) {
            const auto scheme = speculate(draft::draft_model(model), target, planned, criterion);
            BOOST_TEST(allocations_of_trees(scheme, sampling) == 0u);
        };
        none_by(trees, accept::rejection_sampling{}, wide);
        none_by(trees, accept::coupled{}, wide);
        none_by(trees, accept::traversal{}, wide);
        none_by(trees, accept::multipath_block{}, wide);
        none_by(chains, accept::traversal{}, wide);
        none_by(chains, accept::multipath_block{}, wide);
        none_by(trees, accept::typical{}, narrow);  // by which few nodes are ever accepted
    }
}

BOOST_AUTO_TEST_CASE(steps_that_switch_between_trees_allocate_nothing) {
    const trees_at_hand target(1), trees(2);
    const layer_at_hand layer(2);
    const tree::bank bank({{topology{-1}, 1, 1, 1}, {tree, 1, 1, 2}});
    const policy::tree_hysteresis<> switched(bank, {.on = 0.5});
    const auto none_by = [&](auto drafter) {
        const auto scheme = speculate(std::move(drafter), target, switched, accept::exact{});
        BOOST_TEST(allocations_of_trees(scheme, greedy()) == 0u);
    };
    none_by(draft::draft_model(trees));
    none_by(draft::heads(heads_at_hand{}, draft::argmax{}));
    none_by(draft::eagle(layer, draft::dynamic_tree{}));
    const auto dynamic =
        speculate(draft::eagle(layer, draft::dynamic_tree{}), target, policy::fixed_length{3}, accept::exact{});
    BOOST_TEST(allocations_of_trees(dynamic, greedy()) == 0u);
}

BOOST_AUTO_TEST_CASE(steps_over_merged_trees_allocate_nothing) {
    const trees_at_hand target(1), trees(2);
    const auto none_by = [&](auto drafter, std::size_t length) {
        const auto scheme = speculate(std::move(drafter), target, policy::fixed_length{length}, accept::exact{});
        BOOST_TEST(allocations_of_trees(scheme, greedy()) == 0u);
    };
    none_by(draft::merged(draft::prompt_lookup(2, 8, draft::trie_limits{}), draft::draft_model(trees)), 4);
    none_by(draft::merged(draft::prompt_lookup(2), draft::ngram_store(repeating()), 3), 3);
}

BOOST_AUTO_TEST_CASE(models_that_take_turns_allocate_nothing) {
    const rows_at_hand target(1), other(2);
    const switching::rolling_entropy turns({.thresholds_bits = {0.1f}, .window = 3, .dwell = 4});
    for (const std::size_t length : {0u, 3u}) {
        for (const bool warm : {false, true}) {
            const auto scheme = switched(other, target, turns).with({.draft_length = length, .keep_warm = warm});
            BOOST_TEST(allocations_of(scheme, greedy()) == 0u);
            BOOST_TEST(allocations_of(scheme, {}) == 0u);
        }
    }
}

BOOST_AUTO_TEST_CASE(turns_of_a_batch_allocate_nothing) {
    const rows_at_hand target(1), other(2);
    const auto scheme = speculate(other, target, policy::entropy_bins{}, accept::rejection_sampling{});
    BOOST_TEST(allocations_of_a_batch(scheme, {}) == 0u);
    BOOST_TEST(allocations_of_a_batch(scheme, greedy()) == 0u);
    const halves_at_hand halves(1);
    const exit_at_hand head;
    const auto split = speculate(head, halves, policy::fixed_length{2}, accept::rejection_sampling{});
    BOOST_TEST(allocations_of_a_batch(split, {}) == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
