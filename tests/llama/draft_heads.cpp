#include "augur/llama/draft_heads.hpp"

#include <augur/accept/coupled.hpp>
#include <augur/accept/rejection_sampling.hpp>
#include <augur/decode/generate.hpp>
#include <augur/draft/head_tree.hpp>
#include <augur/draft/heads.hpp>
#include <augur/policy/tree_static.hpp>
#include <augur/testing/drafter_laws.hpp>
#include <augur/testing/promise.hpp>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "llama/family.hpp"

BOOST_AUTO_TEST_SUITE(llama_draft_heads)

using namespace augur;
using namespace augur::testing;

static_assert(DraftHeads<llama::draft_heads>);

namespace {

std::vector<float> some_state(std::size_t size) {
    std::mt19937 random(5);
    return normal_numbers(size, random);
}

/// A safetensors file of F32 tensors of random numbers, in Medusa's layout unless changed.
struct published {
    std::map<std::string, std::vector<std::size_t>> shapes;

    published(const std::string& prefix, std::size_t heads, std::size_t blocks) {
        for (std::size_t n = 0; n < heads; ++n) {
            const std::string head = prefix + std::to_string(n) + ".";
            for (std::size_t k = 0; k < blocks; ++k) {
                shapes[head + std::to_string(k) + ".linear.weight"] = {64, 64};
                shapes[head + std::to_string(k) + ".linear.bias"] = {64};
            }
            shapes[head + std::to_string(blocks) + ".weight"] = {77, 64};
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

}  // namespace

BOOST_AUTO_TEST_CASE(published_heads_have_blocks_and_output_matrices_of_their_own) {
    const temporary_directory folder;
    const auto target = small_llama().load();
    const auto state = some_state(64);
    const std::vector<token> tokens{7, 76, 0};
    for (const std::string prefix : {"medusa_head.", ""}) {
        for (const std::size_t blocks : {1u, 2u}) {
            const auto path = published(prefix, 3, blocks).write(folder / "medusa_lm_head.safetensors");
            const io::safetensors_folder file(path);
            const auto times = [&](const std::string& name, const std::vector<double>& in) {
                const auto& view = file.tensor(name);
                std::vector<float> weight(view.element_count());
                io::dequantize(view.type, view.bytes, weight);
                std::vector<double> out(weight.size() / in.size());
                for (std::size_t i = 0; i < weight.size(); ++i) {
                    out[i / in.size()] += double{weight[i]} * in[i % in.size()];
                }
                return out;
            };
            const auto heads = llama::draft_heads::load(path, "medusa", target, {.threads = 2});
            BOOST_TEST(heads.head_count() == 3u);
            BOOST_TEST(!heads.see_tokens());
            BOOST_TEST(heads.memory_bytes() >= 3 * 4 * (blocks * 64 * 65 + 77 * 64));
            auto workspace = heads.make_workspace();
            for (std::size_t n = 0; n < 3; ++n) {
                const std::string head = prefix + std::to_string(n) + ".";
                std::vector<double> x(state.begin(), state.end());
                for (std::size_t k = 0; k < blocks; ++k) {
                    const std::string block = head + std::to_string(k) + ".linear.";
                    const auto product = times(block + "weight", x);
                    for (std::size_t i = 0; i < 64; ++i) {
                        const double in = product[i] + times(block + "bias", {1})[i];
                        x[i] += in / (1 + std::exp(-in));
                    }
                }
                const auto wanted = times(head + std::to_string(blocks) + ".weight", x);
                const auto row = heads.row(workspace, state, std::span(tokens).first(n + 1), n);
                for (std::size_t t = 0; t < 77; ++t) BOOST_TEST(std::abs(double{row[t]} - wanted[t]) < 1e-4);
            }
            const auto whole = llama::draft_heads::load(folder.path(), "medusa", target);
            auto other = whole.make_workspace();
            const auto row = whole.row(other, state, std::span(tokens).first(1), 0);
            const auto same = heads.row(workspace, state, std::span(tokens).first(1), 0);
            BOOST_TEST(same_bits(std::vector(row.begin(), row.end()), std::vector(same.begin(), same.end())));
        }
    }
}

BOOST_AUTO_TEST_CASE(published_heads_draft_trees) {
    const temporary_directory folder;
    const auto target = small_llama().load();
    const auto heads =
        llama::draft_heads::load(published("", 2, 1).write(folder / "heads.safetensors"), "medusa", target);
    const policy::tree_static tree(topology{-1, -1, 0, 0, 1});
    const auto scheme = speculate(draft::head_tree(heads), target, tree, accept::coupled{});
    decode::options chosen;
    chosen.stop.max_tokens = 40;
    const std::vector<token> prompt{2, 0, 1};
    const auto made = decode::generate(scheme, prompt, chosen);
    BOOST_TEST(made.tokens == decode::generate(plain(target), prompt, chosen).tokens);
    decode::session session(scheme, prompt, {}, {.max_tokens = 100}, random::philox_chooser(0));
    for (int round = 0; round < 8; ++round) BOOST_TEST(decode::step(scheme, session).proposed.size() == 5u);
}

BOOST_AUTO_TEST_CASE(layouts_that_are_not_taken_are_named) {
    const temporary_directory folder;
    const auto target = small_llama().load();
    const auto refused = [&](auto&& change, std::vector<std::string> words, const std::string& kind = "medusa") {
        published file("medusa_head.", 2, 1);
        change(file);
        const auto path = file.write(folder / "heads.safetensors");
        BOOST_CHECK_EXCEPTION(llama::draft_heads::load(path, kind, target), error, says(words));
    };
    refused([](auto&) {}, {"heads.safetensors", "'hydra'", "Medusa"}, "hydra");
    refused(
        [](auto& f) {
            f.shapes["hydra_mlp.0.1.linear.weight"] = {64, 128};
        },
        {"heads.safetensors", "'hydra_mlp.0.1.linear.weight'", "Hydra's published layout", "medusa_head.0.0.linear"});
    refused([](auto& f) { f.shapes = {{"prefix_embeding_layer.norm.weight", {64}}}; }, {"Hydra's published layout"});
    refused(
        [](auto& f) {
            f.shapes = {{"lm_head.weight", {77, 64}}};
        },
        {"heads.safetensors", "medusa_head.0.0.linear.weight", "'lm_head.weight'"});
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
    refused([](auto& f) { f.shapes["medusa_head.0.1.bias"] = {77}; }, {"medusa_head.0.1.bias", "not supported"});
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
