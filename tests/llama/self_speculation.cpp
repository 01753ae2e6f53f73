// The bundled Llama drafts with its own first layers.

#include <augur/accept/coupled.hpp>
#include <augur/accept/exact.hpp>
#include <augur/accept/rejection_sampling.hpp>
#include <augur/decode/generate.hpp>
#include <augur/llama/host_exit.hpp>
#include <augur/model/any_model.hpp>
#include <augur/policy/confidence_stop.hpp>
#include <augur/scheme/cascade.hpp>
#include <augur/testing/promise.hpp>
#include <boost/test/unit_test.hpp>
#include <span>
#include <vector>

#include "llama/draft_bundle.hpp"

BOOST_AUTO_TEST_SUITE(llama_self_speculation)

using namespace augur;
using namespace augur::testing;
using policy::confidence_stop;
using policy::fixed_length;

const std::vector<token> prompt = some_tokens(11, 77);

/// Of four layers; those from `idle` on leave their states as they are.
small_llama four_layers(io::tensor_type type = io::tensor_type::f32, std::size_t idle = 4) {
    small_llama file = small_llama(type).with_four_layers();
    for (std::size_t layer = idle; layer < 4; ++layer) {
        const std::string name = "blk." + std::to_string(layer) + ".";
        file.zeros.insert(file.zeros.end(), {name + "attn_output", name + "ffn_down"});
    }
    return file;
}

decode::options greedy_options() {
    decode::options chosen;
    chosen.sampling.temperature.value = 0;
    chosen.stop.max_tokens = 60;
    return chosen;
}

/// A Llama, and how many tokens its passes had.
class counted_llama {
 public:
    static constexpr bool bitwise_rows = true;
    static constexpr pass_features passes = every_pass_feature;
    using sequence_type = llama::sequence;

    explicit counted_llama(const llama::host_model& of) : of_(of) {}

    std::size_t vocabulary_size() const { return of_.vocabulary_size(); }
    std::size_t context_length() const { return of_.context_length(); }
    std::size_t hidden_size() const { return of_.hidden_size(); }
    std::size_t layer_count() const { return of_.layer_count(); }
    std::size_t waiting(const sequence_type& s) const { return of_.waiting(s); }
    sequence_type make_sequence() const { return of_.make_sequence(); }
    std::size_t length(const sequence_type& s) const { return of_.length(s); }
    void truncate(sequence_type& s, std::size_t length) const { of_.truncate(s, length); }
    void keep(sequence_type& s, std::span<const std::size_t> path) const { of_.keep(s, path); }
    scores hidden(const sequence_type& s) const { return of_.hidden(s); }
    scattered_scores run(std::span<const pass<sequence_type>> asked) const {
        for (const auto& each : asked) {
            if (each.from_layer > 0) {
                ++deep_passes;
                deep += of_.waiting(*each.sequence);
            } else {
                (each.to_layer == all_layers ? whole : shallow) += each.tokens.size();
            }
        }
        return of_.run(asked);
    }
    scores extend(sequence_type& s, std::span<const token> tokens) const {
        whole += tokens.size();
        return of_.extend(s, tokens);
    }

    mutable std::size_t shallow = 0, deep = 0, whole = 0, deep_passes = 0;

 private:
    const llama::host_model& of_;
};
static_assert(SplitModel<counted_llama>);

/// Compares a round's rows with those of one pass over the same text.
struct compares_rows {
    const llama::host_model& model;
    std::size_t accepted = 0, drafted = 0;

    void watch(const auto& view) {
        auto fresh = model.make_sequence();
        const auto rows = copied(model.extend(fresh, view.prefix.tokens()));
        const std::size_t width = model.vocabulary_size();
        for (std::size_t i = 0; i <= view.decided.accepted; ++i) {
            const logit_row row = view.rows[i];
            const std::size_t at = (view.length_before - 1 + i) * width;
            BOOST_TEST(same_bits(std::vector<float>(row.begin(), row.end()),
                                 std::vector<float>(rows.begin() + static_cast<std::ptrdiff_t>(at),
                                                    rows.begin() + static_cast<std::ptrdiff_t>(at + width))));
        }
        accepted += view.decided.accepted;
        drafted += view.proposed.size();
    }
};

BOOST_AUTO_TEST_CASE(text_rows_and_layers_are_those_of_plain_greedy_decoding) {
    for (const auto type : {io::tensor_type::f32, io::tensor_type::q4_1}) {
        for (const std::size_t layer : {1u, 2u, 3u}) {
            for (const std::size_t idle : {layer, std::size_t{4}}) {
                const auto model = four_layers(type, idle).load();
                const counted_llama target(model);
                const auto head = llama::host_exit::untrained(model, layer);
                const auto scheme = speculate(head, target, fixed_length{3}, accept::exact{});
                decode::session<std::remove_cvref_t<decltype(scheme)>> s(scheme, prompt, {.temperature = {0}},
                                                                         {.max_tokens = 60}, random::philox_chooser(0));
                compares_rows watcher{model};
                target.whole = 0;
                std::size_t rounds = 0;
                while (s.finished == finish_reason::running) {
                    const std::size_t drafted = decode::step(scheme, s, {}, watcher).proposed.size();
                    rounds += drafted > 0 ? 1 : 0;
                }
                BOOST_TEST(target.shallow == watcher.drafted + rounds);
                BOOST_TEST(target.deep == target.shallow);
                BOOST_TEST(target.deep_passes == rounds);
                BOOST_TEST(target.whole <= 1u);  // a last round with room for one token
                if (idle == layer) BOOST_TEST(watcher.accepted == watcher.drafted);
                BOOST_TEST(s.committed.generated() == std::span<const token>(greedy(model, prompt, 60)),
                           boost::test_tools::per_element());
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(a_text_sampled_with_a_seed_is_plain_decodings) {
    const auto target = four_layers().load();
    const auto head = llama::host_exit::untrained(target, 2);
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
        decode::options chosen;
        chosen.stop.max_tokens = 50;
        chosen.seed = seed;
        chosen.sampling.temperature.value = 0.5f;
        const auto expected = decode::generate(plain(target), prompt, chosen);
        const confidence_stop policy({.threshold = 0.2 * static_cast<double>(seed)});
        const auto got = decode::generate(speculate(head, target, policy, accept::coupled{}), prompt, chosen);
        BOOST_TEST(got.tokens == expected.tokens, boost::test_tools::per_element());
    }
}

BOOST_AUTO_TEST_CASE(drafts_of_an_exit_leave_the_law_as_it_is) {
    const temporary_directory folder;
    const auto target = small_llama(io::tensor_type::f32, 32, 4, 2, 24, 4).load({.threads = 1});
    small_llama part = small_exits(target);
    part.lists["augur.head.tokens"] = {1, 3};
    const auto head = llama::host_exit::load(part.write(folder / "exit.gguf"), target, 1, {.threads = 1});
    decode::options chosen;
    chosen.stop.max_tokens = 3;
    const std::vector<token> start{2, 0, 1};
    const fixed_length two{2};
    BOOST_TEST(broken_promise(speculate(head, target, two, accept::rejection_sampling{}), start, chosen) == "");
    BOOST_TEST(broken_promise(speculate(head, target, two, accept::coupled{}), start, chosen) == "");
    chosen.sampling.temperature.value = 0;
    BOOST_TEST(broken_promise(speculate(head, target, two, accept::exact{}), start, chosen) == "");
}

BOOST_AUTO_TEST_CASE(texts_of_a_batch_are_those_of_each_alone) {
    const auto target = four_layers(io::tensor_type::q4_1).load();
    const auto head = llama::host_exit::untrained(target, 3);
    const auto scheme = speculate(head, target, confidence_stop({.threshold = 0.05}), accept::exact{});
    std::vector<std::vector<token>> prompts;
    for (std::size_t i = 1; i < 6; ++i) prompts.push_back(some_tokens(3 * i, 77));
    const std::vector<std::span<const token>> spans(prompts.begin(), prompts.end());
    const auto together = decode::generate_together(scheme, spans, greedy_options());
    for (std::size_t i = 0; i < prompts.size(); ++i) {
        BOOST_TEST(together[i].tokens == greedy(target, prompts[i], 60), boost::test_tools::per_element());
    }
}

BOOST_AUTO_TEST_CASE(it_drafts_for_a_better_model_in_a_cascade) {
    const auto target = four_layers().load(), middle = four_layers(io::tensor_type::q4_1, 2).load();
    const auto head = llama::host_exit::untrained(middle, 2);
    const scheme::model_link link{fixed_length{3}, accept::exact{}};
    const auto got = decode::generate(cascaded(head, link, middle, link, target), prompt, greedy_options());
    BOOST_TEST(got.tokens == greedy(target, prompt, 60), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(behind_virtual_functions_too) {
    const auto target = four_layers().load();
    const auto head = llama::host_exit::untrained(target, 3);
    const model::split_any_model<accept::exact> erased(target);
    static_assert(SplitModel<model::split_any_model<>> && !SplitModel<model::basic_any_model<>>);
    const auto got =
        decode::generate(speculate(head, erased, fixed_length{3}, accept::exact{}), prompt, greedy_options());
    BOOST_TEST(got.tokens == greedy(target, prompt, 60), boost::test_tools::per_element());
    BOOST_TEST(got.counts.stages.back().drafted > 60u);
}

BOOST_AUTO_TEST_SUITE_END()
