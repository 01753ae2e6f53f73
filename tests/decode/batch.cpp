#include <augur/decode/batch.hpp>
//
#include <augur/accept/coupled.hpp>
#include <augur/accept/rejection_sampling.hpp>
#include <augur/decode/generate.hpp>
#include <augur/draft/draft_model.hpp>
#include <augur/draft/fallback.hpp>
#include <augur/draft/prompt_lookup.hpp>
#include <augur/policy/tree_static.hpp>
#include <augur/scheme/cascade.hpp>
#include <augur/scheme/speculator.hpp>
#include <augur/testing/models.hpp>
#include <augur/testing/refined_models.hpp>
#include <boost/test/unit_test.hpp>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "draft/exit_mock.hpp"

BOOST_AUTO_TEST_SUITE(decode_batch)

using namespace augur;

/// Counts the runs and the passes in them, and says which rows it gave for which text.
class counted_batches : public testing::pass_mock<pass_features::batches> {
 public:
    using testing::pass_mock<pass_features::batches>::pass_mock;

    auto run(std::span<const pass<sequence_type>> asked) const {
        ++runs;
        largest = std::max(largest, asked.size());
        return pass_mock::run(asked);
    }

    mutable std::size_t runs = 0, largest = 0;
};

std::vector<std::vector<token>> prompts() {
    std::vector<std::vector<token>> texts;
    for (token i = 0; i < 8; ++i) texts.push_back(std::vector<token>(static_cast<std::size_t>(1 + i % 5), i));
    return texts;
}

/// Everything of 8 texts as one batch equals each alone; the texts end at different rounds.
void check_together(const auto& scheme, decode::options chosen) {
    const auto all = prompts();
    const std::vector<std::span<const token>> spans(all.begin(), all.end());
    chosen.log_probabilities = true;
    chosen.timed = false;
    const auto together = decode::generate_together(scheme, spans, chosen);
    BOOST_TEST_REQUIRE(together.size() == all.size());
    std::set<std::size_t> rounds;
    for (std::size_t i = 0; i < all.size(); ++i) {
        decode::options own = chosen;
        own.seed += i;
        const auto alone = decode::generate(scheme, all[i], own);
        BOOST_TEST(together[i].tokens == alone.tokens, boost::test_tools::per_element());
        BOOST_TEST(together[i].log_probabilities == alone.log_probabilities, boost::test_tools::per_element());
        BOOST_TEST((together[i].finish == alone.finish));
        BOOST_TEST(together[i].counts.rounds() == alone.counts.rounds());
        BOOST_TEST(together[i].seed == own.seed);
        rounds.insert(alone.counts.rounds());
    }
    BOOST_TEST(rounds.size() > 1u);
}

BOOST_AUTO_TEST_CASE(eight_texts_are_what_they_are_alone) {
    const counted_batches target(testing::hashed_model(40, 1)), small(testing::hashed_model(40, 2));
    decode::options chosen{.seed = 11};
    chosen.stop.max_tokens = 30;
    check_together(speculate(small, target, policy::fixed_length{3}, accept::rejection_sampling{}), chosen);
    BOOST_TEST(target.largest == 8u);
    BOOST_TEST(small.largest == 8u);
}

BOOST_AUTO_TEST_CASE(a_larger_batch_may_follow_a_smaller_one) {
    const counted_batches target(testing::hashed_model(40, 1));
    decode::options chosen{.seed = 5};
    chosen.stop.max_tokens = 5;
    const std::vector<token> prompt{1, 2};
    for (const std::size_t size : {2u, 100u}) {
        const std::vector<std::span<const token>> all(size, prompt);
        const auto together = decode::generate_together(plain(target), all, chosen);
        BOOST_TEST(target.largest == size);
        for (std::size_t i = 0; i < size; ++i) {
            decode::options own = chosen;
            own.seed += i;
            BOOST_TEST(together[i].tokens == decode::generate(plain(target), prompt, own).tokens,
                       boost::test_tools::per_element());
        }
    }
}

BOOST_AUTO_TEST_CASE(passes_of_a_model_are_run_together) {
    const counted_batches target(testing::hashed_model(40, 1)), small(testing::hashed_model(40, 2));
    const auto scheme = speculate(small, target, policy::fixed_length{3}, accept::coupled{});
    std::deque<decode::session<std::remove_const_t<decltype(scheme)>>> sessions;
    decode::batch batch(scheme);
    const auto all = prompts();
    for (const auto& prompt : all) {
        batch.add(sessions.emplace_back(scheme, prompt, transform::settings{}, commit::stop_conditions{},
                                        random::philox_chooser(1)));
    }
    target.runs = small.runs = 0;
    for (std::size_t turn = 0; turn < 4; ++turn) BOOST_TEST(batch.advance());
    BOOST_TEST(small.runs == 3u);  // a turn for each drafted token, one for the target
    BOOST_TEST(target.runs == 1u);
    for (const auto& s : sessions) BOOST_TEST(s.counts.rounds() == 1u);
}

BOOST_AUTO_TEST_CASE(cascades_and_fallbacks_too) {
    const counted_batches target(testing::hashed_model(20, 1)), middle(testing::hashed_model(20, 2)),
        small(testing::hashed_model(20, 3));
    decode::options chosen{.seed = 5};
    chosen.stop.max_tokens = 20;
    check_together(cascaded(small, scheme::model_link{policy::fixed_length{2}, accept::rejection_sampling{}}, middle,
                            scheme::model_link{policy::fixed_length{3}, accept::rejection_sampling{}}, target),
                   chosen);
    BOOST_TEST(middle.largest == 8u);
    check_together(
        speculate(draft::fallback(draft::prompt_lookup{}, small), target, policy::fixed_length{3}, accept::coupled{}),
        chosen);
}

BOOST_AUTO_TEST_CASE(models_that_run_one_pass_at_a_time_serve_too) {
    const auto target = testing::hashed_model(40, 1), small = testing::hashed_model(40, 2);
    decode::options chosen{.seed = 3};
    chosen.stop.max_tokens = 25;
    check_together(speculate(small, target, policy::fixed_length{3}, accept::rejection_sampling{}), chosen);
}

BOOST_AUTO_TEST_CASE(sessions_join_and_leave) {
    const counted_batches target(testing::hashed_model(40, 1));
    const auto small = testing::hashed_model(40, 2);
    const auto scheme = speculate(small, target, policy::fixed_length{3}, accept::coupled{});
    using session = decode::session<std::remove_const_t<decltype(scheme)>>;
    const std::vector<token> prompt{1, 2, 3};
    const auto begin = [&](std::uint64_t seed) {
        return session(scheme, prompt, transform::settings{}, commit::stop_conditions{.max_tokens = 30},
                       random::philox_chooser(seed));
    };
    session a = begin(1), b = begin(2);
    decode::batch batch(scheme);
    batch.add(a);
    BOOST_CHECK_EXCEPTION(batch.add(a), error, [](const error& e) {
        return std::string(e.what()) == "a session was added to a batch of 1 that it is in already";
    });
    batch.advance();
    batch.advance();
    batch.add(b);
    batch.advance();  // a's round is open now
    BOOST_TEST(batch.remove(a));
    BOOST_TEST(!batch.remove(a));
    BOOST_TEST(a.committed.size() == prompt.size());
    while (batch.advance()) {
    }
    BOOST_TEST((b.finished == finish_reason::max_tokens));
    while (a.finished == finish_reason::running) decode::step(scheme, a);
    decode::options chosen{.seed = 1};
    chosen.stop.max_tokens = 30;
    const auto alone = decode::generate(scheme, prompt, chosen);
    BOOST_TEST(std::vector<token>(a.committed.generated().begin(), a.committed.generated().end()) == alone.tokens,
               boost::test_tools::per_element());
}

/// Grants any number of what was drafted.
struct capricious : decode::grant_everything {
    std::size_t state = 1, cut = 0;

    template <class Session>
    void allot(std::span<const decode::row_bid<Session>> bids) noexcept {
        for (const auto& each : bids) {
            state = (state * 1103515245 + 12345) % 2147483648;
            const std::size_t nodes = state / 65536 % (each.proposed->size() + 1);
            cut += each.proposed->size() - nodes;
            each.proposed->grant(nodes);
        }
    }
};

/// Texts whose noise belongs to the position are the same, whatever is verified of their drafts.
void check_cut(const auto& scheme) {
    using scheme_type = std::remove_cvref_t<decltype(scheme)>;
    std::deque<decode::session<scheme_type>> sessions;
    decode::batch<scheme_type> batch(scheme);
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
        batch.add(sessions.emplace_back(scheme, std::vector<token>{1, 2, 1}, transform::settings{},
                                        commit::stop_conditions{.max_tokens = 30}, random::philox_chooser(seed)));
    }
    capricious market;
    while (batch.advance(market)) {
    }
    BOOST_TEST(!market.first);
    BOOST_TEST(market.cut > 20u);
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
        const auto alone =
            decode::generate(scheme, std::vector<token>{1, 2, 1}, {.seed = seed, .stop = {.max_tokens = 30}});
        const auto generated = sessions[seed].committed.generated();
        BOOST_TEST(std::vector<token>(generated.begin(), generated.end()) == alone.tokens,
                   boost::test_tools::per_element());
    }
}

BOOST_AUTO_TEST_CASE(whatever_is_verified_of_the_drafts_the_texts_are_the_same) {
    const testing::full_mock target(testing::hashed_model(9, 1)), small(testing::hashed_model(9, 2));
    const auto middle = testing::hashed_model(9, 3);
    const testing::exit_mock head{.vocabulary = 9, .after = 2, .noise = 1.5f};
    check_cut(speculate(small, target, policy::fixed_length{4}, accept::coupled{}));
    check_cut(speculate(draft::draft_model(small), target, policy::tree_static{topology{-1, -1, 0, 0, 2}},
                        accept::coupled{}));
    check_cut(speculate(head, target, policy::fixed_length{4}, accept::coupled{}));
    check_cut(cascaded(small, scheme::model_link{policy::fixed_length{2}, accept::coupled{}}, middle,
                       scheme::model_link{policy::fixed_length{3}, accept::coupled{}}, target));
}

/// Throws in the pass that would make a text longer than it can.
class fragile : public testing::pass_mock<pass_features::batches> {
 public:
    using testing::pass_mock<pass_features::batches>::pass_mock;

    auto run(std::span<const pass<sequence_type>> asked) const {
        for (const auto& each : asked) {
            if (!each.tokens.empty() && each.tokens.back() == 13) throw error("thirteen");
        }
        return pass_mock::run(asked);
    }
};

BOOST_AUTO_TEST_CASE(what_a_model_throws_ends_one_round_alone) {
    const fragile target(testing::hashed_model(14, 1));
    const auto scheme = plain(target);
    std::deque<decode::session<std::remove_const_t<decltype(scheme)>>> sessions;
    decode::batch batch(scheme);
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
        batch.add(sessions.emplace_back(scheme, std::vector<token>{1, 2}, transform::settings{},
                                        commit::stop_conditions{.max_tokens = 20}, random::philox_chooser(seed)));
    }
    std::size_t thrown = 0;
    for (bool running = true; running;) {
        try {
            running = batch.advance();
        } catch (const error& e) {
            BOOST_TEST(e.what() == "thirteen");
            ++thrown;
        }
    }
    std::size_t left = 0;
    for (const auto& s : sessions) {
        const bool ended = s.finished != finish_reason::running;
        BOOST_TEST(ended == (s.committed.tokens().back() != 13 || s.committed.generated().size() == 20));
        left += ended ? 0 : 1;
    }
    BOOST_TEST(left > 0u);
    BOOST_TEST(left < 8u);
    BOOST_TEST(thrown > 0u);
    BOOST_TEST(batch.size() == 8 - left);
}

/// Throws the last token where it is 12 or more.
class naming : public testing::pass_mock<pass_features::batches> {
 public:
    using testing::pass_mock<pass_features::batches>::pass_mock;

    auto run(std::span<const pass<sequence_type>> asked) const {
        for (const auto& each : asked) {
            if (!each.tokens.empty() && each.tokens.back() >= 12) throw error(std::to_string(each.tokens.back()));
        }
        return pass_mock::run(asked);
    }
};

BOOST_AUTO_TEST_CASE(of_several_that_throw_the_first_is_heard_and_only_once) {
    const naming target(testing::hashed_model(14, 1));
    const auto scheme = plain(target);
    std::deque<decode::session<std::remove_const_t<decltype(scheme)>>> sessions;
    decode::batch batch(scheme);
    for (const token last : {1, 12, 13}) {
        batch.add(sessions.emplace_back(scheme, std::vector<token>{1, last}, transform::settings{},
                                        commit::stop_conditions{.max_tokens = 1}, random::philox_chooser(0)));
    }
    BOOST_CHECK_EXCEPTION(batch.advance(), error, [](const error& e) { return std::string(e.what()) == "12"; });
    BOOST_TEST(batch.size() == 1u);
    BOOST_TEST(!batch.advance());
}

/// What it is shown, and of whom.
struct notes {
    std::vector<token> prompt, seen;
    std::size_t attached = 0;

    void attach(const auto& session) {
        ++attached;
        prompt.assign(session.committed.tokens().begin(), session.committed.tokens().end());
    }
    void watch(const auto& view) {
        for (const auto& each : view.committed) seen.push_back(each.id);
    }
};

BOOST_AUTO_TEST_CASE(each_session_has_watchers_of_its_own) {
    const counted_batches target(testing::hashed_model(40, 1)), small(testing::hashed_model(40, 2));
    const auto scheme = speculate(small, target, policy::fixed_length{3}, accept::coupled{});
    using scheme_type = std::remove_const_t<decltype(scheme)>;
    const auto all = prompts();
    std::deque<decode::session<scheme_type>> sessions;
    std::vector<notes> shown(all.size());
    decode::batch<scheme_type, random::philox_chooser, notes> together(scheme);
    for (std::size_t i = 0; i < all.size(); ++i) {
        sessions.emplace_back(scheme, all[i], transform::settings{}, commit::stop_conditions{.max_tokens = 20},
                              random::philox_chooser(i));
        together.add(sessions.back(), shown[i]);
    }
    while (together.advance()) {
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
        notes alone;
        const auto decoded = decode::generate(scheme, all[i], {.seed = i, .stop = {.max_tokens = 20}}, alone);
        BOOST_TEST(shown[i].seen == decoded.tokens, boost::test_tools::per_element());
        BOOST_TEST(alone.seen == decoded.tokens, boost::test_tools::per_element());
        BOOST_TEST((shown[i].prompt == all[i] && alone.prompt == all[i]));
        BOOST_TEST((shown[i].attached == 1u && alone.attached == 1u));
    }
    BOOST_TEST(target.largest == 8u);
}

BOOST_AUTO_TEST_CASE(texts_together_have_no_stream) {
    const auto target = testing::hashed_model(14, 1);
    const std::vector<token> prompt{1, 2};
    const std::vector<std::span<const token>> two(2, prompt);
    decode::options chosen;
    chosen.on_token = [](const commit::committed_token&) { return true; };
    BOOST_CHECK_EXCEPTION(decode::generate_together(plain(target), two, chosen), error, [](const error& e) {
        return std::string(e.what()).starts_with("generate_together: 2 texts, but one on_token");
    });
}

/// A watcher that calls a function each round.
struct caller {
    std::function<void()> call{};
    void watch(const auto&) const {
        if (call) call();
    }
};

/// Texts of a scheme that join and leave.
struct visitors {
    using scheme_type =
        decltype(speculate(std::declval<const counted_batches&>(), std::declval<const counted_batches&>(),
                           policy::fixed_length{3}, accept::coupled{}));
    using session_type = decode::session<scheme_type>;

    counted_batches target{testing::hashed_model(40, 1)}, small{testing::hashed_model(40, 2)};
    scheme_type scheme =
        speculate(std::as_const(small), std::as_const(target), policy::fixed_length{3}, accept::coupled{});

    std::unique_ptr<session_type> begin(std::uint64_t seed) const {
        const std::vector<token> prompt{1, 2, 3};
        return std::make_unique<session_type>(scheme, prompt, transform::settings{},
                                              commit::stop_conditions{.max_tokens = 20}, random::philox_chooser(seed));
    }
    std::vector<token> alone(std::uint64_t seed) const {
        auto s = begin(seed);
        while (s->finished == finish_reason::running) decode::step(scheme, *s);
        return {s->committed.generated().begin(), s->committed.generated().end()};
    }
};

BOOST_FIXTURE_TEST_CASE(sessions_that_end_make_room_for_others_between_turns, visitors) {
    std::vector<std::unique_ptr<session_type>> living;
    std::vector<std::vector<token>> texts(12);
    std::map<const session_type*, std::uint64_t> seeds;
    decode::batch<scheme_type> batch(scheme);
    std::uint64_t next = 0;
    const auto join = [&] {
        if (next == texts.size()) return;
        living.push_back(begin(next));
        seeds[living.back().get()] = next++;
        batch.add(*living.back());
    };
    for (std::size_t i = 0; i < 3; ++i) join();
    for (std::size_t turns = 0; !living.empty() && turns < 1000; ++turns) {
        batch.advance();
        const std::size_t ended = std::erase_if(living, [&](const auto& each) {
            if (each->finished == finish_reason::running) return false;
            const auto generated = each->committed.generated();
            texts[seeds.at(each.get())].assign(generated.begin(), generated.end());
            BOOST_TEST(batch.remove(*each));
            return true;
        });
        for (std::size_t i = 0; i < 2 * ended && living.size() < 4; ++i) join();
        BOOST_TEST(batch.size() == living.size());
    }
    BOOST_TEST(batch.size() == 0u);
    for (std::uint64_t seed = 0; seed < texts.size(); ++seed) {
        BOOST_TEST(texts[seed] == alone(seed), boost::test_tools::per_element());
    }
}

BOOST_FIXTURE_TEST_CASE(one_session_may_send_the_others_away, visitors) {
    auto first = begin(1), second = begin(2), third = begin(3);
    decode::batch<scheme_type, random::philox_chooser, caller> batch(scheme);
    caller does_nothing, sends_away;
    batch.add(*first, does_nothing);
    batch.add(*second, sends_away);
    batch.add(*third, does_nothing);
    sends_away.call = [&] {
        if (first == nullptr) return;
        BOOST_TEST(batch.remove(*first));
        BOOST_TEST(batch.remove(*third));  // its round has not been resumed yet
        first.reset();
        third.reset();
    };
    while (batch.advance()) {
    }
    BOOST_TEST(batch.size() == 1u);
    BOOST_TEST(
        std::vector<token>(second->committed.generated().begin(), second->committed.generated().end()) == alone(2),
        boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(nobody_removes_a_session_in_its_own_round, visitors) {
    auto first = begin(1), second = begin(2);
    decode::batch<scheme_type>* in = nullptr;
    std::string heard;
    const auto says = [&](const auto& act) {
        try {
            act();
        } catch (const error& e) {
            heard = e.what();
        }
    };
    decode::step_options chosen;
    bool removes = true;
    chosen.on_token = [&](const commit::committed_token&) {
        if (!std::exchange(removes, false)) return true;
        says([&] { in->advance(); });
        BOOST_TEST(heard == "a turn of a batch of 2 was begun inside another one");
        says([&] { in->remove(*first); });
        BOOST_TEST(heard ==
                   "a session cannot be removed from a batch of 2 inside its own round: remove it between "
                   "two turns");
        return true;
    };
    decode::batch<scheme_type> batch(scheme, chosen);
    in = &batch;
    batch.add(*first);
    batch.add(*second);
    while (batch.advance()) {
    }
    BOOST_TEST(!heard.empty());
    BOOST_TEST(first->committed.generated().size() == 20u);
    BOOST_TEST(batch.remove(*first));
}

/// Throws in joint runs, when all sequences have grown.
class grows_and_throws : public testing::pass_mock<pass_features::batches> {
 public:
    using testing::pass_mock<pass_features::batches>::pass_mock;

    auto run(std::span<const pass<sequence_type>> asked) const {
        const auto rows = pass_mock::run(asked);
        if (asked.size() > 1 && ++joint % 2 == 0) throw error("grown");
        return rows;
    }
    void truncate(sequence_type& s, std::size_t length) const {
        ++truncations;
        pass_mock::truncate(s, length);
    }

    mutable std::size_t joint = 0, truncations = 0;
};

BOOST_AUTO_TEST_CASE(a_joint_run_that_throws_after_it_grew_is_taken_back) {
    const grows_and_throws target(testing::hashed_model(40, 1)), small(testing::hashed_model(40, 2));
    decode::options chosen{.seed = 3};
    chosen.stop.max_tokens = 25;
    check_together(speculate(small, target, policy::fixed_length{3}, accept::coupled{}), chosen);
    BOOST_TEST(target.joint > 10u);
    BOOST_TEST(target.truncations > 10u);
}

BOOST_AUTO_TEST_SUITE_END()
