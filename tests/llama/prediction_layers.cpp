// Layers for multi-token prediction in a target's own file, against the module as it is published, and every refusal.

#include "augur/llama/prediction_layers.hpp"

#include <algorithm>
#include <augur/accept/exact.hpp>
#include <augur/decode/generate.hpp>
#include <augur/draft/eagle.hpp>
#include <augur/llama/eagle_model.hpp>
#include <augur/policy/fixed_length.hpp>
#include <augur/scheme/speculator.hpp>
#include <augur/testing/drafter_laws.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <fstream>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "llama/eagle_folder.hpp"
#include "llama/small_llama.hpp"

BOOST_AUTO_TEST_SUITE(llama_prediction_layers)

using namespace augur;
using namespace augur::testing;

namespace {

/// A case of tests/data/llama/mtp, by its name.
struct mtp_case {
    explicit mtp_case(const std::string& name) {
        std::ifstream file(std::filesystem::path(AUGUR_TEST_DATA) / "llama" / "mtp" / (name + ".json"));
        const auto read = nlohmann::json::parse(file);
        folder.config = read["config"];
        for (const auto& [of, shape] : read["shapes"].items()) {
            folder.shapes[of] = shape.get<std::vector<std::uint64_t>>();
        }
        ids = read["ids"].get<std::vector<token>>();
        own = read["own"].get<std::vector<float>>();
        for (const auto& [at, row] : read["rows"].items()) rows[at] = row.get<std::vector<float>>();
        for (const auto& [after, drafted] : read["drafts"].items()) {
            drafts[std::stoul(after)] = drafted.get<std::vector<token>>();
        }
    }

    random_folder folder;
    std::vector<token> ids;
    std::vector<float> own;                          ///< the model's logits after the whole text
    std::map<std::string, std::vector<float>> rows;  ///< "n.d": after n tokens of the text and d drafted ones
    std::map<std::size_t, std::vector<token>> drafts;
};

float difference(const logit_row& got, const std::vector<float>& wanted) {
    BOOST_TEST_REQUIRE(got.size() == wanted.size());
    float worst = 0;
    for (std::size_t i = 0; i < wanted.size(); ++i) worst = std::max(worst, std::abs(got[i] - wanted[i]));
    return worst;
}

token best(const logit_row& row) {
    return static_cast<token>(std::max_element(row.begin(), row.end()) - row.begin());
}

}  // namespace

BOOST_DATA_TEST_CASE(logits_and_greedy_drafts_are_those_of_the_published_module,
                     boost::unit_test::data::make({"one", "odd", "tied", "three"}), name) {
    const mtp_case of(name);
    const temporary_directory folder;
    const auto path = of.folder.write(folder / "model");
    const auto target = llama::host_model::load(path, {.threads = 2});
    const auto layer = llama::eagle_model::load_prediction(path, target);
    BOOST_TEST(layer.target_hidden_size() == target.hidden_size());
    auto seen = target.make_sequence();
    float worst = difference(target.extend(seen, of.ids).back(), of.own);
    const scores states = target.hidden(seen);
    for (const auto& [after, wanted] : of.drafts) {
        auto sequence = layer.make_sequence();
        const std::span<const float> known(states[0].data(), (after - 1) * target.hidden_size());
        scores rows = layer.extend(sequence, std::span(of.ids).subspan(1, after - 1), known, 1);
        std::vector<token> drafted;
        while (true) {
            worst = std::max(worst, difference(rows.back(), of.rows.at(std::to_string(after) + "." +
                                                                       std::to_string(drafted.size()))));
            drafted.push_back(best(rows.back()));
            if (drafted.size() == wanted.size()) break;
            const logit_row shown = layer.hidden(sequence).back();
            const std::vector<float> own(shown.begin(), shown.end());
            rows = layer.extend(sequence, std::span(drafted).last(1), own, 1);
        }
        BOOST_TEST(drafted == wanted, boost::test_tools::per_element());
    }
    BOOST_TEST(worst < 1e-4f, name << ": the largest difference is " << worst);
    BOOST_TEST_MESSAGE(name << " differs by " << worst);
}

BOOST_DATA_TEST_CASE(greedy_texts_of_chains_and_trees_are_plain_decoding_s,
                     boost::unit_test::data::make({"odd", "three"}), name) {
    const mtp_case of(name);
    const temporary_directory folder;
    const auto path = of.folder.write(folder / "model");
    const auto target = llama::host_model::load(path, {.threads = 2});
    const auto layer = llama::eagle_model::load_prediction(path, target, {.weights = llama::weight_format::halved});
    const std::vector<token> prompt(of.ids.begin(), of.ids.begin() + 7);
    decode::options options;
    options.stop.max_tokens = 24;
    options.sampling.temperature.value = 0;
    const auto plain = greedy(target, prompt, 24);
    const policy::fixed_length four{4};
    const auto text = [&](const auto& scheme) { return decode::generate(scheme, prompt, options).tokens; };
    BOOST_TEST(text(speculate(layer, target, four, accept::exact{})) == plain);
    BOOST_TEST(text(speculate(draft::eagle(layer, {3, 3, 8}), target, four, accept::exact{})) == plain);
}

namespace {

/// MiMo's layout with this many layers and as many tensors of layers for multi-token prediction.
random_folder small_mimo(std::size_t predictors = 1, std::size_t width = 16) {
    random_folder of;
    of.config = {{"model_type", "mimo"},     {"hidden_size", width},
                 {"num_hidden_layers", 2},   {"num_attention_heads", 2},
                 {"num_key_value_heads", 1}, {"intermediate_size", 24},
                 {"vocab_size", 4},          {"max_position_embeddings", 64},
                 {"rms_norm_eps", 1e-5},     {"tie_word_embeddings", false},
                 {"attention_bias", true},   {"num_nextn_predict_layers", predictors}};
    of.shapes = {
        {"model.embed_tokens.weight", {4, width}}, {"model.norm.weight", {width}}, {"lm_head.weight", {4, width}}};
    const auto add_layer = [&](const std::string& prefix) {
        const std::uint64_t half = width / 2;
        for (const auto& [part, rows] : {std::pair{"q", std::uint64_t{width}}, {"k", half}, {"v", half}}) {
            of.shapes[prefix + "self_attn." + part + "_proj.weight"] = {rows, width};
            of.shapes[prefix + "self_attn." + part + "_proj.bias"] = {rows};
        }
        of.shapes[prefix + "self_attn.o_proj.weight"] = {width, width};
        of.shapes[prefix + "mlp.gate_proj.weight"] = {24, width};
        of.shapes[prefix + "mlp.up_proj.weight"] = {24, width};
        of.shapes[prefix + "mlp.down_proj.weight"] = {width, 24};
        of.shapes[prefix + "input_layernorm.weight"] = {width};
        of.shapes[prefix + "post_attention_layernorm.weight"] = {width};
    };
    for (const char* const prefix : {"model.layers.0.", "model.layers.1."}) add_layer(prefix);
    for (std::size_t i = 0; i < predictors; ++i) {
        const std::string prefix = "model.mtp_layers." + std::to_string(i) + ".";
        add_layer(prefix);
        for (const char* const norm : {"token_layernorm", "hidden_layernorm", "final_layernorm"}) {
            of.shapes[prefix + norm + ".weight"] = {width};
        }
        of.shapes[prefix + "input_proj.weight"] = {width, 2 * width};
    }
    return of;
}

}  // namespace

BOOST_DATA_TEST_CASE(drafting_with_them_keeps_every_law, boost::unit_test::data::make({1, 3}), layers) {
    const temporary_directory folder;
    const auto path = small_mimo(static_cast<std::size_t>(layers)).write(folder / "model");
    const auto target = llama::host_model::load(path, {.threads = 1});
    const auto model = llama::eagle_model::load_prediction(path, target);
    const auto chains = drafter_laws(draft::eagle(model, draft::sampled{}), target, {.cases = 6});
    BOOST_TEST(chains.kept(), chains);
}

namespace {

/// Three layers, the states of a text of the target's tokens, and a sequence with the first five inputs of it.
struct three_layers {
    three_layers() {
        auto sequence = target.make_sequence();
        target.extend(sequence, text);
        const scores all = target.hidden(sequence);
        states.assign(all[0].data(), all[0].data() + all.size() * width);
        extend(seen, 0, 5);
    }

    /// Inputs [first, last) of the text, all rows.
    std::vector<float> extend(llama::eagle_sequence& into, std::size_t first, std::size_t last) const {
        const auto rows = model.extend(into, std::span(text).subspan(first + 1, last - first),
                                       std::span(states).subspan(first * width, (last - first) * width), last - first);
        return {rows[0].data(), rows[0].data() + rows.size() * rows.vocabulary_size()};
    }
    /// A drafted token after `from`; its row, whose state follows.
    std::vector<float> draft(llama::eagle_sequence& into, token id, std::vector<float>& from) const {
        const logit_row row = model.extend(into, std::span(&id, 1), from, 1)[0];
        std::vector<float> out(row.begin(), row.end());
        from = last_state(into);
        return out;
    }
    std::vector<float> last_state(const llama::eagle_sequence& of) const {
        const logit_row state = model.hidden(of).back();
        return {state.begin(), state.end()};
    }

    temporary_directory folder;
    std::filesystem::path path = small_mimo(3).write(folder / "model");
    llama::host_model target = llama::host_model::load(path, {.threads = 1});
    llama::eagle_model model = llama::eagle_model::load_prediction(path, target);
    std::size_t width = target.hidden_size();
    std::vector<token> text{2, 0, 1, 3, 1, 2, 2, 0, 3};
    std::vector<float> states;
    llama::eagle_sequence seen = model.make_sequence();
};

}  // namespace

BOOST_AUTO_TEST_CASE(rows_of_several_layers_are_the_same_however_their_inputs_came) {
    three_layers of;
    auto apart = of.model.make_sequence(), again = of.model.make_sequence();
    std::vector<float> one_by_one;
    for (std::size_t i = 0; i < 5; ++i) one_by_one = of.extend(apart, i, i + 1);
    auto state = of.last_state(of.seen), other = of.last_state(apart);
    BOOST_TEST(same_bits(state, other));
    std::vector<std::vector<float>> rows;
    for (const token id : {1, 3, 0, 2}) rows.push_back(of.draft(of.seen, id, state));
    BOOST_TEST(of.model.length(of.seen) == 9u);
    of.extend(again, 0, 8);  // cut back across what several layers have, and made anew
    of.model.truncate(again, 2);
    of.extend(again, 2, 5);
    other = of.last_state(again);
    for (std::size_t i = 0; i < 4; ++i) {
        BOOST_TEST(same_bits(of.draft(again, std::vector<token>{1, 3, 0, 2}[i], other), rows[i]));
    }
    of.model.truncate(of.seen, 7);  // two drafted tokens stay
    of.model.truncate(of.seen, 6);
    other = of.last_state(apart);
    const auto root = other;
    of.draft(apart, 1, other);
    of.draft(of.seen, 3, other);
    BOOST_TEST(same_bits(of.draft(of.seen, 0, other), rows[2]));
    of.model.truncate(of.seen, 5);

    auto states = root;  // 1 after the text, 3 and 2 after it, 0 after 3
    of.draft(of.seen, 1, other = root);
    for (int i = 0; i < 2; ++i) states.insert(states.end(), other.begin(), other.end());
    of.draft(of.seen, 3, other);
    states.insert(states.end(), other.begin(), other.end());
    of.model.truncate(of.seen, 5);
    const std::vector<token> nodes{1, 3, 2, 0};
    const scores tree = of.model.extend_tree(of.seen, nodes, states, std::vector<std::int32_t>{-1, 0, 0, 1}, 3);
    BOOST_TEST(tree.size() == 3u);
    BOOST_TEST(same_bits(std::vector<float>(tree[0].begin(), tree[0].end()), rows[1]));
    BOOST_TEST(same_bits(std::vector<float>(tree[2].begin(), tree[2].end()), rows[2]));
    BOOST_TEST(of.last_state(of.seen).back() == 3);
    BOOST_TEST(of.model.length(of.seen) == 5u);
}

BOOST_AUTO_TEST_CASE(inputs_of_several_layers_in_another_order_are_refused_and_change_nothing) {
    three_layers of;
    auto state = of.last_state(of.seen);
    const auto root = state;
    const auto wanted = of.draft(of.seen, 1, state);
    const std::vector<token> one{1}, outside{4}, two{1, 2};
    const auto refused = [&](const std::vector<token>& tokens, const std::vector<float>& with, std::size_t rows,
                             std::vector<std::string> words) {
        const std::size_t before = of.model.length(of.seen);
        BOOST_CHECK_EXCEPTION(of.model.extend(of.seen, tokens, with, rows), error, says(std::move(words)));
        BOOST_TEST(of.model.length(of.seen) == before);
    };
    const std::vector<float> known(of.states.begin(), of.states.begin() + static_cast<std::ptrdiff_t>(of.width));
    refused(one, known, 1, {"a state of the target after 1 drafted"});
    refused(one, root, 1, {"the state after 0 drafted tokens", "there are 1"});
    refused(one, {}, 1, {"states of 16 numbers, or of 17", "there are 0"});
    refused(one, state, 2, {"2 rows", "1 tokens"});
    refused(outside, state, 1, {"4"});
    of.model.truncate(of.seen, 5);
    refused(outside, root, 1, {"4"});
    refused(outside, known, 1, {"4"});
    refused(std::vector<token>(60, 1), std::vector<float>(60 * of.width), 1, {"5 inputs and 60 more", "context of 64"});
    state = root;
    BOOST_TEST(same_bits(of.draft(of.seen, 1, state), wanted));
    auto empty = of.model.make_sequence();
    BOOST_CHECK_EXCEPTION(of.model.extend(empty, one, root, 1), error, says({"without a state of the target"}));
    BOOST_CHECK_EXCEPTION(of.model.extend_tree(empty, two, root, std::vector<std::int32_t>{-1}, 1), error,
                          says({"2 inputs with 1 parents"}));
    BOOST_CHECK_EXCEPTION(
        of.model.extend_tree(of.seen, two, std::vector<float>(34), std::vector<std::int32_t>{-1, 1}, 1), error,
        says({"input 1 follows 1"}));
}

BOOST_AUTO_TEST_CASE(a_model_whose_layers_were_left_out_runs_and_says_that_none_drafts) {
    const temporary_directory folder;
    random_folder of = small_mimo();
    const auto whole = llama::host_model::load(of.write(folder / "whole"), {.threads = 1});
    BOOST_TEST(whole.configuration().notes.empty());
    BOOST_TEST(whole.layer_count() == 2u);
    std::erase_if(of.shapes, [](const auto& each) { return each.first.starts_with("model.mtp_layers."); });
    const auto path = of.write(folder / "cut");
    const auto cut = llama::host_model::load(path, {.threads = 1});
    const std::vector<token> prompt{2, 0, 1};
    BOOST_TEST(greedy(cut, prompt, 8) == greedy(whole, prompt, 8), boost::test_tools::per_element());
    BOOST_TEST_REQUIRE(cut.configuration().notes.size() == 1u);
    BOOST_TEST(says({"num_nextn_predict_layers is 1", "tensors of 0 layers"})(error(cut.configuration().notes[0])));
    BOOST_CHECK_EXCEPTION(llama::eagle_model::load_prediction(path, cut), error,
                          says({"config.json", "num_nextn_predict_layers is 1", "tensors of 0 layers"}));
}

BOOST_AUTO_TEST_CASE(what_contradicts_itself_or_the_target_is_refused_with_both_values) {
    const temporary_directory folder;
    const auto other = small_llama(io::tensor_type::f32, 32, 4, 2, 24, 4).load({.threads = 1});
    int number = 0;
    const auto write = [&](const random_folder& of) { return of.write(folder / std::to_string(number++)); };
    const auto loads = [&](const std::filesystem::path& path, const llama::load_options& how = {.threads = 1}) {
        const auto target = llama::host_model::load(path, how);
        llama::eagle_model::load_prediction(path, target);
    };
    const auto refused = [&](const auto& change, std::vector<std::string> words) {
        random_folder of = small_mimo();
        change(of);
        BOOST_CHECK_EXCEPTION(loads(write(of)), error, says(std::move(words)));
    };
    const std::string prefix = "model.mtp_layers.0.";
    const auto resize = [&](const std::string& name, std::vector<std::uint64_t> shape) {
        return [=](random_folder& of) { of.shapes[name] = shape; };
    };
    refused([](auto& of) { of.config["num_nextn_predict_layers"] = 2; },
            {"num_nextn_predict_layers is 2", "tensors of 1 layers"});
    refused([](auto& of) { of.config["num_nextn_predict_layers"] = 0; },
            {"num_nextn_predict_layers is 0", "tensors of 1 layers"});
    refused([](auto& of) { of.config["num_nextn_predict_layers"] = 65; }, {"is 65, not within 0..64"});
    refused([](auto& of) { of.config["num_nextn_predict_layers"] = -1; }, {"num_nextn_predict_layers", "-1"});
    refused(resize(prefix + "input_proj.weight", {16, 16}), {"input_proj.weight", "{16, 16}", "{16, 32}"});
    refused(resize(prefix + "token_layernorm.weight", {8}), {"token_layernorm.weight", "{8}", "{16}"});
    refused(resize(prefix + "self_attn.q_proj.bias", {8}), {prefix + "self_attn.q_proj.bias", "{8}", "{16}"});
    refused(resize(prefix + "more.weight", {4}), {"1 tensor is not understood", prefix + "more.weight"});
    for (const char* const name : {"final_layernorm.weight", "hidden_layernorm.weight", "mlp.up_proj.weight"}) {
        refused([&](auto& of) { of.shapes.erase(prefix + name); }, {"none of its", prefix + name});
    }
    refused(
        [](auto& of) {
            of.config["use_sliding_window"] = true;
            of.config["sliding_window"] = 8;
        },
        {"sliding windows", "not sure"});
    const auto path = write(small_mimo());
    BOOST_CHECK_EXCEPTION(llama::eagle_model::load_prediction(path, other), error,
                          says({"of the model with the fingerprint", "the target's is"}));
    BOOST_CHECK_EXCEPTION(loads(path, {.threads = 1, .layers = {0}}), error, says({"all 2 layers", "loaded with 1"}));
    BOOST_CHECK_EXCEPTION(loads(path, {.threads = 1, .taps = {0, 1}}), error, says({"after 2 of its layers"}));
    BOOST_CHECK_EXCEPTION(loads(path, {.threads = 1, .head_tokens = {0, 2}}), error, says({"a row for every token"}));
    random_folder none = small_mimo(0);
    BOOST_CHECK_EXCEPTION(loads(write(none)), error,
                          says({"no layers for multi-token", "num_nextn_predict_layers is 0"}));
    none.config["model_type"] = "qwen2";
    BOOST_CHECK_EXCEPTION(loads(write(none)), error, says({"no layers for multi-token", "no key of its architecture"}));
    none.config["num_nextn_predict_layers"] = 1;
    BOOST_CHECK_EXCEPTION(loads(write(none)), error, says({"num_nextn_predict_layers is '1'", "not supported"}));
    BOOST_CHECK_EXCEPTION(llama::prediction_layers("model.gguf"), error, says({"model.gguf", "safetensors", "GGUF"}));
}

BOOST_AUTO_TEST_SUITE_END()
