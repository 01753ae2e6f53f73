#include "augur/llama/draft_checkpoint.hpp"

#include <augur/accept/exact.hpp>
#include <augur/accept/rejection_sampling.hpp>
#include <augur/io/files/dequantize.hpp>
#include <augur/io/files/quantize.hpp>
#include <augur/llama/low_rank.hpp>
#include <augur/testing/promise.hpp>
#include <boost/test/unit_test.hpp>
#include <limits>

#include "augur/llama/draft_heads.hpp"
#include "llama/dense_case.hpp"
#include "llama/draft_bundle.hpp"

BOOST_AUTO_TEST_SUITE(llama_draft_checkpoint)

using namespace augur;
using namespace augur::testing;

namespace {

const std::vector<std::int32_t> kept{1, 2, 16, 17, 40, 75};

/// The rows of a whole Llama, with -infinity for what is not kept.
std::vector<float> pruned(std::vector<float> rows) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if (!std::binary_search(kept.begin(), kept.end(), static_cast<std::int32_t>(i % 77))) {
            rows[i] = -std::numeric_limits<float>::infinity();
        }
    }
    return rows;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_draft_borrows_what_its_file_leaves_out) {
    using enum io::tensor_type;
    const temporary_directory folder;
    const auto tokens = some_tokens(9, 77);
    for (const auto type : {f32, bf16, q8_0, q4_1}) {
        for (const bool own_head : {false, true}) {
            small_llama file(type);
            if (own_head) file.shapes["output.weight"] = {77, 64};
            for (int id = 0; own_head && id < 77; ++id) file.tokens.push_back("t" + std::to_string(id));
            const auto target = file.load();
            BOOST_TEST(target.vocabulary_fingerprint().empty() == !own_head);
            small_llama part = small_checkpoint("draft", target, type);
            part.lists["augur.head.tokens"] = kept;
            const auto path = part.write(folder / "draft.gguf");
            const auto draft = llama::load_draft(path, target, {.threads = 2});
            BOOST_TEST(draft.layer_count() == 1u);
            BOOST_TEST(draft.vocabulary_fingerprint() == target.vocabulary_fingerprint());

            const io::gguf_file layers(path);
            llama::config c = llama::read_config(layers, 77);
            llama::weights by_hand =
                llama::weight_reader(layers, c, llama::gguf_names(), llama::weight_format::keep).read_layers({0});
            by_hand.embedding = target.parameters().embedding;
            const std::vector<std::size_t> all = [] {
                std::vector<std::size_t> rows(77);
                for (std::size_t i = 0; i < 77; ++i) rows[i] = i;
                return rows;
            }();
            by_hand.head = target.parameters().output().selected(all);
            const llama::host_model whole(c, std::move(by_hand), {});
            BOOST_TEST(same_bits(logits_in_steps(draft, tokens, 4), pruned(logits_in_steps(whole, tokens, 9))),
                       io::name_of(type) << (own_head ? ", own head" : ""));
            BOOST_TEST(draft.memory_bytes() < target.memory_bytes() / 2);
        }
    }
}

BOOST_AUTO_TEST_CASE(a_head_that_is_borrowed_takes_no_more_bytes_a_weight_than_the_draft_has) {
    using backend::host::storage;
    const temporary_directory folder;
    const auto tokens = some_tokens(9, 77);
    for (const auto type : {io::tensor_type::f32, io::tensor_type::bf16, io::tensor_type::q8_0}) {
        const auto target = small_llama(type).load();
        small_llama part = small_checkpoint("draft", target, io::tensor_type::q8_0);
        part.lists["augur.head.tokens"] = kept;
        const auto path = part.write(folder / "draft.gguf");
        const auto small = llama::load_draft(path, target);
        BOOST_TEST((small.parameters().head.format() == storage::q8_0));
        const auto asked = llama::load_draft(path, target, {.weights = llama::weight_format::f32});
        BOOST_TEST((asked.parameters().head.format() == target.parameters().output().format()));
        std::vector<float> row(64), rounded(64);
        for (std::size_t i = 0; i < kept.size(); ++i) {
            target.parameters().output().unpack_row(static_cast<std::size_t>(kept[i]), row);
            small.parameters().head.unpack_row(i, rounded);
            const float largest = std::abs(
                *std::max_element(row.begin(), row.end(), [](float a, float b) { return std::abs(a) < std::abs(b); }));
            for (std::size_t k = 0; k < row.size(); ++k) BOOST_TEST(std::abs(row[k] - rounded[k]) <= largest / 200);
        }
        // A draft whose own matrices are floats keeps the target's.
        small_llama floats = small_checkpoint("draft", target, io::tensor_type::f32);
        floats.lists["augur.head.tokens"] = kept;
        const auto plain = llama::load_draft(floats.write(folder / "floats.gguf"), target);
        BOOST_TEST((plain.parameters().head.format() == target.parameters().output().format()));
    }
}

BOOST_AUTO_TEST_CASE(halved_holds_eight_bits_in_four_and_all_else_as_it_is) {
    using backend::host::storage;
    const temporary_directory folder;
    const llama::load_options halved{.weights = llama::weight_format::halved};
    for (const auto type : {io::tensor_type::f32, io::tensor_type::bf16, io::tensor_type::q8_0, io::tensor_type::q5_0,
                            io::tensor_type::q5_1, io::tensor_type::q4_1}) {
        const auto target = small_llama(io::tensor_type::bf16).load();
        small_llama part = small_checkpoint("draft", target, type);
        part.lists["augur.head.tokens"] = kept;
        const auto path = part.write(folder / "draft.gguf");
        const auto draft = llama::load_draft(path, target, halved), stored = llama::load_draft(path, target);
        const bool is_halved = type == io::tensor_type::q8_0;
        const auto& got = draft.parameters().layers.front()->query;
        BOOST_TEST((got.format() == (is_halved ? storage::q4_0 : stored.parameters().layers.front()->query.format())));
        BOOST_TEST((draft.parameters().head.format() == stored.parameters().head.format()));
        BOOST_TEST((draft.memory_bytes() < stored.memory_bytes()) == is_halved);
        std::vector<float> from(64), rounded(64), row(64);
        std::vector<std::byte> blocks(2 * io::block_bytes(io::tensor_type::q4_0));
        stored.parameters().layers.front()->query.unpack_row(3, from);
        io::quantize(io::tensor_type::q4_0, from, blocks);
        io::dequantize(io::tensor_type::q4_0, blocks, rounded);
        got.unpack_row(3, row);
        BOOST_TEST((row == (is_halved ? rounded : from)));
    }
    const auto target = small_llama(io::tensor_type::q4_1).load();
    const auto& original = target.parameters().layers.front()->query;
    BOOST_TEST((llama::type_of_changed(original, llama::weight_format::halved) == io::tensor_type::q8_0));
}

BOOST_AUTO_TEST_CASE(a_draft_may_bring_its_own_embedding_and_head) {
    const temporary_directory folder;
    const auto target = small_llama().load();
    small_llama part = small_checkpoint("draft", target);
    part.shapes["token_embd.weight"] = {77, 64};
    part.shapes["output.weight"] = {kept.size(), 64};
    part.lists["augur.head.tokens"] = kept;
    const auto draft = llama::load_draft(part.write(folder / "draft.gguf"), target);
    const auto row = logits_in_steps(draft, std::vector<token>{5}, 1);
    BOOST_TEST(same_bits(row, pruned(row)));
    BOOST_TEST(!std::isinf(row[40]));
    BOOST_TEST(draft.parameters().embedding != target.parameters().embedding);
    part.lists.clear();
    BOOST_CHECK_EXCEPTION(llama::load_draft(part.write(folder / "draft.gguf"), target), error,
                          says({"output.weight", "6", "77"}));
}

BOOST_AUTO_TEST_CASE(a_draft_of_a_family_leaves_the_law_as_it_is) {
    const temporary_directory folder;
    const auto target = small_llama(io::tensor_type::f32, 32, 4, 2, 24, 4).load({.threads = 1});
    small_llama part = small_checkpoint("draft", target);
    part.lists["augur.head.tokens"] = {1, 3};
    const auto draft = llama::load_draft(part.write(folder / "draft.gguf"), target, {.threads = 1});
    decode::options chosen;
    chosen.stop.max_tokens = 3;
    const std::vector<token> prompt{2, 0, 1};
    const policy::fixed_length two{2};
    BOOST_TEST(broken_promise(speculate(draft, target, two, accept::rejection_sampling{}), prompt, chosen) == "");
    chosen.sampling.temperature.value = 0;
    BOOST_TEST(broken_promise(speculate(draft, target, two, accept::exact{}), prompt, chosen) == "");
}

BOOST_AUTO_TEST_CASE(what_was_made_for_another_target_is_refused) {
    const temporary_directory folder;
    const auto target = small_llama().load();
    const auto other = small_llama(io::tensor_type::f16).load();
    BOOST_TEST(target.fingerprint().size() == 16u);
    BOOST_TEST(target.fingerprint() != other.fingerprint());
    const auto path = small_checkpoint("draft", target).write(folder / "draft.gguf");
    BOOST_CHECK_EXCEPTION(llama::load_draft(path, other), error,
                          says({"draft.gguf", "'a small one'", target.fingerprint(), other.fingerprint()}));
    BOOST_TEST(llama::load_draft(path, target).fingerprint() == io::fingerprint(path));
    small_llama hostile = small_checkpoint("draft", target);
    hostile.texts["augur.target.fingerprint"] = "\x1b[2J" + std::string(5'000'000, 'x');
    BOOST_CHECK_EXCEPTION(llama::load_draft(hostile.write(folder / "hostile.gguf"), target), error,
                          [](const error& caught) {
                              const std::string text = caught.what();
                              return text.size() < 500 && text.find("'\\x1b[2Jxxx") != text.npos;
                          });
    hostile.texts["augur.target.fingerprint"] = "";
    const io::gguf_file file(small_llama().write(folder / "target.gguf"));
    const llama::weight_reader reader(file, target.configuration(), llama::gguf_names(), llama::weight_format::keep);
    const llama::host_model unknown(target.configuration(), reader.read({0, 1}, {}), {});  // whose file nobody named
    BOOST_CHECK_EXCEPTION(llama::load_draft(hostile.write(folder / "hostile.gguf"), unknown), error,
                          says({"fingerprint ''", "unknown"}));
    small_llama wide = small_checkpoint("draft", target);
    wide.sizes["llama.embedding_length"] = 32;
    BOOST_CHECK_EXCEPTION(llama::load_draft(wide.write(folder / "wide.gguf"), target), error,
                          says({"wide.gguf", "the width is 32", "64"}));
    BOOST_CHECK_EXCEPTION(llama::load_draft(small_llama().write(folder / "plain.gguf"), target), error,
                          says({"plain.gguf", "augur.member", "'draft'"}));
    const auto pruned = small_llama().load({.head_tokens = {1, 2}});
    BOOST_CHECK_EXCEPTION(llama::load_draft(path, pruned), error, says({"draft.gguf", "head"}));
}

BOOST_AUTO_TEST_CASE(a_target_of_scaled_embeddings_or_logits_lends_neither) {
    const temporary_directory folder;
    const auto dense = [&](const char* name) {
        read_dense_case(name).write_folder(folder.path());
        return llama::host_model::load(folder.path(), {.threads = 1});
    };
    for (const char* const name : {"gemma_even", "granite_even"}) {
        const auto target = dense(name);
        const auto path = small_checkpoint("draft", target).write(folder / "draft.gguf");
        BOOST_CHECK_EXCEPTION(llama::load_draft(path, target), error,
                              says({"draft.gguf", "embedding", "is scaled by"}));
    }
    for (const char* const name : {"gemma2_even", "granite_even"}) {
        const auto target = dense(name);
        small_llama own = small_checkpoint("draft", target);
        own.shapes["token_embd.weight"] = {target.vocabulary_size(), target.hidden_size()};
        const std::vector<std::string> words{"target's head", "a scale of", "a cap of"};
        BOOST_CHECK_EXCEPTION(llama::load_draft(own.write(folder / "draft.gguf"), target), error, says(words));
        const auto heads = small_heads("medusa", target).write(folder / "medusa.gguf");
        BOOST_CHECK_EXCEPTION(llama::draft_heads::load(heads, "medusa", target), error, says(words));
    }
}

BOOST_AUTO_TEST_SUITE_END()
