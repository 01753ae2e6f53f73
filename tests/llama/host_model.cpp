#include "augur/llama/host_model.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <span>
#include <stdexcept>
#include <thread>

#include "augur/model/concepts.hpp"
#include "llama/small_llama.hpp"
#include "sanitized.hpp"

BOOST_AUTO_TEST_SUITE(llama_host_model)

using namespace augur;
using namespace augur::testing;

static_assert(Model<llama::host_model>);
static_assert(ScoresLastRows<llama::host_model>);
static_assert(PrefillsStates<llama::host_model> && TreeModel<llama::host_model>);
static_assert(SplitModel<llama::host_model> && BatchModel<llama::host_model>);
static_assert(has_bitwise_rows<llama::host_model>);

BOOST_AUTO_TEST_CASE(kept_weights_are_close_to_widened_ones_and_smaller) {
    using enum io::tensor_type;
    for (const auto type :
         {f32, f16, bf16, q8_0, q4_0, q4_1, q5_0, q5_1, q2_k, q3_k, q4_k, q5_k, q6_k, iq4_nl, iq4_xs, mxfp4}) {
        const small_llama file = io::block_size(type) == 256 ? small_llama(type, 256, 4, 2, 512) : small_llama(type);
        const auto kept = file.load(), widened = file.load({.weights = llama::weight_format::f32});
        const auto tokens = some_tokens(23, 77);
        const auto found = logits_in_steps(kept, tokens, 23), wanted = logits_in_steps(widened, tokens, 23);
        const bool exact = type == f32 || type == f16;
        if (exact) BOOST_TEST(same_bits(found, wanted), io::name_of(type));
        double difference = 0, size = 0;
        for (std::size_t i = 0; i < found.size(); ++i) {
            difference += std::pow(double{found[i] - wanted[i]}, 2);
            size += std::pow(double{wanted[i]}, 2);
        }
        BOOST_TEST(difference <= 1e-3 * size, io::name_of(type) << ": " << difference << " of " << size);
        BOOST_TEST(found.front() != found.back());
        BOOST_TEST((kept.memory_bytes() < widened.memory_bytes()) == (type != f32));
    }
}

/// Of formats that kernels do not multiply, memory has the same numbers in another; a note says so.
BOOST_AUTO_TEST_CASE(formats_without_a_kernel_are_held_exactly_in_another) {
    using enum io::tensor_type;
    const temporary_directory folder;
    for (const auto& [type, held] : {std::pair{q5_0, q8_0}, std::pair{q3_k, q6_k}}) {
        const auto path = small_llama(type, 256, 4, 2, 256).write(folder / "model.gguf");
        const auto kept = llama::host_model::load(path);
        const auto widened = llama::host_model::load(path, {.weights = llama::weight_format::f32});
        const auto &down = kept.parameters().layers[1]->down, &floats = widened.parameters().layers[1]->down;
        BOOST_TEST(backend::host::name_of(down.format()) == io::name_of(held));
        std::vector<float> found(256), wanted(256);
        for (std::size_t row = 0; row < 256; ++row) {
            down.unpack_row(row, found);
            floats.unpack_row(row, wanted);
            BOOST_TEST(same_bits(found, wanted), io::name_of(type) << " row " << row);
        }
        std::uint64_t numbers = 0;
        const io::gguf_file stored(path);
        for (const auto& tensor : stored.tensors()) numbers += tensor.type == type ? tensor.element_count() : 0;
        const auto bytes = [&](io::tensor_type of) {
            return std::to_string(numbers / io::block_size(of) * io::block_bytes(of));
        };
        BOOST_TEST_REQUIRE(kept.configuration().notes.size() == 1u);
        BOOST_TEST(kept.configuration().notes[0] == "15 tensors of " + std::string(io::name_of(type)) +
                                                        " are held as " + std::string(io::name_of(held)) +
                                                        ", with the same numbers: " + bytes(type) + " bytes become " +
                                                        bytes(held));
        BOOST_TEST(widened.configuration().notes.empty());
    }
}

/// Whatever the format; the rows of a head that is pruned are beside the embedding.
BOOST_AUTO_TEST_CASE(parameters_are_counted_as_the_file_has_them) {
    const temporary_directory folder;
    for (const auto type : {io::tensor_type::f32, io::tensor_type::q4_0}) {
        for (const bool own_head : {false, true}) {
            small_llama file(type);
            if (own_head) file.shapes["output.weight"] = {77, 64};
            const auto path = file.write(folder / "model.gguf");
            const io::gguf_file stored(path);
            std::size_t count = 0;
            for (const auto& tensor : stored.tensors()) count += static_cast<std::size_t>(tensor.element_count());
            BOOST_TEST(llama::host_model::load(path).parameter_count() == count);
            const auto pruned = llama::host_model::load(path, {.head_tokens = {1, 2, 3}});
            BOOST_TEST(pruned.parameter_count() == count + 3 * 64 - (own_head ? 77 * 64 : 0));
        }
    }
}

BOOST_AUTO_TEST_CASE(weights_are_converted_as_asked) {
    const small_llama file(io::tensor_type::f32);
    const auto tokens = some_tokens(23, 77);
    const auto wanted = logits_in_steps(file.load(), tokens, 23);
    std::size_t most = file.load().memory_bytes();
    for (const auto format : {llama::weight_format::bf16, llama::weight_format::q8_0, llama::weight_format::q4_1,
                              llama::weight_format::q4_0}) {
        const auto model = file.load({.weights = format});
        BOOST_TEST(model.memory_bytes() < most, llama::name_of(format));
        most = model.memory_bytes();
        const auto found = logits_in_steps(model, tokens, 23);
        BOOST_TEST(!same_bits(found, wanted));
        double product = 0, a = 0, b = 0;
        for (std::size_t i = 0; i < found.size(); ++i) {
            product += double{found[i]} * double{wanted[i]};
            a += double{found[i]} * double{found[i]};
            b += double{wanted[i]} * double{wanted[i]};
        }
        BOOST_TEST(product / std::sqrt(a * b) > 0.85, llama::name_of(format) << ": " << product / std::sqrt(a * b));
    }
}

BOOST_AUTO_TEST_CASE(rows_do_not_depend_on_how_many_are_computed_together) {
    using enum io::tensor_type;
    const auto tokens = some_tokens(300, 77);  // more than one chunk, more than one block of the cache
    for (const auto type : {f32, bf16, q8_0, q4_1}) {
        const auto model = small_llama(type).load();
        const auto one_by_one = logits_in_steps(model, tokens, 1);
        for (std::size_t rows = 2; rows <= 40; rows += testing::unless_sanitized<std::size_t>(1, 5)) {
            BOOST_TEST(same_bits(logits_in_steps(model, tokens, rows), one_by_one),
                       rows << " rows of " << io::name_of(type));
        }
        BOOST_TEST(same_bits(logits_in_steps(model, tokens, 300), one_by_one));
    }
}

BOOST_AUTO_TEST_CASE(rows_do_not_depend_on_threads_or_instructions) {
    using enum io::tensor_type;
    const auto tokens = some_tokens(21, 77);
    for (const auto type : {f32, f16, bf16, q8_0, q4_0, q4_1}) {
        const small_llama file(type);
        auto wanted = logits_in_steps(file.load({.threads = 1}), tokens, 21);
        for (const auto set : instruction_sets()) {
            if (type == bf16) {  // its sums have the instruction set's order
                wanted = logits_in_steps(file.load({.threads = 1, .instruction_set = set}), tokens, 21);
            }
            for (const std::size_t threads : {1u, 2u, 3u, 8u}) {
                const auto model = file.load({.threads = threads, .instruction_set = set});
                BOOST_TEST(model.threads() == threads);
                for (const std::size_t rows : {1u, 5u, 21u}) {
                    BOOST_TEST(same_bits(logits_in_steps(model, tokens, rows), wanted),
                               host::name_of(set) << ", " << threads << " threads, " << rows << " rows");
                }
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(unusual_shapes_work) {
    for (auto file :
         {small_llama(io::tensor_type::f32, 12, 3, 3, 7, 5), small_llama(io::tensor_type::bf16, 50, 5, 1, 43, 33),
          small_llama(io::tensor_type::f16, 34, 1, 1, 1, 1)}) {
        file.sizes["llama.rope.dimension_count"] = 2;
        const auto model = file.load({.threads = 2});
        const auto tokens = some_tokens(20, model.vocabulary_size());
        BOOST_TEST(same_bits(logits_in_steps(model, tokens, 1), logits_in_steps(model, tokens, 20)));
    }
}

BOOST_AUTO_TEST_CASE(a_blank_sequence_has_its_length_and_no_text) {
    const small_llama file(io::tensor_type::f32, 256, 4, 2, 512);  // heads that Q8_0 can hold
    for (const auto cache : {llama::cache_format::f32, llama::cache_format::q8_0}) {
        const auto model = file.load({.context_length = 400, .cache = cache});
        auto blank = model.make_blank_sequence(300);
        BOOST_TEST(model.length(blank) == 300u);
        const auto tokens = some_tokens(3, 77);
        const auto rows = model.extend(blank, tokens, 3);
        BOOST_TEST(model.length(blank) == 303u);
        for (const float logit : rows[2]) BOOST_TEST(std::isfinite(logit));
        auto again = model.make_blank_sequence(300);
        BOOST_TEST(same_bits(std::vector<float>(rows[2].begin(), rows[2].end()), [&] {
            const auto same = model.extend(again, tokens, 1);
            return std::vector<float>(same[0].begin(), same[0].end());
        }()));
        BOOST_TEST(model.length(model.make_blank_sequence(400)) == 400u);
        const auto narrow = file.load({.cache = cache, .cache_bytes = model.cache_bytes(256)});
        narrow.make_blank_sequence(256);
        BOOST_CHECK_THROW(narrow.make_blank_sequence(257), error);
        BOOST_CHECK_EXCEPTION(model.make_blank_sequence(401), error, [](const error& e) {
            return std::string(e.what()).find("401 tokens exceeds the context of 400") != std::string::npos;
        });
    }
}

BOOST_AUTO_TEST_CASE(a_context_of_sixteen_thousand_tokens_works) {
    small_llama file(io::tensor_type::f32, 8, 1, 1, 8);
    const std::size_t length = testing::unless_sanitized<std::size_t>(16384, 2048), most = length - 5;
    file.sizes["llama.context_length"] = static_cast<std::uint32_t>(length);
    const auto model = file.load();
    const auto tokens = some_tokens(length, 77);
    auto whole = model.make_sequence(), parts = model.make_sequence();
    const auto wanted = copied(model.extend(whole, tokens, 5));
    model.extend(parts, std::span(tokens).first(1001), 0);
    model.extend(parts, std::span(tokens).subspan(1001, most - 1001), 0);
    std::vector<float> found;
    for (std::size_t i = most; i < length; ++i) {
        const auto row = copied(model.extend(parts, std::span(tokens).subspan(i, 1)));
        found.insert(found.end(), row.begin(), row.end());
    }
    BOOST_TEST(same_bits(found, wanted));
    BOOST_CHECK_THROW(model.extend(parts, std::span(tokens).first(1)), augur::error);
}

BOOST_AUTO_TEST_CASE(truncating_and_extending_equals_a_fresh_sequence) {
    const auto model = small_llama(io::tensor_type::q8_0).load();
    const auto tokens = some_tokens(290, 77), others = some_tokens(100, 50);
    const auto wanted = logits_in_steps(model, tokens, 290);
    auto sequence = model.make_sequence();
    model.extend(sequence, std::span(tokens).first(40));
    for (const std::size_t length : {39u, 17u, 16u, 1u, 0u}) {
        model.extend(sequence, others);
        model.truncate(sequence, length);
        BOOST_TEST(model.length(sequence) == length);
        const auto rows = copied(model.extend(sequence, std::span(tokens).subspan(length)));
        BOOST_TEST(same_bits(rows, std::span(wanted).subspan(length * 77)));
        model.truncate(sequence, 40);
    }
}

BOOST_AUTO_TEST_CASE(the_last_rows_are_those_of_all_rows) {
    const auto model = small_llama().load();
    const auto tokens = some_tokens(270, 77);
    const auto wanted = logits_in_steps(model, tokens, 270);
    auto all = model.make_sequence();
    model.extend(all, tokens);
    const auto states = copied(model.hidden(all));
    for (const std::size_t last : {0u, 1u, 13u, 14u, 15u, 142u, 143u, 269u, 270u}) {
        auto sequence = model.make_sequence();
        const auto rows = copied(model.extend(sequence, tokens, last));
        BOOST_TEST(model.length(sequence) == 270u);
        BOOST_TEST(same_bits(rows, std::span(wanted).last(last * 77)), last << " rows");
        BOOST_TEST(model.hidden(sequence).size() == last);
        BOOST_TEST(same_bits(copied(model.hidden(sequence)), std::span(states).last(last * 64)));
    }
    auto empty = model.make_sequence();
    BOOST_TEST(model.extend(empty, {}).size() == 0u);
}

BOOST_AUTO_TEST_CASE(logits_are_the_head_times_the_hidden_state) {
    auto file = small_llama();
    file.shapes["output.weight"] = {77, 64};
    const auto untied = file.load();
    BOOST_TEST(!untied.configuration().tied_head);
    BOOST_TEST(untied.hidden_size() == 64u);
    const auto tied = small_llama().load();
    BOOST_TEST(tied.configuration().tied_head);
    const auto tokens = some_tokens(4, 77);
    auto sequence = tied.make_sequence();
    const auto rows = tied.extend(sequence, tokens);
    const temporary_directory folder;
    const io::gguf_file stored(small_llama().write(folder / "model.gguf"));
    std::vector<float> embedding(77 * 64);
    io::dequantize(io::tensor_type::f32, stored.tensor("token_embd.weight").bytes, embedding);
    for (std::size_t row = 0; row < 4; ++row) {
        const auto state = tied.hidden(sequence)[row];
        for (std::size_t id = 0; id < 77; ++id) {
            double sum = 0;
            for (std::size_t i = 0; i < 64; ++i) sum += double{state[i]} * double{embedding[id * 64 + i]};
            BOOST_TEST(std::abs(double{rows[row][id]} - sum) < 1e-4);
        }
    }
}

BOOST_AUTO_TEST_CASE(sequences_do_not_influence_each_other) {
    const auto model = small_llama(io::tensor_type::q4_0).load({.threads = 2});
    const auto tokens = some_tokens(60, 77);
    const auto wanted = logits_in_steps(model, tokens, 60);
    std::vector<std::vector<float>> found(3);
    std::vector<std::thread> users;
    for (std::size_t i = 0; i < found.size(); ++i) {
        users.emplace_back([&, i] { found[i] = logits_in_steps(model, tokens, i + 1); });
    }
    for (auto& user : users) user.join();
    for (const auto& rows : found) BOOST_TEST(same_bits(rows, wanted));
}

BOOST_AUTO_TEST_CASE(what_cannot_be_done_changes_nothing) {
    const auto model = small_llama().load({.context_length = 30});
    BOOST_TEST(model.context_length() == 30u);
    const auto tokens = some_tokens(31, 77);
    auto sequence = model.make_sequence();
    const auto rows = model.extend(sequence, std::span(tokens).first(20));
    const auto before = copied(rows);
    BOOST_CHECK_EXCEPTION(model.extend(sequence, std::span(tokens).first(11)), error, says({"20", "11", "30"}));
    BOOST_CHECK_EXCEPTION(model.extend(sequence, std::vector<token>{3, 77}), error, says({"77", "vocabulary"}));
    BOOST_CHECK_EXCEPTION(model.extend(sequence, std::vector<token>{-1}), error, says({"-1", "77"}));
    BOOST_CHECK_EXCEPTION(model.extend(sequence, std::vector<token>{1}, 2), error, says({"2", "1"}));
    BOOST_CHECK_EXCEPTION(model.truncate(sequence, 21), error, says({"20", "21"}));
    BOOST_CHECK_EXCEPTION(model.truncate(sequence, static_cast<std::size_t>(-1)), error, says({"20"}));
    BOOST_TEST(model.length(sequence) == 20u);
    BOOST_TEST(same_bits(copied(rows), before));
    BOOST_TEST(model.extend(sequence, std::span(tokens).first(10)).size() == 10u);
    auto foreign = small_llama(io::tensor_type::f32, 64, 8, 4).load().make_sequence();
    BOOST_CHECK_EXCEPTION(model.extend(foreign, std::vector<token>{1}), error, says({"another shape"}));
}

BOOST_AUTO_TEST_CASE(a_long_pass_can_be_ended_between_its_layers) {
    std::size_t calls = 0, ends_at = 0;
    const auto model = small_llama(io::tensor_type::f32).load({.between_layers = [&] {
        if (++calls == ends_at) throw std::runtime_error("enough");
    }});
    const auto tokens = some_tokens(400, 77);
    const std::span<const token> all(tokens);
    auto s = model.make_sequence();
    model.extend(s, all.first(128), 1);
    BOOST_TEST(calls == 0u);  // a single chunk
    model.truncate(s, 60);
    const std::size_t chunk = model.layer_count();
    ends_at = chunk + 2;  // in the second chunk of 128
    BOOST_CHECK_THROW(model.extend(s, all.subspan(60), 1), std::runtime_error);
    BOOST_TEST(calls == chunk + 2);
    BOOST_TEST(model.length(s) == 60u);
    calls = ends_at = 0;
    const auto again = model.extend(s, all.subspan(60), 1);
    BOOST_TEST(calls == 3 * chunk);  // 340 tokens
    auto fresh = model.make_sequence();
    const auto wanted = model.extend(fresh, all, 1);
    BOOST_TEST(again[0] == wanted[0], boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(options_are_checked) {
    const small_llama file;
    BOOST_CHECK_EXCEPTION(file.load({.context_length = 601}), error, says({"601", "600"}));
    BOOST_CHECK_EXCEPTION(file.load({.threads = 65}), error, says({"65", "64"}));
}

BOOST_AUTO_TEST_SUITE_END()
