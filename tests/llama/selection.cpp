#include "augur/llama/selection.hpp"

#include <augur/accept/block.hpp>
#include <augur/accept/coupled.hpp>
#include <augur/accept/exact.hpp>
#include <augur/model/run.hpp>
#include <augur/testing/model_laws.hpp>
#include <augur/testing/promise.hpp>
#include <boost/test/unit_test.hpp>
#include <limits>
#include <numeric>

#include "llama/small_llama.hpp"

// Models of some layers, and of heads with some rows, beside the whole model of the same file.
BOOST_AUTO_TEST_SUITE(llama_selection)

using namespace augur;
using namespace augur::testing;

namespace {

constexpr std::size_t vocabulary = 77;
/// The first and the last token, both sides of a panel's edge, more than two panels in all, in no order.
const std::vector<token> kept{76, 0,  15, 16, 17, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 52,
                              53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63, 64, 65, 66, 31, 32, 3};

/// Rows of the whole model with -infinity for every token that is not kept.
std::vector<float> pruned(std::vector<float> rows, const std::vector<token>& ids) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const auto id = static_cast<token>(i % vocabulary);
        if (std::find(ids.begin(), ids.end(), id) == ids.end()) rows[i] = -std::numeric_limits<float>::infinity();
    }
    return rows;
}

small_llama with_own_head(io::tensor_type type) {
    small_llama file(type);
    file.shapes["output.weight"] = {vocabulary, 64};
    return file;
}

/// Every parameter is the whole file's, taken layer by layer.
llama::host_model by_hand(const small_llama& file, const std::vector<std::size_t>& layers) {
    const temporary_directory folder;
    const io::gguf_file stored(file.write(folder / "model.gguf"));
    llama::config c = llama::read_config(stored);
    llama::weights out;
    for (const std::size_t layer : layers) {
        auto whole = llama::weight_reader(stored, c, llama::gguf_names(), llama::weight_format::keep).read({0, 1}, {});
        out.layers.push_back(whole.layers[layer]);
        out.embedding = std::move(whole.embedding);
        out.final_norm = std::move(whole.final_norm);
    }
    c.layers = layers.size();
    return llama::host_model(c, std::move(out), {});
}

}  // namespace

BOOST_AUTO_TEST_CASE(kept_tokens_have_the_logits_of_the_whole_head) {
    using enum io::tensor_type;
    const auto tokens = some_tokens(21, vocabulary);
    for (const auto type : {f32, f16, bf16, q8_0, q4_0, q4_1}) {
        for (const small_llama& file : {small_llama(type), with_own_head(type)}) {
            for (const auto set : instruction_sets()) {
                const auto whole = file.load({.threads = 1, .instruction_set = set});
                const auto model = file.load({.threads = 3, .instruction_set = set, .head_tokens = kept});
                const auto wanted = pruned(logits_in_steps(whole, tokens, 21), kept);
                for (const std::size_t rows : {1u, 2u, 5u, 21u}) {
                    BOOST_TEST(same_bits(logits_in_steps(model, tokens, rows), wanted),
                               io::name_of(type) << ", " << host::name_of(set) << ", " << rows << " rows");
                }
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(rows_name_the_tokens_that_the_head_keeps) {
    const small_llama file;
    const auto model = file.load({.head_tokens = kept});
    std::vector<token> sorted = kept;
    std::sort(sorted.begin(), sorted.end());
    const auto tokens = some_tokens(9, vocabulary);
    const auto check = [&](const auto& rows, std::size_t count) {
        BOOST_TEST_REQUIRE(rows.size() == count);
        for (std::size_t i = 0; i < count; ++i) {
            BOOST_TEST(logit_row(rows[i]).possible() == sorted, boost::test_tools::per_element());
        }
    };
    auto sequence = model.make_sequence(), other = model.make_sequence();
    check(model.extend(sequence, tokens), 9);
    check(model.extend(sequence, tokens, 2), 2);
    BOOST_TEST(model.hidden(sequence).back().possible().empty());
    const std::vector<pass<llama::sequence>> passes{{.sequence = &sequence, .tokens = tokens, .rows = 3},
                                                    {.sequence = &other, .tokens = tokens}};
    check(model.run(passes), 12);
    std::vector<augur::model::pass_rows<llama::host_model>> results(2);
    augur::model::run<llama::host_model>(model, passes, results);
    check(results[0], 3);
    check(results[1], 9);
    results[1].drop(4);
    check(results[1], 5);
    results[1].own(1, vocabulary);
    BOOST_TEST(results[1][0].possible().empty());
    const auto whole = file.load();
    auto own = whole.make_sequence();
    BOOST_TEST(whole.extend(own, tokens).back().possible().empty());
}

BOOST_AUTO_TEST_CASE(a_head_may_keep_one_token_or_all) {
    const small_llama file(io::tensor_type::bf16);
    const auto tokens = some_tokens(9, vocabulary);
    const auto whole = logits_in_steps(file.load(), tokens, 9);
    for (const token only : {0, 20, 76}) {
        BOOST_TEST(same_bits(logits_in_steps(file.load({.head_tokens = {only}}), tokens, 9), pruned(whole, {only})));
    }
    std::vector<token> all(vocabulary);
    std::iota(all.rbegin(), all.rend(), 0);
    BOOST_TEST(same_bits(logits_in_steps(file.load({.head_tokens = all}), tokens, 9), whole));
}

BOOST_AUTO_TEST_CASE(the_head_weighs_what_it_keeps) {
    const auto file = with_own_head(io::tensor_type::f32);
    const std::size_t panel = 16 * 64 * sizeof(float);
    BOOST_TEST(file.load().memory_bytes() - file.load({.head_tokens = kept}).memory_bytes() == (5 - 3) * panel);
    const small_llama tied(io::tensor_type::f32);  // whose embedding is still needed whole
    BOOST_TEST(tied.load({.head_tokens = kept}).memory_bytes() - tied.load().memory_bytes() == 3 * panel);
}

BOOST_AUTO_TEST_CASE(chosen_layers_run_in_the_order_given) {
    const small_llama file(io::tensor_type::q8_0);
    const auto tokens = some_tokens(12, vocabulary);
    const auto whole = logits_in_steps(file.load(), tokens, 12);
    BOOST_TEST(same_bits(logits_in_steps(file.load({.layers = {0, 1}}), tokens, 12), whole));
    for (const std::vector<std::size_t>& layers : {std::vector<std::size_t>{0}, {1}, {1, 0}, {0, 1, 1}}) {
        const auto model = file.load({.layers = layers});
        BOOST_TEST(model.layer_count() == layers.size());
        BOOST_TEST(model.configuration().layers == layers.size());
        const auto rows = logits_in_steps(model, tokens, 12);
        BOOST_TEST(same_bits(rows, logits_in_steps(by_hand(file, layers), tokens, 12)));
        BOOST_TEST(!same_bits(rows, whole));
    }
    BOOST_TEST(file.load({.layers = {1}}).memory_bytes() < file.load().memory_bytes());
}

BOOST_AUTO_TEST_CASE(they_keep_the_laws_of_models) {
    const auto model = small_llama(io::tensor_type::q4_1).load({.head_tokens = kept, .layers = {1}});
    const auto r = model_laws(model, {.cases = 20});
    BOOST_TEST(r.kept(), r);
    BOOST_TEST(r.skipped.empty(), r);
}

BOOST_AUTO_TEST_CASE(as_drafts_they_leave_the_law_as_it_is) {
    const small_llama file(io::tensor_type::f32, 32, 4, 2, 24, 4);  // four tokens
    const auto target = file.load({.threads = 1});
    const auto drafter = file.load({.threads = 1, .head_tokens = {3, 1}, .layers = {0}});
    const std::vector<token> prompt{2, 0, 1};
    decode::options chosen;
    chosen.stop.max_tokens = 3;
    const text_distribution drafted = text_distribution_of(plain_sampling(drafter), prompt, chosen);
    BOOST_TEST(drafted.probability.size() == 8u);  // texts of tokens 1 and 3 only
    BOOST_TEST(total_variation(text_distribution_of(plain_sampling(target), prompt, chosen), drafted) > 0.1);

    const policy::fixed_length two{2};
    for (const float temperature : {1.0f, 0.6f}) {
        chosen.sampling.temperature.value = temperature;
        const auto promised = [&](const auto& criterion) {
            return broken_promise(speculate(drafter, target, two, criterion), prompt, chosen);
        };
        BOOST_TEST(promised(accept::rejection_sampling{}) == "");
        BOOST_TEST(promised(accept::block{}) == "");
        BOOST_TEST(promised(accept::coupled{}) == "");
    }
    chosen.sampling.top_k.k = 1;  // on the draft's side one of the kept tokens is left, and never nothing
    BOOST_TEST(broken_promise(speculate(drafter, target, two, accept::block{}), prompt, chosen) == "");
    chosen.sampling.temperature.value = 0;
    BOOST_TEST(broken_promise(speculate(drafter, target, two, accept::exact{}), prompt, chosen) == "");
}

BOOST_AUTO_TEST_CASE(what_is_not_there_cannot_be_chosen) {
    const small_llama file;
    BOOST_CHECK_EXCEPTION(file.load({.head_tokens = {5, 77}}), error, says({"model.gguf", "77", "vocabulary"}));
    BOOST_CHECK_EXCEPTION(file.load({.head_tokens = {-1}}), error, says({"model.gguf", "-1", "77"}));
    BOOST_CHECK_EXCEPTION(file.load({.head_tokens = {4, 9, 4}}), error, says({"model.gguf", "4", "twice"}));
    BOOST_CHECK_EXCEPTION(file.load({.layers = {0, 2}}), error, says({"model.gguf", "layer 2", "there are 2"}));
    const std::vector<std::size_t> many(1025, 1);
    BOOST_CHECK_EXCEPTION(file.load({.layers = many}), error, says({"model.gguf", "1025", "1024"}));
}

BOOST_AUTO_TEST_SUITE_END()
