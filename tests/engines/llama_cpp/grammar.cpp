#include "augur/engines/llama_cpp/grammar.hpp"

#include <algorithm>
#include <augur/transform/pipeline.hpp>
#include <boost/test/unit_test.hpp>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "augur/io/text/schema_grammar.hpp"
#include "engines/tiny_engines.hpp"
#include "io/gguf_writer.hpp"

using namespace augur;
using namespace augur::testing;
namespace llama_cpp = augur::engines::llama_cpp;

BOOST_AUTO_TEST_SUITE(engines_grammar)

namespace {

using ids = std::vector<token>;
constexpr token end_of_text = 2;
constexpr std::size_t vocabulary = 96;

llama_cpp::weights words() {
    tiny_gguf file;
    file.has_words = true;
    const temporary_directory folder;
    return llama_cpp::weights::load(file.write(folder / "words.gguf"), {.gpu_layers = 0, .vocabulary_only = true});
}

token letter(char c) {
    return static_cast<token>(5 + c - '!');
}

/// What is left, control tokens by their ids.
ids left_by(const llama_cpp::grammar& mask, const prefix& before, std::size_t size = vocabulary) {
    std::vector<float> row(size, 0.5f);
    mask(row, before);
    ids left;
    for (std::size_t t = 0; t < row.size(); ++t) {
        if (row[t] == 0.5f)
            left.push_back(static_cast<token>(t));
        else
            BOOST_TEST(row[t] == -INFINITY);
    }
    return left;
}

ids letters(const std::string& text, bool may_end = false) {
    ids all;
    for (const char c : text) all.push_back(letter(c));
    if (may_end) all.push_back(end_of_text);
    std::sort(all.begin(), all.end());
    return all;
}

const std::string some_grammar = R"(root ::= "ab" digit{1,2} | "ac" ("," root)?
digit ::= [0-2])";

}  // namespace

BOOST_AUTO_TEST_CASE(says_what_goes_on_with_a_text_of_the_grammar) {
    const llama_cpp::grammar mask(words(), some_grammar);
    BOOST_TEST(mask.vocabulary_size() == vocabulary);
    prefix before(ids{1, letter('z')});
    const auto goes_on = [&](const ids& expected) {
        BOOST_TEST(left_by(mask, before) == expected, boost::test_tools::per_element());
    };
    goes_on(letters("a"));
    before.push(letter('a'));
    goes_on(letters("bc"));
    before.push(letter('b'));
    goes_on(letters("012"));
    before.push(letter('1'));
    goes_on(letters("012", true));
    before.push(letter('2'));
    goes_on({end_of_text});
    before.push(end_of_text);
    goes_on({end_of_text});
    before.push(letter('a'));
    goes_on({});
    const transform::pipeline pipeline({.mask = mask}, vocabulary);
    BOOST_TEST(pipeline({std::vector<float>(vocabulary, 1.0f)}, before).empty());
}

BOOST_AUTO_TEST_CASE(forks_with_the_path_and_rolls_back) {
    const auto vocabulary_of = words();
    const llama_cpp::grammar mask(vocabulary_of, some_grammar, {.texts = 2}), copy = mask;
    std::mt19937 random(3);
    std::vector<prefix> all(3, prefix(ids{1}));  // one more than are kept
    const auto check = [&](const prefix& before) {
        const ids left = left_by(random() % 2 == 0 ? mask : copy, before);
        prefix fresh(ids{7, 8});
        for (const token t : before.generated()) fresh.push(t);
        BOOST_TEST(left == left_by(llama_cpp::grammar(vocabulary_of, some_grammar), fresh));
        return left;
    };
    const auto some = [&](const ids& from) { return from.empty() ? token(9) : from[random() % from.size()]; };
    for (int round = 0; round < 40; ++round) {
        prefix& before = all[random() % all.size()];
        for (int path = 0; path < 2; ++path) {
            speculative_suffix drafted(before);
            for (int i = 0; i < 3; ++i) {
                const ids left = check(before);
                drafted.push(random() % 4 == 0 ? letter('b') : some(left));
            }
            check(before);
        }
        if (before.generated().size() > 4) before.pop();
        before.push(some(check(before)));
        if (left_by(mask, before).empty()) before = prefix(ids{1});
    }
}

BOOST_AUTO_TEST_CASE(writes_utf_8) {
    const std::vector<std::string> texts{"<unk>",  "<s>",    "</s>",   "z",      "a",      "<0xC3>",
                                         "<0xA9>", "<0xC0>", "<0xA2>", "<0xE2>", "<0x82>", "\u00e9"};
    gguf_writer file;
    file.set("general.architecture", "llama").set("tokenizer.ggml.model", "llama").set("tokenizer.ggml.tokens", texts);
    file.set("tokenizer.ggml.token_type", std::vector<std::int32_t>{2, 3, 3, 1, 1, 6, 6, 6, 6, 6, 6, 1});
    file.set("tokenizer.ggml.scores", std::vector<float>(texts.size(), 0.0f));
    const temporary_directory folder;
    const llama_cpp::grammar mask(
        llama_cpp::weights::load(file.write(folder / "bytes.gguf"), {.vocabulary_only = true}),
        R"(root ::= [^a]* "a")");
    const auto after = [&](const ids& generated) {
        prefix before(ids{1});
        for (const token t : generated) before.push(t);
        return left_by(mask, before, texts.size());
    };
    BOOST_TEST(after({}) == (ids{3, 4, 5, 9, 11}), boost::test_tools::per_element());
    BOOST_TEST(after({5}) == (ids{6, 8, 10}), boost::test_tools::per_element());
    BOOST_TEST(after({5, 6}) == (ids{3, 4, 5, 9, 11}), boost::test_tools::per_element());
    BOOST_TEST(after({9, 10}) == (ids{6, 8, 10}), boost::test_tools::per_element());
    BOOST_TEST(after({7}).empty());  // overlong with 8, which llama.cpp takes for a quote
    BOOST_TEST(after({5, 3}).empty());
    BOOST_TEST(after({3, 4}) == (ids{2}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(reads_the_grammar_of_a_schema) {
    const auto schema = nlohmann::ordered_json::parse(R"({"type": "array", "items": {"anyOf": [
        {"type": "object", "properties": {"a": {"type": "number"}, "b": {"type": "string", "maxLength": 2}}},
        {"enum": ["\\", null]}, {"type": ["string", "integer", "boolean"]}, {}]}, "maxItems": 2})");
    const llama_cpp::grammar mask(words(), io::schema_grammar(schema));
    prefix before(ids{1});
    BOOST_TEST(left_by(mask, before) == letters("["), boost::test_tools::per_element());
    before.push(letter('['));
    BOOST_TEST(left_by(mask, before) == letters("\"-0123456789[]fnt{"), boost::test_tools::per_element());
    before.push(letter('n'));
    BOOST_TEST(left_by(mask, before) == letters("u"), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(what_cannot_be_read_is_refused) {
    const auto refused = [](const auto& make) {
        try {
            make();
        } catch (const error& why) {
            return std::string(why.what());
        }
        return std::string();
    };
    const auto of = words();
    const auto reading = [&](const std::string& gbnf) { return refused([&] { llama_cpp::grammar(of, gbnf); }); };
    BOOST_TEST(reading("") == "llama_cpp::grammar: the grammar is empty");
    BOOST_TEST(reading("root ::= (").starts_with("llama.cpp cannot read the grammar, of root 'root'"));
    BOOST_TEST(reading("other ::= \"a\"").starts_with("llama.cpp cannot read the grammar"));
    BOOST_TEST(reading("root ::= root \"a\"").starts_with("llama.cpp cannot read the grammar"));
    BOOST_TEST(refused([] { llama_cpp::grammar(tiny_weights("llama"), "root ::= \"a\""); }).find("has no vocabulary") !=
               std::string::npos);
    std::vector<float> row(3);
    BOOST_TEST(refused([&] { llama_cpp::grammar(of, "root ::= \"a\"")(row, prefix(ids{1})); }) ==
               "llama_cpp::grammar: a row has 3 logits, and the vocabulary 96 tokens");
}

BOOST_AUTO_TEST_SUITE_END()
