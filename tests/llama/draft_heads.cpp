#include "augur/llama/draft_heads.hpp"

#include <algorithm>
#include <augur/accept/coupled.hpp>
#include <augur/accept/rejection_sampling.hpp>
#include <augur/decode/generate.hpp>
#include <augur/draft/heads.hpp>
#include <augur/policy/fixed_length.hpp>
#include <augur/policy/tree_static.hpp>
#include <augur/testing/drafter_laws.hpp>
#include <augur/testing/promise.hpp>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <fstream>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "llama/draft_bundle.hpp"
#include "llama/eagle_folder.hpp"

BOOST_AUTO_TEST_SUITE(llama_draft_heads)

using namespace augur;
using namespace augur::testing;

static_assert(DraftHeads<llama::draft_heads> && ReadsText<llama::draft_heads>);

namespace {

std::vector<float> some_state(std::size_t size) {
    std::mt19937 random(5);
    return normal_numbers(size, random);
}

/// How heads are published.
struct layout {
    std::string kind;
    std::string prefix;     ///< of Medusa's tensors
    bool grounded = false;  ///< Hydra's heads that see tokens
    std::size_t blocks = 1;
    bool biased = false;  ///< output matrices

    std::string block(std::size_t head, std::size_t at) const {
        return (kind == "hydra" ? "hydra_mlp." : prefix) + std::to_string(head) + "." + std::to_string(at);
    }
    std::string output(std::size_t head) const {
        return kind == "hydra" ? "hydra_lm_head." + std::to_string(head) : block(head, blocks);
    }
};

/// A safetensors file of F32 tensors of random numbers, in such a layout unless changed.
struct published {
    std::map<std::string, std::vector<std::size_t>> shapes;

    published(const layout& of, std::size_t heads) {
        for (std::size_t n = 0; n < heads; ++n) {
            for (std::size_t k = 0; k < of.blocks; ++k) {
                const bool first = of.grounded && k == 0;
                const std::size_t inputs = first ? (n + 2) * 64 : 64;
                for (const char* name : {".linear", ".res_connection"}) {
                    if (name[1] == 'r' && !first) continue;
                    shapes[of.block(n, k) + name + ".weight"] = {64, inputs};
                    shapes[of.block(n, k) + name + ".bias"] = {64};
                }
            }
            shapes[of.output(n) + ".weight"] = {77, 64};
            if (of.biased) shapes[of.output(n) + ".bias"] = {77};
        }
    }

    std::filesystem::path write(const std::filesystem::path& path) const {
        nlohmann::json header;
        byte_writer data, out;
        std::mt19937 random(3);
        for (const auto& [name, shape] : shapes) {
            std::size_t count = 1;
            for (const std::size_t size : shape) count *= size;
            const std::uint64_t begin = data.size();
            for (const float value : normal_numbers(count, random)) data.number(value / 8);
            header[name] = {{"dtype", "F32"}, {"shape", shape}, {"data_offsets", {begin, data.size()}}};
        }
        out.string(header.dump()).raw_bytes(data.bytes());
        return write_file(path, out.bytes());
    }
};

const layout layouts[] = {{"medusa", "medusa_head."},
                          {"medusa", "", false, 2, true},
                          {"hydra", "", true, 1, true},
                          {"hydra", "", true, 3, false},
                          {"hydra", "", false, 2, true}};

/// What those who published them compute, from the tensors of the file, in double precision: x becomes
/// res_connection(x) + silu(linear(x)), or x + silu(linear(x)) in a block without.
struct definition {
    const io::safetensors_folder& file;
    const layout& of;
    const llama::host_model& target;

    std::vector<double> values(const std::string& name) const {
        const auto& view = file.tensor(name);
        std::vector<float> read(view.element_count());
        io::dequantize(view.type, view.bytes, read);
        return {read.begin(), read.end()};
    }
    /// torch.nn.Linear.
    std::vector<double> linear(const std::string& name, const std::vector<double>& in) const {
        const auto weight = values(name + ".weight");
        std::vector<double> out(weight.size() / in.size());
        if (file.find(name + ".bias")) out = values(name + ".bias");
        for (std::size_t i = 0; i < weight.size(); ++i) out[i / in.size()] += weight[i] * in[i % in.size()];
        return out;
    }
    std::vector<double> row(std::span<const float> state, std::span<const token> tokens, std::size_t head) const {
        std::vector<double> x(state.begin(), state.end());
        for (std::size_t i = 0; i <= head && of.grounded; ++i) {
            std::vector<float> embedding(64);
            target.parameters().embedding->unpack_row(static_cast<std::size_t>(tokens[i]), embedding);
            x.insert(x.end(), embedding.begin(), embedding.end());
        }
        for (std::size_t k = 0; k < of.blocks; ++k) {
            const std::string block = of.block(head, k);
            const auto y = linear(block + ".linear", x);
            if (file.find(block + ".res_connection.weight")) x = linear(block + ".res_connection", x);
            for (std::size_t i = 0; i < 64; ++i) x[i] += y[i] / (1 + std::exp(-y[i]));
        }
        return linear(of.output(head), x);
    }
};

}  // namespace

BOOST_AUTO_TEST_CASE(published_heads_have_blocks_and_output_matrices_of_their_own) {
    const temporary_directory folder;
    const auto target = small_llama().load();
    const auto state = some_state(64);
    const std::vector<token> tokens{7, 76, 0};
    for (const layout& of : layouts) {
        const auto path = published(of, 3).write(folder / (of.kind + "_lm_head.safetensors"));
        const io::safetensors_folder file(path);
        const definition wanted{file, of, target};
        const auto heads = llama::draft_heads::load(path, of.kind, target, {.threads = 2});
        BOOST_TEST(heads.head_count() == 3u);
        BOOST_TEST(heads.see_tokens() == of.grounded);
        BOOST_TEST(heads.memory_bytes() >= 3 * 4 * (of.blocks * 64 * 65 + 77 * 64));
        auto workspace = heads.make_workspace();
        for (std::size_t n = 0; n < 3; ++n) {
            const auto row = heads.row(workspace, state, std::span(tokens).first(n + 1), n);
            const auto defined = wanted.row(state, tokens, n);
            for (std::size_t t = 0; t < 77; ++t) BOOST_TEST(std::abs(double{row[t]} - defined[t]) < 2e-4);
        }
        const auto whole = llama::draft_heads::load(folder.path(), of.kind, target);
        auto other = whole.make_workspace();
        const auto row = whole.row(other, state, std::span(tokens).first(1), 0);
        const auto same = heads.row(workspace, state, std::span(tokens).first(1), 0);
        BOOST_TEST(same_bits(std::vector(row.begin(), row.end()), std::vector(same.begin(), same.end())));
    }
}

BOOST_AUTO_TEST_CASE(published_heads_draft_the_trees_of_their_definition) {
    const temporary_directory folder;
    const auto target = small_llama().load();
    const policy::tree_static tree(topology{-1, -1, 0, 0, 1});
    const std::vector<token> prompt{2, 0, 1};
    for (const layout& of : layouts) {
        const auto path = published(of, 2).write(folder / "heads.safetensors");
        const io::safetensors_folder file(path);
        const definition wanted{file, of, target};
        const auto heads = llama::draft_heads::load(path, of.kind, target);
        const auto scheme = speculate(draft::heads(heads, draft::argmax{}), target, tree, accept::coupled{});
        decode::options chosen;
        chosen.stop.max_tokens = 40;
        const auto decoded = decode::generate(scheme, prompt, chosen);
        BOOST_TEST(decoded.tokens == decode::generate(plain(target), prompt, chosen).tokens);
        decode::session session(scheme, prompt, {}, {.max_tokens = 100}, random::philox_chooser(0));
        for (int round = 0; round < 8; ++round) {
            const std::vector<token> text(session.committed.tokens().begin(), session.committed.tokens().end());
            auto fresh = target.make_sequence();
            target.extend(fresh, std::span(text).first(text.size() - 1));
            const auto states = target.hidden(fresh);
            const auto best = [&](const std::vector<token>& after, std::size_t rank) {
                const auto row = wanted.row(states[states.size() - 1], after, after.size() - 1);
                std::vector<token> order(row.size());
                for (std::size_t t = 0; t < row.size(); ++t) order[t] = static_cast<token>(t);
                std::sort(order.begin(), order.end(), [&](token a, token b) {
                    return row[static_cast<std::size_t>(a)] > row[static_cast<std::size_t>(b)];
                });
                return order[rank];
            };
            const token root = text.back(), first = best({root}, 0), second = best({root}, 1);
            const std::vector<token> nodes{first, second, best({root, first}, 0), best({root, first}, 1),
                                           best({root, second}, 0)};
            BOOST_TEST(decode::step(scheme, session).proposed.tokens() == nodes, boost::test_tools::per_element());
        }
    }
}

BOOST_AUTO_TEST_CASE(heads_of_hydra_plus_plus_answer_what_torch_says) {
    std::ifstream file(std::filesystem::path(AUGUR_TEST_DATA) / "llama" / "hydra" / "plus.json");
    const auto known = nlohmann::json::parse(file);
    const auto folder_of = [](const nlohmann::json& shapes) {
        random_folder made{.config = nlohmann::json::object(), .shapes = {}, .integers = {}, .marks = {}};
        for (const auto& [name, shape] : shapes.items()) made.shapes[name] = shape.get<std::vector<std::uint64_t>>();
        return made;
    };
    const temporary_directory folder;
    auto of_target = folder_of(known["target"]["shapes"]);
    of_target.config = known["target"]["config"];
    const auto target = llama::host_model::load(of_target.write(folder / "target"), {.threads = 2});
    const auto path = folder_of(known["heads"]).write(folder / "heads") / "model.safetensors";
    const auto heads = llama::draft_heads::load(path, "hydra", target);
    BOOST_TEST(heads.reads_text());
    BOOST_TEST(heads.see_tokens());
    BOOST_TEST(heads.head_count() == 3u);
    const auto ids = known["ids"].get<std::vector<token>>();
    auto sequence = target.make_sequence();
    target.extend(sequence, ids);
    const scores states = target.hidden(sequence);
    auto piecewise = heads.make_workspace();
    std::size_t shown = 0;
    for (const std::size_t count : {2u, 9u, 24u}) {
        const std::span<const token> committed = std::span(ids).first(count);
        const prefix text(committed);
        std::vector<std::size_t> places;
        for (std::size_t i = shown; i + 1 < count; ++i) places.push_back(i);
        heads.follow(piecewise, text, hidden_states<scores>(shown, states, places.size(), places));
        if (count == 9) heads.catch_up(piecewise, text);
        shown = count - 1;
        const auto read = heads.state(piecewise, text);
        const std::vector<float> state(read.begin(), read.end());
        std::vector<token> tokens{ids[count - 1]};
        for (std::size_t n = 0; n < 3; ++n) {
            const auto row = heads.row(piecewise, state, tokens, n);
            const auto wanted =
                known["rows"][std::to_string(count) + "." + std::to_string(n)].get<std::vector<float>>();
            BOOST_TEST_REQUIRE(row.size() == wanted.size());
            for (std::size_t t = 0; t < wanted.size(); ++t) BOOST_TEST(std::abs(row[t] - wanted[t]) < 1e-5);
            tokens.push_back(known["drafts"][std::to_string(count)][n].get<token>());
        }
        const auto scheme =
            speculate(draft::heads(heads, draft::argmax{}), target, policy::fixed_length{3}, accept::coupled{});
        decode::session session(scheme, committed, {.temperature = {0}}, {.max_tokens = 30}, random::philox_chooser(0));
        BOOST_TEST(decode::step(scheme, session).proposed.tokens() == std::vector(tokens.begin() + 1, tokens.end()),
                   boost::test_tools::per_element());
    }
}

BOOST_AUTO_TEST_CASE(heads_of_hydra_plus_plus_follow_what_is_committed) {
    const temporary_directory folder;
    const auto target = small_llama().load();
    published file({"hydra", "", true}, 3);
    const std::string layer = "prefix_embeding_layer.";
    for (const char* norm : {"norm", "layers.0.input_layernorm", "layers.0.post_attention_layernorm"}) {
        file.shapes[layer + norm + ".weight"] = {64};
    }
    for (const char* matrix : {"q", "o"})
        file.shapes[layer + "layers.0.self_attn." + matrix + "_proj.weight"] = {64, 64};
    for (const char* matrix : {"k", "v"})
        file.shapes[layer + "layers.0.self_attn." + matrix + "_proj.weight"] = {16, 64};
    for (const char* matrix : {"gate", "up"}) file.shapes[layer + "layers.0.mlp." + matrix + "_proj.weight"] = {96, 64};
    file.shapes[layer + "layers.0.mlp.down_proj.weight"] = {64, 96};
    const auto heads = llama::draft_heads::load(file.write(folder / "heads.safetensors"), "hydra", target);
    BOOST_TEST_REQUIRE(heads.reads_text());
    const std::vector<token> prompt{2, 0, 1};
    const policy::tree_static tree(topology{-1, -1, 0, 0, 1});
    const auto scheme = speculate(draft::heads(heads, draft::argmax{}), target, tree, accept::coupled{});
    decode::options chosen;
    chosen.stop.max_tokens = 160;  // more states than wait at a time
    BOOST_TEST(decode::generate(scheme, prompt, chosen).tokens ==
               decode::generate(plain(target), prompt, chosen).tokens);
    decode::session session(scheme, prompt, {}, {.max_tokens = 100}, random::philox_chooser(0));
    for (int round = 0; round < 6; ++round) {  // what a drafter that sees the text for the first time proposes
        const std::vector<token> text(session.committed.tokens().begin(), session.committed.tokens().end());
        decode::session fresh(scheme, text, {}, {.max_tokens = 100}, random::philox_chooser(0));
        const auto proposed = decode::step(scheme, session).proposed.tokens();
        const std::vector<token> nodes(proposed.begin(), proposed.end());
        BOOST_TEST(decode::step(scheme, fresh).proposed.tokens() == nodes, boost::test_tools::per_element());
    }
    const auto r = drafter_laws(draft::heads(heads, draft::argmax{}), target, {.cases = 10});
    BOOST_TEST(r.kept(), r);
}

BOOST_AUTO_TEST_CASE(layouts_that_are_not_taken_are_named) {
    const temporary_directory folder;
    const auto target = small_llama().load();
    const auto refused = [&](auto&& change, std::vector<std::string> words, const std::string& kind = "medusa") {
        published file({kind, "medusa_head.", kind == "hydra"}, 2);
        change(file);
        const auto path = file.write(folder / "heads.safetensors");
        BOOST_CHECK_EXCEPTION(llama::draft_heads::load(path, kind, target), error, says(words));
    };
    // Hydra++ has what is read before its heads: all of it, or nothing.
    const std::string layer = "prefix_embeding_layer.layers.0.";
    const auto has = [&](const std::string& name) {
        return [name = layer + name](auto& f) { f.shapes[name] = {64, 64}; };
    };
    refused(has("mlp.up_proj.weight"), {"heads.safetensors", layer + "mlp.up_proj.weight", "not understood"}, "hydra");
    refused(has("self_attn.q_proj.weight"), {"heads.safetensors", "prefix_embeding_layer."}, "hydra");
    refused(has("self_attn.q_proj.weight"), {layer + "self_attn.q_proj.weight", "not understood"});
    refused([](auto& f) { f = published({"hydra", "", true}, 2); }, {"'hydra'", "'medusa' was wanted"});
    refused([](auto& f) { f = published({"medusa", "medusa_head."}, 2); }, {"'medusa'", "'hydra' was wanted"}, "hydra");
    refused(
        [](auto& f) {
            f.shapes["hydra_mlp.1.0.linear.weight"] = {64, 128};
        },
        {"hydra_mlp.1.0", "128", "192"}, "hydra");
    refused(
        [](auto& f) {
            f.shapes["hydra_mlp.1.0.res_connection.weight"] = {64, 64};
        },
        {"hydra_mlp.1.0.res_connection", "64", "192"}, "hydra");
    refused([](auto& f) { f.shapes.erase("hydra_mlp.1.0.res_connection.weight"); },
            {"hydra_mlp.1.0.res_connection.weight"}, "hydra");
    refused([](auto& f) { f.shapes.erase("hydra_mlp.1.0.res_connection.bias"); }, {"hydra_mlp.1.0.res_connection.bias"},
            "hydra");
    refused([](auto& f) { f.shapes.erase("hydra_lm_head.1.weight"); }, {"hydra_lm_head.1.weight"}, "hydra");
    refused([](auto& f) { f.shapes["hydra_lm_head.1.bias"] = {64}; }, {"hydra_lm_head.1.bias", "64", "77"}, "hydra");
    refused(
        [](auto& f) {
            f.shapes = {{"lm_head.weight", {77, 64}}};
        },
        {"heads.safetensors", "medusa_head.0.0.linear.weight", "hydra_mlp.0.0.linear.weight", "'lm_head.weight'"});
    refused(
        [](auto& f) {
            f.shapes.clear();
            f.shapes["a"] = {1};
        },
        {"medusa_head.0.0.linear.weight"});
    refused([](auto& f) { f.shapes["medusa_head.1.0.linear.weight"] = {64, 32}; }, {"medusa_head.1.0", "64", "32"});
    refused([](auto& f) { f.shapes["medusa_head.1.1.weight"] = {76, 64}; }, {"medusa_head.1.1.weight", "76", "77"});
    refused([](auto& f) { f.shapes.erase("medusa_head.1.1.weight"); }, {"medusa_head.1.1.weight"});
    refused([](auto& f) { f.shapes.erase("medusa_head.0.0.linear.bias"); }, {"medusa_head.0.0.linear.bias"});
    refused([](auto& f) { f.shapes["medusa_head.0.1.bias"] = {76}; }, {"medusa_head.0.1.bias", "76", "77"});
    BOOST_CHECK_THROW(llama::draft_heads::load(folder.path(), "medusa", target),
                      error);  // no medusa_lm_head.safetensors
}

BOOST_AUTO_TEST_CASE(rows_are_those_of_the_definition) {
    const temporary_directory folder;
    const auto target = small_llama().load();
    const auto state = some_state(64);
    const std::vector<token> tokens{7, 76, 0};
    for (const std::string kind : {"medusa", "hydra"}) {
        const auto path = small_heads(kind, target).write(folder / "heads.gguf");
        const io::gguf_file file(path);
        const auto values = [&](const std::string& name) {
            std::vector<float> out(file.tensor(name).element_count());
            io::dequantize(file.tensor(name).type, file.tensor(name).bytes, out);
            return out;
        };
        const auto heads = llama::draft_heads::load(path, kind, target, {.threads = 2});
        BOOST_TEST(heads.head_count() == 3u);
        BOOST_TEST(heads.see_tokens() == (kind == "hydra"));
        auto workspace = heads.make_workspace();
        for (std::size_t head = 0; head < 3; ++head) {
            const std::string name = "augur.head." + std::to_string(head);
            const auto weight = values(name + ".weight"), bias = values(name + ".bias");
            std::vector<float> inputs = state;
            for (std::size_t i = 0; i <= head && kind == "hydra"; ++i) {
                std::vector<float> embedding(64);
                target.parameters().embedding->unpack_row(static_cast<std::size_t>(tokens[i]), embedding);
                inputs.insert(inputs.end(), embedding.begin(), embedding.end());
            }
            std::vector<double> out(64);
            for (std::size_t i = 0; i < 64; ++i) {
                double x = static_cast<double>(bias[i]);
                for (std::size_t k = 0; k < inputs.size(); ++k) {
                    x += static_cast<double>(weight[i * inputs.size() + k]) * static_cast<double>(inputs[k]);
                }
                out[i] = static_cast<double>(state[i]) + x / (1 + std::exp(-x));
            }
            const auto row = heads.row(workspace, state, std::span(tokens).first(head + 1), head);
            for (std::size_t t = 0; t < 77; ++t) {
                std::vector<float> weights(64);
                target.parameters().output().unpack_row(t, weights);
                double logit = 0;
                for (std::size_t i = 0; i < 64; ++i) logit += static_cast<double>(weights[i]) * out[i];
                BOOST_TEST(std::abs(static_cast<double>(row[t]) - logit) < 1e-4);
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(heads_may_keep_some_tokens_in_any_format) {
    using enum io::tensor_type;
    const temporary_directory folder;
    const auto state = some_state(64);
    const std::vector<token> tokens{7, 76};
    for (const auto type : {f16, bf16, q8_0, q4_1}) {
        const auto target = small_llama(type).load();
        small_llama file = small_heads("hydra", target, type);
        const auto row_of = [&](std::size_t threads) {
            const auto heads =
                llama::draft_heads::load(file.write(folder / "heads.gguf"), "hydra", target, {.threads = threads});
            auto workspace = heads.make_workspace();
            const auto row = heads.row(workspace, state, tokens, 1);
            BOOST_TEST(row.possible() == file.lists["augur.head.tokens"], boost::test_tools::per_element());
            return std::vector<float>(row.begin(), row.end());
        };
        auto wanted = row_of(1);
        file.lists["augur.head.tokens"] = {1, 20, 76};
        for (std::size_t t = 0; t < 77; ++t) {
            if (t != 1 && t != 20 && t != 76) wanted[t] = -std::numeric_limits<float>::infinity();
        }
        BOOST_TEST(same_bits(row_of(3), wanted), io::name_of(type));
    }
}

BOOST_AUTO_TEST_CASE(drafting_with_them_keeps_every_law) {
    const temporary_directory folder;
    const auto target = small_llama(io::tensor_type::f32, 32, 4, 2, 24, 4).load({.threads = 1});
    const std::vector<token> prompt{2, 0, 1};
    decode::options chosen;
    chosen.stop.max_tokens = 3;
    for (const std::string kind : {"medusa", "hydra"}) {
        small_llama file = small_heads(kind, target);
        file.lists["augur.head.tokens"] = {0, 1, 3};
        const auto heads = llama::draft_heads::load(file.write(folder / "heads.gguf"), kind, target, {.threads = 1});
        const draft::heads drafter(heads, draft::sampled{});
        const auto r = drafter_laws(drafter, target, {.cases = 25});
        BOOST_TEST(r.kept(), r);
        const auto scheme = speculate(drafter, target, policy::fixed_length{2}, accept::rejection_sampling{});
        BOOST_TEST(broken_promise(scheme, prompt, chosen) == "");
    }
}

BOOST_AUTO_TEST_CASE(what_does_not_fit_is_refused) {
    const temporary_directory folder;
    const auto target = small_llama().load();
    const auto refused = [&](auto&& change, std::vector<std::string> words) {
        small_llama file = small_heads("hydra", target);
        change(file);
        const auto path = file.write(folder / "heads.gguf");
        BOOST_CHECK_EXCEPTION(llama::draft_heads::load(path, "hydra", target), error, says(words));
    };
    refused([](auto& f) { f.texts["augur.member"] = "medusa"; }, {"heads.gguf", "'medusa'", "'hydra'"});
    refused([](auto& f) { f.texts["augur.target.fingerprint"] = "0123456789abcdef"; },
            {"0123456789abcdef", target.fingerprint()});
    refused([](auto& f) { f.shapes.clear(); }, {"augur.head.0.weight"});
    refused([](auto& f) { f.shapes["augur.head.1.weight"] = {64, 64}; }, {"augur.head.1.weight", "192"});
    refused([](auto& f) { f.shapes.erase("augur.head.2.bias"); }, {"augur.head.2.bias"});

    const auto heads = llama::draft_heads::load(small_heads("hydra", target).write(folder / "h.gguf"), "hydra", target);
    auto workspace = heads.make_workspace();
    const auto state = some_state(64);
    BOOST_CHECK_EXCEPTION(heads.row(workspace, state, std::vector<token>(4), 3), error, says({"head 3 of 3"}));
    BOOST_CHECK_EXCEPTION(heads.row(workspace, state, std::vector<token>(1), 1), error, says({"2 tokens", "64 and 1"}));
    BOOST_CHECK_THROW(heads.row(workspace, std::span(state).first(9), std::vector<token>(1), 0), error);
    BOOST_CHECK_EXCEPTION(heads.row(workspace, state, std::vector<token>{77}, 0), error, says({"77"}));
}

BOOST_AUTO_TEST_SUITE_END()
