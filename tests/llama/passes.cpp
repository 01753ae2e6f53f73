// Passes of the bundled Llama on the CPU: batches, trees and parts of layers, beyond the laws of
// tests/llama/model_laws.cpp.

#include <augur/model/run.hpp>
#include <augur/testing/choices.hpp>
#include <boost/test/unit_test.hpp>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "llama/small_llama.hpp"
#include "random_topologies.hpp"
#include "sanitized.hpp"

using namespace augur;
using namespace augur::testing;

BOOST_AUTO_TEST_SUITE(llama_passes)

namespace {

using asked = pass<llama::sequence>;

std::vector<float> alone(const llama::host_model& model, std::span<const token> text, std::size_t rows) {
    auto s = model.make_sequence();
    return copied(model.extend(s, text, rows));
}

void refuses(const auto& what, const std::string& said) {
    BOOST_CHECK_EXCEPTION(what(), error, [&](const error& e) {
        BOOST_TEST(std::string(e.what()).find(said) != std::string::npos, e.what());
        return true;
    });
}

}  // namespace

/// More rows than a chunk has, of sequences that end in different blocks of the cache.
BOOST_AUTO_TEST_CASE(eight_sequences_in_one_run_get_the_rows_of_each_alone) {
    for (const auto type : {io::tensor_type::f32, io::tensor_type::bf16, io::tensor_type::q8_0}) {
        const auto model = small_llama(type).load({.threads = 2});
        std::vector<std::vector<token>> texts;
        std::vector<llama::sequence> sequences;
        std::vector<asked> passes;
        for (std::size_t i = 0; i < 8; ++i) {
            texts.push_back(some_tokens(1 + i * 40, model.vocabulary_size()));
            sequences.push_back(model.make_sequence());
            if (i > 0) model.extend(sequences[i], std::span(texts[i]).first(i * 20), 0);
        }
        for (std::size_t i = 0; i < 8; ++i) {
            passes.push_back({.sequence = &sequences[i], .tokens = std::span(texts[i]).subspan(i * 20), .rows = i % 3});
        }
        std::vector<model::pass_rows<llama::host_model>> results(8);
        model::run<llama::host_model>(model, passes, results);
        for (std::size_t i = 0; i < 8; ++i) {
            const std::size_t rows = std::min(i % 3, texts[i].size());
            BOOST_TEST(model.length(sequences[i]) == texts[i].size());
            BOOST_TEST((copied(results[i]) == alone(model, texts[i], rows)), "sequence " << i);
            BOOST_TEST((copied(model.extend(sequences[i], std::vector<token>{1})).size() == model.vocabulary_size()));
        }
    }
}

/// A tree of more nodes than a chunk has rows, across the end of a block.
BOOST_AUTO_TEST_CASE(a_large_tree_across_blocks_and_chunks_equals_its_paths) {
    const auto model = small_llama(io::tensor_type::q8_0).load({.threads = 2});
    const auto before = some_tokens(250, model.vocabulary_size());
    choices from(7);
    const auto nodes = from.tokens(200, 200, model.vocabulary_size());
    std::vector<std::int32_t> parents;
    std::vector<std::vector<std::size_t>> paths;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        parents.push_back(static_cast<std::int32_t>(i) - 1 -
                          static_cast<std::int32_t>(from.below(std::min<std::size_t>(i + 1, 9))));
        paths.push_back(parents[i] < 0 ? std::vector<std::size_t>() : paths[static_cast<std::size_t>(parents[i])]);
        paths[i].push_back(i);
    }
    auto s = model.make_sequence();
    model.extend(s, before, 0);
    const asked tree{.sequence = &s, .tokens = nodes, .parents = parents, .states = true};
    const auto rows = model::run(model, tree);
    BOOST_TEST(model.hidden(s).size() == nodes.size());
    const auto text_of = [&](std::size_t node) {
        auto text = before;
        for (const std::size_t i : paths[node]) text.push_back(nodes[i]);
        return text;
    };
    for (std::size_t i = 3; i < nodes.size(); i += 28) {
        BOOST_TEST((std::vector(rows[i].begin(), rows[i].end()) == alone(model, text_of(i), 1)), "node " << i);
    }
    model.keep(s, paths[199]);
    auto text = text_of(199);
    BOOST_TEST(model.length(s) == text.size());
    text.push_back(1);
    BOOST_TEST((copied(model.extend(s, std::vector<token>{1})) == alone(model, text, 1)));
}

/// AUGUR_TOPOLOGIES=N raises the number, in a sanitized build, too.
BOOST_AUTO_TEST_CASE(random_topologies_are_their_paths) {
    const auto model = small_llama(io::tensor_type::bf16).load();
    const auto trees = topologies(unless_sanitized<std::size_t>(10000, 500));
    BOOST_TEST(trees_that_differ_from_paths(model, trees) == "");
}

/// Trees, chains, first layers and last layers of different sequences.
BOOST_AUTO_TEST_CASE(passes_of_all_kinds_go_in_one_run) {
    const auto model = small_llama(io::tensor_type::bf16).load();
    const auto text = some_tokens(12, model.vocabulary_size());
    const std::vector<std::int32_t> parents{-1, 0, 0, 1};
    auto chain = model.make_sequence(), tree = model.make_sequence(), shallow = model.make_sequence(),
         deep = model.make_sequence();
    model::run(model, {.sequence = &deep, .tokens = text, .to_layer = 1});
    const std::vector<asked> passes{
        {.sequence = &shallow, .tokens = text, .to_layer = 1},
        {.sequence = &chain, .tokens = text, .rows = 2},
        {.sequence = &deep, .rows = 3, .from_layer = 1},
        {.sequence = &tree, .tokens = std::span(text).first(4), .parents = parents, .rows = 1}};
    std::vector<model::pass_rows<llama::host_model>> results(4);
    model::run<llama::host_model>(model, passes, results);
    BOOST_TEST(results[0].size() == 0u);
    BOOST_TEST((copied(results[1]) == alone(model, text, 2)));
    BOOST_TEST((copied(results[2]) == alone(model, text, 3)));
    BOOST_TEST((copied(results[3]) == alone(model, std::vector<token>{text[0], text[1], text[3]}, 1)));
    BOOST_TEST(model.waiting(shallow) == text.size());
    BOOST_TEST(model.waiting(deep) == 0u);
    BOOST_TEST((copied(model::run(model, {.sequence = &shallow, .from_layer = 1})) == alone(model, text, text.size())));
}

BOOST_AUTO_TEST_CASE(a_run_that_is_stopped_changes_nothing) {
    std::size_t left = 0;
    const auto model = small_llama().load({.between_layers = [&] {
        if (left-- == 0) throw std::runtime_error("stopped");
    }});
    const auto text = some_tokens(150, model.vocabulary_size());
    auto a = model.make_sequence(), b = model.make_sequence(), c = model.make_sequence();
    model.extend(a, std::span(text).first(5), 0);
    model::run(model, {.sequence = &c, .tokens = std::span(text).first(6), .to_layer = 1});
    const std::vector<asked> passes{{.sequence = &c, .from_layer = 1},
                                    {.sequence = &a, .tokens = std::span(text).subspan(5)},
                                    {.sequence = &b, .tokens = text}};
    left = 3;
    BOOST_CHECK_THROW(model.run(passes), std::runtime_error);
    BOOST_TEST(model.length(a) == 5u);
    BOOST_TEST(model.length(b) == 0u);
    BOOST_TEST(model.waiting(c) == 6u);
    left = 1000;
    const auto rows = model::run(model, passes[1]);
    BOOST_TEST((copied(rows) == alone(model, text, 145)));
    const auto finished = model::run(model, passes[0]);
    BOOST_TEST((copied(finished) == alone(model, std::span(text).first(6), 6)));
}

BOOST_AUTO_TEST_CASE(what_cannot_be_is_refused_with_its_values) {
    const auto model = small_llama().load();
    const std::vector<token> tokens{1, 2, 3};
    auto s = model.make_sequence(), other = model.make_sequence();
    const auto run = [&](const asked& second) {
        const std::vector<asked> passes{{.sequence = &other, .tokens = tokens}, second};
        model.run(passes);
    };
    refuses([&] { run({.sequence = &other, .tokens = tokens}); }, "the sequence of pass 1 is that of pass 0");
    refuses([&] { run({.sequence = &s, .tokens = std::vector<token>{77}}); },
            "the token 77 is outside the vocabulary of 77");
    refuses([&] { run({.sequence = &s, .tokens = tokens, .to_layer = 3}); }, "layers from 0 to 3 of 2");
    refuses([&] { run({.sequence = &s, .rows = 1, .from_layer = 1}); }, "1 rows of 0 positions that wait");
    BOOST_TEST(model.length(other) == 0u);
    refuses([&] { model.keep(s, std::vector<std::size_t>{0}); }, "token 0 of a pass of 0");
    model::run(model, {.sequence = &s, .tokens = tokens, .parents = std::vector<std::int32_t>{-1, 0, 0}});
    refuses([&] { model.keep(s, std::vector<std::size_t>{0, 1, 2}); }, "token 2 follows token 0, not 1");
    model.extend(s, tokens, 0);
    refuses([&] { model.keep(s, std::vector<std::size_t>{0}); }, "scored after 0 tokens, but the sequence has 3");
    model.truncate(s, 0);
    refuses([&] { model.keep(s, std::vector<std::size_t>{0}); }, "token 0 of a pass of 0");  // written over
    small_llama wider(io::tensor_type::f32, 64, 4, 2);
    auto foreign = wider.load().make_sequence();
    refuses([&] { run({.sequence = &foreign, .tokens = tokens}); }, "a model of another shape");
}

BOOST_AUTO_TEST_SUITE_END()
