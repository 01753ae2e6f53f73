#include <augur/io/text/stop_ids.hpp>
#include <augur/types/error.hpp>
#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "io/files.hpp"

BOOST_AUTO_TEST_SUITE(io_stop_ids)

using augur::token;
using namespace augur::io;
using augur::testing::says;
using nlohmann::json;

namespace {

std::vector<token> ids_of(const json& config) {
    return stop_ids_of(json_reader<>(config, "config.json")).ids;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_number_a_list_and_a_text_configuration) {
    BOOST_TEST(ids_of(json::object()).empty());
    BOOST_TEST(ids_of({{"eos_token_id", nullptr}}).empty());
    BOOST_TEST(ids_of({{"eos_token_id", json::array()}}).empty());
    BOOST_TEST((ids_of({{"eos_token_id", 2}}) == std::vector<token>{2}));
    BOOST_TEST((ids_of({{"eos_token_id", {6, 2, 6}}}) == std::vector<token>{2, 6}));
    BOOST_TEST(
        (ids_of({{"eos_token_id", 9}, {"text_config", {{"eos_token_id", {1, 9}}}}}) == std::vector<token>{1, 9}));
    BOOST_TEST((ids_of({{"text_config", {{"eos_token_id", 0}}}}) == std::vector<token>{0}));
    BOOST_TEST((ids_of({{"eos_token_id", 2147483647}}) == std::vector<token>{2147483647}));
}

BOOST_AUTO_TEST_CASE(none_is_a_note) {
    const json config = {{"eos_token_id", {-1, 3}}};
    const auto found = stop_ids_of(json_reader<>(config, "config.json"));
    BOOST_TEST((found.ids == std::vector<token>{3}));
    BOOST_TEST((found.notes == std::vector<std::string>{"config.json: eos_token_id[0] is -1: there is no such token"}));
}

BOOST_AUTO_TEST_CASE(what_is_no_id_is_refused_with_its_value) {
    const std::vector<std::pair<json, std::string>> flaws = {{"</s>", "'\"</s>\"'"},
                                                             {true, "'true'"},
                                                             {1.5, "'1.5'"},
                                                             {-2, "'-2'"},
                                                             {2147483648u, "2147483648"},
                                                             {json::array({1, "2"}), "eos_token_id[1]"},
                                                             {json::object(), "'{}'"},
                                                             {json::array({json::array({1})}), "eos_token_id[0]"}};
    for (const auto& [value, said] : flaws) {
        BOOST_CHECK_EXCEPTION(ids_of({{"eos_token_id", value}}), augur::error,
                              says({"config.json: eos_token_id", said}));
        BOOST_CHECK_EXCEPTION(ids_of({{"text_config", {{"eos_token_id", value}}}}), augur::error,
                              says({"text_config: eos_token_id", said}));
    }
    BOOST_CHECK_EXCEPTION(ids_of({{"text_config", 3}}), augur::error, says({"text_config", "3"}));
}

BOOST_AUTO_TEST_CASE(the_union_of_a_folders_files) {
    const augur::testing::temporary_directory folder;
    BOOST_TEST(read_stop_ids(folder.path()).ids.empty());
    augur::testing::write_file(folder / "config.json", R"({"eos_token_id": 2})");
    BOOST_TEST((read_stop_ids(folder.path()).ids == std::vector<token>{2}));
    augur::testing::write_file(folder / "generation_config.json", R"({"eos_token_id": [6, 2]})");
    BOOST_TEST((read_stop_ids(folder.path()).ids == std::vector<token>{2, 6}));
    augur::testing::write_file(folder / "generation_config.json", "[6]");
    BOOST_CHECK_EXCEPTION(read_stop_ids(folder.path()), augur::error,
                          says({"generation_config.json", "object", "[6]"}));
    augur::testing::write_file(folder / "generation_config.json", "{");
    BOOST_CHECK_EXCEPTION(read_stop_ids(folder.path()), augur::error, says({"generation_config.json", "parse"}));
}

BOOST_AUTO_TEST_SUITE_END()
