// Eight sessions of the bundled Llama as one batch, and draft trees on it: what they would be alone, bit for bit.

#include <augur/accept/coupled.hpp>
#include <augur/accept/rejection_sampling.hpp>
#include <augur/decode/batch.hpp>
#include <augur/decode/generate.hpp>
#include <augur/draft/calls.hpp>
#include <augur/draft/draw_next.hpp>
#include <augur/scheme/speculator.hpp>
#include <boost/test/unit_test.hpp>
#include <cstddef>
#include <memory>
#include <set>
#include <span>
#include <vector>

#include "llama/small_llama.hpp"

using namespace augur;
using namespace augur::testing;

BOOST_AUTO_TEST_SUITE(llama_decode_batch)

BOOST_AUTO_TEST_CASE(eight_sessions_are_what_they_are_alone) {
    for (const auto type : {io::tensor_type::f32, io::tensor_type::q8_0}) {
        const auto target = small_llama(type).load({.threads = 2});
        const auto small = small_llama(type).load({.threads = 1, .layers = {0}});
        const auto scheme = speculate(small, target, policy::fixed_length{3}, accept::rejection_sampling{});
        std::vector<std::vector<token>> prompts;
        for (std::size_t i = 0; i < 8; ++i) prompts.push_back(some_tokens(3 + 9 * i, target.vocabulary_size()));
        const std::vector<std::span<const token>> spans(prompts.begin(), prompts.end());
        decode::options chosen{.seed = 21};
        chosen.stop.max_tokens = 24;
        chosen.log_probabilities = true;
        chosen.timed = false;
        const auto together = decode::generate_together(scheme, spans, chosen);
        std::set<std::size_t> rounds;
        for (std::size_t i = 0; i < 8; ++i) {
            decode::options own = chosen;
            own.seed += i;
            const auto alone = decode::generate(scheme, prompts[i], own);
            BOOST_TEST(together[i].tokens == alone.tokens, boost::test_tools::per_element());
            BOOST_TEST(together[i].log_probabilities == alone.log_probabilities, boost::test_tools::per_element());
            rounds.insert(alone.counts.rounds());
        }
        BOOST_TEST(rounds.size() > 1u);
    }
}

BOOST_AUTO_TEST_CASE(every_row_in_a_batch_is_the_one_alone) {
    const auto target = small_llama(io::tensor_type::bf16).load({.threads = 2});
    const auto scheme = plain(target);
    using session = decode::session<std::remove_const_t<decltype(scheme)>>;
    std::vector<std::vector<std::vector<float>>> seen(8);
    std::vector<std::unique_ptr<session>> sessions;
    decode::batch together(scheme);
    const auto begin = [&](std::size_t i) {
        return std::make_unique<session>(scheme, some_tokens(2 + 40 * i, target.vocabulary_size()),
                                         transform::settings{}, commit::stop_conditions{.max_tokens = 6 + i},
                                         random::philox_chooser(i));
    };
    for (std::size_t i = 0; i < 8; ++i) together.add(*sessions.emplace_back(begin(i)));
    for (bool running = true; running;) {
        running = together.advance();
        for (std::size_t i = 0; i < 8; ++i) {
            if (sessions[i]->counts.rounds() == seen[i].size()) continue;
            const auto states = target.hidden(sessions[i]->target.sequence());
            seen[i].emplace_back(states[0].begin(), states[0].end());
        }
    }
    for (std::size_t i = 0; i < 8; ++i) {
        const auto alone = begin(i);
        for (std::size_t round = 0; alone->finished == finish_reason::running; ++round) {
            decode::step(scheme, *alone);
            const auto states = target.hidden(alone->target.sequence());
            BOOST_TEST_REQUIRE(round < seen[i].size());
            BOOST_TEST(std::vector<float>(states[0].begin(), states[0].end()) == seen[i][round],
                       boost::test_tools::per_element());
        }
        BOOST_TEST(seen[i].size() == 6 + i);
    }
}

/// Two guesses for the next token, and two for what follows the first of them.
template <Model M>
struct small_tree {
    using draft_distribution_type = point_mass;
    static constexpr bool branches = true;
    struct state_type {
        model::cached_sequence<M> cache;
        distribution spare{};
    };

    const M& source;
    state_type make_state() const { return {model::cached_sequence<M>(source)}; }
    flow::task propose(state_type& state, auto& context, proposal<point_mass>& proposed) const {
        constexpr std::int32_t parents[] = {after_prefix, after_prefix, 0, 0, 2};
        for (std::size_t node = 0; node < std::size(parents); ++node) {
            if (!context.wants_more(node < 2 ? 0 : node < 4 ? 1 : 2)) break;
            const draft::at_node here(context, proposed, parents[node]);
            const auto rows = co_await state.cache.ask(context.prefix().tokens(), 1);
            if (draft::draw_next(draft::argmax{}, rows[0], context, proposed, state.spare, parents[node], node % 2) ==
                no_token) {
                co_return;
            }
        }
    }
    void on_commit(state_type& state, const prefix& committed) const { state.cache.rewind(committed.tokens()); }
};

/// Accepted nodes that are not the first child of their parent.
struct sibling_counter {
    std::size_t& siblings;
    void watch(const auto& view) {
        for (std::size_t node : view.decided.path) siblings += node == 1 || node == 3 ? 1 : 0;
    }
};

BOOST_AUTO_TEST_CASE(trees_write_the_text_of_plain_decoding) {
    const auto target = small_llama(io::tensor_type::f32).load({.threads = 2});
    const small_tree<llama::host_model> drafter{
        target};  // so that it is accepted often, but not always at its first guess
    const auto scheme = speculate(drafter, target, policy::fixed_length{3}, accept::coupled{});
    decode::options chosen{.seed = 2};
    chosen.stop.max_tokens = 60;
    const auto prompt = some_tokens(7, target.vocabulary_size());
    const auto expected = decode::generate(plain(target), prompt, chosen);
    std::size_t siblings = 0;
    sibling_counter watcher{siblings};
    const auto decoded = decode::generate(scheme, prompt, chosen, watcher);
    BOOST_TEST(decoded.tokens == expected.tokens, boost::test_tools::per_element());
    BOOST_TEST(decoded.counts.rounds() < expected.counts.rounds());
    BOOST_TEST(siblings > 0u);
}

BOOST_AUTO_TEST_SUITE_END()
