// Small vocabularies of each family's kind: ids of Hugging Face's tokenizers 0.23.3 (tests/tokenizers/make_small.py).
#include <augur/io/text/split_rules.hpp>
#include <augur/io/text/tokenizer.hpp>
#include <augur/io/text/tokenizer_json.hpp>
#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

BOOST_AUTO_TEST_SUITE(io_families)

using namespace augur;
using namespace augur::io;
using nlohmann::json;

namespace {

const json& stored() {
    static const json all = [] {
        std::ifstream file(std::filesystem::path(AUGUR_TEST_DATA) / "io/families.json");
        BOOST_REQUIRE(file.is_open());
        return json::parse(file);
    }();
    return all;
}

vocabulary words_of(const json& family) {
    json document = family["tokenizer"];
    json model = stored()[family["kind"].get<std::string>()];
    model.update(document["model"]);
    document["model"] = std::move(model);
    return read_tokenizer_json(document);
}

void compare(const vocabulary& words, const json& ids) {
    const tokenizer tokens(words);
    BOOST_REQUIRE(ids.size() == stored()["texts"].size());
    for (std::size_t i = 0; i < ids.size(); ++i) {
        const auto text = stored()["texts"][i].get<std::string>();
        const auto made = tokens.encode(text, {.parse_special = true});
        BOOST_TEST(made == ids[i].get<std::vector<token>>(), "text " << i << ", " << quote(text));
    }
}

}  // namespace

BOOST_AUTO_TEST_CASE(tokenizer_json_gives_the_ids_of_tokenizers) {
    BOOST_REQUIRE(stored()["families"].size() == 13u);
    for (const auto& family : stored()["families"]) {
        BOOST_TEST_CONTEXT(family["name"]) {
            compare(words_of(family), family["ids"]);
        }
    }
}

/// GGUF files have the name alone.
BOOST_AUTO_TEST_CASE(so_do_the_names_in_gguf_files) {
    for (const auto& family : stored()["families"]) {
        const auto name = family["pre"].get<std::string>();
        if (name.empty()) continue;
        BOOST_TEST_CONTEXT(name) {
            auto words = words_of(family);
            const auto& rules = find_split_rules(name);
            BOOST_TEST(rules.ignore_merges == words.ignore_merges);
            BOOST_TEST(rules.nfc == words.nfc);
            words.pre_tokenizer = name;
            compare(words, family["ids"]);
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
