#include "augur/testing/law_chooser.hpp"

#include <augur/accept/coupled.hpp>
#include <augur/accept/rejection_sampling.hpp>
#include <augur/decode/generate.hpp>
#include <augur/testing/models.hpp>
#include <augur/testing/text_distribution_of.hpp>
#include <boost/test/unit_test.hpp>

#include "up_to.hpp"

namespace augur::testing {
static_assert(Chooser<law_chooser>);
}  // namespace augur::testing

using namespace augur;
using testing::law_chooser;

BOOST_AUTO_TEST_SUITE(testing_law_chooser)

const auto target = testing::hashed_model(3, 1);
const auto drafter = testing::hashed_model(3, 2);
const std::vector<token> prompt{1};

template <class Criterion>
void answers_as_what_it_was_made_of(const Criterion& criterion) {
    const auto scheme = speculate(drafter, target, policy::fixed_length{2}, criterion);
    const auto text = [&](const auto& chooser, std::size_t length) {
        return decode::generate_with<any_guarantee>(chooser, scheme, prompt, testing::up_to(length)).tokens;
    };
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        const random::philox_chooser drawing(seed);
        const testing::named_once once(drawing);
        const auto expected = text(drawing, 40);
        BOOST_TEST(text(law_chooser(drawing), 40) == expected, boost::test_tools::per_element());
        BOOST_TEST(text(law_chooser(once), 40) == expected, boost::test_tools::per_element());
        BOOST_TEST(once.names() > 0u);  // which it was asked for through the copy
    }
    const auto alone = testing::enumerate([&](const testing::enumerating_chooser& path) { return text(path, 2); });
    const auto got =
        testing::enumerate([&](const testing::enumerating_chooser& path) { return text(law_chooser(path), 2); });
    BOOST_TEST(got.paths == alone.paths);
    BOOST_TEST((got.probability == alone.probability));
}

BOOST_AUTO_TEST_CASE(it_answers_as_what_it_was_made_of) {
    answers_as_what_it_was_made_of(accept::rejection_sampling{});
    answers_as_what_it_was_made_of(accept::coupled{});
}

BOOST_AUTO_TEST_CASE(a_name_is_refused_a_second_time_by_those_who_keep_names) {
    const distribution even = distribution::weighted({1, 1});
    const draw_key key{3, purpose::accept, 0};
    law_chooser drawing = random::philox_chooser(1);
    BOOST_TEST(drawing.choose(even, key) == drawing.choose(even, key));
    BOOST_TEST(drawing.flip(1, key));
    for (law_chooser keeps :
         {law_chooser(testing::named_once(random::philox_chooser(1))), law_chooser(testing::enumerating_chooser())}) {
        keeps.choose(even, key);
        BOOST_CHECK_THROW(keeps.flip(0.5, key), error);
    }
}

BOOST_AUTO_TEST_SUITE_END()
