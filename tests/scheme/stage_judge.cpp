#include "augur/scheme/stage_judge.hpp"

#include <augur/accept/coupled.hpp>
#include <augur/accept/exact.hpp>
#include <augur/accept/rejection_sampling.hpp>
#include <augur/decode/generate.hpp>
#include <augur/draft/prompt_lookup.hpp>
#include <augur/model/any_model.hpp>
#include <augur/policy/entropy_bins.hpp>
#include <augur/policy/fixed_length.hpp>
#include <augur/scheme/cascade.hpp>
#include <augur/testing/models.hpp>
#include <boost/test/unit_test.hpp>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "backend/device/rows_on_device.hpp"

using namespace augur;

BOOST_AUTO_TEST_SUITE(scheme_stage_judge)

decode::options options_with(float temperature, std::uint64_t seed) {
    decode::options chosen{.seed = seed};
    chosen.sampling.temperature.value = temperature;
    chosen.stop.max_tokens = 40;
    return chosen;
}

/// Two links: `inside` judges the rows of `middle` for `outside`, which judges those of a model on the host.
template <class Middle, class Criterion, class Policy, class Last>
auto cascade_over(const Middle& middle, const Criterion& inside, const Policy& policy, const Last& outside,
                  const decode::options& chosen) {
    static const auto target = testing::hashed_model(7, 3, 3);
    const auto scheme = cascaded(draft::prompt_lookup(1, 3), scheme::model_link{policy::fixed_length{3}, inside},
                                 middle, scheme::model_link{policy, outside}, target);
    const std::vector<token> prompt{1, 2, 1, 2};
    decode::options each = chosen;
    each.timed = false;
    const auto decoded = decode::generate<any_guarantee>(scheme, prompt, each);
    const auto& of_middle = decoded.counts.stages.front();
    return std::pair(decoded.tokens, std::vector{of_middle.rounds, of_middle.drafted, of_middle.accepted,
                                                 decoded.counts.stages.back().accepted});
}

/// Inside a cascade, where a link keeps its model's own text: equal rounds, and no row of its model leaves the device
/// unless the policy above looks at rows.
BOOST_AUTO_TEST_CASE(a_link_inside_a_cascade_judges_where_its_rows_are) {
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
        const testing::function_model plain = testing::noisy_model(testing::hashed_model(7, 3, 3), 0.3);
        const rows_on_device::model there(plain);
        const model::basic_any_model<accept::exact> erased(there);
        const policy::fixed_length four{4};
        const auto greedy = options_with(0, seed), sampled = options_with(0.8f, seed);
        const auto expected = cascade_over(plain, accept::exact{}, four, accept::exact{}, greedy);
        BOOST_TEST((expected.second[2] > 0 && expected.second[3] > 0));
        BOOST_TEST((cascade_over(there, accept::exact{}, four, accept::exact{}, greedy) == expected));
        BOOST_TEST((cascade_over(erased, accept::exact{}, four, accept::exact{}, greedy) == expected));
        BOOST_TEST((cascade_over(there, accept::coupled{}, four, accept::rejection_sampling{}, sampled) ==
                    cascade_over(plain, accept::coupled{}, four, accept::rejection_sampling{}, sampled)));
        BOOST_TEST(there.brought() == 0u);
        const policy::entropy_bins looks({0.8}, {4, 2});
        BOOST_TEST((cascade_over(there, accept::exact{}, looks, accept::exact{}, greedy) ==
                    cascade_over(plain, accept::exact{}, looks, accept::exact{}, greedy)));
        BOOST_TEST(there.brought() > 0u);
    }
}

BOOST_AUTO_TEST_SUITE_END()
