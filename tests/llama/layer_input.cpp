// What a layer of the bundled Llama was made of, and a head that makes that layer again.

#include <augur/accept/coupled.hpp>
#include <augur/accept/exact.hpp>
#include <augur/accept/rejection_sampling.hpp>
#include <augur/decode/generate.hpp>
#include <augur/llama/host_exit.hpp>
#include <augur/model/any_model.hpp>
#include <augur/scheme/cascade.hpp>
#include <augur/testing/promise.hpp>
#include <augur/train/layer_head.hpp>
#include <augur/train/packed_weight_matrix.hpp>
#include <augur/train/watcher.hpp>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <span>
#include <utility>
#include <vector>

#include "differences.hpp"
#include "llama/small_llama.hpp"
#include "train/while_learning.hpp"

BOOST_AUTO_TEST_SUITE(llama_layer_input)

using namespace augur;
using namespace augur::testing;
using packed_head = train::layer_head<train::packed_weight_matrix>;
static_assert(LayerInputModel<llama::host_model> && LayerInputModel<model::split_any_model<>>);

small_llama llama_of(io::tensor_type type) {
    return small_llama(type).with_four_layers();
}

packed_head head_of(const llama::host_model& target, std::size_t layer, std::size_t rank = 4) {
    const llama::weights& own = target.parameters();
    const llama::layer_weights& last = *own.layers[layer - 1];
    const train::packed_weight_matrix whole(own.output(), target.threads());
    return {{whole.beside(last.attention_output), whole.beside(last.gate), whole.beside(last.up),
             whole.beside(last.down), last.feed_forward_norm},
            whole,
            {layer, target.vocabulary_size(), own.final_norm, own.head_tokens},
            {.epsilon = static_cast<double>(target.configuration().norm_epsilon), .rank = rank, .layer_rank = rank}};
}

/// After the first `layers` layers of these tokens, so many at a time.
std::vector<float> layer_input_after(const llama::host_model& model, std::span<const token> tokens, std::size_t layers,
                                     std::size_t at_a_time) {
    auto sequence = model.make_sequence();
    for (std::size_t at = 0; at < tokens.size(); at += at_a_time) {
        const pass<llama::sequence> one{.sequence = &sequence,
                                        .tokens = tokens.subspan(at, std::min(at_a_time, tokens.size() - at)),
                                        .to_layer = layers};
        model.run(std::span(&one, 1));
    }
    const logit_row shown = model.layer_input(sequence);
    return {shown.begin(), shown.end()};
}

BOOST_AUTO_TEST_CASE(the_layer_makes_of_its_tap_the_state_that_is_verified_from) {
    for (const auto type : {io::tensor_type::f32, io::tensor_type::q8_0, io::tensor_type::q4_1}) {
        const auto model = llama_of(type).load();
        const auto tokens = some_tokens(9, 77);
        for (const std::size_t layer : {1u, 2u, 3u}) {
            auto sequence = model.make_sequence();
            const pass<llama::sequence> one{.sequence = &sequence, .tokens = tokens, .to_layer = layer};
            model.run(std::span(&one, 1));
            const logit_row layer_input = model.layer_input(sequence), state = model.hidden(sequence).back();
            BOOST_REQUIRE(layer_input.size() == model.layer_input_size());
            const auto head = head_of(model, layer);
            const auto exit = llama::host_exit::untrained(model, layer);
            std::vector<float> own(77), expected(77);
            head.row(layer_input, own);
            exit.row(state, expected);
            BOOST_TEST(largest_difference(own, expected) < 2e-3);
            const train::columns<float> column =
                Eigen::Map<const Eigen::VectorXf>(layer_input.data(), augur::detail::index(layer_input.size()));
            const Eigen::VectorXf got = head.forward(column).layer.state;
            BOOST_TEST(largest_difference({got.data(), got.data() + got.size()}, {state.begin(), state.end()}) < 2e-3);
        }
    }
}

BOOST_AUTO_TEST_CASE(a_layer_input_is_of_the_last_token_whatever_is_run_with_it) {
    const auto model = llama_of(io::tensor_type::q4_1).load({.threads = 1});
    const auto threaded = llama_of(io::tensor_type::q4_1).load({.threads = 3});
    const auto tokens = some_tokens(140, 77);  // more than go through together
    const auto whole = layer_input_after(model, tokens, 2, tokens.size());
    BOOST_TEST(whole == layer_input_after(model, tokens, 2, 1), boost::test_tools::per_element());
    BOOST_TEST(whole == layer_input_after(model, tokens, 2, 7), boost::test_tools::per_element());
    BOOST_TEST(whole == layer_input_after(threaded, tokens, 2, 64), boost::test_tools::per_element());
    BOOST_TEST(whole != layer_input_after(model, std::span(tokens).first(139), 2, 139));
    BOOST_TEST(whole != layer_input_after(model, tokens, 1, 140));
    auto first = model.make_sequence(), second = model.make_sequence();
    const std::vector<pass<llama::sequence>> both{
        {.sequence = &first, .tokens = std::span(tokens).first(5), .to_layer = 2},
        {.sequence = &second, .tokens = tokens, .to_layer = 2}};
    model.run(both);
    const logit_row shown = model.layer_input(second);
    BOOST_TEST(whole == std::vector<float>(shown.begin(), shown.end()), boost::test_tools::per_element());
    BOOST_TEST(model.layer_input(model.make_sequence()).empty());
}

BOOST_AUTO_TEST_CASE(texts_are_plain_decodings_while_the_layer_learns) {
    for (const auto type : {io::tensor_type::f32, io::tensor_type::q4_1}) {
        const auto target = llama_of(type).load();
        const auto prompt = some_tokens(11, 77);
        packed_head head = head_of(target, 2);
        train::trainer online(head, small_steps());
        const auto scheme = speculate(draft::self_speculation<packed_head&, draft::argmax>(head), target,
                                      policy::fixed_length{3}, accept::exact{});
        const auto before = head.values();
        std::size_t drafted = 0;
        for (int text = 0; text < 3; ++text) {
            decode::session s(scheme, prompt, transform::settings{.temperature = {0}}, {.max_tokens = 60},
                              random::philox_chooser(1));
            train::watcher learns(online);
            learns.attach(s);
            while (s.finished == finish_reason::running) decode::step(scheme, s, {.timed = false}, learns);
            BOOST_TEST(s.committed.generated() == std::span<const token>(greedy(target, prompt, 60)),
                       boost::test_tools::per_element());
            drafted += s.counts.stages.back().drafted;
        }
        BOOST_TEST(drafted > 60U);
        for (const auto& part : head.blocks()) {
            if (part.size() > 0) BOOST_TEST(train::block(head.values(), part) != train::block(before, part), part.name);
        }
    }
}

BOOST_AUTO_TEST_CASE(it_learns_what_it_was_shown) {
    const auto target = llama_of(io::tensor_type::f32).load();
    packed_head head = head_of(target, 1);
    auto chosen = small_steps();
    chosen.steps.rate = 0.02;
    train::trainer online(head, chosen);
    const auto scheme = speculate(draft::self_speculation<packed_head&, draft::argmax>(head), target,
                                  policy::fixed_length{2}, accept::exact{});
    const auto accepted = acceptance_of_repeats(scheme, some_tokens(11, 77), [&] { return train::watcher(online); });
    BOOST_TEST_MESSAGE("accepted " << accepted.front() << " -> " << accepted.back());
    BOOST_TEST(accepted.back() > accepted.front() + 0.3);
}

BOOST_AUTO_TEST_CASE(the_law_is_kept_with_a_layer_that_changes_after_every_round) {
    const auto target = small_llama(io::tensor_type::f32, 32, 4, 2, 24, 4).load({.threads = 1});
    const std::vector<token> start{2, 0, 1};
    const auto chosen = few_tokens({}, 3);
    const auto found = law_while_an_exit_learns(
        start, chosen, [&] { return head_of(target, 1, 2); }, target, accept::rejection_sampling{});
    BOOST_TEST(found.changed > found.rounds / 2);
    BOOST_TEST(total_variation(text_distribution_of(plain_sampling(target), start, chosen), found.texts) < 1e-12);
}

BOOST_AUTO_TEST_CASE(behind_virtual_functions_and_in_a_batch_too) {
    const auto target = llama_of(io::tensor_type::f32).load();
    packed_head head = head_of(target, 3);
    auto values = head.values();
    values.tail(values.size() / 2).array() += 0.01F;
    head.assign(values);
    const model::split_any_model<accept::exact> erased(target);
    BOOST_TEST(erased.layer_input_size() == target.layer_input_size());
    decode::options chosen;
    chosen.sampling.temperature.value = 0;
    chosen.stop.max_tokens = 40;
    std::vector<std::vector<token>> prompts;
    for (std::size_t i = 1; i < 5; ++i) prompts.push_back(some_tokens(3 * i, 77));
    const std::vector<std::span<const token>> spans(prompts.begin(), prompts.end());
    const auto compose = [&](const auto& of) {
        return speculate(draft::self_speculation<packed_head&>(head), of, policy::fixed_length{3}, accept::exact{});
    };
    const auto together = decode::generate_together(compose(erased), spans, chosen);
    for (std::size_t i = 0; i < prompts.size(); ++i) {
        BOOST_TEST(together[i].tokens == greedy(target, prompts[i], 40), boost::test_tools::per_element());
        const auto alone = decode::generate(compose(target), prompts[i], chosen);
        BOOST_TEST(alone.tokens == together[i].tokens, boost::test_tools::per_element());
        BOOST_TEST(alone.counts.stages.back().accepted == together[i].counts.stages.back().accepted);
    }
}

BOOST_AUTO_TEST_SUITE_END()
