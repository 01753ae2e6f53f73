#include "augur/model/check_passes.hpp"

#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

using namespace augur;

BOOST_AUTO_TEST_SUITE(model_check_passes)

void refuses(const auto& what, const std::string& said) {
    BOOST_CHECK_EXCEPTION(what(), error, [&](const error& e) {
        BOOST_TEST(std::string(e.what()) == said);
        return true;
    });
}

BOOST_AUTO_TEST_CASE(a_parent_is_an_earlier_token_or_none) {
    const auto check = [](const std::vector<std::int32_t>& parents) { model::check_parents(3, parents); };
    check({-1, -1, -1});
    check({-1, 0, 1});
    check({-1, 0, 0});
    refuses([&] { check({-1, 0}); }, "run: 3 tokens, but 2 parents");
    refuses([&] { check({-1, 0, 1, 2}); }, "run: 3 tokens, but 4 parents");
    refuses([&] { check({0, 0, 1}); }, "run: token 0 follows token 0; it must follow an earlier one or -1");
    refuses([&] { check({-1, 2, 1}); }, "run: token 1 follows token 2; it must follow an earlier one or -1");
    refuses([&] { check({-1, 0, -2}); }, "run: token 2 follows token -2; it must follow an earlier one or -1");
}

BOOST_AUTO_TEST_CASE(a_path_goes_from_the_root_down) {
    const std::vector<std::int32_t> parents{-1, 0, 0, 2};
    const auto check = [&](const std::vector<std::size_t>& path) { model::check_path(path, parents); };
    check({});
    check({0, 2, 3});
    refuses([&] { check({4}); }, "keep: token 4 of a pass of 4");
    refuses([&] { check({2}); }, "keep: token 2 follows token 0, not -1");
    refuses([&] { check({0, 3}); }, "keep: token 3 follows token 2, not 0");
    model::check_tree_end(3, 3);
    refuses([] { model::check_tree_end(3, 4); }, "keep: the tree was scored after 3 tokens, but the sequence has 4");
}

BOOST_AUTO_TEST_CASE(a_run_has_every_sequence_once_and_rows_and_layers_that_there_are) {
    int a = 0, b = 0;
    const std::vector<token> tokens(2);
    const std::vector<std::int32_t> parents{-1, 0};
    using asked = pass<int>;
    const auto check = [](const std::vector<asked>& passes) { model::check_passes(std::span<const asked>(passes), 4); };
    check({});
    check({{.sequence = &a, .tokens = tokens, .parents = parents, .rows = 2}, {.sequence = &b, .from_layer = 4}});
    check({{.sequence = &a, .tokens = tokens, .to_layer = 4}, {.sequence = &b, .from_layer = 1, .to_layer = 2}});
    refuses([&] { check({{.sequence = &a}, {.sequence = nullptr}}); }, "run: pass 1 of 2 has no sequence");
    refuses(
        [&] {
            check({{.sequence = &a}, {.sequence = &b}, {.sequence = &a}});
        },
        "run: the sequence of pass 2 is that of pass 0");
    refuses([&] { check({{.sequence = &a, .tokens = tokens, .rows = 3}}); }, "run: 3 rows of 2 tokens");
    refuses([&] { check({{.sequence = &a, .tokens = tokens, .to_layer = 0}}); }, "run: layers from 0 to 0 of 4");
    refuses([&] { check({{.sequence = &a, .tokens = tokens, .to_layer = 5}}); }, "run: layers from 0 to 5 of 4");
    refuses([&] { check({{.sequence = &a, .from_layer = 3, .to_layer = 3}}); }, "run: layers from 3 to 3 of 4");
    refuses([&] { check({{.sequence = &a, .from_layer = 5}}); }, "run: layers from 5 on of 4");
    refuses([&] { check({{.sequence = &a, .tokens = tokens, .from_layer = 1}}); },
            "run: 2 tokens for layers from 1 on, which finish the positions that wait");
    refuses([&] { check({{.sequence = &a, .tokens = tokens, .parents = parents, .to_layer = 3}}); },
            "run: 2 parents in a pass through layers from 0 to 3; a tree goes through all 4");
}

BOOST_AUTO_TEST_CASE(positions_wait_for_the_layer_they_stopped_at) {
    const std::vector<token> tokens(2);
    using asked = pass<int>;
    model::check_waiting(asked{.tokens = tokens}, 0, 0);
    model::check_waiting(asked{.tokens = tokens, .to_layer = 2}, 3, 2);
    model::check_waiting(asked{.rows = 3, .from_layer = 2}, 3, 2);
    model::check_waiting(asked{.from_layer = 1}, 0, 2);
    refuses([&] { model::check_waiting(asked{.tokens = tokens}, 3, 2); },
            "run: 3 positions wait for their layers from 2 on, before 2 new tokens");
    refuses([&] { model::check_waiting(asked{.tokens = tokens, .to_layer = 1}, 3, 2); },
            "run: 3 positions wait for their layers from 2 on, before 2 new tokens");
    refuses([&] { model::check_waiting(asked{.from_layer = 1}, 3, 2); },
            "run: layers from 1 on, but positions wait after layer 2");
    refuses([&] { model::check_waiting(asked{.rows = 4, .from_layer = 2}, 3, 2); },
            "run: 4 rows of 3 positions that wait");
}

BOOST_AUTO_TEST_SUITE_END()
