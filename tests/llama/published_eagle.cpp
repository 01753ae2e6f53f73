// EAGLE layers as others publish them, against what speculators computes, and every refusal.

#include "augur/llama/published_eagle.hpp"

#include <augur/accept/exact.hpp>
#include <augur/accept/rejection_sampling.hpp>
#include <augur/decode/generate.hpp>
#include <augur/draft/eagle.hpp>
#include <augur/llama/eagle_model.hpp>
#include <augur/policy/fixed_length.hpp>
#include <augur/scheme/speculator.hpp>
#include <augur/testing/drafter_laws.hpp>
#include <augur/testing/promise.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "llama/eagle_folder.hpp"
#include "llama/small_llama.hpp"

BOOST_AUTO_TEST_SUITE(llama_published_eagle)

using namespace augur;
using namespace augur::testing;

namespace {

const std::vector<std::string> eagle3_cases{"authors", "speculators", "whole"};

/// A target that shows what the layer in this folder reads.
llama::host_model load_target(const std::filesystem::path& path, const std::filesystem::path& layer,
                              std::size_t layers) {
    return llama::host_model::load(path, {.threads = 2, .taps = llama::eagle_model::taps_of(layer, layers)});
}

struct loaded_case {
    explicit loaded_case(const eagle3_case& of)
        : layer_path(of.layer.write(folder / "layer")),
          target(load_target(of.target.write(folder / "target"), layer_path,
                             of.target.config["num_hidden_layers"].get<std::size_t>())),
          layer(llama::eagle_model::load(layer_path, target)) {}

    temporary_directory folder;
    std::filesystem::path layer_path;
    llama::host_model target;
    llama::eagle_model layer;
};

/// The head's tokens of a row: all others are impossible.
std::vector<float> possible(const logit_row& row, const std::vector<token>& head) {
    std::vector<float> out;
    for (std::size_t i = 0; i < row.size(); ++i) {
        const bool has = head.empty() || std::binary_search(head.begin(), head.end(), static_cast<token>(i));
        if (has) out.push_back(row[i]);
        if (!has) BOOST_TEST(row[i] == -std::numeric_limits<float>::infinity());
    }
    return out;
}

}  // namespace

BOOST_DATA_TEST_CASE(logits_and_greedy_drafts_are_those_of_speculators, boost::unit_test::data::make(eagle3_cases),
                     name) {
    const eagle3_case of(name);
    const loaded_case loaded(of);
    BOOST_TEST(loaded.layer.target_hidden_size() == 3 * loaded.layer.hidden_size());
    BOOST_TEST(loaded.target.hidden_size() == loaded.layer.target_hidden_size());
    auto seen = loaded.target.make_sequence();
    loaded.target.extend(seen, of.ids);
    const scores tapped = loaded.target.hidden(seen);
    BOOST_TEST_REQUIRE(tapped.size() == of.ids.size());
    float worst = 0;
    const auto compare = [&](const logit_row& row, const std::string& at) {
        const auto found = of.rows.find(at);
        if (found == of.rows.end()) return;
        const auto got = possible(row, of.head);
        BOOST_TEST_REQUIRE(got.size() == found->second.size());
        for (std::size_t i = 0; i < got.size(); ++i) worst = std::max(worst, std::abs(got[i] - found->second[i]));
    };
    for (const auto& [after, wanted] : of.drafts) {
        auto sequence = loaded.layer.make_sequence();
        const std::span<const float> states(tapped[0].data(), (after - 1) * loaded.target.hidden_size());
        scores rows = loaded.layer.extend(sequence, std::span(of.ids).subspan(1, after - 1), states, 1);
        std::vector<token> drafted;
        while (true) {
            const logit_row row = rows.back();
            compare(row, std::to_string(after) + "." + std::to_string(drafted.size()));
            drafted.push_back(static_cast<token>(std::max_element(row.begin(), row.end()) - row.begin()));
            if (drafted.size() == wanted.size()) break;
            const logit_row shown = loaded.layer.hidden(sequence).back();
            const std::vector<float> own(shown.begin(), shown.end());
            rows = loaded.layer.extend(sequence, std::span(drafted).last(1), own, 1);
        }
        BOOST_TEST(drafted == wanted, boost::test_tools::per_element());
    }
    BOOST_TEST(worst < 1e-4f, name << ": the largest difference is " << worst);
    BOOST_TEST_MESSAGE(name << " differs by " << worst);
}

BOOST_AUTO_TEST_CASE(taps_are_the_states_between_layers_and_change_no_logit) {
    const eagle3_case of("authors");
    const temporary_directory folder;
    const auto path = of.target.write(folder / "target");
    const auto plain = llama::host_model::load(path, {.threads = 2});
    const auto tapped = llama::host_model::load(path, {.threads = 2, .taps = {0, 3, 7}});
    const std::size_t width = plain.hidden_size(), count = of.ids.size();
    BOOST_TEST((tapped.taps() == std::vector<std::size_t>{0, 3, 7}));
    BOOST_TEST(tapped.hidden_size() == 3 * width);
    auto one = plain.make_sequence(), other = tapped.make_sequence(), shallow = plain.make_sequence();
    const auto wanted = plain.extend(one, of.ids), got = tapped.extend(other, of.ids);
    for (std::size_t i = 0; i < count; ++i) {
        BOOST_TEST(same_bits(std::vector<float>(got[i].begin(), got[i].end()),
                             std::vector<float>(wanted[i].begin(), wanted[i].end())));
    }
    const pass<llama::sequence> three{.sequence = &shallow, .tokens = of.ids, .to_layer = 3};
    plain.run(std::span(&three, 1));
    const scores middle = plain.hidden(shallow), all = tapped.hidden(other);
    std::vector<float> embedding(width), normed(width);
    for (std::size_t i = 0; i < count; ++i) {
        const float* const row = all[i].data();
        plain.parameters().embedding->unpack_row(static_cast<std::size_t>(of.ids[i]), embedding);
        BOOST_TEST(std::equal(embedding.begin(), embedding.end(), row));
        BOOST_TEST(std::equal(middle[i].begin(), middle[i].end(), row + width));
        double squares = 0;  // the last tap is what the final norm makes the last state of
        for (std::size_t k = 0; k < width; ++k) squares += static_cast<double>(row[2 * width + k]) * row[2 * width + k];
        const double scale = 1 / std::sqrt(squares / static_cast<double>(width) + 1e-5);
        const auto last = plain.hidden(one)[i];
        for (std::size_t k = 0; k < width; ++k) {
            const double by = row[2 * width + k] * scale * plain.parameters().final_norm[k];
            BOOST_TEST(std::abs(by - last[k]) < 1e-4);
        }
    }
    const pass<llama::sequence> cut{.sequence = &other, .tokens = std::span(of.ids).first(1), .to_layer = 3};
    BOOST_CHECK_EXCEPTION(tapped.run(std::span(&cut, 1)), error, says({"3 of its layers", "0 to 3"}));
    const auto load = [&](std::vector<std::size_t> taps) { llama::host_model::load(path, {.taps = std::move(taps)}); };
    BOOST_CHECK_EXCEPTION(load({2, 8}), error, says({"after 8 layers", "there are 7"}));
    BOOST_CHECK_EXCEPTION(load({3, 3}), error, says({"after 3 and 3", "ascending"}));
}

BOOST_DATA_TEST_CASE(greedy_texts_of_chains_and_trees_are_plain_decoding_s, boost::unit_test::data::make(eagle3_cases),
                     name) {
    const eagle3_case of(name);
    const loaded_case loaded(of);
    const std::vector<token> prompt(of.ids.begin(), of.ids.begin() + 7);
    decode::options options;
    options.stop.max_tokens = 24;
    options.sampling.temperature.value = 0;
    const auto plain = greedy(loaded.target, prompt, 24);
    const policy::fixed_length four{4};
    const auto text = [&](const auto& scheme) { return decode::generate(scheme, prompt, options).tokens; };
    BOOST_TEST(text(speculate(loaded.layer, loaded.target, four, accept::exact{})) == plain);
    BOOST_TEST(text(speculate(draft::eagle(loaded.layer, {3, 3, 8}), loaded.target, four, accept::exact{})) == plain);
}

BOOST_AUTO_TEST_SUITE_END()
