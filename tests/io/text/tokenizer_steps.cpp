#include "augur/io/text/tokenizer_steps.hpp"

#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "io/files.hpp"

BOOST_AUTO_TEST_SUITE(io_tokenizer_steps)

using namespace augur;
using namespace augur::io;
using augur::testing::says;
using nlohmann::json;

namespace {

const json byte_level = {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", false}};
const json gpt2 = {{"type", "ByteLevel"}, {"add_prefix_space", false}};
const json qwen2 = {
    {"type", "Split"}, {"pattern", {{"Regex", find_split_rules("qwen2").patterns[0]}}}, {"behavior", "Isolated"}};
const json prepend = {{"type", "Prepend"}, {"prepend", "▁"}};
const json replace = {{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", "▁"}};

json metaspace(const char* scheme) {
    return {{"type", "Metaspace"}, {"prepend_scheme", scheme}, {"split", false}};
}

json cut_by(std::vector<json> steps) {
    return {{"pre_tokenizer", {{"type", "Sequence"}, {"pretokenizers", std::move(steps)}}}};
}

json normalised_by(std::vector<json> steps) {
    return {{"normalizer", {{"type", "Sequence"}, {"normalizers", std::move(steps)}}}};
}

vocabulary prefix_of(const json& root) {
    vocabulary words;
    io::detail::read_prefix(json_reader(root, "tokenizer.json"), words);
    return words;
}

}  // namespace

BOOST_AUTO_TEST_CASE(steps_stand_alone_or_in_a_sequence) {
    const json alone = {{"pre_tokenizer", gpt2}}, none = {{"pre_tokenizer", nullptr}};
    const auto count = [](const json& root) {
        return io::detail::steps_of(json_reader(root, "a file"), "pre_tokenizer", "pretokenizers").size();
    };
    BOOST_TEST(count(alone) == 1u);
    BOOST_TEST(count(none) == 0u);
    BOOST_TEST(count(cut_by({})) == 0u);
    BOOST_TEST(count(cut_by({qwen2, byte_level})) == 2u);
    BOOST_CHECK_EXCEPTION(count(cut_by({qwen2, 5})), error, says({"a file: pre_tokenizer: pretokenizers[1]", "'5'"}));
}

/// What is spelled in the byte alphabet already is cut elsewhere, and spelled twice it is other bytes.
BOOST_AUTO_TEST_CASE(one_byte_level_step_comes_last) {
    const auto name = [](const json& root) {
        const json_reader in(root, "tokenizer.json");
        const auto rules = io::detail::name_of_rules(in);
        io::detail::check_byte_level(in);
        return rules;
    };
    BOOST_TEST(name(cut_by({gpt2})) == "gpt-2");
    BOOST_TEST(name(cut_by({qwen2, byte_level})) == "qwen2");
    const std::string supported = "supported is one, the last";
    BOOST_CHECK_EXCEPTION(name(cut_by({qwen2})), error, says({"has 0 steps of the type ByteLevel", supported}));
    BOOST_CHECK_EXCEPTION(name({{"pre_tokenizer", qwen2}}), error, says({"has 0 steps of the type ByteLevel"}));
    BOOST_CHECK_EXCEPTION(name(cut_by({qwen2, byte_level, byte_level})), error, says({"has 2 steps", supported}));
    BOOST_CHECK_EXCEPTION(name(cut_by({byte_level, gpt2})), error, says({"has 2 steps", supported}));
    BOOST_CHECK_EXCEPTION(name(cut_by({byte_level, qwen2})), error,
                          says({"'{\"behavior\":\"Isolated\"", "comes behind ByteLevel"}));
}

BOOST_AUTO_TEST_CASE(one_space_is_put_in_front) {
    BOOST_TEST((prefix_of(normalised_by({prepend, replace})).prefix == space_prefix::always));
    BOOST_TEST((prefix_of(normalised_by({replace, prepend, replace})).prefix == space_prefix::always));
    BOOST_TEST((prefix_of(normalised_by({replace})).prefix == space_prefix::never));
    BOOST_CHECK_EXCEPTION(prefix_of(normalised_by({prepend, prepend, replace})), error,
                          says({"the normalizer step", "Prepend", "is there twice"}));
    BOOST_TEST((prefix_of(cut_by({metaspace("first")})).prefix == space_prefix::at_start));
    const json spaces = {
        {"type", "Split"}, {"pattern", {{"String", " "}}}, {"behavior", "MergedWithPrevious"}, {"invert", false}};
    auto cut_and_normalised = normalised_by({replace});
    cut_and_normalised["pre_tokenizer"] = spaces;  // Gemma: no space is left to cut at
    BOOST_TEST((prefix_of(cut_and_normalised).prefix == space_prefix::never));
    BOOST_CHECK_EXCEPTION(prefix_of({{"pre_tokenizer", spaces}}), error, says({"MergedWithPrevious", "not supported"}));
    cut_and_normalised["pre_tokenizer"]["behavior"] = "Removed";
    BOOST_CHECK_EXCEPTION(prefix_of(cut_and_normalised), error, says({"Removed", "not supported"}));
    BOOST_CHECK_EXCEPTION(prefix_of(cut_by({metaspace("always"), metaspace("first")})), error,
                          says({"has 2 steps of the type Metaspace"}));
}

BOOST_AUTO_TEST_SUITE_END()
