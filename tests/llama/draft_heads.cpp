#include "augur/llama/draft_heads.hpp"

#include <augur/accept/rejection_sampling.hpp>
#include <augur/draft/heads.hpp>
#include <augur/testing/drafter_laws.hpp>
#include <augur/testing/promise.hpp>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>

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

}  // namespace

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
