#include <boost/test/unit_test.hpp>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "augur/llama/host_model.hpp"
#include "llama/small_llama.hpp"

// SmolLM2-135M-Instruct from Q4_1 against another engine's F32 forward pass over the same dequantised weights.
BOOST_AUTO_TEST_SUITE(real_llama_reference)

using namespace augur;
using namespace augur::testing;

namespace {

const auto model_path = std::filesystem::path(AUGUR_MODEL_DIRECTORY) / "SmolLM2-135M-Instruct.Q4_1.gguf";
const auto data = std::filesystem::path(AUGUR_TEST_DATA) / "reference";

struct reference {
    std::vector<token> prompt, greedy;
    explicit reference(const std::string& name) {
        std::ifstream file(data / (name + ".json"));
        const auto read = nlohmann::json::parse(file);
        prompt = read["prompt_ids"].get<std::vector<token>>();
        greedy = read["greedy_ids"].get<std::vector<token>>();
    }
};

void compare(const llama::host_model& model, const std::string& name) {
    const reference wanted(name);
    const auto bytes = read_file(data / (name + ".logits.f32"));
    std::vector<float> logits(bytes.size() / sizeof(float));
    std::memcpy(logits.data(), bytes.data(), bytes.size());
    auto sequence = model.make_sequence();
    const auto row = model.extend(sequence, wanted.prompt, 1)[0];
    BOOST_REQUIRE(row.size() == logits.size());
    float worst = 0;
    for (std::size_t i = 0; i < row.size(); ++i) worst = std::max(worst, std::abs(row[i] - logits[i]));
    BOOST_TEST(worst < 1e-3f, name << ": the largest difference of a logit is " << worst);
    const auto found = greedy(model, wanted.prompt, wanted.greedy.size());
    BOOST_TEST(found == wanted.greedy, boost::test_tools::per_element());
}

}  // namespace

BOOST_AUTO_TEST_CASE(logits_and_greedy_text_are_the_reference_s) {
    const auto model = llama::host_model::load(model_path, {.weights = llama::weight_format::f32});
    for (const std::string name : {"evo", "fact", "repeat"}) compare(model, name);
}

// Other formats round weights or inputs. Along the reference's text they choose the same token nearly always.
BOOST_AUTO_TEST_CASE(rounded_products_choose_the_reference_s_tokens) {
    using enum llama::weight_format;
    for (const auto& [format, least] :
         {std::pair{f16, 0.99}, std::pair{bf16, 0.97}, std::pair{q8_0, 0.95}, std::pair{keep, 0.93}}) {
        const auto model = llama::host_model::load(model_path, {.weights = format});
        double same = 0, all = 0;
        for (const std::string name : {"evo", "fact", "repeat"}) {
            const reference wanted(name);
            auto sequence = model.make_sequence();
            model.extend(sequence, wanted.prompt, 0);
            const auto rows = model.extend(sequence, wanted.greedy, wanted.greedy.size());
            for (std::size_t i = 0; i + 1 < wanted.greedy.size(); ++i, ++all) {
                const auto row = rows[i];
                same += std::max_element(row.begin(), row.end()) - row.begin() == wanted.greedy[i + 1];
            }
        }
        BOOST_TEST(same / all >= least, llama::name_of(format) << ": " << same << " of " << all);
    }
}

BOOST_AUTO_TEST_CASE(rows_are_the_same_bits_however_many) {
    const auto tokens = some_tokens(70, 49152);
    for (const auto format : {llama::weight_format::keep, llama::weight_format::bf16}) {
        const auto model = llama::host_model::load(model_path, {.weights = format});
        const auto wanted = logits_in_steps(model, tokens, 70);
        for (const std::size_t rows : {1u, 2u, 3u, 7u, 32u})
            BOOST_TEST(same_bits(logits_in_steps(model, tokens, rows), wanted));
    }
}

BOOST_AUTO_TEST_SUITE_END()
