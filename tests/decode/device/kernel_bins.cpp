#include "augur/decode/device/kernel_bins.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "augur/accept/coupled.hpp"
#include "augur/decode/device/generate.hpp"
#include "augur/decode/device/loop.hpp"
#include "augur/decode/generate.hpp"
#include "augur/policy/entropy_bins.hpp"
#include "augur/policy/hysteresis.hpp"
#include "decode/device/resident_mock.hpp"

namespace device = augur::decode::device;
using namespace augur;

BOOST_AUTO_TEST_SUITE(decode_kernel_bins)

template <policy::entropy_of Of>
void check_answers(const policy::basic_entropy_bins<Of>& bins) {
    const device::kernel_bins<Of> there(bins);
    const double infinity = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
    std::vector<double> entropies = {-1, 0, 0.3, 1e-300, 5, 100, infinity, -infinity, nan};
    for (const double edge : bins.edges_nats()) {
        entropies.insert(entropies.end(), {edge, std::nextafter(edge, -1), std::nextafter(edge, 100)});
    }
    for (const double entropy : entropies) {
        observation seen;
        (Of == policy::entropy_of::draft ? seen.first_draft_entropy_nats : seen.target_entropy_nats) = entropy;
        BOOST_TEST(there.plan(seen).length == bins.plan(seen).length);
        BOOST_TEST(there.bin_of(entropy) == bins.bin_of(entropy));
    }
}

void check_equal(std::span<const policy::bin_statistics> got, std::span<const policy::bin_statistics> expected) {
    BOOST_REQUIRE(got.size() == expected.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
        BOOST_TEST(got[i].rounds == expected[i].rounds);
        BOOST_TEST(got[i].drafted == expected[i].drafted);
        BOOST_TEST(got[i].accepted == expected[i].accepted);
        BOOST_TEST(got[i].average == expected[i].average);  // bit for bit
    }
}

/// The same outcomes, of all bins and of none.
template <policy::entropy_of Of>
void check_learning(policy::basic_entropy_bins<Of> bins) {
    device::kernel_bins<Of> there(bins);
    const double infinity = std::numeric_limits<double>::infinity();
    const std::vector<double> entropies = {0.1, 0.5, 7, infinity, 1.4, 0.1, std::nan(""), 2.5, 0.2};
    for (std::size_t i = 0; i < 200; ++i) {
        outcome happened{.decided_on = {}, .drafted = i % 5, .accepted = i * 7 % (i % 5 + 1)};
        const double entropy = entropies[i % entropies.size()];
        (Of == policy::entropy_of::draft ? happened.decided_on.first_draft_entropy_nats
                                         : happened.decided_on.target_entropy_nats) = entropy;
        bins.learn(happened);
        there.learn(happened);
    }
    check_equal(there.bins(), bins.bins());
    check_equal(device::kernel_bins<Of>(bins).bins(), bins.bins());  // goes on from there
}

BOOST_AUTO_TEST_CASE(it_learns_what_the_host_does) {
    check_learning(policy::entropy_bins());
    check_learning(policy::entropy_bins({0.5}, {4, 0}, {.acceptance_alpha = 0.3, .acceptance_init = 0.9}));
    check_learning(policy::entropy_bins({}, {3}, {.acceptance_alpha = 1}));
    check_learning(policy::target_entropy_bins({0.5, 1.5}, {6, 3, 1}, {.acceptance_alpha = 0}));
}

BOOST_AUTO_TEST_CASE(answers_are_those_of_the_host) {
    check_answers(policy::entropy_bins());
    check_answers(policy::entropy_bins({0.5}, {4, 0}));
    check_answers(policy::entropy_bins({}, {3}));
    check_answers(policy::entropy_bins({0.25, 1, 2}, {9, 5, 2, 1}, {.max_k = 4}));
    check_answers(policy::entropy_bins({0.25}, {9, 5}, {.max_k = 0}));
    check_answers(policy::target_entropy_bins({0.5, 1.5}, {6, 3, 1}));
}

/// EAAD as it is on the host, and with the policy asked by kernels.
BOOST_AUTO_TEST_CASE(decodings_are_those_of_the_host) {
    const policy::entropy_bins bins({1.45, 1.65}, {5, 3, 1});
    const resident_mock::model target({1, 4, 2}, 7, 90, 8), draft({2, 4, 2}, 7, 90, 2);
    const auto target_here = target.on_host(), draft_here = draft.on_host();
    const std::vector<token> prompt = {3, 1, 4};
    std::vector<std::size_t> lengths(6), rounds(3);
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
        decode::options chosen{.seed = seed};
        chosen.stop.max_tokens = 60;
        const auto expected =
            decode::generate(speculate(draft_here, target_here, bins, accept::coupled{}), prompt, chosen);
        device::speculation_loop loop(target, draft, device::kernel_bins(bins), accept::coupled{}, chosen.sampling, 7);
        const auto got = device::generate(loop, prompt, chosen);
        BOOST_TEST(got.tokens == expected.tokens, boost::test_tools::per_element());
        BOOST_TEST(got.counts.stages.back().drafted == expected.counts.stages.back().drafted);
        check_equal(got.policy.bins(), expected.policy.bins());
        for (std::size_t i = 0; i < rounds.size(); ++i) rounds[i] += got.policy.bins()[i].rounds;
        for (std::size_t i = 0; i < got.counts.rounds(); ++i) ++lengths[loop.note(i).drafted];
    }
    for (const std::size_t of_bin : rounds) BOOST_TEST(of_bin > 0u);
    BOOST_TEST(lengths[5] > 0u);
    BOOST_TEST(lengths[3] > 0u);
    BOOST_TEST(lengths[1] > 0u);
}

/// The same for bins on the target's rows, and for a policy of the host that needs no other form there.
BOOST_AUTO_TEST_CASE(other_policies_learn_as_on_the_host) {
    const resident_mock::model target({1, 4, 2}, 7, 90, 8), draft({2, 4, 2}, 7, 90, 2);
    const auto target_here = target.on_host(), draft_here = draft.on_host();
    const std::vector<token> prompt = {3, 1, 4};
    const policy::target_entropy_bins bins({1.45, 1.65}, {5, 3, 1});
    const policy::hysteresis<policy::switched_by::draft_entropy> by_entropy({.on = 1.5, .off = 1.6});
    const policy::hysteresis<policy::switched_by::target_entropy> by_target({.on = 1.5, .off = 1.6}, {.dwell = 2});
    const policy::hysteresis<policy::switched_by::path_value> by_path({.on = 0.2, .off = 0.15}, {.short_length = 2});
    const policy::hysteresis<policy::switched_by::acceptance> by_acceptance({.on = 0.8, .off = 0.6},
                                                                            {.acceptance_alpha = 0.3});
    for (std::uint64_t seed = 0; seed < 3; ++seed) {
        decode::options chosen{.seed = seed};
        chosen.stop.max_tokens = 60;
        const auto learned = [&](const auto& here, const auto& there) {
            const auto expected =
                decode::generate(speculate(draft_here, target_here, here, accept::coupled{}), prompt, chosen);
            device::speculation_loop loop(target, draft, there, accept::coupled{}, chosen.sampling, 7);
            const auto got = device::generate(loop, prompt, chosen);
            BOOST_TEST(got.tokens == expected.tokens, boost::test_tools::per_element());
            return std::pair(got.policy, expected.policy);
        };
        const auto binned = learned(bins, device::kernel_bins(bins));
        check_equal(binned.first.bins(), binned.second.bins());
        const auto check = [&](const auto& policy) {
            const auto [got, expected] = learned(policy, policy);
            BOOST_TEST(got.counts() == expected.counts());
            BOOST_TEST(expected.counts().to_long > 0u);
            BOOST_TEST(expected.counts().to_short > 0u);
        };
        check(by_entropy);
        check(by_target);
        check(by_path);
        check(by_acceptance);
    }
}

BOOST_AUTO_TEST_CASE(too_many_bins_are_refused) {
    std::vector<double> edges(16);
    for (std::size_t i = 0; i < edges.size(); ++i) edges[i] = static_cast<double>(i + 1);
    BOOST_CHECK_EXCEPTION(
        device::kernel_bins(policy::entropy_bins(edges, std::vector<std::size_t>(17, 2))), error,
        [](const error& e) { return std::string(e.what()) == "a kernel's entropy bins are 16 at most, not 17"; });
    edges.pop_back();
    check_answers(policy::entropy_bins(edges, std::vector<std::size_t>(16, 2)));
    std::ostringstream out;
    out << device::kernel_bins();
    BOOST_TEST(out.str() == "kernel_bins{.edges_nats={0.5, 1.5, 2.5}, .lengths={4, 3, 2, 1}}");
}

BOOST_AUTO_TEST_SUITE_END()
