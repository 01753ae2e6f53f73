#include "augur/llama/device/device_model.hpp"

#include <algorithm>
#include <augur/accept/coupled.hpp>
#include <augur/accept/exact.hpp>
#include <augur/decode/generate.hpp>
#include <augur/draft/prompt_lookup.hpp>
#include <augur/model/any_model.hpp>
#include <augur/policy/fixed_length.hpp>
#include <augur/testing/model_laws.hpp>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "differences.hpp"
#include "llama/small_llama.hpp"
#include "random_topologies.hpp"
#include "sanitized.hpp"

namespace device = augur::llama::device;
namespace kernels = augur::backend::device;
using augur::token;
using kernels::bfloat16, kernels::binary16, kernels::emulated_system;

BOOST_AUTO_TEST_SUITE(llama_device_model)

namespace {

using device::device_format;

template <class Element, device_format F = device_format::elements>
using emulated_model = device::device_model<Element, emulated_system, F>;

/// Sizes that are multiples of tiles, or none that are and heads of which a part turns.
augur::llama::host_model some_llama(bool even) {
    using augur::io::tensor_type;
    if (even) return augur::testing::small_llama(tensor_type::bf16).load();
    augur::testing::small_llama odd(tensor_type::f32, 36, 6, 3, 44, 51);
    odd.sizes["llama.rope.dimension_count"] = 4;
    return odd.load();
}

bool says(const augur::error& e, const std::string& text) {
    return std::string(e.what()).find(text) != std::string::npos;
}

using augur::model::run;
using augur::testing::copied, augur::testing::largest_difference;

}  // namespace

BOOST_AUTO_TEST_CASE(what_no_kernel_is_for_is_refused_by_name) {
    const emulated_system on;
    const auto host = some_llama(true);
    const auto refuses = [&](const char* what, const auto& change) {
        augur::llama::config c = host.configuration();
        change(c);
        using weights_type = emulated_model<bfloat16>::weights_type;
        BOOST_CHECK_EXCEPTION(weights_type(on, c, host.parameters()), augur::error,
                              [&](const augur::error& e) { return says(e, what); });
    };
    refuses("a device runs no model with two lists of rotary factors", [](auto& c) { c.short_context = 8; });
    refuses("heads of even size, not 7", [](auto& c) { c.head_size = 7; });
}

template <class Element, device_format F = device_format::elements>
void check_laws(bool even, bool backwards) {
    using model_type = emulated_model<Element, F>;
    const model_type model(emulated_system{backwards}, some_llama(even));
    static_assert(augur::TreeModel<model_type> && augur::SplitModel<model_type> && augur::BatchModel<model_type> &&
                  augur::ScoresLastRows<model_type> && augur::PrefillsStates<model_type>);
    const auto r = augur::testing::model_laws(model, {.cases = augur::testing::unless_sanitized<std::size_t>(4, 1)});
    BOOST_TEST(r.kept(), r);
    BOOST_TEST(r.skipped.empty(), r);
}

BOOST_AUTO_TEST_CASE(it_keeps_the_laws_of_every_refinement) {
    check_laws<binary16, device_format::q4_0>(false, true);
#if !defined(AUGUR_SANITIZED)  // not compiled either, which takes longer than to run them
    check_laws<bfloat16>(true, false);
    check_laws<binary16>(false, true);
    check_laws<bfloat16, device_format::q8_0>(false, true);
    check_laws<binary16, device_format::q4_0>(true, false);
#endif
}

/// A real model's text, greedy: about as far from float32 as the host is in the same format, and where the choice was
/// not close, the same choice.
BOOST_AUTO_TEST_CASE(rows_are_those_of_the_host) {
    using augur::llama::weight_format;
    const auto load = [](weight_format format) {
        return augur::llama::host_model::load(AUGUR_TEST_DATA "/llama/stories260K.gguf", {.weights = format});
    };
    const auto host = load(weight_format::f32);
    std::vector<token> text = {1};
    const auto more = augur::testing::greedy(host, text, 100);  // with the first, more than one pass takes
    text.insert(text.end(), more.begin(), more.end() - 1);
    const auto rows_of = [&](const auto& model) {
        auto s = model.make_sequence();
        return copied(model.extend(s, text));
    };
    const auto expected = rows_of(host);
    const auto check = [&]<class Element>(weight_format format) {
        const auto got = rows_of(emulated_model<Element>({}, host));
        const double far = largest_difference(got, expected);
        BOOST_TEST(far < 2 * largest_difference(rows_of(load(format)), expected));
        const auto size = static_cast<std::ptrdiff_t>(host.vocabulary_size());
        for (auto row = got.begin(), of_host = expected.begin(); row != got.end(); row += size, of_host += size) {
            const auto chosen = std::max_element(row, row + size) - row;
            BOOST_TEST(static_cast<double>(*std::max_element(of_host, of_host + size) - of_host[chosen]) <= 2 * far);
        }
    };
    check.template operator()<binary16>(weight_format::f16);
    check.template operator()<bfloat16>(weight_format::bf16);
}

/// Of a file's integers: as far from float32 with the same weights as the host is, whose inputs have 8 bits too.
BOOST_AUTO_TEST_CASE(rows_of_integers_are_those_of_the_host) {
    using augur::io::tensor_type;
    const auto check = []<device_format F>(tensor_type type) {
        const augur::testing::small_llama file(type);
        const auto host = file.load(), exact = file.load({.weights = augur::llama::weight_format::f32});
        const auto tokens = augur::testing::some_tokens(40, host.vocabulary_size());
        const auto rows_of = [&](const auto& model) {
            auto s = model.make_sequence();
            return copied(model.extend(s, tokens));
        };
        const auto expected = rows_of(exact);
        const double far = largest_difference(rows_of(host), expected);
        BOOST_TEST(far > 0);
        BOOST_TEST(largest_difference(rows_of(emulated_model<bfloat16, F>({}, host)), expected) < 2 * far);
    };
    check.template operator()<device_format::q8_0>(tensor_type::q8_0);
    check.template operator()<device_format::q4_0>(tensor_type::q4_0);
}

/// The same integers and scales: the same bits.
BOOST_AUTO_TEST_CASE(four_bits_fit_eight) {
    const auto host = augur::testing::small_llama(augur::io::tensor_type::q4_0).load();
    const auto tokens = augur::testing::some_tokens(9, host.vocabulary_size());
    const auto rows_of = [&](const auto& model) {
        auto s = model.make_sequence();
        return copied(model.extend(s, tokens));
    };
    BOOST_TEST((rows_of(emulated_model<bfloat16, device_format::q8_0>({}, host)) ==
                rows_of(emulated_model<bfloat16, device_format::q4_0>({}, host))));
}

BOOST_AUTO_TEST_CASE(backwards_is_the_same) {
    const auto host = some_llama(false);
    const auto tokens = augur::testing::some_tokens(20, host.vocabulary_size());
    const auto rows = [&](bool backwards) {
        const emulated_model<bfloat16> model(emulated_system{backwards}, host);
        auto s = model.make_sequence();
        return copied(model.extend(s, tokens));
    };
    BOOST_TEST((rows(false) == rows(true)));
}

/// All of a row's parts, in float32 on the host and in 16-bit numbers here.
BOOST_AUTO_TEST_CASE(odd_sizes_are_near_the_hosts) {
    const auto host = some_llama(false);
    const auto tokens = augur::testing::some_tokens(12, host.vocabulary_size());
    const emulated_model<binary16> model({}, host);
    auto a = host.make_sequence();
    auto b = model.make_sequence();
    const auto expected = copied(host.extend(a, tokens));
    const float largest = *std::max_element(expected.begin(), expected.end());
    BOOST_TEST(largest_difference(copied(model.extend(b, tokens)), expected) < 0.02 * static_cast<double>(largest));
}

/// Beyond a block of the cache, where chunks are joined.
BOOST_AUTO_TEST_CASE(long_texts_in_parts_and_at_once) {
    const auto host = some_llama(true);
    const emulated_model<bfloat16> model({}, host);
    const auto tokens = augur::testing::some_tokens(270, host.vocabulary_size());
    auto whole = model.make_sequence(), parts = model.make_sequence();
    const auto expected = copied(model.extend(whole, tokens, 20));
    model.extend(parts, std::span(tokens).first(251), 0);
    std::vector<float> got;
    for (std::size_t i = 250; i < tokens.size(); ++i) {
        model.truncate(parts, i);
        const auto row = copied(model.extend(parts, std::span(tokens).subspan(i, 1)));
        if (i + 20 >= tokens.size()) got.insert(got.end(), row.begin(), row.end());
    }
    BOOST_TEST((got == expected));
}

/// A tree across the end of a block, kept, and the text that follows.
BOOST_AUTO_TEST_CASE(trees_across_blocks) {
    const auto host = some_llama(true);
    const emulated_model<binary16> model({}, host);
    auto text = augur::testing::some_tokens(254, host.vocabulary_size());
    auto tree = model.make_sequence();
    model.extend(tree, text, 0);
    const std::vector<token> nodes = {1, 2, 3, 4, 5, 6};
    const std::vector<std::int32_t> parents = {-1, -1, 1, 0, 2, 4};
    const auto rows = copied(run(model, {.sequence = &tree, .tokens = nodes, .parents = parents}));
    const std::vector<std::size_t> path = {1, 2, 4, 5};
    model.keep(tree, path);
    for (const std::size_t node : path) text.push_back(nodes[node]);
    auto chain = model.make_sequence();
    const auto expected = copied(model.extend(chain, text, 1));
    const std::size_t size = model.vocabulary_size();
    BOOST_TEST((std::vector(rows.end() - static_cast<std::ptrdiff_t>(size), rows.end()) == expected));
    const std::vector<token> more = {7, 8};
    BOOST_TEST((copied(model.extend(tree, more)) == copied(model.extend(chain, more))));
}

/// AUGUR_TOPOLOGIES=N raises the number.
BOOST_AUTO_TEST_CASE(random_topologies_are_their_paths) {
    const emulated_model<bfloat16> model({}, some_llama(true));
    const auto trees = augur::testing::topologies(augur::testing::unless_sanitized<std::size_t>(60, 20));
    BOOST_TEST(augur::testing::trees_that_differ_from_paths(model, trees) == "");
}

/// With rows that stay, with rows that stay behind virtual functions, and with rows that come to the host.
BOOST_AUTO_TEST_CASE(speculation_writes_the_text_of_plain_decoding) {
    const emulated_model<bfloat16> there({}, some_llama(true));
    const augur::model::basic_any_model<augur::accept::exact, augur::accept::coupled> erased(there);
    const augur::model::basic_any_model<> here(there);
    const std::vector<token> prompt = {1, 2, 3, 1, 2, 3, 1, 2};
    const auto text = [&](const auto& model, const auto& criterion, float temperature, std::size_t length) {
        const auto scheme =
            augur::speculate(augur::draft::prompt_lookup(1, 4), model, augur::policy::fixed_length{length}, criterion);
        augur::decode::options options;
        options.sampling.temperature = {temperature};
        options.stop.max_tokens = 40;
        return augur::decode::generate(scheme, prompt, options).tokens;
    };
    const auto check = [&](const auto& criterion, float temperature) {
        const auto expected = text(here, criterion, temperature, 0);
        for (const std::size_t length : {0u, 5u}) {
            BOOST_TEST((text(here, criterion, temperature, length) == expected));
            BOOST_TEST((text(there, criterion, temperature, length) == expected));
            BOOST_TEST((text(erased, criterion, temperature, length) == expected));
        }
    };
    check(augur::accept::exact{}, 0);
    check(augur::accept::coupled{}, 0.8f);
}

BOOST_AUTO_TEST_CASE(what_cannot_be_is_refused) {
    const auto host = some_llama(true);
    const emulated_model<bfloat16> model({}, host);
    const std::vector<token> tokens = {1, 2, 3};
    auto s = model.make_sequence();
    const auto refuses = [&](const auto& what, const std::string& text) {
        BOOST_CHECK_EXCEPTION(what(), augur::error, [&](const augur::error& e) { return says(e, text); });
        BOOST_TEST(model.length(s) == 3u);
    };
    model.extend(s, tokens);
    refuses([&] { model.extend(s, tokens, 4); }, "run: 4 rows of 3 tokens");
    refuses([&] { model.extend(s, std::vector<token>{99}); }, "the token 99 is outside the vocabulary of 77");
    refuses([&] { model.extend(s, std::vector<token>(598)); }, "3 tokens cannot grow by 598 in a context of 600");
    refuses([&] { model.truncate(s, 4); }, "cannot truncate a sequence of 3 tokens to 4");
    const auto tree = [&](auto& of, std::vector<std::int32_t> parents) {
        run(model, {.sequence = &of, .tokens = tokens, .parents = parents});
    };
    refuses([&] { tree(s, {-1, 0}); }, "3 tokens, but 2 parents");
    refuses([&] { tree(s, {-1, 1, 0}); }, "token 1 follows token 1");
    refuses([&] { run(model, {.sequence = &s, .tokens = tokens, .to_layer = 3}); }, "layers from 0 to 3 of 2");
    tree(s, {-1, 0, 0});
    refuses([&] { model.keep(s, std::vector<std::size_t>{0, 3}); }, "token 3 of a pass of 3");
    refuses([&] { model.keep(s, std::vector<std::size_t>{1}); }, "token 1 follows token 0, not -1");
    using pass_type = augur::pass<device::sequence<bfloat16, emulated_system>>;
    refuses(
        [&] {
            model.run(std::vector<pass_type>{{.sequence = &s, .tokens = tokens}, {.sequence = &s}});
        },
        "the sequence of pass 1 is that of pass 0");
    auto waiting = model.make_sequence();
    run(model, {.sequence = &waiting, .tokens = tokens, .to_layer = 1});
    refuses([&] { model.extend(waiting, tokens); }, "3 positions wait for their layers from 1 on");
    refuses([&] { run(model, {.sequence = &waiting, .from_layer = 2}); }, "but positions wait after layer 1");
    refuses([&] { run(model, {.sequence = &waiting, .rows = 4, .from_layer = 1}); }, "4 rows of 3 positions that wait");
    refuses([&] { emulated_model<bfloat16>({}, host.configuration(), host.parameters(), 601); },
            "context of 601 tokens");
    auto early = model.make_sequence();
    model.extend(early, tokens);
    tree(early, {-1, -1, -1});
    model.extend(early, tokens, 0);
    refuses([&] { model.keep(early, std::vector<std::size_t>{0}); }, "the tree was scored after 3 tokens");
}

/// Positions that wait for layers are forgotten as those that have been through all are.
BOOST_AUTO_TEST_CASE(waiting_positions_can_be_truncated) {
    const emulated_model<bfloat16> model({}, some_llama(true));
    const std::vector<token> before = {4, 5}, tokens = {1, 2, 3}, kept = {4, 5, 1, 2};
    auto whole = model.make_sequence(), parts = model.make_sequence(), none = model.make_sequence();
    const auto wanted = copied(model.extend(whole, kept, 2));
    for (auto* s : {&parts, &none}) {
        model.extend(*s, before, 0);
        run(model, {.sequence = s, .tokens = tokens, .to_layer = 1});
    }
    model.truncate(parts, 4);
    BOOST_TEST(model.waiting(parts) == 2u);
    BOOST_TEST(copied(run(model, {.sequence = &parts, .from_layer = 1})) == wanted, boost::test_tools::per_element());
    model.truncate(none, 1);
    BOOST_TEST(model.waiting(none) == 0u);
    model.extend(none, std::vector<token>{5}, 0);
    BOOST_TEST(copied(model.extend(none, std::vector<token>{1, 2})) == wanted, boost::test_tools::per_element());
}

/// What was extended since lies in the tree's slots, even if it was taken back.
/// The rows of passes are computed in an order of their own: those without logits first. Where one pass has the first
/// rows and the last, all are not its.
BOOST_AUTO_TEST_CASE(passes_that_want_different_rows_run_together) {
    using model_type = emulated_model<bfloat16>;
    const model_type model({}, some_llama(true));
    const std::vector<token> a = {1, 2, 3}, b = {9, 8, 7, 6};
    const auto alone = [&](const std::vector<token>& tokens, std::size_t rows) {
        auto s = model.make_sequence();
        auto logits = copied(model.extend(s, tokens, rows));
        return std::pair{logits, copied(model.hidden(s))};
    };
    for (const std::size_t rows_of_a : {1u, 3u}) {
        for (const std::size_t rows_of_b : {0u, 1u, 4u}) {
            auto s = model.make_sequence(), t = model.make_sequence();
            using pass_type = augur::pass<decltype(s)>;
            const std::vector<pass_type> both = {{.sequence = &s, .tokens = a, .rows = rows_of_a},
                                                 {.sequence = &t, .tokens = b, .rows = rows_of_b}};
            std::vector<augur::model::pass_rows<model_type>> results(2);
            augur::model::run<model_type>(model, both, results);
            BOOST_TEST((std::pair{copied(results[0]), copied(model.hidden(s))} == alone(a, rows_of_a)));
            BOOST_TEST((std::pair{copied(results[1]), copied(model.hidden(t))} == alone(b, rows_of_b)));
            BOOST_TEST(model.hidden(s).size() == rows_of_a);
            BOOST_TEST(model.hidden(t).size() == rows_of_b);
        }
    }
}

BOOST_AUTO_TEST_CASE(a_tree_that_was_written_over_is_not_kept) {
    const emulated_model<bfloat16> model({}, some_llama(true));
    const std::vector<token> tokens = {1, 2, 3};
    auto s = model.make_sequence();
    model.extend(s, tokens);
    run(model, {.sequence = &s, .tokens = tokens, .parents = std::vector<std::int32_t>{-1, 0, 0}});
    model.extend(s, tokens, 0);
    model.truncate(s, 3);
    BOOST_CHECK_EXCEPTION(model.keep(s, std::vector<std::size_t>{0}), augur::error,
                          [](const augur::error& e) { return says(e, "keep: token 0 of a pass of 0"); });
}

BOOST_AUTO_TEST_CASE(a_copy_knows_its_tokens_as_the_original_does) {
    augur::testing::small_llama file;
    for (int id = 0; id < 77; ++id) file.tokens.push_back("t" + std::to_string(id));
    const auto host = file.load();
    BOOST_TEST_REQUIRE(!host.vocabulary_fingerprint().empty());
    const emulated_model<bfloat16> model({}, host);
    BOOST_TEST(model.vocabulary_fingerprint() == host.vocabulary_fingerprint());
}

BOOST_AUTO_TEST_CASE(heads_of_some_tokens_are_refused) {
    const auto some = augur::testing::small_llama().load({.head_tokens = {1, 2}});
    BOOST_CHECK_EXCEPTION(emulated_model<bfloat16>({}, some), augur::error, [](const augur::error& e) {
        return says(e, "a head of all 77 tokens, but this one's has 2");
    });
}

BOOST_AUTO_TEST_CASE(memory_is_counted) {
    const auto host = some_llama(true);
    const emulated_model<bfloat16> model({}, host);
    // 2 layers of 96 + 64 + 192 + 64 rows, depths 64, 64, 64 and 96; the head's 80 rows; the embedding; five norms.
    const std::size_t matrices = 2 * (96 * 64 + 64 * 64 + 192 * 64 + 64 * 96) + 80 * 64 + 77 * 64;
    BOOST_TEST(model.memory_bytes() == 2 * matrices + 5 * 64 * sizeof(float));
    const emulated_model<bfloat16, device_format::q8_0> eight({}, host);
    const emulated_model<bfloat16, device_format::q4_0> four({}, host);
    const std::size_t blocks = matrices / 32, rest = 77 * 64 / 32, head = 80 * 64 / 32;  // of 32 weights
    BOOST_TEST(eight.memory_bytes() == (blocks - rest) * 34 + rest * 64 + 5 * 64 * sizeof(float));
    BOOST_TEST(four.memory_bytes() == (blocks - rest - head) * 18 + head * 34 + rest * 64 + 5 * 64 * sizeof(float));
    auto s = model.make_sequence();
    const std::size_t before = s.memory_bytes();
    model.extend(s, std::vector<token>{1});
    BOOST_TEST(s.memory_bytes() - before >= 2u * 2 * 2 * 256 * 8 * 2);
}

BOOST_AUTO_TEST_SUITE_END()
