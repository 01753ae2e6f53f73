#include "augur/testing/policy_laws.hpp"

#include <algorithm>
#include <augur/policy/cost_aware.hpp>
#include <augur/policy/entropy_bins.hpp>
#include <augur/policy/fixed_length.hpp>
#include <augur/policy/learned_bins.hpp>
#include <boost/test/unit_test.hpp>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>

#include "every_law.hpp"

using namespace augur;
using testing::policy_laws;

BOOST_AUTO_TEST_SUITE(testing_policy_laws)

template <class Policy>
void keeps(const Policy& policy) {
    const auto r = policy_laws(policy);
    BOOST_TEST(r.kept(), r);
}

BOOST_AUTO_TEST_CASE(the_librarys_policies_keep_them) {
    for (std::size_t length : {0u, 1u, 3u}) keeps(policy::fixed_length{length});
    keeps(policy::entropy_bins{});
    keeps(policy::entropy_bins({0.7}, {2, 0}));
    keeps(policy::target_entropy_bins({0.4, 0.9}, {3, 2, 1}));
    keeps(policy::basic_entropy_bins<policy::entropy_of::draft, policy::entropy_form::offset>{});
    keeps(policy::cost_aware{});
    keeps(policy::cost_aware{{.max_length = 2, .memory = 0.5, .probe_after = 1}});
    keeps(policy::cost_aware{{.max_length = 2, .verify_seconds = {1, 1.05, 1.1}}});
}

struct final_length final {
    std::size_t length(const observation& seen) const { return seen.round % 3; }
};
struct final_learner final {
    std::size_t wanted = 1;
    std::size_t length(const observation&) const { return wanted; }
    void learn(const outcome& happened) { wanted = 1 + happened.accepted; }
};

BOOST_AUTO_TEST_CASE(final_classes_are_policies_too) {
    keeps(final_length{});
    keeps(final_learner{});
    const auto checked = [](const auto& policy) {
        const auto r = policy_laws(policy);
        return std::find(r.checked.begin(), r.checked.end(), "the distribution is kept") != r.checked.end();
    };
    BOOST_TEST(checked(final_length{}));
    BOOST_TEST(!checked(final_learner{}));
}

/// A tree where the target was sure, a chain where it was not.
struct tree_where_sure {
    static constexpr signals_read reads{.required = signals::target_entropy};
    augur::topology sure{-1, 0};
    augur::topology unsure{-1, -1, 0};
    static constexpr draft_shape plans = draft_shape::tree;
    draft_plan plan(const observation& seen) const { return {.tree = seen.target_entropy_nats < 1 ? &sure : &unsure}; }
};

/// The same by the round's first row, and it grows with what is accepted.
struct tree_that_grows {
    static constexpr signals_read reads{.available = signals::draft_entropy};
    augur::topology wanted{-1};
    static constexpr draft_shape plans = draft_shape::tree;
    draft_plan plan(const observation&) const { return {.tree = &wanted}; }
    void learn(const outcome& happened) { wanted = topology_of(happened.accepted); }
    static augur::topology topology_of(std::size_t accepted) { return augur::topology::chain(1 + accepted % 2); }
};

BOOST_AUTO_TEST_CASE(policies_on_topologies_keep_them) {
    keeps(tree_where_sure{});
    keeps(tree_that_grows{});
}

/// Gives one tree or the other, as it is asked.
struct alternates {
    augur::topology trees[2] = {{-1, -1}, {-1, 0}};
    mutable std::size_t asked = 0;
    static constexpr draft_shape plans = draft_shape::tree;
    draft_plan plan(const observation&) const { return {.tree = &trees[asked++ % 2]}; }
};

/// Reads what it did not declare.
struct tree_by_confidence : tree_where_sure {
    draft_plan plan(const observation& seen) const { return {.tree = seen.draft_confidence > 0.5 ? &sure : &unsure}; }
};

/// Says that it plans chains.
struct tree_in_secret : alternates {
    static constexpr draft_shape plans = draft_shape::chain;
    draft_plan plan(const observation&) const { return {.tree = &trees[0]}; }
};

/// Wants nothing.
struct no_tree {
    augur::topology none;
    static constexpr draft_shape plans = draft_shape::tree;
    draft_plan plan(const observation&) const { return {.tree = &none}; }
};

BOOST_AUTO_TEST_CASE(wrong_trees_are_caught_and_shown) {
    const auto r = policy_laws(alternates{});
    BOOST_TEST(r.breaks("equal observations, equal lengths"), r);
    BOOST_TEST(r.broken[0].what.find(": parents {-1, -1}, then parents {-1, 0}") != std::string::npos, r);
    BOOST_TEST(policy_laws(tree_by_confidence{}).breaks("undeclared signals change nothing"));
    const auto hidden = policy_laws(tree_in_secret{});
    BOOST_TEST(hidden.breaks("plans are of the declared shape"), hidden);
    const auto nothing = policy_laws(no_tree{});
    BOOST_TEST(nothing.kept(), nothing);
    BOOST_TEST(nothing.notes.size() == 1u, nothing);
}

/// Counts how often it is asked.
struct counts_questions {
    mutable std::size_t asked = 0;
    std::size_t length(const observation&) const { return asked++ % 3; }
};

/// The same, for all copies together.
struct counts_everybodys_questions {
    std::shared_ptr<std::size_t> asked = std::make_shared<std::size_t>(0);
    std::size_t length(const observation&) const { return (*asked)++ % 3; }
};

/// Has no answer to a NaN.
struct refuses_nan {
    std::size_t length(const observation& seen) const {
        if (seen.target_entropy_nats != seen.target_entropy_nats) throw std::domain_error("entropy is NaN");
        return 2;
    }
};

/// Learns into memory that all its copies share.
struct shares_memory {
    std::shared_ptr<std::size_t> accepted = std::make_shared<std::size_t>(0);
    std::size_t length(const observation&) const { return *accepted > 3 ? 4 : 1; }
    void learn(const outcome& happened) { *accepted += happened.accepted; }
};

/// Learns from a clock of its own.
struct looks_at_the_clock {
    std::size_t learned = 0;
    void learn(const outcome&) {
        static std::size_t ticks = 0;
        learned = ++ticks % 2;
    }
    std::size_t length(const observation&) const { return learned; }
};

/// By one signal.
template <signals Read>
bool is_confident(const observation& seen) {
    if (Read == signals::draft_entropy) return seen.first_draft_entropy_nats < 1;
    if (Read == signals::target_entropy) return seen.target_entropy_nats < 1;
    if (Read == signals::draft_confidence) return seen.path_value > 0.5;
    return seen.match_length > 2;
}

/// Reads a signal that it does not declare: in a decoding it drafts nothing, for the signal is never there.
template <signals Read, signals Declared = signals::none>
struct reads_undeclared {
    static constexpr signals_read reads{.required = Declared};
    std::size_t length(const observation& seen) const { return is_confident<Read>(seen) ? 4 : 0; }
};

/// Reads it only when it learns.
struct learns_from_undeclared {
    double entropy = 0;
    void learn(const outcome& happened) { entropy += happened.decided_on.target_entropy_nats; }
    std::size_t length(const observation&) const { return entropy > 1 ? 3 : 1; }
};

/// Was told that entropy is to come, and ends the draft before it has.
template <signals Used = signals::draft_entropy>
struct does_not_wait {
    static constexpr signals_read reads{.available = Used};
    std::size_t length(const observation& seen) const { return is_confident<Used>(seen) ? 4 : 0; }
};

/// The same, mended: "go on, and ask again".
template <signals Used = signals::draft_entropy>
struct waits : does_not_wait<Used> {
    std::size_t length(const observation& seen) const {
        return seen.pending != signals::none ? 4 : does_not_wait<Used>::length(seen);
    }
};

/// Looks at a row now and then only, which is its own affair.
struct looks_now_and_then : does_not_wait<> {
    std::size_t length(const observation& seen) const {
        if (includes(seen.pending, signals::draft_entropy)) return seen.round % 16 == 15 ? 1 : 0;
        return does_not_wait<>::length(seen);
    }
};

/// Waits for matches, but not for rows.
struct waits_for_one_of_two {
    static constexpr signals_read reads{.available = signals::match_length | signals::draft_entropy};
    std::size_t length(const observation& seen) const {
        if (includes(seen.pending, signals::match_length)) return 4;
        return seen.match_length > 2 && !includes(seen.pending, signals::draft_entropy) ? 4
               : seen.draft_entropy_nats < 1                                            ? 2
                                                                                        : 0;
    }
};

template <class Policy>
std::string broken_by(const Policy& policy, std::string_view law) {
    for (const testing::violation& v : policy_laws(policy).broken) {
        if (v.law == law) return v.what;
    }
    return "";
}

BOOST_AUTO_TEST_CASE(a_signal_that_is_read_but_not_declared_is_named) {
    const auto names = [](const auto& policy, const std::string& signal) {
        const auto found = broken_by(policy, "undeclared signals change nothing");
        BOOST_TEST(found.find("it reads " + signal + ", which it does not declare in `reads`") != std::string::npos,
                   found);
    };
    using enum signals;
    names(reads_undeclared<draft_entropy>{}, "draft_entropy");
    names(reads_undeclared<target_entropy>{}, "target_entropy");
    names(reads_undeclared<draft_confidence>{}, "draft_confidence");
    names(reads_undeclared<match_length>{}, "match_length");
    names(reads_undeclared<draft_entropy, draft_confidence | target_entropy>{}, "draft_entropy");
    names(learns_from_undeclared{}, "target_entropy");
    keeps(reads_undeclared<draft_entropy, draft_entropy>{});
    keeps(reads_undeclared<target_entropy, target_entropy>{});
    keeps(reads_undeclared<draft_confidence, draft_confidence>{});
    keeps(reads_undeclared<match_length, match_length>{});
}

BOOST_AUTO_TEST_CASE(a_signal_that_is_used_is_waited_for) {
    using enum signals;
    const auto found = broken_by(does_not_wait<>{}, "what is used is waited for");
    BOOST_TEST(found.find("it reads draft_entropy, but answers 0 wherever that is pending") != std::string::npos,
               found);
    BOOST_TEST(policy_laws(does_not_wait<draft_confidence>{}).breaks("what is used is waited for"));
    BOOST_TEST(policy_laws(does_not_wait<match_length>{}).breaks("what is used is waited for"));
    const auto of_two = broken_by(waits_for_one_of_two{}, "what is used is waited for");
    BOOST_TEST(of_two.find("it reads draft_entropy") != std::string::npos, of_two);
    keeps(waits<>{});
    keeps(waits<draft_confidence>{});
    keeps(waits<match_length>{});
    keeps(looks_now_and_then{});
    // What it shows of itself in a decoding: no draft, ever.
    const auto model = testing::hashed_model(6, 1);
    const auto drafted = [&](const auto& policy) {
        return decode::generate(speculate(model, model, policy, accept::coupled{}), std::vector<token>{1})
            .counts.stages.back()
            .drafted;
    };
    BOOST_TEST(drafted(does_not_wait<>{}) == 0u);
    BOOST_TEST(drafted(reads_undeclared<draft_entropy>{}) == 0u);
    BOOST_TEST(drafted(waits<>{}) > 0u);
}

BOOST_AUTO_TEST_CASE(a_policy_that_never_drafts_is_noted) {
    const auto notes = [](const auto& policy) {
        const auto r = policy_laws(policy);
        BOOST_TEST(r.kept(), r);
        return r.notes.size();
    };
    BOOST_TEST(notes(policy::fixed_length{0}) == 1u);
    BOOST_TEST(notes(policy::fixed_length{1}) == 0u);
    BOOST_TEST(notes(policy::cost_aware{}) == 0u);
    BOOST_TEST(notes(policy::learned_bins{}) == 0u);
    std::ostringstream out;
    out << policy_laws(policy::fixed_length{0});
    BOOST_TEST(out.str().find("\n  note: drafts nothing (0 on every observation") != std::string::npos, out.str());
}

/// What differs from question to question is not a signal that was read.
BOOST_AUTO_TEST_CASE(hidden_state_is_not_blamed_on_a_signal) {
    for (const auto& r : {policy_laws(counts_questions{}), policy_laws(counts_everybodys_questions{})}) {
        BOOST_TEST(r.breaks("equal observations, equal lengths"), r);
        BOOST_TEST(!r.breaks("undeclared signals change nothing"), r);
    }
}

/// With the observation that it threw on.
BOOST_AUTO_TEST_CASE(what_a_policy_throws_on_is_said) {
    const auto r = policy_laws(refuses_nan{});
    BOOST_TEST_REQUIRE(!r.kept());
    BOOST_TEST(r.broken[0].what.find(", on observation{round 0, prefix ") != std::string::npos, r);
}

BOOST_AUTO_TEST_CASE(every_law_is_broken_by_a_wrong_policy) {
    every_law::watch all;
    all.holds(policy_laws(policy::entropy_bins{}));
    all.holds(policy_laws(policy::cost_aware{}));
    all.breaks(policy_laws(reads_undeclared<signals::target_entropy>{}), "undeclared signals change nothing");
    all.breaks(policy_laws(does_not_wait<>{}), "what is used is waited for");
    all.breaks(policy_laws(counts_questions{}), "equal observations, equal lengths");
    all.breaks(policy_laws(tree_in_secret{}), "plans are of the declared shape");
    all.breaks(policy_laws(refuses_nan{}), "every observation has an answer");
    all.breaks(policy_laws(shares_memory{}), "a copy learns apart");
    all.breaks(policy_laws(looks_at_the_clock{}), "equal pasts, equal lengths");
    all.breaks(policy_laws(counts_everybodys_questions{}), "the distribution is kept");
}

BOOST_AUTO_TEST_SUITE_END()
