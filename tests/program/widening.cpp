#include "../../examples/augur/widening.hpp"

#include <algorithm>
#include <augur/io/files/fingerprint.hpp>
#include <augur/llama/draft_heads.hpp>
#include <augur/llama/eagle_model.hpp>
#include <augur/llama/early_exit.hpp>
#include <augur/llama/qualifier.hpp>
#include <augur/train/packed_weight_matrix.hpp>
#include <augur/train/state_head.hpp>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../../examples/augur/widened_adapter.hpp"
#include "../../examples/augur/widened_gguf.hpp"
#include "llama/draft_bundle.hpp"
#include "llama/small_llama.hpp"

BOOST_AUTO_TEST_SUITE(program_widening)

using namespace augur;
using program::llama_shape, program::shape_of, program::widened_gguf;
using testing::small_llama;

/// Twice as wide and more, with added heads in groups and as groups, and added layers.
const llama_shape same_heads{160, 256, 24, 4, 8, 4};
/// Heads three times as large, too.
const llama_shape larger_heads{192, 128, 10, 2, 24, 2};

double largest_difference(std::span<const float> a, std::span<const float> b) {
    BOOST_TEST_REQUIRE(a.size() == b.size());
    double most = 0;
    for (std::size_t i = 0; i < a.size(); ++i) most = std::max(most, std::abs(double{a[i]} - double{b[i]}));
    return most;
}

void write(const widened_gguf& from, const std::filesystem::path& to, const program::draft_target& whom = {}) {
    std::ofstream out(to, std::ios::binary);
    from.write(
        [&](std::span<const std::byte> bytes) {
            out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
        },
        whom);
}
/// As wide.gguf beside the original.
llama::host_model written_and_loaded(const std::filesystem::path& path, const llama_shape& to,
                                     llama::load_options options = {}) {
    const auto wide = path.parent_path() / "wide.gguf";
    const io::gguf_file file(path);
    write(widened_gguf::of_model(file, to, options.weights), wide);
    return llama::host_model::load(wide, options);
}
/// A draft of the original for the wide model that written_and_loaded() wrote; beside it.
std::filesystem::path widened_draft(const std::filesystem::path& draft, const std::filesystem::path& original,
                                    const llama_shape& to) {
    const auto wide = draft.parent_path() / ("wide_" + draft.filename().string());
    const io::gguf_file file(draft), target(original), wide_target(original.parent_path() / "wide.gguf");
    write(widened_gguf::of_draft(file, target, to), wide, {io::fingerprint(wide_target), "the wide one"});
    return wide;
}

struct pair_of {
    llama::host_model narrow, wide;
};
pair_of load_both(const std::filesystem::path& path, const llama_shape& to, const llama::load_options& options = {}) {
    return {llama::host_model::load(path, options), written_and_loaded(path, to, options)};
}
pair_of load_both(const small_llama& file, const llama_shape& to, const llama::load_options& options = {}) {
    const testing::temporary_directory folder;
    return load_both(file.write(folder / "model.gguf"), to, options);
}

BOOST_AUTO_TEST_CASE(a_wider_llama_computes_the_same_logits) {
    for (const auto& to : {same_heads, larger_heads}) {
        const auto [narrow, wide] = load_both(small_llama(), to);
        BOOST_TEST((shape_of(wide.configuration()) == to));
        BOOST_TEST(wide.fingerprint() != narrow.fingerprint());  // it is a model of its own
        const auto prompt = testing::some_tokens(40, narrow.vocabulary_size());
        const auto expected = testing::logits_in_steps(narrow, prompt, 7);
        const auto found = testing::logits_in_steps(wide, prompt, 7);
        const double spread = std::abs(*std::max_element(expected.begin(), expected.end()));
        BOOST_TEST(largest_difference(expected, found) < 1e-4 * (1 + spread));
        BOOST_TEST(testing::greedy(wide, prompt, 60) == testing::greedy(narrow, prompt, 60),
                   boost::test_tools::per_element());
    }
}

BOOST_AUTO_TEST_CASE(nothing_is_free_and_nothing_leaks) {
    const auto [narrow, wide] = load_both(small_llama(), larger_heads);
    const auto& layer = *wide.parameters().layers[0];
    std::vector<float> row(layer.query.depth());
    layer.query.unpack_row(layer.query.rows() - 1, row);  // of an added head
    BOOST_TEST(std::count(row.begin(), row.end(), 0.0f) == 0);
    std::vector<float> another(layer.query.depth());
    layer.query.unpack_row(layer.query.rows() - 2, another);
    BOOST_TEST(row != another);
    layer.attention_output.unpack_row(layer.attention_output.rows() - 1, row = std::vector<float>(240));
    BOOST_TEST(std::count(row.begin(), row.end(), 0.0f) == 240);
    auto sequence = wide.make_sequence();
    const auto tokens = testing::some_tokens(5, 77);
    const pass<llama::sequence> asked{.sequence = &sequence, .tokens = tokens, .rows = 0, .states = true};
    wide.run({&asked, 1});
    const auto states = wide.hidden(sequence);
    for (std::size_t i = 0; i < states.size(); ++i) {
        BOOST_TEST(std::count(states[i].begin() + 64, states[i].end(), 0.0f) == 128);
        BOOST_TEST(std::count(states[i].begin(), states[i].begin() + 64, 0.0f) == 0);
    }
}

using exit_type = train::state_head<train::packed_weight_matrix>;
exit_type exit_of(const llama::host_model& model, train::head_options chosen) {
    chosen.epsilon = static_cast<double>(model.configuration().norm_epsilon);
    return {train::packed_weight_matrix(model.parameters().output()),
            {.layer = 1, .vocabulary_size = model.vocabulary_size(), .norm_weight = model.parameters().final_norm},
            chosen};
}
/// The states after one layer, of 5 tokens.
train::columns<float> states_after_one_layer(const llama::host_model& model) {
    auto sequence = model.make_sequence();
    const auto tokens = testing::some_tokens(5, 77);
    const pass<llama::sequence> asked{.sequence = &sequence, .tokens = tokens, .to_layer = 1};
    model.run({&asked, 1});
    const auto states = model.hidden(sequence);
    train::columns<float> got(augur::detail::index(model.hidden_size()), augur::detail::index(states.size()));
    for (std::size_t i = 0; i < states.size(); ++i) {
        std::copy(states[i].begin(), states[i].end(), got.col(augur::detail::index(i)).data());
    }
    return got;
}

BOOST_AUTO_TEST_CASE(what_an_exit_learned_makes_the_same_logits) {
    for (const auto& to : {same_heads, larger_heads}) {
        const auto [narrow, wide] = load_both(small_llama(), to);
        for (const auto update : {train::update_kind::state, train::update_kind::output, train::update_kind::full}) {
            auto small = exit_of(narrow, {.update = update, .rank = 7, .bias = true});
            auto learned = small.values();
            for (Eigen::Index i = 0; i < learned.size(); ++i) learned[i] += 0.1f * std::sin(static_cast<float>(i));
            small.assign(learned);
            const train::checkpoint<float> kept{
                .options = small.options(), .tokens = {}, .values = learned, .first = learned, .second = learned};
            auto large = exit_of(wide, small.options());
            const auto wider = program::widened(kept, {"", 1, narrow.hidden_size(), narrow.vocabulary_size()},
                                                wide.hidden_size(), large.options().epsilon);
            wider.check(large);
            large.assign(wider.values);
            const auto expected = small.forward(states_after_one_layer(narrow)).logits;
            const auto found = large.forward(states_after_one_layer(wide)).logits;
            BOOST_TEST((found - expected).cwiseAbs().maxCoeff() < 1e-5f * (1 + expected.cwiseAbs().maxCoeff()));
        }
    }
}

BOOST_AUTO_TEST_CASE(every_format_of_weights_can_be_widened) {
    const llama_shape to{192, 256, 6, 2, 32, 3};  // blocks of 32 hold the same numbers in both
    for (const auto format : llama::all_weight_formats) {
        const auto [narrow, wide] = load_both(small_llama(io::tensor_type::f32, 64, 2, 1), to, {.weights = format});
        const auto prompt = testing::some_tokens(12, narrow.vocabulary_size());
        const auto expected = testing::logits_in_steps(narrow, prompt, 12);
        const auto found = testing::logits_in_steps(wide, prompt, 12);
        const double difference = largest_difference(expected, found);
        BOOST_TEST(difference < 2e-3, llama::name_of(format) << ": " << difference);
    }
}

/// Greedy tokens by every way of drafting are plain decoding's, and each of the draft checkpoints drafts what it
/// drafted.
void check_checkpoints(const llama_shape& to) {
    const testing::temporary_directory folder;
    const auto path = small_llama().write(folder / "model.gguf");
    const auto [narrow, wide] = load_both(path, to);
    const auto tokens = testing::some_tokens(9, narrow.vocabulary_size());

    const auto draft = testing::small_checkpoint("draft", narrow).write(folder / "draft.gguf");
    const auto one = llama::load_draft(draft, narrow), other = llama::load_draft(widened_draft(draft, path, to), wide);
    BOOST_TEST(other.hidden_size() == to.width);
    BOOST_TEST(other.layer_count() == one.layer_count());
    BOOST_TEST(largest_difference(testing::logits_in_steps(one, tokens, 3),
                                  testing::logits_in_steps(other, tokens, 3)) < 1e-3);

    const auto heads_path = testing::small_heads("hydra", narrow).write(folder / "hydra.gguf");
    const auto heads = llama::draft_heads::load(heads_path, "hydra", narrow);
    const auto wide_heads = llama::draft_heads::load(widened_draft(heads_path, path, to), "hydra", wide);
    auto a = narrow.make_sequence();
    auto b = wide.make_sequence();
    narrow.extend(a, tokens);
    wide.extend(b, tokens);
    auto space = heads.make_workspace(), wide_space = wide_heads.make_workspace();
    for (std::size_t head = 0; head < heads.head_count(); ++head) {
        const auto steps = std::span(tokens).first(head + 1);
        const auto row = heads.row(space, narrow.hidden(a)[8], steps, head);
        BOOST_TEST(largest_difference(row, wide_heads.row(wide_space, wide.hidden(b)[8], steps, head)) < 1e-3);
    }

    const auto eagle_path = testing::small_eagle(narrow).write(folder / "eagle.gguf");
    const auto eagle = llama::eagle_model::load(eagle_path, narrow),
               wide_eagle = llama::eagle_model::load(widened_draft(eagle_path, path, to), wide);
    auto c = eagle.make_sequence();
    auto d = wide_eagle.make_sequence();
    const auto states = [](const auto& model, const auto& sequence) {
        const auto rows = model.hidden(sequence);
        return std::vector<float>(rows[0].begin(), rows[rows.size() - 1].end());
    };
    const auto row = testing::copied(eagle.extend(c, tokens, states(narrow, a), 9));
    BOOST_TEST(largest_difference(row, testing::copied(wide_eagle.extend(d, tokens, states(wide, b), 9))) < 1e-3);
}

BOOST_AUTO_TEST_CASE(members_of_the_family_are_widened_with_their_target) {
    check_checkpoints(same_heads);
    check_checkpoints(larger_heads);
}

/// Their files say no shape: it is their target's.
BOOST_AUTO_TEST_CASE(heads_and_exits_are_widened_where_heads_grow) {
    const testing::temporary_directory folder;
    small_llama file;
    file.given["rope_freqs.weight"] = {1, 1.5f, 2, 4};
    const auto path = file.write(folder / "model.gguf");
    const auto narrow = llama::host_model::load(path);
    const auto tokens = testing::some_tokens(9, narrow.vocabulary_size());
    auto a = narrow.make_sequence();
    narrow.extend(a, tokens);
    const auto exits = testing::small_exits(narrow).write(folder / "exit.gguf");
    const auto logits = testing::logits_in_steps(llama::load_exit(exits, narrow, 1), tokens, 4);
    const auto wide = written_and_loaded(path, larger_heads);
    auto b = wide.make_sequence();
    wide.extend(b, tokens);
    for (const char* kind : {"hydra", "medusa"}) {
        const auto member = testing::small_heads(kind, narrow).write(folder / "heads.gguf");
        const auto heads = llama::draft_heads::load(member, kind, narrow);
        const auto wide_heads = llama::draft_heads::load(widened_draft(member, path, larger_heads), kind, wide);
        auto space = heads.make_workspace(), wide_space = wide_heads.make_workspace();
        for (std::size_t head = 0; head < heads.head_count(); ++head) {
            const auto steps = std::span(tokens).first(head + 1);
            const auto row = heads.row(space, narrow.hidden(a)[8], steps, head);
            BOOST_TEST(largest_difference(row, wide_heads.row(wide_space, wide.hidden(b)[8], steps, head)) < 1e-3);
        }
    }
    const auto exit = llama::load_exit(widened_draft(exits, path, larger_heads), wide, 1);
    std::vector<float> found = testing::logits_in_steps(exit, tokens, 4), expected = logits;
    BOOST_TEST(std::count(found.begin(), found.end(), found[1]) ==
               std::count(expected.begin(), expected.end(), expected[1]));  // tokens without a row
    std::erase(found, found[1]);
    std::erase(expected, expected[1]);
    BOOST_TEST(largest_difference(found, expected) < 1e-3);
}

/// Neither is wider than it was where only layers are added: its own are, and no others.
BOOST_AUTO_TEST_CASE(drafts_have_the_layers_that_they_had) {
    const testing::temporary_directory folder;
    const auto path = small_llama().write(folder / "model.gguf");
    const llama_shape deeper{64, 96, 8, 2, 8, 5};
    const auto [narrow, wide] = load_both(path, deeper);
    const auto draft = testing::small_checkpoint("draft", narrow).write(folder / "draft.gguf");
    const auto one = llama::load_draft(draft, narrow),
               other = llama::load_draft(widened_draft(draft, path, deeper), wide);
    const auto tokens = testing::some_tokens(9, narrow.vocabulary_size());
    BOOST_TEST(other.layer_count() == one.layer_count());
    BOOST_TEST(testing::logits_in_steps(one, tokens, 3) == testing::logits_in_steps(other, tokens, 3),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(drafts_of_others_are_refused_with_both_values) {
    const testing::temporary_directory folder;
    const auto path = small_llama().write(folder / "model.gguf");
    const auto narrow = llama::host_model::load(path);
    const io::gguf_file target(path);
    const auto refused = [&](const std::filesystem::path& draft, std::string_view told) {
        const io::gguf_file file(draft);
        BOOST_CHECK_EXCEPTION(widened_gguf::of_draft(file, target, same_heads), error, [&](const error& e) {
            const std::string said = e.what();
            BOOST_TEST_INFO(said);
            return said.starts_with(draft.string()) && said.find(told) != said.npos;
        });
    };
    refused(path, "augur.member is ''; what is widened with a model is a draft, qualifier, exit, eagle,");
    auto strange = testing::small_checkpoint("draft", narrow);
    strange.texts["augur.member"] = "oracle";
    refused(strange.write(folder / "oracle.gguf"), "augur.member is 'oracle'");
    auto another = testing::small_checkpoint("draft", narrow);
    another.texts["augur.target.fingerprint"] = "0123456789abcdef";
    refused(another.write(folder / "another.gguf"), "with the fingerprint '0123456789abcdef', but the target's is '");
}

BOOST_AUTO_TEST_CASE(a_config_that_contradicts_itself_is_not_widened) {
    const llama::config c{2, 64, 8, 2, 0, 96, 77, 600, 8, 500.0, {1, 1.5f, 2, 4}, 1e-5f, true, "of tokens"};
    BOOST_CHECK_EXCEPTION(program::widening(c, same_heads), error, [](const error& e) {
        return std::string(e.what()) == "the shape to widen: the head size is 0, not within 1..4096";
    });
}

/// Nobody can tell it from any other: it can be widened again, too.
BOOST_AUTO_TEST_CASE(a_widened_file_is_an_ordinary_one) {
    const testing::temporary_directory folder;
    small_llama file;
    file.given["rope_freqs.weight"] = {1, 1.5f, 2, 4};
    file.tokens.assign(77, "x");
    for (std::size_t i = 0; i < file.tokens.size(); ++i) file.tokens[i] += std::to_string(i);
    const auto path = file.write(folder / "model.gguf");
    const auto tokens = testing::some_tokens(20, 77);
    const auto expected = testing::logits_in_steps(llama::host_model::load(path), tokens, 5);
    for (const auto& to : {same_heads, larger_heads}) {
        const auto found = written_and_loaded(path, to);
        const auto wide_path = folder / "wide.gguf";
        BOOST_TEST((shape_of(found.configuration()) == to));
        BOOST_TEST(found.fingerprint() == io::fingerprint(io::gguf_file(wide_path)));
        BOOST_TEST(largest_difference(testing::logits_in_steps(found, tokens, 5), expected) < 1e-3);
        const io::gguf_file written(wide_path);
        BOOST_TEST(written.array<std::string>("tokenizer.ggml.tokens") == file.tokens,
                   boost::test_tools::per_element());
        written.metadata().each([](std::string_view key, const auto&) { BOOST_TEST(!key.starts_with("augur.")); });
        std::filesystem::create_directory(folder / "again");
        std::filesystem::copy_file(wide_path, folder / "again/model.gguf");
        const auto wider = written_and_loaded(folder / "again/model.gguf", {384, 256, 24, 4, 24, 5});
        BOOST_TEST(largest_difference(testing::logits_in_steps(wider, tokens, 5), expected) < 1e-3);
        std::filesystem::remove_all(folder / "again");
    }
}

BOOST_AUTO_TEST_CASE(scaled_positions_are_written_once) {
    const testing::temporary_directory folder;
    const auto tokens = testing::some_tokens(20, 77);
    for (const char* key : {"llama.rope.scaling.factor", "llama.rope.scale_linear"}) {
        small_llama file;
        file.numbers[key] = 4.0f;
        for (const auto& to : {same_heads, larger_heads}) {
            const auto [narrow, wide] = load_both(file.write(folder / "model.gguf"), to);
            const auto factors = wide.configuration().rotary_factors;
            BOOST_TEST(factors.size() == to.head_size / 2);
            BOOST_TEST(std::count(factors.begin(), factors.end(), 4.0f) == 4);
            BOOST_TEST(largest_difference(testing::logits_in_steps(narrow, tokens, 5),
                                          testing::logits_in_steps(wide, tokens, 5)) < 1e-3);
            BOOST_TEST(!io::gguf_file(folder / "wide.gguf").contains(key));
        }
    }
}

BOOST_AUTO_TEST_CASE(what_a_model_has_no_place_for_is_not_widened) {
    const testing::temporary_directory folder;
    for (const char* name : {"blk.2.attn_q.weight", "blk.99999999999999999999.ffn_up.weight", "blk.x", "output.bias"}) {
        small_llama file;
        file.shapes[name] = {64, 64};
        const auto path = file.write(folder / "model.gguf");
        const auto names_it = [&](const error& e) {
            const std::string said = e.what();
            return said.find("1 tensor is not understood") != said.npos && said.find(name) != said.npos;
        };
        const io::gguf_file read(path);
        BOOST_CHECK_EXCEPTION(widened_gguf::of_model(read, same_heads, llama::weight_format::keep), error, names_it);
    }
}

BOOST_AUTO_TEST_CASE(formats_whose_blocks_do_not_fit) {
    const testing::temporary_directory folder;
    const auto path = small_llama(io::tensor_type::q4_1, 64, 2, 1).write(folder / "model.gguf");
    const llama_shape to{72, 96, 3, 1, 32, 2};
    for (const auto format : {llama::weight_format::q8_0, llama::weight_format::q4_0, llama::weight_format::q4_1}) {
        const auto says_both = [&](const error& e) {
            const std::string said = e.what();
            return said.starts_with(path.string() + ": the tensor ") &&
                   said.ends_with(".weight has rows of 72, which " + std::string(llama::name_of(format)) +
                                  " cannot hold in blocks of 32");
        };
        const io::gguf_file read(path);
        BOOST_CHECK_EXCEPTION(widened_gguf::of_model(read, to, format), error, says_both);
    }
    const auto wide = written_and_loaded(path, to);
    const auto& layer = *wide.parameters().layers[0];
    BOOST_TEST((layer.query.format() == backend::host::storage::f32));  // rows of 72
    BOOST_TEST((layer.down.format() == backend::host::storage::q4_1));  // rows of 96
}

/// What docs/llama/widened.md says that matrices become.
BOOST_AUTO_TEST_CASE(formats_that_are_kept_or_stood_for) {
    using enum io::tensor_type;
    const testing::temporary_directory folder;
    const std::pair<io::tensor_type, std::string_view> formats[] = {
        {f32, "f32"},   {f16, "f16"},     {bf16, "bf16"},   {q8_0, "q8_0"},  {q4_0, "q4_0"}, {q4_1, "q4_1"},
        {q5_0, "q8_0"}, {q5_1, "q8_0"},   {q2_k, "q8_0"},   {q3_k, "q8_0"},  {q4_k, "q4_1"}, {q5_k, "q8_0"},
        {q6_k, "q8_0"}, {iq4_nl, "q8_0"}, {iq4_xs, "q8_0"}, {mxfp4, "q8_0"},
    };
    for (const auto& [type, kept] : formats) {
        const auto path = small_llama(type, 256, 4, 2, 256).write(folder / "model.gguf");
        const llama_shape to{512, 256, 8, 2, 64, 2};
        const auto wide = written_and_loaded(path, to);
        BOOST_TEST(backend::host::name_of(wide.parameters().layers[1]->gate.format()) == kept, io::name_of(type));
    }
}

BOOST_AUTO_TEST_CASE(a_written_file_says_what_it_is) {
    const testing::temporary_directory folder;
    small_llama written(io::tensor_type::q4_1, 64, 2, 1);
    written.texts["general.name"] = "Small";
    written.texts["general.size_label"] = "135M";
    written.sizes["general.file_type"] = 3;
    const auto path = written.write(folder / "model.gguf");
    const llama_shape to{128, 96, 4, 1, 32, 3};
    for (const auto& [format, number] :
         std::vector<std::pair<llama::weight_format, std::uint32_t>>{{llama::weight_format::keep, 3},
                                                                     {llama::weight_format::f32, 0},
                                                                     {llama::weight_format::f16, 1},
                                                                     {llama::weight_format::bf16, 32},
                                                                     {llama::weight_format::q8_0, 7},
                                                                     {llama::weight_format::q4_0, 2}}) {
        written_and_loaded(path, to, {.weights = format});
        const io::gguf_file file(folder / "wide.gguf");
        BOOST_TEST(file.get<std::uint32_t>("general.file_type") == number);
        BOOST_TEST(file.get<std::string>("general.name") == "Small, widened to 128 x 96, 4 heads (1) of 32, 3 layers");
        BOOST_TEST(!file.contains("general.size_label"));
    }
}

/// Of the sum that a row of logits is, only what is added is zero; widths and sizes of heads change norms and scales,
/// which are rounded.
BOOST_AUTO_TEST_CASE(which_quantised_models_keep_every_bit) {
    const testing::temporary_directory folder;
    const auto tokens = testing::some_tokens(20, 77);
    const llama_shape the_same[] = {{64, 96, 2, 1, 32, 5}, {64, 192, 2, 1, 32, 2}, {64, 160, 2, 1, 32, 4}};
    const llama_shape near[] = {{128, 96, 2, 1, 32, 2}, {64, 96, 2, 1, 64, 2}};
    for (const auto type : {io::tensor_type::q4_1, io::tensor_type::q8_0, io::tensor_type::q4_0}) {
        const auto path = small_llama(type, 64, 2, 1).write(folder / "model.gguf");
        const auto expected = testing::logits_in_steps(llama::host_model::load(path), tokens, 7);
        const auto difference = [&](const llama_shape& to) {
            return largest_difference(expected, testing::logits_in_steps(written_and_loaded(path, to), tokens, 7));
        };
        for (const auto& to : the_same) BOOST_TEST(difference(to) == 0, io::name_of(type) << ", " << to.text());
        for (const auto& to : near) {
            const double found = difference(to);
            BOOST_TEST((found > 0 && found < 0.2), io::name_of(type) << ", " << to.text() << ": " << found);
        }
    }
}

BOOST_AUTO_TEST_CASE(shapes_without_room_are_refused_with_both) {
    const testing::temporary_directory folder;
    const auto path = small_llama().write(folder / "model.gguf");
    const auto message = [&](const llama_shape& to) {
        try {
            const io::gguf_file file(path);
            widened_gguf::of_model(file, to, llama::weight_format::keep);
        } catch (const error& e) {
            return std::string(e.what());
        }
        return std::string("nothing was thrown");
    };
    const std::string both = "a Llama of 64 x 96, 8 heads (2) of 8, 2 layers cannot be widened to ";
    BOOST_TEST(message({32, 96, 8, 2, 8, 2}) == both + "32 x 96, 8 heads (2) of 8, 2 layers: it is smaller");
    BOOST_TEST(message({64, 96, 8, 2, 8, 1}) == both + "64 x 96, 8 heads (2) of 8, 1 layers: it is smaller");
    BOOST_TEST(message({64, 96, 8, 8, 8, 2}) ==
               both + "64 x 96, 8 heads (8) of 8, 2 layers: it has fewer heads, or fewer that share keys");
    BOOST_TEST(message({64, 96, 8, 2, 12, 2}) ==
               both + "64 x 96, 8 heads (2) of 12, 2 layers: its heads are no multiple");
    BOOST_TEST(message({64, 96, 9, 2, 8, 2}) == "the wider shape: 9 heads cannot share 2 key-value heads equally");
}

BOOST_AUTO_TEST_CASE(shapes_are_names_or_six_numbers) {
    BOOST_TEST((program::parse_shape("8b") == llama_shape{4096, 14336, 32, 8, 128, 32}));
    BOOST_TEST((program::parse_shape("64,96,8,2,8,3") == llama_shape{64, 96, 8, 2, 8, 3}));
    BOOST_TEST((program::parse_shape("1,2,3,4,5,1234567") == llama_shape{1, 2, 3, 4, 5, 1234567}));
    for (const char* bad : {"", "9b", "64,96,8,2,8", "64,96,8,2,8,3,", "64,96,8,2,8,3,4", "64,,8,2,8,3", "-1,2,3,4,5,6",
                            "64,96,8,2,8,", "1,2,3,4,5,12345678", "1,2,3,4,5,123456789"}) {
        BOOST_CHECK_EXCEPTION(program::parse_shape(bad), error, [&](const error& e) {
            return std::string(e.what()).starts_with("the shape '" + std::string(bad) + "' is none of 360m, ");
        });
    }
}

BOOST_AUTO_TEST_SUITE_END()
