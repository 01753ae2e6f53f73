#include "augur/model/pass.hpp"

#include <boost/test/unit_test.hpp>
#include <vector>

using namespace augur;

BOOST_AUTO_TEST_SUITE(model_pass)

static_assert(includes(every_pass_feature, pass_features::trees | pass_features::batches));
static_assert(includes(pass_features::trees, pass_features::none));
static_assert(!includes(pass_features::trees, pass_features::trees | pass_features::states));
static_assert(!includes(pass_features::none, pass_features::layers));

BOOST_AUTO_TEST_CASE(rows_are_as_many_as_are_wanted_and_there) {
    const std::vector<token> tokens(3);
    using asked = pass<int>;
    BOOST_TEST((asked{.tokens = tokens}.wanted()) == 3u);
    BOOST_TEST((asked{.tokens = tokens, .rows = 2}.wanted()) == 2u);
    BOOST_TEST((asked{.tokens = tokens, .to_layer = 1}.wanted()) == 0u);
    BOOST_TEST((asked{.from_layer = 1}.wanted(5)) == 5u);
    BOOST_TEST((asked{.rows = 2, .from_layer = 1}.wanted(5)) == 2u);
    BOOST_TEST((asked{.from_layer = 1, .to_layer = 2}.wanted(5)) == 0u);
}

BOOST_AUTO_TEST_CASE(a_pass_needs_what_it_says) {
    const std::vector<token> tokens(1);
    const std::vector<std::int32_t> root{-1};
    using asked = pass<int>;
    BOOST_TEST((asked{.tokens = tokens}.needs() == pass_features::none));
    BOOST_TEST((asked{.tokens = tokens, .parents = root}.needs() == pass_features::trees));
    BOOST_TEST((asked{.tokens = tokens, .states = true}.needs() == pass_features::states));
    BOOST_TEST((asked{.tokens = tokens, .parents = root, .states = true}.needs() ==
                (pass_features::trees | pass_features::states)));
    BOOST_TEST((asked{.tokens = tokens, .to_layer = 2}.needs() == pass_features::layers));
    BOOST_TEST((asked{.from_layer = 2, .states = true}.needs() == pass_features::layers));
}

BOOST_AUTO_TEST_SUITE_END()
