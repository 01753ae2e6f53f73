#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <vector>

#include "augur/backend/device/element.hpp"
#include "augur/backend/device/system.hpp"
#include "augur/llama/device/device_model.hpp"
#include "augur/llama/host_model.hpp"

// SmolLM2-135M-Instruct on a device whose kernels are emulated on the CPU, beside the host in the same numbers and in
// float32.
BOOST_AUTO_TEST_SUITE(real_device_rows)

using namespace augur;

namespace {

const auto model_path = std::filesystem::path(AUGUR_MODEL_DIRECTORY) / "SmolLM2-135M-Instruct.Q4_1.gguf";

std::vector<token> some_text() {
    std::ifstream file(std::filesystem::path(AUGUR_TEST_DATA) / "reference/fact.json");
    const auto read = nlohmann::json::parse(file);
    auto text = read["prompt_ids"].get<std::vector<token>>();
    const auto more = read["greedy_ids"].get<std::vector<token>>();
    text.insert(text.end(), more.begin(), more.end());
    return {text.begin(), text.begin() + 24};
}

std::vector<std::vector<float>> rows_of(const auto& model, const std::vector<token>& text) {
    auto sequence = model.make_sequence();
    const auto rows = model.extend(sequence, text);
    std::vector<std::vector<float>> copied;
    for (std::size_t i = 0; i < text.size(); ++i) copied.emplace_back(rows[i].begin(), rows[i].end());
    return copied;
}

double farthest(const std::vector<std::vector<float>>& a, const std::vector<std::vector<float>>& b) {
    double far = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        for (std::size_t t = 0; t < a[i].size(); ++t) {
            far = std::max(far, std::abs(static_cast<double>(a[i][t]) - static_cast<double>(b[i][t])));
        }
    }
    return far;
}

}  // namespace

/// Not much farther from float32 than the host is, and the same choice where it was not closer than that.
BOOST_AUTO_TEST_CASE(rows_are_near_the_hosts_and_so_are_choices) {
    const auto text = some_text();
    const auto load = [](llama::weight_format format) {
        return llama::host_model::load(model_path, {.weights = format});
    };
    const auto exact = load(llama::weight_format::f32);
    const auto expected = rows_of(exact, text);
    const auto check = [&]<class Element>(llama::weight_format format) {
        const llama::device::device_model<Element, backend::device::emulated_system> device({}, exact);
        const auto got = rows_of(device, text);
        const double far = farthest(got, expected), of_host = farthest(rows_of(load(format), text), expected);
        BOOST_TEST_MESSAGE("largest difference of a logit: device " << far << ", host " << of_host);
        BOOST_TEST(far < 4 * of_host);
        for (std::size_t i = 0; i < text.size(); ++i) {
            const auto chosen = std::max_element(got[i].begin(), got[i].end()) - got[i].begin();
            const float best = *std::max_element(expected[i].begin(), expected[i].end());
            BOOST_TEST(static_cast<double>(best - expected[i][static_cast<std::size_t>(chosen)]) <= 2 * far);
        }
    };
    check.template operator()<backend::device::bfloat16>(llama::weight_format::bf16);
    check.template operator()<backend::device::binary16>(llama::weight_format::f16);
}

BOOST_AUTO_TEST_SUITE_END()
