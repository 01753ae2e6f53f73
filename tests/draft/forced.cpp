#include "augur/draft/forced.hpp"

#include <augur/accept/block.hpp>
#include <augur/accept/coupled.hpp>
#include <augur/accept/exact.hpp>
#include <augur/accept/rejection_sampling.hpp>
#include <augur/decode/generate.hpp>
#include <augur/draft/draft_model.hpp>
#include <augur/draft/fallback.hpp>
#include <augur/draft/merged.hpp>
#include <augur/draft/prompt_lookup.hpp>
#include <augur/testing/drafter_laws.hpp>
#include <augur/testing/models.hpp>
#include <augur/testing/promise.hpp>
#include <boost/test/unit_test.hpp>
#include <limits>
#include <string>
#include <vector>

namespace augur::draft {
static_assert(Drafter<forced>);
static_assert(shows_matches<fallback<forced, prompt_lookup<>>>);
}  // namespace augur::draft

using namespace augur;

BOOST_AUTO_TEST_SUITE(draft_forced)

using ids = std::vector<token>;

/// What may follow, by how many tokens were generated and the last of them: 1 is free, then 2, then 0 or 2.
void alternate(std::span<float> logits, const prefix& before) {
    const auto only = [&](std::initializer_list<token> left) {
        for (std::size_t t = 0; t < logits.size(); ++t) {
            if (std::find(left.begin(), left.end(), static_cast<token>(t)) == left.end()) {
                logits[t] = -std::numeric_limits<float>::infinity();
            }
        }
    };
    const auto written = before.generated();
    if (written.size() % 3 == 0) return;
    if (written.size() % 3 == 1) return only({2});
    only(written[written.size() - 2] == 1 ? std::initializer_list<token>{0} : std::initializer_list<token>{0, 2});
}

ids guess(const draft::forced& drafter, const transform::mask& mask, const ids& generated, std::size_t wanted,
          transform::bias bias = {}) {
    prefix before(ids{1});
    for (const token t : generated) before.push(t);
    const transform::pipeline transform({.bias = std::move(bias), .mask = mask}, 3);
    random::philox_chooser chooser(0);
    const policy::fixed_length policy{wanted};
    draft::context context(before, transform, chooser, policy, observation{}, 100, shown_by<draft::forced>);
    auto state = drafter.make_state();
    const auto proposed = draft::propose(drafter, state, context);
    BOOST_TEST(before.size() == 1 + generated.size());
    return {proposed.tokens().begin(), proposed.tokens().end()};
}

BOOST_AUTO_TEST_CASE(drafts_as_long_as_one_token_is_left) {
    const draft::forced drafter;
    BOOST_TEST(guess(drafter, alternate, {}, 9).empty());
    BOOST_TEST(guess(drafter, alternate, {1}, 9) == (ids{2, 0}));  // then all are free
    BOOST_TEST(guess(drafter, alternate, {0}, 9) == (ids{2}));
    BOOST_TEST(guess(drafter, alternate, {1}, 1) == (ids{2}));
    BOOST_TEST(guess(drafter, alternate, {1}, 0).empty());
    BOOST_TEST(guess(drafter, {}, {1}, 9).empty());
    const float never = -std::numeric_limits<float>::infinity();
    BOOST_TEST(guess(drafter, alternate, {0}, 2, {{{2, never}}}).empty());  // nothing is left
    BOOST_TEST(guess(drafter, alternate, {0, 2}, 1, {{{2, never}}}) == (ids{0}));
}

BOOST_AUTO_TEST_CASE(of_one_string_the_longest_token_is_drafted) {
    const auto with_texts = [](std::vector<std::string> texts) {
        return draft::forced([texts](token t) { return texts[static_cast<std::size_t>(t)]; });
    };
    const auto free = [](std::span<float>, const prefix&) {};
    BOOST_TEST(guess(with_texts({"na", "name", "n"}), free, {}, 1) == (ids{1}));
    BOOST_TEST(guess(with_texts({"na", "name", "name"}), free, {}, 2) == (ids{1, 1}));
    BOOST_TEST(guess(with_texts({"na", "name", "no"}), free, {}, 1).empty());
    BOOST_TEST(guess(with_texts({"na", "name", ""}), free, {}, 1).empty());
    BOOST_CHECK_THROW(draft::forced(draft::forced::text_function{}), error);
}

BOOST_AUTO_TEST_CASE(laws) {
    const auto r = testing::drafter_laws(draft::forced(), 3);
    BOOST_TEST(r.kept(), r);
}

BOOST_AUTO_TEST_CASE(plain_constrained_sampling_is_kept_beside_any_drafter) {
    const auto target = testing::hashed_model(3, 5);
    const auto spelled = [](token t) { return std::string(static_cast<std::size_t>(t) + 1, 'a'); };
    const draft::draft_model argmax(testing::hashed_model(3, 2), draft::argmax{});
    const draft::draft_model sampled(testing::hashed_model(3, 2), draft::sampled{});
    decode::options chosen;
    chosen.stop.max_tokens = 4;
    chosen.sampling.mask = alternate;
    const ids prompt{0, 1, 0, 1};
    const auto law = [&](const auto& drafter, const auto& criterion) {
        const auto scheme = speculate(drafter, target, policy::fixed_length{2}, criterion);
        BOOST_TEST(testing::broken_distribution(scheme, prompt, chosen) == "");
    };
    law(draft::forced(), accept::rejection_sampling{});
    law(draft::forced(spelled), accept::block{});
    law(draft::fallback(draft::forced(), draft::prompt_lookup(1)), accept::rejection_sampling{});
    law(draft::fallback(draft::forced(spelled), sampled), accept::block{});
    law(draft::merged(draft::forced(), argmax), accept::rejection_sampling{});
    const auto scheme =
        speculate(draft::fallback(draft::forced(), argmax), target, policy::fixed_length{2}, accept::coupled{});
    BOOST_TEST(testing::broken_text(scheme, prompt, chosen) == "");
}

BOOST_AUTO_TEST_CASE(what_is_forced_is_accepted_and_saves_passes) {
    const auto target = testing::hashed_model(3, 5);
    decode::options chosen;
    chosen.stop.max_tokens = 60;
    chosen.sampling = {.mask = alternate, .temperature = {0}};
    const ids prompt{1, 2};
    const auto scheme = speculate(draft::forced(), target, policy::fixed_length{4}, accept::exact{});
    const auto decoded = decode::generate(scheme, prompt, chosen);
    BOOST_TEST(decoded.tokens == decode::generate(plain(target), prompt, chosen).tokens);
    const auto& counts = decoded.counts.stages[0];
    BOOST_TEST(counts.drafted >= 20u);  // one of three at least
    BOOST_TEST(counts.accepted == counts.drafted);
    BOOST_TEST(decoded.counts.rounds() == 60 - counts.accepted);
}

BOOST_AUTO_TEST_SUITE_END()
