#include "augur/testing/counting_model.hpp"

#include <augur/accept/exact.hpp>
#include <augur/decode/generate.hpp>
#include <augur/testing/models.hpp>
#include <boost/test/unit_test.hpp>

using namespace augur;

BOOST_AUTO_TEST_SUITE(testing_counting_model)

using counted = testing::counting_model<testing::function_model>;
static_assert(Model<counted> && ScoresLastRows<counted>);

BOOST_AUTO_TEST_CASE(calls_tokens_rows_and_truncations_are_counted_over_all_sequences) {
    const counted model(testing::scripted_model(3, {0, 1, 2}));
    auto a = model.make_sequence();
    auto b = model.make_sequence();
    model.extend(a, std::vector<token>{0, 1});
    model.extend(b, std::vector<token>{0, 1, 2}, 1);
    model.truncate(a, 1);
    BOOST_TEST((model.counts() == testing::call_counts{.calls = 2, .tokens = 5, .rows = 3, .truncations = 1}));
    const counted copy = model;
    copy.reset();
    BOOST_TEST((model.counts() == testing::call_counts{}));
}

BOOST_AUTO_TEST_CASE(a_perfect_draft_saves_passes_of_the_target) {
    const counted target(testing::scripted_model(5, {0, 1, 2, 3, 4, 1, 2, 3, 4}));
    const auto draft = testing::scripted_model(5, {0, 1, 2, 3, 4, 1, 2, 3, 4});
    decode::options chosen;
    chosen.sampling.temperature.value = 0;
    chosen.stop.max_tokens = 8;
    const std::vector<token> prompt{0};
    decode::generate(speculate(draft, target, policy::fixed_length{3}, accept::exact{}), prompt, chosen);
    BOOST_TEST(target.counts().calls == 2u);
    BOOST_TEST(target.counts().rows == 8u);
}

BOOST_AUTO_TEST_SUITE_END()
