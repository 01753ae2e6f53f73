// A head that computes a layer of the bundled Llama on a path of its own.

#include <augur/accept/coupled.hpp>
#include <augur/accept/exact.hpp>
#include <augur/accept/rejection_sampling.hpp>
#include <augur/decode/generate.hpp>
#include <augur/llama/host_exit.hpp>
#include <augur/model/any_model.hpp>
#include <augur/scheme/cascade.hpp>
#include <augur/testing/promise.hpp>
#include <augur/train/attending_head.hpp>
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

BOOST_AUTO_TEST_SUITE(llama_attending)

using namespace augur;
using namespace augur::testing;
using packed_head = train::attending_head<train::packed_weight_matrix>;
static_assert(draft::AttendingHead<packed_head>);

/// Drafts after `layer` layers, of which it computes the last itself.
packed_head head_of(const llama::host_model& target, std::size_t layer, std::size_t rank = 4) {
    const llama::weights& own = target.parameters();
    const llama::layer_weights& last = *own.layers[layer - 1];
    const llama::config& c = target.configuration();
    const std::vector<double> frequencies = llama::rotary_frequencies(c);
    const train::packed_weight_matrix whole(own.output(), target.threads());
    train::attending_options chosen{
        train::head_options{.epsilon = static_cast<double>(c.norm_epsilon), .rank = rank, .layer_rank = rank}};
    chosen.attention_rank = rank;
    return {{whole.beside(last.query), whole.beside(last.key), whole.beside(last.value), c.head_size, frequencies,
             last.attention_norm},
            {whole.beside(last.attention_output), whole.beside(last.gate), whole.beside(last.up),
             whole.beside(last.down), last.feed_forward_norm},
            whole,
            {layer - 1, target.vocabulary_size(), own.final_norm, own.head_tokens},
            chosen};
}

BOOST_AUTO_TEST_CASE(it_starts_as_the_exit_after_the_models_layer) {
    for (const auto type : {io::tensor_type::f32, io::tensor_type::q8_0}) {
        const auto model = small_llama(type).with_four_layers().load();
        const auto tokens = some_tokens(19, 77);
        for (const std::size_t layer : {2u, 3u, 4u}) {
            const auto head = head_of(model, layer);
            auto own = head.make_sequence();
            auto sequence = model.make_sequence(), deeper = model.make_sequence();
            const pass<llama::sequence> before{.sequence = &sequence, .tokens = tokens, .to_layer = layer - 1};
            model.run(std::span(&before, 1));
            const auto states = model.hidden(sequence);
            for (std::size_t at = 0; at < tokens.size(); ++at) {
                const logit_row state = states[at];
                head.append(own, state);
                if (layer == 4) continue;
                const pass<llama::sequence> one{
                    .sequence = &deeper, .tokens = std::span(tokens).subspan(at, 1), .to_layer = layer};
                model.run(std::span(&one, 1));
                std::vector<float> row(77), expected(77);
                head.row(own, row);
                llama::host_exit::untrained(model, layer).row(model.hidden(deeper).back(), expected);
                BOOST_TEST(largest_difference(row, expected) < (type == io::tensor_type::f32 ? 2e-3 : 2e-1));
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(texts_are_plain_decodings_while_attention_learns) {
    for (const auto type : {io::tensor_type::f32, io::tensor_type::q4_1}) {
        const auto target = small_llama(type).with_four_layers().load();
        const auto prompt = some_tokens(11, 77);
        packed_head head = head_of(target, 3);
        train::trainer online(head, small_steps());
        const auto scheme = speculate(draft::self_speculation<packed_head&, draft::argmax>(head), target,
                                      policy::fixed_length{3}, accept::exact{});
        const auto before = head.values();
        std::size_t drafted = 0;
        for (int text = 0; text < 2; ++text) {
            decode::session s(scheme, prompt, transform::settings{.temperature = {0}}, {.max_tokens = 50},
                              random::philox_chooser(1));
            train::watcher learns(online);
            learns.attach(s);
            while (s.finished == finish_reason::running) decode::step(scheme, s, {.timed = false}, learns);
            BOOST_TEST(s.committed.generated() == std::span<const token>(greedy(target, prompt, 50)),
                       boost::test_tools::per_element());
            drafted += s.counts.stages.back().drafted;
        }
        BOOST_TEST(drafted > 40U);
        for (const auto& part : head.blocks()) {
            if (part.size() > 0) BOOST_TEST(train::block(head.values(), part) != train::block(before, part), part.name);
        }
    }
}

BOOST_AUTO_TEST_CASE(the_law_is_kept_with_attention_that_changes_after_every_round) {
    const auto target = small_llama(io::tensor_type::f32, 32, 4, 2, 24, 4).load({.threads = 1});
    const std::vector<token> start{2, 0, 1};
    const auto chosen = few_tokens({}, 3);
    const auto found = law_while_an_exit_learns(
        start, chosen, [&] { return head_of(target, 2, 2); }, target, accept::rejection_sampling{});
    BOOST_TEST(found.changed > found.rounds / 2);
    BOOST_TEST(total_variation(text_distribution_of(plain_sampling(target), start, chosen), found.texts) < 1e-12);
}

BOOST_AUTO_TEST_CASE(behind_virtual_functions_and_in_a_batch_too) {
    const auto target = small_llama(io::tensor_type::f32).with_four_layers().load();
    packed_head head = head_of(target, 3);
    auto values = head.values();
    values.tail(values.size() / 2).array() += 0.01F;
    head.assign(values);
    const model::split_any_model<accept::exact> erased(target);
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
