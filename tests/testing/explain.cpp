#include "augur/testing/explain.hpp"

#include <boost/test/unit_test.hpp>
#include <sstream>

using namespace augur;

BOOST_AUTO_TEST_SUITE(testing_explain)

testing::text_distribution law_with(std::map<std::vector<token>, double> probability) {
    return {.probability = std::move(probability), .paths = 4};
}

BOOST_AUTO_TEST_CASE(equal_laws_need_no_explanation) {
    const auto a = law_with({{{0, 1}, 0.25}, {{1}, 0.75}});
    const auto found = testing::explain(a, a);
    BOOST_TEST(found.equal);
    std::ostringstream out;
    out << found;
    BOOST_TEST(out.str() == "total variation 0 (4 and 4 paths)");
}

BOOST_AUTO_TEST_CASE(the_shortest_text_after_which_they_differ_is_shown) {
    const auto expected = law_with({{{0, 0}, 0.25}, {{0, 1}, 0.25}, {{1, 0}, 0.25}, {{1, 1}, 0.25}});
    const auto got = law_with({{{0, 0}, 0.25}, {{0, 1}, 0.25}, {{1, 0}, 0.125}, {{1, 2}, 0.375}});
    const auto found = testing::explain(expected, got);
    BOOST_TEST(!found.equal);
    BOOST_TEST((found.prefix == std::vector<token>{1}));
    BOOST_TEST(found.here == 0.75);
    BOOST_TEST(found.overall == 0.375);
    std::ostringstream out;
    out << found;
    BOOST_TEST(out.str() ==
               "total variation 0.375 (4 and 4 paths)\n"
               "    after {1}, total variation 0.75\n"
               "      token  expected       got\n"
               "          0  0.500000  0.250000\n"
               "          1  0.500000  0.000000\n"
               "          2  0.000000  0.750000");
}

BOOST_AUTO_TEST_CASE(of_two_texts_of_one_length_the_first_is_shown) {
    const auto expected = law_with({{{0, 0}, 0.5}, {{1, 0}, 0.5}});
    const auto got = law_with({{{0, 1}, 0.5}, {{1, 1}, 0.5}});
    BOOST_TEST((testing::explain(expected, got).prefix == std::vector<token>{0}));
}

BOOST_AUTO_TEST_CASE(a_text_that_ends_is_a_branch_of_its_own) {
    const auto found = testing::explain(law_with({{{0}, 1.0}}), law_with({{{}, 1.0}}));
    BOOST_TEST(found.prefix.empty());
    BOOST_TEST(found.expected.at(no_token) == 0.0);
    BOOST_TEST(found.got.at(no_token) == 1.0);
    std::ostringstream out;
    out << found;
    BOOST_TEST(out.str().find("  end  0.000000  1.000000") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(differences_below_the_tolerance_are_none) {
    const auto a = law_with({{{0}, 0.5}, {{1}, 0.5}});
    const auto b = law_with({{{0}, 0.5 + 1e-10}, {{1}, 0.5 - 1e-10}});
    BOOST_TEST(testing::explain(a, b, 1e-9).equal);
    BOOST_TEST(!testing::explain(a, b).equal);
}

BOOST_AUTO_TEST_CASE(rows_that_differ_little_are_printed_with_digits_that_tell_them_apart) {
    const auto found =
        testing::explain(law_with({{{0}, 0.5}, {{1}, 0.5}}), law_with({{{0}, 0.5 + 2e-9}, {{1}, 0.5 - 2e-9}}));
    std::ostringstream out;
    out << found << ' ' << 1.0 / 3;
    BOOST_TEST(out.str() ==
               "total variation 2e-09 (4 and 4 paths)\n"
               "    after {}, total variation 2e-09\n"
               "      token       expected            got\n"
               "          0  0.50000000000  0.50000000200\n"
               "          1  0.50000000000  0.49999999800 0.333333");
}

BOOST_AUTO_TEST_SUITE_END()
