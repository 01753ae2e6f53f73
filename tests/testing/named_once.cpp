#include "augur/testing/named_once.hpp"

#include <augur/accept/coupled.hpp>
#include <augur/accept/rejection_sampling.hpp>
#include <augur/decode/generate.hpp>
#include <augur/testing/models.hpp>
#include <boost/test/unit_test.hpp>
#include <string>

#include "testing/wrong_criteria.hpp"

namespace augur::testing {
static_assert(Chooser<named_once<>>);
}  // namespace augur::testing

using namespace augur;
using testing::named_once;

BOOST_AUTO_TEST_SUITE(testing_named_once)

const auto target = testing::hashed_model(5, 1);
const auto drafter = testing::hashed_model(5, 2);
const std::vector<token> prompt{1};

template <class Criterion>
std::size_t names_of(const Criterion& criterion, std::size_t length = 60) {
    const auto scheme = speculate(drafter, target, policy::fixed_length{4}, criterion);
    const named_once chooser(random::philox_chooser(3));
    decode::options chosen;
    chosen.stop.max_tokens = length;
    const auto got = decode::generate_with<any_guarantee>(chooser, scheme, prompt, chosen).tokens;
    const auto expected =
        decode::generate_with<any_guarantee>(random::philox_chooser(3), scheme, prompt, chosen).tokens;
    BOOST_TEST(got == expected, boost::test_tools::per_element());
    return chooser.names();
}

BOOST_AUTO_TEST_CASE(it_answers_as_the_chooser_does_and_counts_names) {
    BOOST_TEST(names_of(accept::rejection_sampling{}) > 60u);
    BOOST_TEST(names_of(accept::coupled{}) == 60u);  // one race a position, of draft and target
}

BOOST_AUTO_TEST_CASE(a_second_question_of_one_name_is_refused) {
    BOOST_CHECK_EXCEPTION(names_of(wrong::two_coins{}), error, [](const error& thrown) {
        const std::string said = thrown.what();
        return said.find("purpose accept, round 0 is asked for twice: first by flip(") != std::string::npos;
    });
}

BOOST_AUTO_TEST_SUITE_END()
