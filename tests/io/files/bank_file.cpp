#include "augur/io/files/bank_file.hpp"

#include <boost/test/unit_test.hpp>
#include <string>

using namespace augur;

BOOST_AUTO_TEST_SUITE(io_bank_file)

const io::bank_identity identity{"aaaa", "bbbb", 100, 3};
io::bank_file some_bank() {
    return {
        identity,
        "code",
        tree::bank(
            {{.shape = topology(), .accepted_length = 1, .tokens_per_second = 0.1 + 0.2},
             {.shape = topology{-1, -1, 0}, .accepted_length = 1.0 / 3, .scored_length = 2, .tokens_per_second = 12}}),
        0,
        1,
        0.1,
        2};
}

/// With other content and the checksum that it should have.
std::string with(const std::string& key, const nlohmann::ordered_json& value) {
    auto content = nlohmann::ordered_json::parse(some_bank().text());
    content.erase("checksum");
    content[key] = value;
    content["checksum"] = io::bank_file::checksum_of(content);
    return content.dump();
}

std::string refusal(const std::string& text) {
    try {
        io::parse_bank(text, "b.json");
        return "";
    } catch (const error& problem) {
        return problem.what();
    }
}

BOOST_AUTO_TEST_CASE(what_was_written_is_read_bit_for_bit) {
    const auto read = io::parse_bank(some_bank().text(), "b.json");
    BOOST_CHECK((read == some_bank()));
    BOOST_TEST(read.trees[1].accepted_length == 1.0 / 3);
    BOOST_TEST(read.trees[0].tokens_per_second == 0.1 + 0.2);
    BOOST_CHECK((read.trees.shape(1) == topology{-1, -1, 0}));
    BOOST_TEST(read.threshold == 0.1);
    BOOST_TEST(read.aggressive == 1u);
    BOOST_CHECK((read.identity == identity));
}

BOOST_AUTO_TEST_CASE(a_damaged_bank_is_refused) {
    const std::string text = some_bank().text();
    for (std::size_t cut = 0; cut + 2 < text.size(); cut += 7) BOOST_TEST(refusal(text.substr(0, cut)) != "");
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] < '0' || text[i] > '9') continue;
        std::string changed = text;
        changed[i] = changed[i] == '1' ? '2' : '1';
        BOOST_TEST(refusal(changed) != "");
    }
    std::string changed = text;
    changed.replace(changed.find("code"), 4, "Code");
    BOOST_TEST(refusal(changed).find("b.json: it is damaged: its checksum is ") == 0);
}

BOOST_AUTO_TEST_CASE(what_is_no_bank_is_refused_with_its_values) {
    BOOST_TEST(refusal(with("augur.bank", 2)) == "b.json: its version is 2; this program knows 1");
    BOOST_TEST(refusal(with("trees", nlohmann::ordered_json::array())) ==
               "b.json: a bank of 0 trees; it needs 1 to 256");
    BOOST_TEST(refusal(with("head_count", 1)) == "b.json, tree 1: it is 2 deep, but there are 1 heads");
    BOOST_TEST(refusal(with("aggressive", 2)).find("b.json: aggressive must be a whole number within 0..1") == 0);
    BOOST_TEST(refusal(with("threshold", 2.5)).find("b.json: threshold must be a number within 0..2") == 0);
    BOOST_TEST(refusal(with("threshold", 1.5)) == "");  // a sum over two depths
    BOOST_TEST(refusal(with("feature", "luck")) ==
               "b.json: feature 'luck' is unknown; path_value_sum and path_value are known");
    BOOST_TEST(refusal(with("depth", 4)) != "");
    BOOST_TEST(refusal(with("depth", 0)).find("b.json: depth must be a whole number within 1..3") == 0);
    BOOST_TEST(refusal(with("depth", 3)) == "");
    BOOST_TEST(refusal(with("head_count", 2)) == "");  // as deep as there are heads
    BOOST_TEST(refusal(with("trees", 3)) != "");
    BOOST_TEST(refusal("[]") != "");
}

BOOST_AUTO_TEST_CASE(a_bank_of_the_product_stays_one) {
    BOOST_TEST(io::parse_bank(some_bank().text(), "b.json").feature == "path_value_sum");
    BOOST_TEST(io::parse_bank(with("feature", "path_value"), "b.json").feature == "path_value");
    io::bank_file product = some_bank();
    product.feature = "path_value";
    product.threshold = 1.5;
    BOOST_TEST(refusal(product.text()).find("b.json: threshold must be a number within 0..1") == 0);
}

BOOST_AUTO_TEST_CASE(a_bank_of_others_is_refused_with_both_values) {
    const auto against = [](io::bank_identity here) -> std::string {
        try {
            io::check_bank(some_bank(), here, "b.json");
            return "";
        } catch (const error& problem) {
            return problem.what();
        }
    };
    BOOST_TEST(against(identity) == "");
    BOOST_TEST(against({"aaaa", "bbbb", 101, 3}) == "b.json: it was grown for a vocabulary of 100, but here it is 101");
    BOOST_TEST(against({"aaaa", "bbbb", 100, 4}) == "b.json: it was grown for a head count of 3, but here it is 4");
    BOOST_TEST(against({"cccc", "bbbb", 100, 3}) == "b.json: it was grown for the model 'aaaa', but here it is 'cccc'");
    BOOST_TEST(against({"aaaa", "cccc", 100, 3}) == "b.json: it was grown for the heads 'bbbb', but here it is 'cccc'");
}

BOOST_AUTO_TEST_SUITE_END()
