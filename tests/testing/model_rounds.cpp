#include "augur/testing/model_rounds.hpp"

#include <augur/testing/model_laws.hpp>
#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <string>
#include <typeinfo>

#include "sanitized.hpp"
#include "wrong_rounds.hpp"

using namespace augur;
using testing::model_laws;

BOOST_AUTO_TEST_SUITE(testing_model_rounds)

const auto sound = testing::hashed_model(5, 1, 2, 64);

/// In the inputs that are always taken, by any seed.
template <class Wrong>
void is_found(const std::string& law) {
    const Wrong model(sound);
    for (std::uint64_t seed = 1; seed <= testing::unless_sanitized<std::uint64_t>(8, 2); ++seed) {
        const auto r = model_laws(model, {.seed = seed, .shrinks = 0});
        BOOST_TEST(r.breaks(law), typeid(Wrong).name() << ", seed " << seed << ": " << r);
    }
}

BOOST_AUTO_TEST_CASE(a_model_that_is_wrong_in_a_later_round_is_found) {
    using namespace wrong_rounds;
    const std::string law = "several rounds equal a fresh sequence";
    is_found<second_tree>(law);
    is_found<tree_after_cut>(law);
    is_found<cut_after_keep>(law);
    is_found<states_after_cut>(law);
    is_found<states_after_keep>(law);
    is_found<second_split>(law);
    is_found<split_after_cut>(law);
    is_found<cut_waiting>(law);
    is_found<appends_while_waiting>("appending while positions wait throws and changes nothing");
}

BOOST_AUTO_TEST_CASE(a_failing_case_is_small_and_says_what_was_done) {
    const auto r = model_laws(wrong_rounds::second_tree(sound));
    BOOST_TEST(r.broken.size() == 1u, r);
    const std::string& what = r.broken.at(0).what;
    BOOST_TEST(
        what.find(", keeping {0}; a tree of {0} with parents {-1}, 1 rows: row 0, token 0: ") != std::string::npos,
        what);
}

BOOST_AUTO_TEST_SUITE_END()
