// The Llama on a GPU under the suite that every model can be put under.
#include <augur/backend/device/cuda_system.hpp>
#include <augur/llama/device/device_model.hpp>
#include <augur/testing/model_laws.hpp>
#include <boost/test/unit_test.hpp>

#include "gpu/random_llama.hpp"

BOOST_AUTO_TEST_SUITE(gpu_laws)

namespace {

template <class Element>
void check(const augur::llama::config& c) {
    using namespace augur;
    const auto on = backend::device::cuda_system::with_stream();
    const llama::device::device_model<Element, backend::device::cuda_system> model(on, c,
                                                                                   testing::random_weights(c, 3));
    const auto r = testing::model_laws(model, {.cases = 50});
    BOOST_TEST(r.kept(), r);
    BOOST_TEST(r.skipped.empty(), r);
}

}  // namespace

BOOST_AUTO_TEST_CASE(it_keeps_the_laws_of_every_refinement) {
    check<augur::backend::device::bfloat16>(augur::testing::some_config(3, 128, 8, 2, 320, 500, 700));
    check<augur::backend::device::binary16>(
        augur::testing::some_config(2, 60, 6, 3, 100, 77, 300));  // no multiples of tiles
}

BOOST_AUTO_TEST_SUITE_END()
