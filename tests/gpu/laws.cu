// The Llama on a GPU under the suite that every model can be put under.
#include <augur/backend/device/cuda_system.hpp>
#include <augur/llama/device/device_model.hpp>
#include <augur/testing/model_laws.hpp>
#include <boost/test/unit_test.hpp>
#include <cstddef>
#include <cstdlib>
#include <string>

#include "gpu/random_llama.hpp"

BOOST_AUTO_TEST_SUITE(gpu_laws)

namespace {

using augur::llama::device::device_format;

/// AUGUR_GPU_CASES of each law, for checkers under which everything takes a hundred times as long.
std::size_t cases() {
    const char* const asked = std::getenv("AUGUR_GPU_CASES");
    return asked == nullptr ? 50 : std::stoul(asked);
}

template <class Element, device_format F = device_format::elements>
void check(const augur::llama::config& c) {
    using namespace augur;
    const auto on = backend::device::cuda_system::with_stream();
    const llama::device::device_model<Element, backend::device::cuda_system, F> model(on, c,
                                                                                      testing::random_weights(c, 3));
    const auto r = testing::model_laws(model, {.cases = cases()});
    BOOST_TEST(r.kept(), r);
    BOOST_TEST(r.skipped.empty(), r);
}

}  // namespace

BOOST_AUTO_TEST_CASE(it_keeps_the_laws_of_every_refinement) {
    check<augur::backend::device::bfloat16>(augur::testing::some_config(3, 128, 8, 2, 320, 500, 700));
    check<augur::backend::device::binary16>(
        augur::testing::some_config(2, 60, 6, 3, 100, 77, 300));  // no multiples of tiles
    check<augur::backend::device::bfloat16, device_format::q8_0>(
        augur::testing::some_config(2, 128, 8, 2, 320, 500, 300));
    check<augur::backend::device::binary16, device_format::q4_0>(
        augur::testing::some_config(2, 60, 6, 3, 100, 77, 300));
}

/// Windows, caps, biases, norms and scales.
BOOST_AUTO_TEST_CASE(what_is_no_llama_keeps_them) {
    check<augur::backend::device::bfloat16>(augur::testing::some_dense_config(3, 128, 8, 2, 320, 500, 700));
    check<augur::backend::device::binary16>(augur::testing::some_dense_config(2, 60, 6, 3, 100, 77, 300));
}

BOOST_AUTO_TEST_SUITE_END()
