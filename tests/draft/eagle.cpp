#include "augur/draft/eagle.hpp"

#include <algorithm>
#include <augur/accept/block.hpp>
#include <augur/accept/coupled.hpp>
#include <augur/accept/exact.hpp>
#include <augur/accept/rejection_sampling.hpp>
#include <augur/decode/generate.hpp>
#include <augur/policy/entropy_bins.hpp>
#include <augur/testing/drafter_laws.hpp>
#include <augur/testing/refined_models.hpp>
#include <augur/testing/scheme_laws.hpp>
#include <boost/test/unit_test.hpp>
#include <memory>

using namespace augur;

BOOST_AUTO_TEST_SUITE(draft_eagle)

using testing::fused_mock;
using testing::hidden_state_mock;

static_assert(Drafter<draft::eagle<const fused_mock&, draft::argmax>> &&
              ReadsStates<draft::eagle<const fused_mock&, draft::argmax>>);
static_assert(!HearsCommits<draft::eagle<const fused_mock&, draft::argmax>> &&
              shows_rows<draft::eagle<const fused_mock&, draft::argmax>>);

/// A target of `vocabulary` tokens, whose hidden states are its logits, and a layer on them.
struct models {
    explicit models(std::size_t vocabulary, std::size_t context = 2000, std::size_t own_context = 2000)
        : target(testing::hashed_model(vocabulary, 1, 2, context)),
          layer(testing::hashed_model(vocabulary, 2, 1, own_context), vocabulary) {}
    hidden_state_mock target;
    fused_mock layer;

    /// What is drafted greedily after `text`, computed without any cache: every token runs the layer anew, over the
    /// target's states up to the root, then over the layer's own.
    std::vector<token> drafted(std::vector<token> text, std::size_t count) const {
        auto sequence = target.make_sequence();
        const auto known = target.extend(sequence, std::span(text).first(text.size() - 1));
        std::vector<float> states;
        for (std::size_t i = 0; i < known.size(); ++i) states.insert(states.end(), known[i].begin(), known[i].end());
        std::vector<token> tokens;
        for (; tokens.size() < count; text.push_back(tokens.back())) {
            auto fresh = layer.make_sequence();
            const auto inputs = std::span<const token>(text).subspan(1);
            const auto rows = layer.extend(fresh, inputs, states, 1);
            tokens.push_back(static_cast<token>(std::max_element(rows[0].begin(), rows[0].end()) - rows[0].begin()));
            const auto own = layer.hidden(fresh);
            states.insert(states.end(), own[0].begin(), own[0].end());
        }
        return tokens;
    }
};

template <class Scheme>
auto session_of(const Scheme& scheme, std::span<const token> prompt, std::size_t tokens = 1000) {
    return decode::session<Scheme>(scheme, prompt, {.temperature = {0}}, {.max_tokens = tokens},
                                   random::philox_chooser(0));
}

BOOST_AUTO_TEST_CASE(drafts_run_from_the_targets_states_up_to_the_root_and_from_its_own_after) {
    const models family(5);
    const auto scheme = speculate(draft::eagle(family.layer), family.target, policy::fixed_length{4}, accept::exact{});
    bool accepted = false, rejected = false;
    for (const std::size_t length : {2u, 3u, 127u, 128u, 129u, 130u, 131u, 700u}) {  // some in several parts
        std::vector<token> prompt(length);
        for (std::size_t i = 0; i < length; ++i) prompt[i] = static_cast<token>(i * i % 5);
        auto session = session_of(scheme, prompt);
        for (int round = 0; round < 12; ++round) {
            const auto before = session.committed.tokens();
            const auto expected = family.drafted({before.begin(), before.end()}, 4);
            const auto& record = decode::step(scheme, session);
            BOOST_TEST(record.proposed.tokens() == std::span<const token>(expected), boost::test_tools::per_element());
            (record.decided.accepted > 0 ? accepted : rejected) = true;
        }
    }
    BOOST_TEST((accepted && rejected));
}

BOOST_AUTO_TEST_CASE(it_keeps_the_laws_of_drafters) {
    const models family(3, 40, 8);  // a context that drafts reach the end of
    const auto r = testing::drafter_laws(draft::eagle(family.layer, draft::argmax{}), family.target);
    BOOST_TEST(r.kept(), r);
    BOOST_TEST(r.checked.size() == 8u, r);
    const auto sampling = testing::drafter_laws(draft::eagle(family.layer, draft::sampled{}), family.target);
    BOOST_TEST(sampling.kept(), sampling);
    BOOST_TEST(sampling.checked.size() == 12u, sampling);
}

BOOST_AUTO_TEST_CASE(schemes_with_it_keep_theirs) {
    const models family(3);
    const policy::fixed_length two{2};
    decode::options chosen;
    chosen.stop.max_tokens = 3;
    const auto scheme = speculate(family.layer, family.target, two, accept::rejection_sampling{});
    static_assert(std::is_same_v<decltype(scheme)::drafter_type, draft::eagle<const fused_mock&, draft::sampled>>);
    const auto r = testing::scheme_laws(scheme, chosen, {.cases = 6});
    BOOST_TEST(r.kept(), r);
    const auto promised = [&](const auto& other) {
        return testing::broken_promise(other, std::vector<token>{2, 0, 1}, chosen);
    };
    BOOST_TEST(promised(speculate(family.layer, family.target, two, accept::block{})) == "");
    BOOST_TEST(promised(speculate(draft::eagle(family.layer), family.target, two, accept::rejection_sampling{})) == "");
    BOOST_TEST(promised(speculate(family.layer, family.target, two, accept::coupled{})) == "");
    const policy::entropy_bins uncertain{{0.3, 0.8}, {3, 2, 0}};
    BOOST_TEST(promised(speculate(family.layer, family.target, uncertain, accept::rejection_sampling{})) == "");
    chosen.sampling.temperature.value = 0;
    BOOST_TEST(promised(speculate(family.layer, family.target, two, accept::exact{})) == "");
}

BOOST_AUTO_TEST_CASE(after_one_token_there_is_no_state_to_draft_from) {
    const models family(4);
    const auto scheme = speculate(draft::eagle(family.layer), family.target, policy::fixed_length{3}, accept::exact{});
    auto session = session_of(scheme, std::vector<token>{2});
    BOOST_TEST(decode::step(scheme, session).proposed.size() == 0u);
    BOOST_TEST(decode::step(scheme, session).proposed.size() == 3u);
}

BOOST_AUTO_TEST_CASE(where_its_context_ends_it_proposes_nothing) {
    const models family(4, 2000, 10);
    const auto scheme = speculate(draft::eagle(family.layer), family.target, policy::fixed_length{5}, accept::exact{});
    auto session = session_of(scheme, std::vector<token>{2, 1, 0, 3, 3, 1}, 40);
    while (session.finished == finish_reason::running) {
        const std::size_t inputs = session.committed.size() - 1;  // at the root; every further token is one more
        const std::size_t budget = inputs > 10 ? 0 : 11 - inputs;
        const std::size_t left = 46 - session.committed.size() - 1;
        BOOST_TEST(decode::step(scheme, session).proposed.size() == std::min({budget, std::size_t{5}, left}));
    }
    const std::vector<token> longer(300, 1);
    auto beyond = session_of(scheme, longer, 3);
    BOOST_TEST(decode::step(scheme, beyond).proposed.size() == 0u);
}

/// Wants nothing, but every `period` rounds a draft.
struct now_and_then {
    std::size_t period = 1;
    std::size_t length(const observation& seen) const { return seen.round % period == period - 1 ? 3 : 0; }
};

BOOST_AUTO_TEST_CASE(rounds_without_a_draft_are_caught_up_with) {
    const models family(5);
    for (const std::size_t period : {2u, 7u, 300u}) {
        const auto scheme = speculate(draft::eagle(family.layer), family.target, now_and_then{period}, accept::exact{});
        auto session = session_of(scheme, std::vector<token>{2, 1, 4});
        for (std::size_t round = 0; round < 2 * period; ++round) {
            const auto before = session.committed.tokens();
            const bool drafts = round % period == period - 1;
            const auto expected = drafts ? family.drafted({before.begin(), before.end()}, 3) : std::vector<token>{};
            BOOST_TEST(decode::step(scheme, session).proposed.tokens() == std::span<const token>(expected),
                       boost::test_tools::per_element());
        }
    }
}

/// Counts what the layer is asked for.
struct counting_layer : fused_mock {
    using fused_mock::fused_mock;
    std::shared_ptr<std::vector<std::size_t>> calls = std::make_shared<std::vector<std::size_t>>();
    scores extend(sequence_type& s, std::span<const token> tokens, std::span<const float> states,
                  std::size_t last) const {
        calls->push_back(tokens.size());
        return fused_mock::extend(s, tokens, states, last);
    }
};

BOOST_AUTO_TEST_CASE(one_pass_per_row_and_what_was_committed_goes_with_the_first) {
    const hidden_state_mock target(testing::hashed_model(5, 1));
    const counting_layer layer(testing::hashed_model(5, 2, 1), 5);
    const auto scheme = speculate(draft::eagle(layer), target, policy::fixed_length{3}, accept::exact{});
    auto session = session_of(scheme, std::vector<token>{2, 1, 4, 0});
    BOOST_TEST((*layer.calls == std::vector<std::size_t>{3}));  // with the prompt
    std::size_t news = 1;                                       // the root's row again
    for (int round = 0; round < 10; ++round) {
        layer.calls->clear();
        const auto accepted = decode::step(scheme, session).decided.accepted;
        BOOST_TEST((*layer.calls == std::vector<std::size_t>{news, 1, 1}));
        news = accepted + 1;
    }
}

BOOST_AUTO_TEST_CASE(proposing_again_proposes_the_same) {
    const models family(5);
    const draft::eagle drafter(family.layer, draft::argmax{});
    const auto scheme = speculate(drafter, family.target, policy::fixed_length{3}, accept::exact{});
    auto session = session_of(scheme, std::vector<token>{2, 1, 4});
    for (int round = 0; round < 5; ++round) {
        const auto once = [&] {
            draft::context context(session.committed, session.transform, session.chooser, session.policy, session.seen,
                                   std::size_t{9});
            const auto proposed = draft::propose(drafter, session.drafter_state, context);
            return std::vector<token>(proposed.tokens().begin(), proposed.tokens().end());
        };
        const auto first = once();
        BOOST_TEST(first.size() == 3u);
        BOOST_TEST(once() == first);
        decode::step(scheme, session);
    }
}

BOOST_AUTO_TEST_CASE(states_of_another_size_are_refused) {
    const models family(5);
    const fused_mock narrow(testing::hashed_model(5, 2), 3);
    BOOST_CHECK_EXCEPTION(
        speculate(draft::eagle(narrow), family.target, policy::fixed_length{3}, accept::exact{}), error,
        [](const error& e) { return std::string(e.what()).find("of 3 numbers, but the target's have 5") < 99; });
}

BOOST_AUTO_TEST_SUITE_END()
