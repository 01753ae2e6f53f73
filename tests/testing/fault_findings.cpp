#include <augur/accept/coupled.hpp>
#include <augur/commit/apply.hpp>
#include <augur/draft/prompt_lookup.hpp>
#include <augur/scheme/speculator.hpp>
#include <boost/test/unit_test.hpp>
#include <memory>
#include <ostream>
#include <string>

#include "testing/fault_schemes.hpp"

using namespace augur;
using testing::fault_choice;

/// That the suite finds what is wrong.
BOOST_AUTO_TEST_SUITE(testing_fault_findings)

enum class flaw { none, pushes_first, shows_first, counts_last };

/// Plain decoding, written by hand.
struct own_step {
    flaw what;

    void operator()(const auto&, auto& s, const decode::step_options& chosen, auto& watcher) const {
        auto& record = s.last;
        record.committed.clear();
        record.log_probabilities.clear();
        record.decided = {};
        const auto rows = s.target.score(s.committed.tokens(), 1);
        distribution row;
        s.transform.apply(rows[0], s.committed, row);
        position_draws draws(s.chooser, s.committed.size(), s.seen.round);
        std::vector<commit::committed_token> block{{accept::coupled{}.draw(row, draws), origin::plain}};
        const double log_probability = measure::log_probability(rows[0], block[0].id);
        record.log_probabilities.reserve(1);
        const std::size_t before = s.committed.size();
        if (what == flaw::shows_first) chosen.on_token(block[0]);
        if (what != flaw::pushes_first) commit::make_room(s, block, [] {});
        commit::first_thrown thrown;
        commit::patient_sink sink(what == flaw::shows_first ? commit::no_sink : chosen.on_token, thrown);
        commit::admit_all(s, block, sink);
        record.committed.swap(block);
        record.log_probabilities.push_back(log_probability);
        const no_states states;
        const round_view view{s.committed,    before,           record.proposed, rows,          states,
                              record.decided, record.committed, s.seen,          record.seconds};
        thrown.attempt([&] { watcher.watch(view); });
        if (what == flaw::counts_last) testing::fault_places.call("late", [] {});
        s.counts.stages.back().add(0, 0);
        ++s.seen.round;
        thrown.rethrow();
    }
};

testing::fault_report found_in(flaw what) {
    const auto target = testing::failing_chains(1);
    testing::fault_options chosen = fault_choice(1);
    chosen.most_places = 2000;  // all, sanitized, too: which of them shows it nobody knows
    return testing::fault_laws(plain(target), testing::fault_prompt, testing::fault_places, chosen, own_step{what});
}

bool says(const testing::fault_report& r, const std::string& law, const std::string& what) {
    for (const testing::violation& each : r.broken) {
        if (each.law == law && each.what.find(what) != std::string::npos) return true;
    }
    return false;
}

const std::string before = "a call that throws before it acts can be repeated";
const std::string after = "a call that throws after it acted can be repeated";

BOOST_AUTO_TEST_CASE(a_sound_step_of_ones_own_keeps_them) {
    const auto r = found_in(flaw::none);
    BOOST_TEST(r.kept(), r);
    BOOST_TEST(r.checked.size() == 5u);
}

BOOST_AUTO_TEST_CASE(a_commit_that_pushes_before_it_may_fail) {
    const auto r = found_in(flaw::pushes_first);
    BOOST_TEST(says(r, before, "on_token was shown"), r);
    BOOST_TEST(says(r, after, "on_token was shown"), r);
}

BOOST_AUTO_TEST_CASE(a_sink_that_is_shown_a_token_twice) {
    BOOST_TEST(says(found_in(flaw::shows_first), before, "on_token was shown"));
}

BOOST_AUTO_TEST_CASE(counts_that_are_missed) {
    BOOST_TEST(says(found_in(flaw::counts_last), before, "counts are"));
}

/// An engine that tries again, on top of what the first try left.
struct retrying_engine : testing::pass_mock<pass_features::batches> {
    using base = testing::pass_mock<pass_features::batches>;
    using base::base;

    auto run(std::span<const pass<sequence_type>> asked) const {
        try {
            return testing::fault_places.call("inner run", [&] { return base::run(asked); });
        } catch (const testing::injected_fault&) {
            return base::run(asked);
        }
    }
};

BOOST_AUTO_TEST_CASE(a_batch_that_is_run_twice) {
    const retrying_engine target(testing::fault_rows(1));
    const std::vector<std::vector<token>> prompts{{1, 2, 3}, {4, 0, 1}};
    const auto r = testing::fault_laws_together(plain(target), prompts, testing::fault_places, fault_choice(1));
    BOOST_TEST(!r.breaks(before + ", in a batch"), r);
    BOOST_TEST(says(r, after + ", in a batch", "the tokens are"), r);
}

/// Learns a half, and may throw then. With `Shared` its copies learn together, which no copy can take back.
template <bool Shared>
struct half_learner {
    std::shared_ptr<std::size_t> shared = std::make_shared<std::size_t>(0);
    std::size_t own = 0;

    std::size_t rounds() const { return Shared ? *shared : own; }
    std::size_t length(const observation&) const { return 1 + rounds() % 2; }
    void learn(const outcome&) {
        ++(Shared ? *shared : own);
        testing::fault_places.call("learn", [&] { ++(Shared ? *shared : own); });
        ++(Shared ? *shared : own);
    }
    friend std::ostream& operator<<(std::ostream& out, const half_learner& p) { return out << p.own; }
};

template <bool Shared>
testing::fault_report found_in_learning() {
    const auto target = testing::failing_chains(1);
    const auto scheme = speculate(draft::prompt_lookup(1, 3), target, half_learner<Shared>{}, accept::coupled{});
    return testing::fault_laws(scheme, testing::fault_prompt, testing::fault_places, fault_choice(1));
}

BOOST_AUTO_TEST_CASE(a_policy_that_throws_learns_with_the_round_or_not_at_all) {
    const auto r = found_in_learning<false>();
    BOOST_TEST(r.kept(), r);
    const auto shared = found_in_learning<true>();
    BOOST_TEST(!shared.kept(), shared);
}

BOOST_AUTO_TEST_CASE(a_scheme_without_places_is_no_proof) {
    const auto target = testing::fault_rows(1);
    auto chosen = fault_choice(1);
    chosen.allocations = {};
    chosen.chosen.stop.text_of = testing::fault_text_of;
    const auto r = testing::fault_laws(plain(target), testing::fault_prompt, testing::faults(), chosen);
    BOOST_TEST(r.kept(), r);  // text_of is a place
    BOOST_TEST(r.skipped.size() == 2u);
    BOOST_TEST(r.skipped[0].what == "no hook for allocations was given");
    chosen.bursts = {};
    BOOST_TEST(!testing::fault_laws(plain(target), testing::fault_prompt, testing::faults(), chosen).kept());
}

BOOST_AUTO_TEST_SUITE_END()
