#include "augur/model/checkpointed.hpp"

#include <augur/accept/coupled.hpp>
#include <augur/accept/rejection_sampling.hpp>
#include <augur/decode/batch.hpp>
#include <augur/decode/generate.hpp>
#include <augur/draft/draft_model.hpp>
#include <augur/draft/prompt_lookup.hpp>
#include <augur/model/any_model.hpp>
#include <augur/policy/tree_static.hpp>
#include <augur/scheme/cascade.hpp>
#include <augur/scheme/speculator.hpp>
#include <augur/testing/model_laws.hpp>
#include <boost/test/unit_test.hpp>
#include <deque>
#include <string>
#include <vector>

#include "model/recurrent_mock.hpp"

using namespace augur;

BOOST_AUTO_TEST_SUITE(model_checkpointed)

namespace {

const testing::function_model sound = testing::hashed_model(5, 1, 2, 128);

std::vector<token> some_text(std::size_t length) {
    std::vector<token> text(length);
    for (std::size_t i = 0; i < length; ++i) text[i] = static_cast<token>(i * i % 5);
    return text;
}

decode::options some_options() {
    decode::options chosen{.seed = 3};
    chosen.stop.max_tokens = 40;
    return chosen;
}

static_assert(SavesSequences<recurrent_mock> && !Model<recurrent_mock>);
static_assert(ScoresLastRows<model::checkpointed<recurrent_mock>> && !BatchModel<model::checkpointed<recurrent_mock>>);
static_assert(BatchModel<model::checkpointed<recurrent_batch_mock>> &&
              has_bitwise_rows<model::checkpointed<recurrent_mock>>);
static_assert(!SavesSequences<testing::function_model>);

}  // namespace

BOOST_AUTO_TEST_CASE(it_keeps_the_laws_of_models) {
    const testing::effort tries{.cases = 60};
    for (const std::size_t states : {1u, 2u, 8u}) {
        const auto one = testing::model_laws(model::checkpointed(recurrent_mock(sound), states), tries);
        BOOST_TEST(one.kept(), one);
    }
    for (const std::size_t most : {no_limit, std::size_t{4}}) {
        const recurrent_batch_mock batches(sound, {.most_tokens_of_a_pass = most});
        const auto many = testing::model_laws(model::checkpointed(batches, 3), tries);
        BOOST_TEST(many.kept(), many);
        const auto erased = testing::model_laws(model::any_model(model::checkpointed(batches)), tries);
        BOOST_TEST(erased.kept(), erased);
    }
}

/// The tokens between a state and where the text was cut go into the pass that is asked for.
BOOST_AUTO_TEST_CASE(a_decoding_has_as_many_passes_as_rounds) {
    const recurrent_mock source(sound);
    const model::checkpointed target(source);
    const auto scheme = speculate(testing::noisy_model(sound, 0.3), target, policy::fixed_length{4}, accept::coupled{});
    const auto text = decode::generate(scheme, some_text(6), some_options());
    BOOST_TEST(text.counts.rounds() < 40u);
    BOOST_TEST(source.counts().passes == text.counts.rounds() + 1);  // and the prompt's
    BOOST_TEST(source.counts().loads < text.counts.rounds());        // of rounds that reject something
    BOOST_TEST(source.counts().loads > 0u);
    BOOST_TEST(source.counts().saves <= source.counts().passes);
}

BOOST_AUTO_TEST_CASE(texts_are_those_of_the_model_that_rewinds) {
    const model::checkpointed target{recurrent_mock(sound)};
    const model::checkpointed few(recurrent_mock(sound), 1);
    const testing::function_model draft = testing::noisy_model(sound, 0.3);
    const model::checkpointed drafts{recurrent_mock(draft)};
    const auto prompt = some_text(6);
    const auto same = [&](const auto& make) {
        const auto expected = decode::generate(make(sound, draft), prompt, some_options());
        for (const auto& got : {decode::generate(make(target, drafts), prompt, some_options()),
                                decode::generate(make(few, draft), prompt, some_options())}) {
            BOOST_TEST(got.tokens == expected.tokens, boost::test_tools::per_element());
            BOOST_TEST(got.counts.rounds() == expected.counts.rounds());
        }
    };
    same([](const auto& target_model, const auto&) { return plain(target_model); });
    same([](const auto& target_model, const auto& small) {
        return speculate(small, target_model, policy::fixed_length{4}, accept::coupled{});
    });
    same([](const auto& target_model, const auto& small) {
        return speculate(small, target_model, policy::fixed_length{12}, accept::rejection_sampling{});
    });
    same([](const auto& target_model, const auto&) {
        return speculate(draft::prompt_lookup{}, target_model, policy::fixed_length{6}, accept::coupled{});
    });
    same([](const auto& target_model, const auto& small) {
        return speculate(small, target_model, policy::tree_static{topology{-1, -1, 0, 0, 1}}, accept::coupled{});
    });
}

BOOST_AUTO_TEST_CASE(sequences_of_a_batch_are_those_alone) {
    for (const std::size_t most : {no_limit, std::size_t{7}}) {
        const recurrent_batch_mock source(sound, {.most_tokens_of_a_pass = most});
        const model::checkpointed target(source);
        const testing::function_model draft = testing::noisy_model(sound, 0.3);
        const auto scheme = speculate(draft, target, policy::fixed_length{3}, accept::coupled{});
        const auto alone = speculate(draft, sound, policy::fixed_length{3}, accept::coupled{});
        const auto begun = [](const auto& of, std::size_t length) {
            commit::stop_conditions stop;
            stop.max_tokens = 20 + length;
            return decode::session(of, some_text(length), {}, stop, random::philox_chooser(length));
        };
        std::deque<decltype(begun(scheme, 1))> sessions;
        decode::batch batch(scheme);
        for (std::size_t length = 1; length <= 4; ++length) batch.add(sessions.emplace_back(begun(scheme, length)));
        source.reset();
        std::size_t turns = 0;
        for (bool more = true; more; ++turns) more = batch.advance();
        for (std::size_t length = 1; length <= 4; ++length) {
            auto one = begun(alone, length);
            while (one.finished == finish_reason::running) decode::step(alone, one);
            BOOST_TEST(sessions[length - 1].committed.generated() == one.committed.generated(),
                       boost::test_tools::per_element());
        }
        if (most == no_limit) BOOST_TEST(source.counts().passes < turns);  // drafting takes most of the turns
    }
}

/// Eight passes of a token each; then all but three tokens are taken back.
BOOST_AUTO_TEST_CASE(where_no_state_is_left_the_text_is_run_again) {
    const auto after = [](std::size_t states, std::size_t left) {
        const recurrent_mock source(sound);
        const model::checkpointed model(source, states);
        auto s = model.make_sequence();
        for (const token t : some_text(8)) model.extend(s, std::vector<token>{t});
        model.truncate(s, left);
        BOOST_TEST(model.length(s) == left);
        source.reset();
        const auto got = testing::copy_of(model.extend(s, std::vector<token>{2}));
        auto fresh = sound.make_sequence();
        auto text = some_text(left);
        text.push_back(2);
        BOOST_TEST(testing::difference(testing::copy_of(sound.extend(fresh, text, 1)), got) == "");
        BOOST_TEST(source.counts().passes == 1u);
        BOOST_TEST(source.counts().loads == 1u);
        BOOST_TEST(source.counts().tokens == s.rerun_tokens() + 1);
        return s.rerun_tokens();
    };
    BOOST_TEST(after(8, 3) == 0u);  // saved before each pass
    BOOST_TEST(after(5, 3) == 0u);  // after 3, 4, 5, 6 and 7 tokens
    BOOST_TEST(after(4, 3) == 3u);  // from the start
    BOOST_TEST(after(1, 7) == 0u);
    BOOST_TEST(after(1, 6) == 6u);
}

BOOST_AUTO_TEST_CASE(a_cut_alone_costs_nothing_and_cuts_add_up) {
    const recurrent_mock source(sound);
    const model::checkpointed model(source);
    auto s = model.make_sequence();
    model.extend(s, some_text(5));
    model.extend(s, some_text(6));
    source.reset();
    model.truncate(s, 9);
    model.truncate(s, 7);
    BOOST_TEST(source.counts().loads == 0u);
    model.extend(s, std::vector<token>{1});
    BOOST_TEST(source.counts().loads == 1u);
    BOOST_TEST(s.rerun_tokens() == 2u);
    model.truncate(s, 7);  // it was saved after five
    model.truncate(s, 6);
    model.extend(s, std::vector<token>{1});
    BOOST_TEST(s.rerun_tokens() == 3u);
}

/// Rounds of four tokens of which one stays: what is between the state and the next pass grows by one each time.
BOOST_AUTO_TEST_CASE(what_is_between_has_a_bound) {
    const auto run_again = [](std::size_t most_between, std::size_t passes) {
        const recurrent_mock source(sound);
        const model::checkpointed model(source, 8, most_between);
        auto s = model.make_sequence();
        model.extend(s, some_text(5));
        source.reset();
        for (std::size_t round = 0; round < 12; ++round) {
            model.extend(s, some_text(4));
            model.truncate(s, 6 + round);
        }
        BOOST_TEST(source.counts().passes == passes);
        auto fresh = sound.make_sequence();
        auto text = some_text(5);
        text.insert(text.end(), 13, some_text(1)[0]);
        const auto got = testing::copy_of(model.extend(s, some_text(1)));
        BOOST_TEST(testing::difference(testing::copy_of(sound.extend(fresh, text, 1)), got) == "");
        return s.rerun_tokens();
    };
    BOOST_TEST(run_again(no_limit, 12) == 12u * 13 / 2);
    BOOST_TEST(run_again(3, 12 + 2) < 40u);  // before the fifth and the ninth round
    BOOST_TEST(run_again(0, 12 + 11) == 12u);
}

BOOST_AUTO_TEST_CASE(what_fails_leaves_a_sequence_that_goes_on) {
    bool fails = false;
    const testing::function_model sometimes(5, 128, [&](std::span<const token> text, std::span<float> row) {
        if (fails && text.size() > 4) throw error("no row");
        sound.fill_row(text, row);
    });
    /// What it has run before it throws stays in its memory.
    struct half_done : recurrent_mock {
        using recurrent_mock::recurrent_mock;
        scores extend(sequence_type& s, std::span<const token> tokens) const {
            for (const token t : tokens.first(tokens.size() - 1)) recurrent_mock::extend(s, std::span(&t, 1));
            return recurrent_mock::extend(s, tokens.last(1));
        }
    };
    const model::checkpointed model{half_done(sometimes)};
    auto s = model.make_sequence();
    model.extend(s, some_text(2));
    fails = true;
    BOOST_CHECK_THROW(model.extend(s, some_text(4)), error);
    BOOST_TEST(model.length(s) == 2u);
    fails = false;
    const auto got = testing::copy_of(model.extend(s, std::vector<token>{3}, 1));
    auto fresh = sound.make_sequence();
    BOOST_TEST(testing::difference(testing::copy_of(sound.extend(fresh, std::vector<token>{0, 1, 3}, 1)), got) == "");
}

BOOST_AUTO_TEST_CASE(what_it_cannot_do_is_refused_with_the_values) {
    const auto refuses = [](const auto& what, const std::string& said) {
        BOOST_CHECK_EXCEPTION(what(), error, [&](const error& e) {
            BOOST_TEST(std::string(e.what()).find(said) != std::string::npos, e.what());
            return true;
        });
    };
    refuses([] { model::checkpointed(recurrent_mock(sound), 0); }, "0 states");
    const model::checkpointed model{recurrent_mock(sound)};
    auto s = model.make_sequence(), other = model.make_sequence();
    model.extend(s, some_text(3));
    refuses([&] { model.truncate(s, 4); }, "3 tokens to 4");
    refuses([&] { model.extend(s, some_text(126)); }, "3 tokens cannot grow by 126 in a context of 128");
    refuses([&] { model.extend(s, some_text(2), 3); }, "3 rows of 2 tokens");
    const std::vector<token> two{1, 2};
    const std::vector<std::int32_t> parents{-1, -1};
    using asked = pass<sequence_t<std::remove_cvref_t<decltype(model)>>>;
    refuses([&] { model.run(std::vector<asked>{{.sequence = &s, .tokens = two, .parents = parents}}); }, "parents");
    refuses(
        [&] {
            model.run(std::vector<asked>{{.sequence = &s, .tokens = two}, {.sequence = &other}});
        },
        "2 passes, but one at a time");
    BOOST_TEST(model.length(s) == 3u);
}

BOOST_AUTO_TEST_SUITE_END()
