#include "augur/train/watcher.hpp"

#include <boost/test/unit_test.hpp>
#include <cstddef>
#include <string>
#include <vector>

#include "augur/accept/block.hpp"
#include "augur/accept/coupled.hpp"
#include "augur/accept/exact.hpp"
#include "augur/accept/rejection_sampling.hpp"
#include "augur/draft/self_speculation.hpp"
#include "augur/policy/fixed_length.hpp"
#include "augur/scheme/speculator.hpp"
#include "augur/testing/refined_models.hpp"
#include "augur/train/state_head.hpp"
#include "train/identity.hpp"
#include "train/while_learning.hpp"

// A head that changes after every round keeps the law that its scheme promises, exactly.
BOOST_AUTO_TEST_SUITE(train_watcher)
using namespace augur;
using namespace augur::train;
using testing::few_tokens;
using testing::wild_steps;

constexpr std::size_t vocabulary = 3;
const std::vector<token> prompt{2, 0, 1};
using head_type = state_head<dense_weight_matrix<float>>;
static_assert(draft::ExitHead<head_type>);

head_type new_head() {
    return {testing::identity_base(vocabulary), {.layer = 2, .vocabulary_size = vocabulary}, {.rank = 2}};
}
/// The distribution of texts while a head, made anew for each path, learns from the path's own rounds.
template <class Criterion>
testing::seen_while_learning learned_law(const testing::split_mock& target, Criterion criterion,
                                         const decode::options& chosen) {
    return testing::law_while_an_exit_learns(prompt, chosen, new_head, target, criterion);
}

template <class Criterion>
void keeps_the_distribution(const Criterion& criterion, const decode::options& chosen) {
    const testing::split_mock target(testing::hashed_model(vocabulary, 5));
    const auto found = learned_law(target, criterion, chosen);
    BOOST_TEST(found.changed > found.rounds / 2);
    BOOST_TEST(testing::total_variation(testing::text_distribution_of(testing::plain_sampling(target), prompt, chosen),
                                        found.texts) < 1e-12);
    BOOST_TEST(found.texts.total() == 1, boost::test_tools::tolerance(1e-12));
}

BOOST_AUTO_TEST_CASE(the_targets_distribution_is_kept) {
    keeps_the_distribution(accept::rejection_sampling{}, few_tokens());
    keeps_the_distribution(accept::rejection_sampling{}, few_tokens({.temperature = {0.7F}, .top_k = {2}}));
    keeps_the_distribution(accept::block{}, few_tokens());
}

BOOST_AUTO_TEST_CASE(the_seeded_and_the_greedy_text_are_kept) {
    const testing::split_mock target(testing::hashed_model(vocabulary, 5));
    const auto chosen = few_tokens();
    const auto coupled = learned_law(target, accept::coupled{}, chosen);
    BOOST_TEST(coupled.changed > coupled.rounds / 2);
    BOOST_TEST(testing::total_variation(testing::text_distribution_of(plain(target), prompt, chosen), coupled.texts) <
               1e-12);
    const auto greedy = few_tokens({.temperature = {0}}, 40);
    const auto exact = learned_law(target, accept::exact{}, greedy);
    BOOST_TEST(exact.texts.probability.size() == 1U);
    BOOST_TEST(testing::total_variation(testing::text_distribution_of(plain(target), prompt, greedy), exact.texts) <
               1e-12);
    BOOST_TEST(exact.changed > exact.rounds / 2);
}

BOOST_AUTO_TEST_CASE(a_head_that_remembers_other_paths_is_found_out) {
    const testing::split_mock target(testing::hashed_model(vocabulary, 5));
    head_type head = new_head();
    trainer online(head, wild_steps());
    const auto scheme = speculate(draft::self_speculation<head_type&, draft::sampled>(head), target,
                                  policy::fixed_length{2}, accept::rejection_sampling{});
    const auto decode = [&](const testing::enumerating_chooser& chooser) {
        decode::session s(scheme, prompt, {}, {.max_tokens = 4}, chooser);
        watcher learns(online);
        learns.attach(s);
        while (s.finished == finish_reason::running) decode::step(scheme, s, {.timed = false}, learns);
        const auto text = s.committed.generated();
        return std::vector<token>(text.begin(), text.end());
    };
    BOOST_CHECK_THROW(testing::enumerate(decode), error);
}

BOOST_AUTO_TEST_CASE(a_watcher_that_was_not_attached_says_so) {
    const testing::split_mock target(testing::hashed_model(vocabulary, 5));
    head_type head = new_head();
    trainer online(head, wild_steps());
    const auto scheme = speculate(draft::self_speculation<head_type&, draft::argmax>(head), target,
                                  policy::fixed_length{2}, accept::exact{});
    decode::session s(scheme, prompt, transform::settings{.temperature = {0}}, {.max_tokens = 12},
                      random::philox_chooser(1));
    watcher learns(online);
    BOOST_CHECK_EXCEPTION(decode::step(scheme, s, {.timed = false}, learns), error, [](const error& found) {
        return std::string(found.what()).find("before it was attached to a session") != std::string::npos;
    });
    decode::attach(s, learns);
    BOOST_CHECK_NO_THROW(decode::step(scheme, s, {.timed = false}, learns));
}

struct every_other_round {
    static constexpr signals_read reads{.available = signals::none};
    std::size_t length(const observation& seen) const { return seen.round % 2 == 0 ? 2 : 0; }
};

BOOST_AUTO_TEST_CASE(every_row_teaches_also_of_rounds_that_the_head_did_not_draft_in) {
    const testing::split_mock target(testing::hashed_model(vocabulary, 5));
    head_type head = new_head();
    auto chosen = wild_steps();
    chosen.replay.capacity = 64;
    trainer online(head, chosen);
    const auto scheme = speculate(draft::self_speculation<head_type&, draft::argmax>(head), target, every_other_round{},
                                  accept::exact{});
    decode::session s(scheme, prompt, transform::settings{.temperature = {0}}, {.max_tokens = 12},
                      random::philox_chooser(1));
    watcher learns(online);
    learns.attach(s);
    std::size_t rounds = 0, plain = 0;
    while (s.finished == finish_reason::running) {
        const auto before = online.report().samples;
        const auto numbers = head.values();
        const auto& round = decode::step(scheme, s, {.timed = false}, learns);
        BOOST_TEST(online.report().samples - before == round.decided.drafted + 1);
        BOOST_TEST((head.values() != numbers));
        ++(round.decided.drafted > 0 ? rounds : plain);
    }
    BOOST_TEST(rounds > 1U);
    BOOST_TEST(plain > 1U);
}

BOOST_AUTO_TEST_CASE(a_frozen_head_drafts_the_same_and_is_shown_what_it_drafts_from_alone) {
    const testing::split_mock target(testing::hashed_model(vocabulary, 5));
    const head_type head = new_head();
    const draft::frozen_head frozen(head);
    static_assert(draft::learns<head_type> && !draft::learns<draft::frozen_head<head_type>>);
    const auto states = [&](const auto& drafter, std::vector<token>& text) {
        const auto scheme = speculate(drafter, target, every_other_round{}, accept::exact{});
        decode::session s(scheme, prompt, transform::settings{.temperature = {0}}, {.max_tokens = 12},
                          random::philox_chooser(1));
        std::vector<std::size_t> counts;
        while (s.finished == finish_reason::running) {
            const std::size_t before = s.committed.size();
            const auto& round = decode::step(scheme, s, {.timed = false});
            counts.push_back(s.drafter_state.exit_states.of(before).size() / head.hidden_size());
            counts.push_back(round.decided.drafted);
        }
        text.assign(s.committed.tokens().begin(), s.committed.tokens().end());
        return counts;
    };
    std::vector<token> text, again;
    const auto learning = states(draft::self_speculation<const head_type&, draft::argmax>(head), text);
    const auto still =
        states(draft::self_speculation<const draft::frozen_head<head_type>&, draft::argmax>(frozen), again);
    BOOST_TEST(text == again);
    BOOST_TEST(learning.size() == still.size());
    for (std::size_t i = 0; i < still.size(); i += 2) {
        BOOST_TEST(learning[i + 1] == still[i + 1]);
        BOOST_TEST(learning[i] == learning[i + 1] + 1);
        BOOST_TEST(still[i] == still[i + 1]);
    }
}

BOOST_AUTO_TEST_CASE(it_learns_what_it_was_shown) {
    // The same rounds again and again: what was rejected at first is accepted in the end.
    const testing::split_mock target(testing::hashed_model(vocabulary, 5));
    head_type head = new_head();
    trainer online(head, testing::small_steps());
    const auto scheme = speculate(draft::self_speculation<head_type&, draft::argmax>(head), target,
                                  policy::fixed_length{2}, accept::exact{});
    const auto accepted = testing::acceptance_of_repeats(scheme, prompt, [&] { return watcher(online); });
    BOOST_TEST_MESSAGE("accepted " << accepted.front() << " -> " << accepted.back());
    BOOST_TEST(accepted.back() > accepted.front() + 0.3);
    BOOST_TEST(online.report().samples == 64U);
}

BOOST_AUTO_TEST_SUITE_END()
