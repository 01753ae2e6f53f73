// Every architecture on a device, against the host; kernels are emulated.

#include <algorithm>
#include <augur/llama/device/device_exit.hpp>
#include <augur/llama/device/device_model.hpp>
#include <augur/llama/device/resident.hpp>
#include <augur/llama/host_exit.hpp>
#include <augur/llama/host_model.hpp>
#include <augur/testing/model_laws.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "differences.hpp"
#include "llama/dense_case.hpp"
#include "llama/small_llama.hpp"
#include "sanitized.hpp"

namespace device = augur::llama::device;
namespace kernels = augur::backend::device;
using namespace augur::testing;
using kernels::bfloat16, kernels::binary16, kernels::emulated_system;

BOOST_AUTO_TEST_SUITE(llama_device_dense)

namespace {

template <class Element, device::device_format F = device::device_format::elements>
using emulated_model = device::device_model<Element, emulated_system, F>;

augur::llama::host_model load(const dense_case& of) {
    const temporary_directory folder;
    of.write_folder(folder.path());
    return augur::llama::host_model::load(folder.path(), {.threads = 1, .context_length = of.context_length});
}

/// The largest difference of two lists of logits, as a share of the largest of the second.
double relative_difference(std::span<const float> got, std::span<const float> expected) {
    double worst = 0, largest = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
        worst = std::max(worst, std::abs(static_cast<double>(got[i]) - static_cast<double>(expected[i])));
        largest = std::max(largest, std::abs(static_cast<double>(expected[i])));
    }
    return worst / largest;
}

}  // namespace

BOOST_DATA_TEST_CASE(rows_are_near_the_host_s_and_bitwise_in_any_steps, dense_cases(), name) {
    const dense_case of = read_dense_case(name);
    const auto host = load(of);
    const bool is_mixture = host.configuration().experts.count > 0;
    if (is_mixture || host.configuration().layer_norms) {
        BOOST_CHECK_EXCEPTION(emulated_model<binary16>({}, host), augur::error, [&](const augur::error& e) {
            const char* const what = is_mixture ? "no model with a mixture of experts" : "no model with layer norms";
            return std::string(e.what()).find(what) != std::string::npos;
        });
        return;
    }
    const std::vector<augur::token> ids(of.ids.begin(), of.ids.begin() + unless_sanitized<std::size_t>(40, 20));
    const emulated_model<binary16> model({}, host);
    const auto expected = logits_in_steps(host, ids, ids.size()), got = logits_in_steps(model, ids, ids.size());
    const double far = relative_difference(got, expected);
    BOOST_TEST(far < 0.01, name << ": the largest difference is " << far);
    BOOST_TEST_MESSAGE(name << " differs by " << far);
    const emulated_model<binary16> backwards(emulated_system{.backwards = true}, host);
    BOOST_TEST(same_bits(logits_in_steps(backwards, ids, 17), got), name << " in steps of 17");
    BOOST_TEST(same_bits(logits_in_steps(model, ids, 4), got), name << " in steps of 4");
    BOOST_TEST(
        same_bits(logits_in_steps(model, std::vector(ids.begin(), ids.begin() + 14), 1),
                  std::vector(got.begin(), got.begin() + static_cast<std::ptrdiff_t>(14 * host.vocabulary_size()))),
        name << " in steps of 1");
}

/// Trees, parts of layers and batches of a model whose layers differ: windows, local positions, norms after, caps.
BOOST_AUTO_TEST_CASE(every_kind_of_pass_gives_the_same_bits) {
    for (const char* name : {"gemma2_odd", "ministral3_odd"}) {
        const emulated_model<bfloat16> model(emulated_system{.backwards = true}, load(read_dense_case(name)));
        const auto report = model_laws(model, {.cases = 1});
        BOOST_TEST(report.kept(), name << ": " << report);
        if (sanitized) break;
    }
}

/// Scales and caps of logits, too: those of the last layer are the model's own rows.
BOOST_AUTO_TEST_CASE(exits_and_resident_texts_have_the_model_s_rows) {
    const std::vector<augur::token> text{5, 15, 2, 3, 18, 10};
    for (const char* name : {"gemma2_even", "granite_even"}) {
        const auto host = load(read_dense_case(name));
        const emulated_model<bfloat16> model({}, host);
        auto s = model.make_sequence();
        const auto expected = copied(model.extend(s, text));
        const device::resident resident(model, 16, 6);
        const kernels::buffer<augur::token, emulated_system> tokens({}, std::span<const augur::token>(text));
        const std::uint32_t zero = 0;
        const kernels::buffer<std::uint32_t, emulated_system> first({}, std::span(&zero, 1));
        resident.launch(tokens.data(), first.data(), 6, 6);
        const std::span<const float> rows(resident.logits(), expected.size());
        BOOST_TEST(same_bits(std::vector(rows.begin(), rows.end()), expected), name);
        auto states = model.make_sequence();
        const augur::pass<decltype(states)> asked{
            .sequence = &states, .tokens = text, .to_layer = host.layer_count() - 1};
        model.run(std::span(&asked, 1));
        const device::device_exit exit(model, host.layer_count() - 1);
        const auto host_exit = augur::llama::host_exit::untrained(host, host.layer_count() - 1);
        std::vector<float> got(host.vocabulary_size()), wanted(got.size());
        exit.row(model.hidden(states)[5], got);
        host_exit.row(model.hidden(states)[5], wanted);
        const double far = relative_difference(got, wanted);
        BOOST_TEST(far < 0.02, name << ": an exit differs by " << far);
    }
}

BOOST_AUTO_TEST_SUITE_END()
