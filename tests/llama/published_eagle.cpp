// EAGLE layers as others publish them, against what speculators computes, and every refusal.

#include "augur/llama/published_eagle.hpp"

#include <augur/accept/exact.hpp>
#include <augur/accept/rejection_sampling.hpp>
#include <augur/decode/generate.hpp>
#include <augur/draft/eagle.hpp>
#include <augur/llama/eagle_model.hpp>
#include <augur/policy/fixed_length.hpp>
#include <augur/scheme/speculator.hpp>
#include <augur/testing/drafter_laws.hpp>
#include <augur/testing/promise.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "llama/eagle_folder.hpp"
#include "llama/small_llama.hpp"

BOOST_AUTO_TEST_SUITE(llama_published_eagle)

using namespace augur;
using namespace augur::testing;

namespace {

const std::vector<std::string> eagle3_cases{"authors", "speculators", "whole"};

/// A target that shows what the layer in this folder reads.
llama::host_model load_target(const std::filesystem::path& path, const std::filesystem::path& layer,
                              std::size_t layers) {
    return llama::host_model::load(path, {.threads = 2, .taps = llama::eagle_model::taps_of(layer, layers)});
}

struct loaded_case {
    explicit loaded_case(const eagle3_case& of)
        : layer_path(of.layer.write(folder / "layer")),
          target(load_target(of.target.write(folder / "target"), layer_path,
                             of.target.config["num_hidden_layers"].get<std::size_t>())),
          layer(llama::eagle_model::load(layer_path, target)) {}

    temporary_directory folder;
    std::filesystem::path layer_path;
    llama::host_model target;
    llama::eagle_model layer;
};

/// The head's tokens of a row: all others are impossible.
std::vector<float> possible(const logit_row& row, const std::vector<token>& head) {
    std::vector<float> out;
    for (std::size_t i = 0; i < row.size(); ++i) {
        const bool has = head.empty() || std::binary_search(head.begin(), head.end(), static_cast<token>(i));
        if (has) out.push_back(row[i]);
        if (!has) BOOST_TEST(row[i] == -std::numeric_limits<float>::infinity());
    }
    return out;
}

}  // namespace

BOOST_DATA_TEST_CASE(logits_and_greedy_drafts_are_those_of_speculators, boost::unit_test::data::make(eagle3_cases),
                     name) {
    const eagle3_case of(name);
    const loaded_case loaded(of);
    BOOST_TEST(loaded.layer.target_hidden_size() == 3 * loaded.layer.hidden_size());
    BOOST_TEST(loaded.target.hidden_size() == loaded.layer.target_hidden_size());
    auto seen = loaded.target.make_sequence();
    loaded.target.extend(seen, of.ids);
    const scores tapped = loaded.target.hidden(seen);
    BOOST_TEST_REQUIRE(tapped.size() == of.ids.size());
    float worst = 0;
    const auto compare = [&](const logit_row& row, const std::string& at) {
        const auto found = of.rows.find(at);
        if (found == of.rows.end()) return;
        const auto got = possible(row, of.head);
        BOOST_TEST_REQUIRE(got.size() == found->second.size());
        for (std::size_t i = 0; i < got.size(); ++i) worst = std::max(worst, std::abs(got[i] - found->second[i]));
    };
    for (const auto& [after, wanted] : of.drafts) {
        auto sequence = loaded.layer.make_sequence();
        const std::span<const float> states(tapped[0].data(), (after - 1) * loaded.target.hidden_size());
        scores rows = loaded.layer.extend(sequence, std::span(of.ids).subspan(1, after - 1), states, 1);
        std::vector<token> drafted;
        while (true) {
            const logit_row row = rows.back();
            compare(row, std::to_string(after) + "." + std::to_string(drafted.size()));
            drafted.push_back(static_cast<token>(std::max_element(row.begin(), row.end()) - row.begin()));
            if (drafted.size() == wanted.size()) break;
            const logit_row shown = loaded.layer.hidden(sequence).back();
            const std::vector<float> own(shown.begin(), shown.end());
            rows = loaded.layer.extend(sequence, std::span(drafted).last(1), own, 1);
        }
        BOOST_TEST(drafted == wanted, boost::test_tools::per_element());
    }
    BOOST_TEST(worst < 1e-4f, name << ": the largest difference is " << worst);
    BOOST_TEST_MESSAGE(name << " differs by " << worst);
}

BOOST_AUTO_TEST_CASE(taps_are_the_states_between_layers_and_change_no_logit) {
    const eagle3_case of("authors");
    const temporary_directory folder;
    const auto path = of.target.write(folder / "target");
    const auto plain = llama::host_model::load(path, {.threads = 2});
    const auto tapped = llama::host_model::load(path, {.threads = 2, .taps = {0, 3, 7}});
    const std::size_t width = plain.hidden_size(), count = of.ids.size();
    BOOST_TEST((tapped.taps() == std::vector<std::size_t>{0, 3, 7}));
    BOOST_TEST(tapped.hidden_size() == 3 * width);
    auto one = plain.make_sequence(), other = tapped.make_sequence(), shallow = plain.make_sequence();
    const auto wanted = plain.extend(one, of.ids), got = tapped.extend(other, of.ids);
    for (std::size_t i = 0; i < count; ++i) {
        BOOST_TEST(same_bits(std::vector<float>(got[i].begin(), got[i].end()),
                             std::vector<float>(wanted[i].begin(), wanted[i].end())));
    }
    const pass<llama::sequence> three{.sequence = &shallow, .tokens = of.ids, .to_layer = 3};
    plain.run(std::span(&three, 1));
    const scores middle = plain.hidden(shallow), all = tapped.hidden(other);
    std::vector<float> embedding(width), normed(width);
    for (std::size_t i = 0; i < count; ++i) {
        const float* const row = all[i].data();
        plain.parameters().embedding->unpack_row(static_cast<std::size_t>(of.ids[i]), embedding);
        BOOST_TEST(std::equal(embedding.begin(), embedding.end(), row));
        BOOST_TEST(std::equal(middle[i].begin(), middle[i].end(), row + width));
        double squares = 0;  // the last tap is what the final norm makes the last state of
        for (std::size_t k = 0; k < width; ++k) squares += static_cast<double>(row[2 * width + k]) * row[2 * width + k];
        const double scale = 1 / std::sqrt(squares / static_cast<double>(width) + 1e-5);
        const auto last = plain.hidden(one)[i];
        for (std::size_t k = 0; k < width; ++k) {
            const double by = row[2 * width + k] * scale * plain.parameters().final_norm[k];
            BOOST_TEST(std::abs(by - last[k]) < 1e-4);
        }
    }
    const pass<llama::sequence> cut{.sequence = &other, .tokens = std::span(of.ids).first(1), .to_layer = 3};
    BOOST_CHECK_EXCEPTION(tapped.run(std::span(&cut, 1)), error, says({"3 of its layers", "0 to 3"}));
    const auto load = [&](std::vector<std::size_t> taps) { llama::host_model::load(path, {.taps = std::move(taps)}); };
    BOOST_CHECK_EXCEPTION(load({2, 8}), error, says({"after 8 layers", "there are 7"}));
    BOOST_CHECK_EXCEPTION(load({3, 3}), error, says({"after 3 and 3", "ascending"}));
}

BOOST_DATA_TEST_CASE(greedy_texts_of_chains_and_trees_are_plain_decoding_s, boost::unit_test::data::make(eagle3_cases),
                     name) {
    const eagle3_case of(name);
    const loaded_case loaded(of);
    const std::vector<token> prompt(of.ids.begin(), of.ids.begin() + 7);
    decode::options options;
    options.stop.max_tokens = 24;
    options.sampling.temperature.value = 0;
    const auto plain = greedy(loaded.target, prompt, 24);
    const policy::fixed_length four{4};
    const auto text = [&](const auto& scheme) { return decode::generate(scheme, prompt, options).tokens; };
    BOOST_TEST(text(speculate(loaded.layer, loaded.target, four, accept::exact{})) == plain);
    BOOST_TEST(text(speculate(draft::eagle(loaded.layer, {3, 3, 8}), loaded.target, four, accept::exact{})) == plain);
}

namespace {

/// A layer of three tokens of four, for a small Llama of two layers.
random_folder small_eagle3(std::size_t width = 32) {
    random_folder of;
    of.config = {{"architectures", {"LlamaForCausalLMEagle3"}},
                 {"model_type", "llama"},
                 {"hidden_size", width},
                 {"num_hidden_layers", 1},
                 {"num_attention_heads", 2},
                 {"num_key_value_heads", 1},
                 {"head_dim", 8},
                 {"intermediate_size", 24},
                 {"vocab_size", 4},
                 {"draft_vocab_size", 3},
                 {"eagle_aux_hidden_state_layer_ids", {0, 1, 2}}};
    of.shapes = {{"fc.weight", {width, 3 * width}},
                 {"midlayer.input_layernorm.weight", {width}},
                 {"midlayer.hidden_norm.weight", {width}},
                 {"midlayer.post_attention_layernorm.weight", {width}},
                 {"midlayer.self_attn.q_proj.weight", {16, 2 * width}},
                 {"midlayer.self_attn.k_proj.weight", {8, 2 * width}},
                 {"midlayer.self_attn.v_proj.weight", {8, 2 * width}},
                 {"midlayer.self_attn.o_proj.weight", {width, 16}},
                 {"midlayer.mlp.gate_proj.weight", {24, width}},
                 {"midlayer.mlp.up_proj.weight", {24, width}},
                 {"midlayer.mlp.down_proj.weight", {width, 24}},
                 {"norm.weight", {width}},
                 {"lm_head.weight", {3, width}}};
    of.prune({0, 1, 3}, 4);
    return of;
}

/// The same of EAGLE-1: one state, the target's head, no norm but one.
random_folder small_eagle1(std::size_t width = 32, std::size_t vocabulary = 4) {
    random_folder of = small_eagle3(width), out;
    out.config = of.config;
    for (const char* const key : {"draft_vocab_size", "eagle_aux_hidden_state_layer_ids"}) out.config.erase(key);
    out.config["architectures"] = {"LlamaForCausalLM"};
    out.config["vocab_size"] = vocabulary;
    out.config["bias"] = true;
    for (const auto& [name, shape] : of.shapes) {
        if (!name.starts_with("midlayer.") || name.find("hidden_norm") != name.npos) continue;
        if (name.find("input_layernorm") != name.npos) continue;
        out.shapes["layers.0." + name.substr(9)] = shape;
    }
    for (const char* const part : {"q", "k", "v"}) {
        out.shapes["layers.0.self_attn." + std::string(part) + "_proj.weight"][1] = width;
    }
    out.shapes["fc.weight"] = {width, 2 * width};
    out.shapes["fc.bias"] = {width};
    out.shapes["embed_tokens.weight"] = {vocabulary, width};
    return out;
}

small_llama four_tokens() {
    return small_llama(io::tensor_type::f32, 32, 4, 2, 24, 4);
}

}  // namespace

BOOST_AUTO_TEST_CASE(drafting_with_it_keeps_every_law) {
    const temporary_directory folder;
    const auto path = small_eagle3().write(folder / "layer");
    const auto target = four_tokens().load({.threads = 1, .taps = llama::eagle_model::taps_of(path, 2)});
    const auto model = llama::eagle_model::load(path, target);
    const draft::eagle chain(model, draft::sampled{});
    const auto r = drafter_laws(chain, target, {.cases = 10});
    BOOST_TEST(r.kept(), r);
    const draft::eagle tree(model, {2, 2, 4});
    const auto trees = drafter_laws(tree, target, {.cases = 10});
    BOOST_TEST(trees.kept(), trees);
    decode::options chosen;
    chosen.stop.max_tokens = 3;
    const std::vector<token> prompt{2, 0, 1};
    const policy::fixed_length two{2};
    const auto promised = [&](const auto& scheme) { return broken_promise(scheme, prompt, chosen); };
    BOOST_TEST(promised(speculate(draft::eagle(model, draft::sampled{}), target, two, accept::rejection_sampling{})) ==
               "");
}

BOOST_AUTO_TEST_CASE(an_eagle_1_layer_is_the_same_as_ours_without_norms_and_with_a_bias) {
    const temporary_directory folder;
    const auto target = four_tokens().load({.threads = 1});
    random_folder of = small_eagle1();
    const auto path = of.write(folder / "layer");
    BOOST_TEST(llama::eagle_model::taps_of(path, 2).empty());
    const auto model = llama::eagle_model::load(path, target);
    BOOST_TEST(model.target_hidden_size() == target.hidden_size());

    // by hand: fc of embedding and state, with its bias, is what a Llama of one layer without its norms starts from
    const std::size_t width = 32, count = 3;
    const auto named = [&](const std::string& name) { return random_folder::numbers(name, of.shapes.at(name)); };
    const auto fc = named("fc.weight"), bias = named("fc.bias"), embedding = named("embed_tokens.weight");
    const std::vector<token> tokens{1, 3, 2};
    std::vector<float> states(count * width), inputs(count * width);
    for (std::size_t i = 0; i < states.size(); ++i) states[i] = 0.01f * static_cast<float>(i % 37) - 0.1f;
    for (std::size_t i = 0; i < count; ++i) {
        for (std::size_t row = 0; row < width; ++row) {
            double sum = bias[row];
            for (std::size_t k = 0; k < width; ++k) {
                const auto id = static_cast<std::size_t>(tokens[i]);
                sum += static_cast<double>(fc[row * 2 * width + k]) * embedding[id * width + k];
                sum += static_cast<double>(fc[row * 2 * width + width + k]) * states[i * width + k];
            }
            inputs[i * width + row] = static_cast<float>(sum);
        }
    }
    llama::config c = model.configuration();
    const llama::weights& own = model.parameters();
    auto made = std::make_shared<backend::host::packed_matrix>(backend::host::storage::f32, count + 1, width);
    for (std::size_t i = 0; i < count; ++i) {
        made->set_row(i, std::as_bytes(std::span(inputs).subspan(i * width, width)));
    }
    std::vector<std::size_t> rows{0, 1, 2, 3};
    const auto& head = target.parameters().output();
    llama::weights plain;
    plain.embedding = made;
    plain.head = head.selected(rows);
    plain.layers = own.layers;
    const llama::host_model by_hand(c, std::move(plain), {.threads = 1});
    auto one = model.make_sequence();
    auto other = by_hand.make_sequence();
    const scores got = model.extend(one, tokens, states, count);
    const scores wanted = by_hand.extend(other, std::vector<token>{0, 1, 2}, count);
    for (std::size_t i = 0; i < count; ++i) {
        for (std::size_t k = 0; k < 4; ++k) BOOST_TEST(std::abs(got[i][k] - wanted[i][k]) < 1e-4f);
        const auto shown = model.hidden(one)[i], own_state = by_hand.hidden(other)[i];
        for (std::size_t k = 0; k < width; ++k) BOOST_TEST(std::abs(shown[k] - own_state[k]) < 1e-4f);
    }

    of.shapes.erase("fc.bias");
    of.shapes.erase("embed_tokens.weight");
    of.config["bias"] = false;
    const auto lean = llama::eagle_model::load(of.write(folder / "lean"), target);
    BOOST_TEST((lean.parameters().embedding == target.parameters().embedding));
    decode::options options;
    options.stop.max_tokens = 12;
    options.sampling.temperature.value = 0;
    const std::vector<token> prompt{2, 0, 1};
    const policy::fixed_length three{3};
    for (const auto* const layer : {&model, &lean}) {
        const auto chain = decode::generate(speculate(*layer, target, three, accept::exact{}), prompt, options);
        BOOST_TEST(chain.tokens == greedy(target, prompt, 12), boost::test_tools::per_element());
    }
}

BOOST_AUTO_TEST_CASE(what_does_not_fit_is_refused) {
    const temporary_directory folder;
    const auto target = four_tokens().load({.threads = 1, .taps = {0, 1, 2}});
    const auto refused = [&](const auto& change, std::vector<std::string> words, bool is_eagle1 = false) {
        random_folder of = is_eagle1 ? small_eagle1() : small_eagle3();
        change(of);
        const auto plain = four_tokens().load({.threads = 1});
        const auto path = of.write(folder / "layer");
        BOOST_CHECK_EXCEPTION(llama::eagle_model::load(path, is_eagle1 ? plain : target), error, says(words));
    };
    const auto set = [](const char* key, nlohmann::json value) {
        return [=](random_folder& of) { of.config[key] = value; };
    };
    const auto resize = [](const char* name, std::vector<std::uint64_t> shape) {
        return [=](random_folder& of) { of.shapes[name] = shape; };
    };
    refused([](auto& of) { of = small_eagle3(24); }, {"config.json", "the width is 24", "the target's is 32"});
    refused(set("vocab_size", 5), {"the vocabulary is 5", "the target's is 4"});
    refused(set("target_hidden_size", 16), {"target_hidden_size is 16", "32"});
    refused(set("num_hidden_layers", 2), {"num_hidden_layers is 2"});
    refused(set("eagle_aux_hidden_state_layer_ids", {0, 1, 3}), {"{0, 1, 3}", "the target has 2 layers"});
    refused(set("eagle_aux_hidden_state_layer_ids", nullptr), {"as a rule", "2 layers"});
    refused(set("eagle_aux_hidden_state_layer_ids", {1, 2}), {"after the layers 1, 2", "load_options::taps"});
    refused(
        [](auto& of) {
            of.config["speculators_config"]["verifier"]["name_or_path"] = "some/one";
            of.config["vocab_size"] = 5;
        },
        {"the vocabulary is 5", "made for 'some/one'"});
    refused(set("draft_vocab_size", 2), {"d2t has 3", "draft_vocab_size is 2"});
    refused(set("some_key", 3), {"some_key is '3'", "not understood"});
    refused(set("speculators_model_type", "dflash"), {"speculators_model_type is 'dflash'", "eagle3"});
    refused(set("eagle_config", {{"eagle_aux_hidden_state_layer_ids", {1, 2}}}), {"eagle_config", "layer_ids"});
    refused(resize("fc.weight", {32, 64}), {"fc.weight", "{32, 64}", "{32, 96}"});
    refused(resize("lm_head.weight", {4, 32}), {"lm_head.weight", "{4, 32}", "{3, 32}"});
    refused(resize("more.weight", {4}), {"1 tensor is not understood", "'more.weight'"});
    refused([](auto& of) { of.integers["d2t"] = {0, 0, 2}; }, {"d2t makes of the draft's token 2", "4 tokens"});
    refused([](auto& of) { of.integers["d2t"] = {1, 0, 1}; }, {"d2t has two tokens for the target's 1"});
    refused(
        [](auto& of) {
            of.marks["t2d"] = {1, 0, 1, 1};
        },
        {"t2d marks 3 tokens, d2t has 3", "only one of them has is 1"});
    refused([](auto& of) { of.integers.clear(); }, {"draft_vocab_size is 3", "4 tokens", "d2t"});
    refused([](auto& of) { of.shapes.erase("midlayer.self_attn.q_proj.weight"); },
            {"midlayer.self_attn.q_proj.weight"});
    refused(
        [](auto& of) {
            of.integers.clear();
            of.shapes["d2t"] = {3};
        },
        {"'d2t' is of f32", "whole numbers"});
    refused(set("bias", false), {"bias is false", "fc.bias"}, true);
    refused(resize("norm.weight", {32}), {"'norm.weight'"}, true);

    // d2t in another order is the same head
    random_folder of = small_eagle3();
    const auto plain = llama::eagle_model::load(of.write(folder / "layer"), target);
    of.integers["d2t"] = {3, 0, -2};
    const auto turned = llama::eagle_model::load(of.write(folder / "turned"), target);
    BOOST_TEST((turned.parameters().head_tokens == plain.parameters().head_tokens));
    std::vector<float> a(32), b(32);
    turned.parameters().head.unpack_row(0, a);
    plain.parameters().head.unpack_row(2, b);
    BOOST_TEST(a == b, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_target_of_scaled_embeddings_or_logits_lends_neither) {
    const temporary_directory folder;
    random_folder lean = small_eagle1(48, 40);
    lean.shapes.erase("embed_tokens.weight");
    const auto dense = [&](const char* name) {
        read_dense_case(name).write_folder(folder.path());
        return llama::host_model::load(folder.path(), {.threads = 1});
    };
    for (const char* const name : {"gemma_even", "granite_even"}) {
        const auto target = dense(name);
        BOOST_CHECK_EXCEPTION(llama::eagle_model::load(lean.write(folder / "layer"), target), error,
                              says({"embedding", "is scaled by"}));
    }
    const random_folder own = small_eagle1(48, 40);
    for (const char* const name : {"gemma2_even", "granite_even"}) {
        const auto target = dense(name);
        BOOST_CHECK_EXCEPTION(llama::eagle_model::load(own.write(folder / "layer"), target), error,
                              says({"target's head", "a scale of", "a cap of"}));
    }
}

BOOST_AUTO_TEST_SUITE_END()
