#include "augur/backend/device/measure.hpp"

#include <boost/test/unit_test.hpp>
#include <random>

#include "augur/backend/device/divergence.hpp"
#include "augur/backend/device/pipeline.hpp"
#include "augur/measure/divergence.hpp"
#include "augur/measure/entropy.hpp"
#include "augur/transform/pipeline.hpp"
#include "device/parity.hpp"

namespace measure = augur::measure;
namespace device = augur::backend::device;

namespace {

void check_equal(const std::vector<float>& row) {
    const auto uploaded = parity::upload(row);
    const auto expected = measure::moments(row);
    const auto made = device::moments(thrust::device, parity::row_of(uploaded));
    BOOST_TEST(made.defined() == expected.defined());
    BOOST_TEST(made.valid == expected.valid);
    BOOST_TEST(device::entropy_nats(thrust::device, parity::row_of(uploaded)) == measure::entropy_nats(row));
    BOOST_TEST(device::entropy_bits(thrust::device, parity::row_of(uploaded)) == measure::entropy_bits(row));
    if (!expected.defined()) return;
    BOOST_TEST(made.maximum == expected.maximum);
    BOOST_TEST(made.sum == expected.sum);
    BOOST_TEST(made.moment == expected.moment);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(device_measure)

BOOST_AUTO_TEST_CASE(rows_have_the_moments_and_the_entropy_of_the_host) {
    std::mt19937 random(1);
    for (std::size_t i = 0; i < 400; ++i) check_equal(parity::random_row(random, parity::random_size(random)));
}

BOOST_AUTO_TEST_CASE(rows_without_a_softmax_are_maximally_uncertain) {
    std::mt19937 random(2);
    for (std::size_t i = 0; i < 200; ++i) {
        const auto row = parity::invalid_row(random, parity::random_size(random));
        BOOST_TEST(!device::moments(thrust::device, parity::row_of(parity::upload(row))).defined());
        check_equal(row);
    }
}

BOOST_AUTO_TEST_CASE(distributions_have_the_entropy_of_the_host) {
    std::mt19937 random(3);
    for (std::size_t i = 0; i < 300; ++i) {
        const std::size_t size = parity::random_size(random);
        const auto row = i % 10 == 9 ? parity::invalid_row(random, size) : parity::random_row(random, size);
        augur::transform::settings chosen;
        if (i % 3 == 1) chosen.top_k.k = 1 + random() % size;
        if (i % 7 == 3) chosen.temperature.value = 0;
        const auto expected = augur::transform::pipeline(chosen, size)(row, {});
        const auto made = device::pipeline(chosen, size)(parity::row_of(parity::upload(row)), {});
        BOOST_TEST(device::entropy_nats(made) == measure::entropy_nats(expected));
    }
}

template <class D>
void check_divergence(const augur::distribution& target, const augur::distribution& draft,
                      const device::distribution<>& target_there, const device::distribution<>& draft_there) {
    const auto on_host = measure::divergence<D>(target, augur::drafted_token<augur::distribution>{0, &draft});
    const auto there =
        measure::divergence<D>(target_there, augur::drafted_token<device::distribution<>>{0, &draft_there});
    BOOST_TEST(there == on_host);
    const augur::drafted_token<augur::point_mass> certain{1};
    BOOST_TEST(measure::divergence<D>(target_there, certain) == measure::divergence<D>(target, certain));
}

BOOST_AUTO_TEST_CASE(distributions_have_the_divergences_of_the_host) {
    std::mt19937 random(4);
    for (std::size_t i = 0; i < 200; ++i) {
        const std::size_t size = parity::random_size(random);
        augur::transform::settings chosen;
        if (i % 3 == 1) chosen.top_k.k = 1 + random() % size;
        if (i % 7 == 3) chosen.temperature.value = 0;
        const augur::transform::pipeline host(chosen, size);
        const device::pipeline pipeline(chosen, size);
        const auto target = parity::random_row(random, size);
        const auto draft = i % 10 == 9 ? target : parity::random_row(random, size);
        const auto target_here = host(target, {}), draft_here = host(draft, {});
        const auto target_there = pipeline(parity::row_of(parity::upload(target)), {});
        const auto draft_there = pipeline(parity::row_of(parity::upload(draft)), {});
        check_divergence<measure::kl>(target_here, draft_here, target_there, draft_there);
        check_divergence<measure::reverse_kl>(target_here, draft_here, target_there, draft_there);
        check_divergence<measure::jensen_shannon>(target_here, draft_here, target_there, draft_there);
        check_divergence<measure::total_variation>(target_here, draft_here, target_there, draft_there);
        check_divergence<measure::hellinger>(target_here, draft_here, target_there, draft_there);
    }
}

BOOST_AUTO_TEST_SUITE_END()
