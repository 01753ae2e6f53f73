#include "augur/backend/device/chooser.hpp"

#include <boost/test/unit_test.hpp>
#include <random>

#include "augur/accept/rejection_sampling.hpp"
#include "augur/backend/device/pipeline.hpp"
#include "augur/backend/device/residual.hpp"
#include "device/parity.hpp"

namespace device = augur::backend::device;
using augur::drafted_token;
using augur::purpose;
using augur::accept::residual_weights;
using augur::random::philox_chooser;

namespace {

/// One row, as a distribution in both memories.
struct both {
    augur::distribution host;
    device::distribution<> device;

    both(std::mt19937& random, std::size_t size, float temperature) {
        const augur::transform::settings chosen{.temperature = {temperature}, .min_p = {random() % 2 ? 0.01f : 0.0f}};
        const auto row = parity::random_row(random, size);
        host = augur::transform::pipeline(chosen, size)(row, {});
        device = device::pipeline(chosen, size)(parity::row_of(parity::upload(row)), {});
    }
};

/// The same draws of both, under many names.
void check_draws(const auto& on_host, const auto& on_device, std::uint64_t seed) {
    const philox_chooser host(seed);
    const device::chooser device(seed);
    BOOST_TEST(on_host.total() == on_device.total());
    for (std::size_t position = 0; position < 20; ++position) {
        const augur::draw_key key{position, purpose::correction, position % 3};
        BOOST_TEST(device.choose(on_device, key) == host.choose(on_host, key));
        BOOST_TEST(device.exponential_race(on_device, position) == host.exponential_race(on_host, position));
        BOOST_TEST(device.flip(0.3, key) == host.flip(0.3, key));
    }
}

template <class Claim>
void check_residuals(const both& target, const drafted_token<Claim>& host_draft, const auto& device_draft, double scale,
                     std::uint64_t seed, std::size_t& possible) {
    const residual_weights expected(target.host, host_draft, scale);
    const residual_weights made(target.device, device_draft, scale);
    BOOST_TEST(made.size() == expected.size());
    BOOST_TEST(made.total() == expected.total());
    for (std::size_t i = 0; i < expected.size(); i += 1 + expected.size() / 7) BOOST_TEST(made[i] == expected[i]);
    if (!(expected.total() > 0)) return;
    ++possible;
    check_draws(expected, made, seed);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(device_chooser)

BOOST_AUTO_TEST_CASE(distributions_give_the_draws_of_the_host) {
    std::mt19937 random(1);
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        const both row(random, parity::random_size(random), seed % 10 == 0 ? 0.0f : 1.0f);
        check_draws(row.host, row.device, seed << 20 | seed);
    }
}

BOOST_AUTO_TEST_CASE(residuals_give_the_draws_of_the_host) {
    std::mt19937 random(2);
    std::size_t possible = 0;
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        const std::size_t size = parity::random_size(random);
        const both target(random, size, seed % 10 == 0 ? 0.0f : 1.0f);
        const both draft(random, size, seed % 10 == 5 ? 0.0f : 1.3f);
        const double scale = seed % 4 == 0 ? 1.0 : static_cast<double>(random() % 100) / 100;
        const auto id = static_cast<augur::token>(random() % size);
        check_residuals(target, drafted_token<augur::distribution>{id, &draft.host},
                        drafted_token<device::distribution<>>{id, &draft.device}, scale, seed, possible);
        check_residuals(target, drafted_token<augur::point_mass>{id}, drafted_token<augur::point_mass>{id}, scale, seed,
                        possible);
    }
    BOOST_TEST(possible > 200u);
}

BOOST_AUTO_TEST_CASE(weights_on_the_host_go_to_the_host) {
    std::mt19937 random(3);
    const both row(random, 700, 1);
    const device::chooser device(7);
    const philox_chooser host(7);
    for (std::size_t position = 0; position < 50; ++position) {
        const augur::draw_key key{position, purpose::draft, 1};
        BOOST_TEST(device.choose(row.host, key) == host.choose(row.host, key));
        BOOST_TEST(device.exponential_race(row.host, position) == host.exponential_race(row.host, position));
        BOOST_TEST(host.choose(row.device, key) == host.choose(row.host, key));  // element by element, and slow
    }
}

BOOST_AUTO_TEST_SUITE_END()
