#include "augur/io/text/tokenizer_json.hpp"

#include <sys/stat.h>

#include <augur/io/text/text_codec.hpp>
#include <boost/test/unit_test.hpp>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "io/files.hpp"
#include "io/vocabularies.hpp"

BOOST_AUTO_TEST_SUITE(io_tokenizer_json)

using namespace augur;
using namespace augur::io;
using augur::testing::says;
using nlohmann::json;

namespace {

json byte_level_step(bool use_regex) {
    return {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", use_regex}};
}

json split_step(std::string_view pattern) {
    return {{"type", "Split"}, {"pattern", {{"Regex", pattern}}}, {"behavior", "Isolated"}, {"invert", false}};
}

json sequence(const char* list, std::vector<json> steps) {
    return {{"type", "Sequence"}, {list, std::move(steps)}};
}

json added(token id, const std::string& text, bool special) {
    return {{"id", id},        {"content", text},     {"single_word", false}, {"lstrip", false},
            {"rstrip", false}, {"normalized", false}, {"special", special}};
}

/// What the vocabularies of the other tests look like in tokenizer.json.
json document_of(const vocabulary& words) {
    json root = {{"normalizer", nullptr}, {"added_tokens", json::array()}, {"post_processor", nullptr}};
    json listed = json::object();
    json merges = json::array();
    for (std::size_t i = 0; i < words.texts.size(); ++i) {
        const auto kind = words.kinds[i];
        listed[words.texts[i]] = i;
        if (kind == token_kind::control || kind == token_kind::user_defined || kind == token_kind::unknown) {
            root["added_tokens"].push_back(
                added(static_cast<token>(i), words.texts[i], kind != token_kind::user_defined));
        }
    }
    for (const auto& merge : words.merges) {
        merges.push_back(
            {words.texts[static_cast<std::size_t>(merge.left)], words.texts[static_cast<std::size_t>(merge.right)]});
    }
    root["model"] = {{"type", "BPE"}, {"vocab", listed}, {"merges", merges}, {"byte_fallback", false}};
    root["pre_tokenizer"] = byte_level_step(true);
    return root;
}

json sentencepiece_document() {
    auto words = augur::testing::sentencepiece_words({"▁", "h", "e", "l", "o", "he", "ll", "hell", "hello", "▁hello"});
    const auto index = index_texts(words.texts);
    for (const auto* merge : {"h e", "l l", "he ll", "hell o", "▁ hello"}) {
        words.merges.push_back(make_merge(index, words.merges.size(), merge));
    }
    auto root = document_of(words);
    root["model"]["byte_fallback"] = true;
    root["model"]["unk_token"] = "<unk>";
    root["pre_tokenizer"] = nullptr;
    root["normalizer"] =
        sequence("normalizers", {{{"type", "Prepend"}, {"prepend", "▁"}},
                                 {{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", "▁"}}});
    root["post_processor"] = {
        {"type", "TemplateProcessing"},
        {"single",
         {{{"SpecialToken", {{"id", "<s>"}, {"type_id", 0}}}}, {{"Sequence", {{"id", "A"}, {"type_id", 0}}}}}}};
    return root;
}

}  // namespace

BOOST_AUTO_TEST_CASE(byte_level_reads_back_what_was_written) {
    const auto words = augur::testing::byte_level_words();
    const json config = {{"bos_token", "<|im_start|>"},
                         {"eos_token", {{"content", "<|endoftext|>"}, {"special", true}}},
                         {"chat_template", "{{ x }}"}};
    const auto read = read_tokenizer_json(document_of(words), config);
    BOOST_TEST((read.kind == tokenizer_kind::byte_level_bpe));
    BOOST_TEST(read.pre_tokenizer == "gpt-2");
    BOOST_TEST(read.texts == words.texts);
    BOOST_TEST((read.kinds == words.kinds));
    BOOST_TEST(read.merges.size() == words.merges.size());
    BOOST_TEST(read.bos == words.bos);
    BOOST_TEST(read.eos == words.eos);
    BOOST_TEST(!read.add_bos);
    BOOST_TEST(read.chat_template == "{{ x }}");
    const std::string text = "hello world <tool> é";
    BOOST_TEST(tokenizer(read).encode(text) == tokenizer(words).encode(text));
}

BOOST_AUTO_TEST_CASE(pre_tokenizers_are_known_by_their_patterns) {
    auto root = document_of(augur::testing::byte_level_words());
    const auto name = [&](json pre_tokenizer) {
        root["pre_tokenizer"] = std::move(pre_tokenizer);
        return read_tokenizer_json(root).pre_tokenizer;
    };
    const json digits = {{"type", "Digits"}, {"individual_digits", true}};
    BOOST_TEST(name(byte_level_step(true)) == "gpt-2");
    BOOST_TEST(name(sequence("pretokenizers", {digits, byte_level_step(true)})) == "smollm");
    for (const auto* rules : {"llama-bpe", "qwen2", "qwen35", "gpt-4o", "tekken"}) {
        auto split = split_step(find_split_rules(rules).patterns[0]);
        BOOST_TEST(name(sequence("pretokenizers", {split, byte_level_step(false)})) == rules);
        split["behavior"] = "Removed";
        BOOST_CHECK_EXCEPTION(name(sequence("pretokenizers", {split, byte_level_step(false)})), augur::error,
                              says({"\"Removed\"", "not supported"}));
        split["invert"] = true;  // what is no match goes, and there is none
        BOOST_TEST(name(sequence("pretokenizers", {split, byte_level_step(false)})) == rules);
    }
    auto apart = split_step(digit_pattern);
    BOOST_TEST(name(sequence("pretokenizers", {apart, byte_level_step(true)})) == "split-digits");
    apart["behavior"] = "Removed";
    apart["invert"] = true;  // would leave digits alone
    BOOST_CHECK_EXCEPTION(name(sequence("pretokenizers", {apart, byte_level_step(true)})), augur::error,
                          says({"\"Removed\"", "not supported"}));
    BOOST_CHECK_EXCEPTION(name(sequence("pretokenizers", {split_step("[a-z]+"), byte_level_step(false)})), augur::error,
                          says({"'[a-z]+'", "smollm"}));
    BOOST_CHECK_EXCEPTION(name(nullptr), augur::error, says({"no pattern"}));
    BOOST_CHECK_EXCEPTION(name({{"type", "Whitespace"}}), augur::error, says({"Whitespace", "not supported"}));
    BOOST_CHECK_EXCEPTION(name({{"type", "ByteLevel"}, {"add_prefix_space", true}}), augur::error,
                          says({"add_prefix_space"}));
}

BOOST_AUTO_TEST_CASE(both_spellings_of_merges) {
    auto root = document_of(augur::testing::byte_level_words());
    const auto pairs = read_tokenizer_json(root);
    for (auto& merge : root["model"]["merges"]) {
        merge = merge[0].get<std::string>() + " " + merge[1].get<std::string>();
    }
    const auto strings = read_tokenizer_json(root);
    BOOST_REQUIRE(strings.merges.size() == pairs.merges.size());
    for (std::size_t i = 0; i < pairs.merges.size(); ++i) {
        BOOST_TEST(strings.merges[i].result == pairs.merges[i].result);
    }
}

BOOST_AUTO_TEST_CASE(sentencepiece_by_normalizer_or_metaspace) {
    auto root = sentencepiece_document();
    const tokenizer legacy(read_tokenizer_json(root));
    BOOST_TEST((legacy.words().prefix == space_prefix::always));
    BOOST_TEST(legacy.words().add_bos);
    BOOST_TEST((legacy.encode("hello") == std::vector<token>{1, 268}));
    BOOST_TEST((legacy.encode("a") == std::vector<token>{1, 259, 3 + 'a'}));
    BOOST_TEST(legacy.is_control(0));
    BOOST_TEST((legacy.words().kinds[0] == token_kind::unknown));
    BOOST_TEST((legacy.encode(" hello") == std::vector<token>{1, 259, 268}));
    BOOST_TEST(legacy.decode(legacy.encode(" hello")) == " hello");
    const auto by_normalizer = std::exchange(root["normalizer"], nullptr);
    for (const auto& [scheme, prefix] :
         {std::pair("always", space_prefix::always), std::pair("first", space_prefix::at_start),
          std::pair("never", space_prefix::never)}) {
        root["pre_tokenizer"] = {
            {"type", "Metaspace"}, {"replacement", "▁"}, {"prepend_scheme", scheme}, {"split", false}};
        const tokenizer read(read_tokenizer_json(root));
        BOOST_TEST((read.words().prefix == prefix), scheme);
        BOOST_TEST((read.encode(" hello") == std::vector<token>{1, 268}), scheme);
        BOOST_TEST(read.decode(read.encode(" hello")) == (prefix == space_prefix::never ? " hello" : "hello"));
        root["normalizer"] = by_normalizer;
        const auto both = read_tokenizer_json(root);
        BOOST_TEST((both.prefix == space_prefix::always && !both.prefix_joins), scheme);
        root["normalizer"] = nullptr;
    }
    root["pre_tokenizer"] = nullptr;
    BOOST_CHECK_EXCEPTION(read_tokenizer_json(root), augur::error, says({"U+2581"}));
}

BOOST_AUTO_TEST_CASE(the_configuration_overrides_the_template) {
    const auto root = sentencepiece_document();
    BOOST_TEST(read_tokenizer_json(root, {{"bos_token", "<s>"}}).add_bos);
    BOOST_TEST(!read_tokenizer_json(root, {{"bos_token", "<s>"}, {"add_bos_token", false}}).add_bos);
    BOOST_TEST(read_tokenizer_json(root, {{"eos_token", "</s>"}, {"add_eos_token", true}}).add_eos);
    BOOST_TEST(read_tokenizer_json(root, {{"bos_token", nullptr}}).bos == 1);
    BOOST_CHECK_EXCEPTION(read_tokenizer_json(root, {{"bos_token", "</s>"}}), augur::error,
                          says({"the template adds '<s>'", "bos_token is '</s>'"}));
    BOOST_TEST(!read_tokenizer_json(root, {{"bos_token", "</s>"}, {"add_bos_token", false}}).add_bos);
    BOOST_TEST(read_tokenizer_json(root, {{"bos_token", "</s>"}, {"add_bos_token", true}}).add_bos);
    auto ended = root;
    BOOST_TEST(read_tokenizer_json(ended).eos == no_token);
    ended["post_processor"]["single"].push_back({{"SpecialToken", {{"id", "</s>"}, {"type_id", 0}}}});
    BOOST_TEST(read_tokenizer_json(ended).eos == 2);
    BOOST_TEST(read_tokenizer_json(ended).add_eos);
    BOOST_CHECK_EXCEPTION(read_tokenizer_json(ended, {{"eos_token", "<s>"}}), augur::error,
                          says({"the template adds '</s>'", "eos_token is '<s>'"}));
    const json named = {{{"name", "tool_use"}, {"template", "T"}}, {{"name", "default"}, {"template", "D"}}};
    BOOST_TEST(read_tokenizer_json(root, {{"chat_template", named}}).chat_template == "D");
    BOOST_CHECK_EXCEPTION(read_tokenizer_json(root, {{"bos_token", "<x>"}}), augur::error,
                          says({"bos_token", "'<x>'"}));
    for (const auto* key : {"bos_token", "eos_token", "add_bos_token", "add_eos_token", "chat_template"}) {
        BOOST_CHECK_EXCEPTION(read_tokenizer_json(root, {{key, 5}}), augur::error,
                              says({std::string("tokenizer_config.json: ") + key + " must be"}));
    }
    BOOST_CHECK_EXCEPTION(read_tokenizer_json(root, 5), augur::error, says({"tokenizer_config.json: a JSON object"}));
}

BOOST_AUTO_TEST_CASE(templates_that_add_other_tokens_are_refused) {
    const auto special = [](const char* name) { return json{{"SpecialToken", {{"id", name}, {"type_id", 0}}}}; };
    const json text = {{"Sequence", {{"id", "A"}, {"type_id", 0}}}};
    const auto refuse = [&](std::vector<json> parts, const json& listed, std::vector<std::string> message) {
        auto root = sentencepiece_document();
        root["post_processor"]["single"] = std::move(parts);
        root["post_processor"]["special_tokens"] = listed;
        BOOST_CHECK_EXCEPTION(read_tokenizer_json(root), augur::error, says(message));
    };
    refuse({special("<s>"), special("</s>"), text}, nullptr, {"'</s>' as a second special token in front of"});
    refuse({text, special("</s>"), special("<s>")}, nullptr, {"'<s>' as a second special token behind"});
    refuse({special("<x>"), text}, nullptr, {"'<x>' is not in the vocabulary"});
    refuse({special("<s>"), text}, {{"<s>", {{"id", "<s>"}, {"ids", {1, 2}}}}}, {"'<s>' stands for '[1,2]'", "id 1"});
    auto root = sentencepiece_document();
    root["post_processor"]["special_tokens"] = {{"<s>", {{"id", "<s>"}, {"ids", {1}}}}};
    BOOST_TEST(read_tokenizer_json(root).bos == 1);
    root["post_processor"] = sequence("processors", {root["post_processor"], root["post_processor"]});
    BOOST_CHECK_EXCEPTION(read_tokenizer_json(root), augur::error, says({"a second special token"}));
    root["post_processor"] = {{"type", "RobertaProcessing"}, {"cls", {"<s>", 1}}, {"sep", {"</s>", 2}}};
    BOOST_CHECK_EXCEPTION(read_tokenizer_json(root), augur::error, says({"RobertaProcessing", "not supported"}));
    root["post_processor"] = byte_level_step(true);
    BOOST_TEST(read_tokenizer_json(root).bos == no_token);
}

BOOST_AUTO_TEST_CASE(added_tokens_in_normalised_text_are_refused_where_spaces_are_marked) {
    auto root = sentencepiece_document();
    root["added_tokens"][1]["normalized"] = true;  // as in files of the first Llamas
    BOOST_CHECK_NO_THROW(read_tokenizer_json(root));
    root["added_tokens"][1]["special"] = false;
    BOOST_CHECK_EXCEPTION(read_tokenizer_json(root), augur::error, says({"'<s>' sets normalized"}));
    root["normalizer"] = nullptr;
    root["pre_tokenizer"] = {{"type", "Metaspace"}, {"replacement", "▁"}, {"split", false}};
    BOOST_CHECK_NO_THROW(read_tokenizer_json(root));
    root["pre_tokenizer"]["replacement"] = "_";
    BOOST_CHECK_EXCEPTION(read_tokenizer_json(root), augur::error, says({"\"_\"", "not supported"}));
    auto bytes = document_of(augur::testing::byte_level_words());
    bytes["normalizer"] = {{"type", "NFC"}};
    bytes["added_tokens"][0]["normalized"] = true;
    BOOST_CHECK_NO_THROW(read_tokenizer_json(bytes));
}

BOOST_AUTO_TEST_CASE(added_tokens_that_are_not_normalised_are_found_first) {
    auto root = document_of(augur::testing::byte_level_words());
    for (const auto& [id, text] : {std::pair(300, "ab"), std::pair(301, "bc"), std::pair(302, "")}) {
        root["added_tokens"].push_back(added(id, text, false));
        root["added_tokens"].back()["normalized"] = id != 301;
    }
    const auto words = read_tokenizer_json(root);
    BOOST_TEST(words.found_last == std::vector<token>{300});
    BOOST_TEST((tokenizer(words).encode("abc") == std::vector<token>{augur::testing::token_of(words, "a"), 301}));
}

BOOST_AUTO_TEST_CASE(text_is_normalised_behind_the_first_special_tokens) {
    auto root = document_of(augur::testing::byte_level_words());
    for (const auto& [id, text] : {std::pair(300, "e\u0301"), std::pair(301, "\u0171")}) {
        root["added_tokens"].push_back(added(id, text, false));
        root["added_tokens"].back()["normalized"] = id == 301;
    }
    BOOST_TEST(!read_tokenizer_json(root).nfc);
    root["normalizer"] = {{"type", "NFC"}};
    const tokenizer tokens(read_tokenizer_json(root));
    BOOST_TEST((tokens.encode("e\u0301u\u030b") == std::vector<token>{300, 301}));
    BOOST_TEST(tokens.decode(tokens.encode("a\u0301")) == "\u00e1");
    BOOST_TEST(text_codec(tokens).encode("a\u0301").size() == 3u);
}

/// Gemma 3 lists runs of U+2581 as added tokens; merges make them of spaces.
BOOST_AUTO_TEST_CASE(added_tokens_of_marks_stand_for_spaces) {
    auto root = sentencepiece_document();
    root["normalizer"] = {{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", "▁"}};
    root["model"]["vocab"]["▁▁"] = 269;
    root["model"]["merges"].push_back(json::array({"▁", "▁"}));
    root["added_tokens"].push_back(added(269, "▁▁", false));
    const tokenizer tokens(read_tokenizer_json(root));
    BOOST_TEST((tokens.encode("h  h") == std::vector<token>{1, 260, 269, 260}));
    BOOST_TEST(tokens.decode(tokens.encode("h  h")) == "h  h");
}

BOOST_AUTO_TEST_CASE(special_tokens_strip_white_space) {
    auto root = document_of(augur::testing::byte_level_words());
    root["added_tokens"].push_back(added(300, "<l>", false));
    root["added_tokens"].push_back(added(301, "<r>", false));
    root["added_tokens"][root["added_tokens"].size() - 2]["lstrip"] = true;
    root["added_tokens"].back()["rstrip"] = true;
    const tokenizer tokens(read_tokenizer_json(root));
    const auto text = [&](const char* of) { return tokens.decode(tokens.encode(of)); };
    BOOST_TEST(text("a \u3000\n<l> b") == "a<l> b");
    BOOST_TEST(text("a <r>\u00a0 \r\nb") == "a <r>b");
    BOOST_TEST(text(" <r> <l> ") == " <r><l> ");
    BOOST_TEST(text("a<l><r>b\u00e9<l>\u180e") == "a<l><r>b\u00e9<l>\u180e");
}

BOOST_AUTO_TEST_CASE(an_unknown_token_is_refused_where_a_byte_has_none) {
    auto root = document_of(augur::testing::byte_level_words());
    root["model"]["unk_token"] = "<|endoftext|>";
    BOOST_CHECK_NO_THROW(read_tokenizer_json(root));  // of no use: every byte has a token
    root["model"]["vocab"].erase("Ą");
    BOOST_CHECK_EXCEPTION(read_tokenizer_json(root), augur::error,
                          says({"model.unk_token is '<|endoftext|>'", "byte 4", "has no token"}));
    for (const json& absent : {json(nullptr), json("")}) {
        root["model"]["unk_token"] = absent;
        BOOST_TEST(tokenizer(read_tokenizer_json(root)).left_out("a\x04") == "\x04");
    }
}

BOOST_AUTO_TEST_CASE(each_flaw_is_named) {
    struct flaw {
        std::function<void(json&)> make;
        std::vector<std::string> message;
    };
    const std::vector<flaw> flaws = {
        {[](json& root) { root = 5; }, {"tokenizer.json: a JSON object is needed", "'5'"}},
        {[](json& root) { root["model"] = "BPE"; }, {"tokenizer.json: model: a JSON object"}},
        {[](json& root) { root.erase("model"); }, {"model.type"}},
        {[](json& root) { root["model"]["type"] = "WordPiece"; }, {"'WordPiece'", "'BPE'"}},
        {[](json& root) { root["model"]["vocab"] = json::array(); }, {"model: vocab: a JSON object"}},
        {[](json& root) { root["model"]["vocab"] = json::object(); }, {"model.vocab"}},
        {[](json& root) { root["model"]["vocab"]["new"] = 1.5; }, {"'new'", "'1.5'"}},
        {[](json& root) { root["model"]["vocab"]["new"] = 1e30; }, {"'new'", "'1e+30'"}},
        {[](json& root) { root["model"]["vocab"]["new"] = 3'000'000'000u; }, {"'new'", "3000000000"}},
        {[](json& root) { root["model"]["vocab"]["new"] = -1; }, {"'new'", "-1"}},
        {[](json& root) { root["model"]["vocab"]["new"] = "7"; }, {"'new'", "\"7\""}},
        {[](json& root) { root["model"]["vocab"]["new"] = 7; }, {"token 7", "'new'"}},
        {[](json& root) { root["model"]["merges"] = {"h x"}; }, {"merge 0", "'hx'"}},
        {[](json& root) {
             root["model"]["merges"] = json::array({json::array({"h", 3})});
         },
         {"merge 0", "neither"}},
        {[](json& root) {
             root["model"]["merges"] = json::array({json::array({"h", "e", "l"})});
         },
         {"merge 0", "neither"}},
        {[](json& root) { root["added_tokens"][0]["single_word"] = true; }, {"single_word", "<|endoftext|>"}},
        {[](json& root) { root["added_tokens"][0]["id"] = 3; }, {"token 3", "<|endoftext|>"}},
        {[](json& root) { root["added_tokens"][0]["id"] = -3; }, {"added_tokens[0]: id must be", "'-3'"}},
        {[](json& root) { root["added_tokens"][0].erase("content"); }, {"added_tokens[0]: the key content"}},
        {[](json& root) { root["added_tokens"][0]["special"] = "yes"; }, {"added_tokens[0]: special must be true"}},
        {[](json& root) { root["added_tokens"] = "none"; }, {"added_tokens must be an array"}},
        {[](json& root) { root["added_tokens"] = {1}; }, {"added_tokens[0]: a JSON object"}},
        {[](json& root) { root["model"]["merges"] = "a b"; }, {"merges must be an array"}},
        {[](json& root) {
             root["model"]["merges"] = json::array({"h e", "l l", json::array({"h", "e"})});
         },
         {"merge 2 is '[\"h\",\"e\"]'", "which merge 0 is, too"}},
        {[](json& root) { root["pre_tokenizer"] = split_step(find_split_rules("qwen2").patterns[0]); },
         {"has 0 steps of the type ByteLevel"}},
        {[](json& root) { root["model"]["byte_fallback"] = 1; }, {"byte_fallback must be true or false"}},
        {[](json& root) { root["model"]["ignore_merges"] = "no"; }, {"ignore_merges must be true or false"}},
        {[](json& root) { root["model"]["continuing_subword_prefix"] = "##"; }, {"continuing_subword_prefix is '##'"}},
        {[](json& root) { root["model"]["end_of_word_suffix"] = "</w>"; }, {"end_of_word_suffix is '</w>'"}},
        {[](json& root) { root["model"]["end_of_word_suffix"] = 1; }, {"end_of_word_suffix must be a string"}},
        {[](json& root) { root["model"]["unk_token"] = 5; }, {"unk_token must be a string"}},
        {[](json& root) { root["model"]["dropout"] = 0.1; }, {"model.dropout is 0.1, which is not supported"}},
        {[](json& root) { root["model"]["dropout"] = "no"; }, {"dropout must be a number"}},
        {[](json& root) { root["pre_tokenizer"] = "ByteLevel"; }, {"pre_tokenizer: a JSON object"}},
        {[](json& root) { root["pre_tokenizer"]["add_prefix_space"] = 0; }, {"add_prefix_space must be true"}},
        {[](json& root) { root["post_processor"] = json::array(); }, {"post_processor: a JSON object"}},
        {[](json& root) { root["post_processor"]["single"] = "A"; }, {"single must be an array"}},
        {[](json& root) { root["normalizer"]["normalizers"] = 5; }, {"normalizers must be an array"}},
        {[](json& root) {
             root["normalizer"] = {{"type", "Lowercase"}};
         },
         {"Lowercase", "NFC"}},
    };
    for (std::size_t i = 0; i < flaws.size(); ++i) {
        BOOST_TEST_CONTEXT("flaw " << i) {
            auto root = document_of(augur::testing::byte_level_words());
            flaws[i].make(root);
            BOOST_CHECK_EXCEPTION(read_tokenizer_json(root), augur::error, says(flaws[i].message));
        }
    }
}

BOOST_AUTO_TEST_CASE(ids_may_leave_gaps) {
    auto root = document_of(augur::testing::byte_level_words());
    root["added_tokens"].push_back(added(300, "<late>", true));
    const tokenizer tokens(read_tokenizer_json(root));
    BOOST_TEST(tokens.vocabulary_size() == 301u);
    BOOST_TEST((tokens.words().kinds[290] == token_kind::unused));
    BOOST_TEST(tokens.bytes_of(290) == "");
    BOOST_TEST((tokens.encode("<late>", {.parse_special = true}) == std::vector<token>{300}));
}

BOOST_AUTO_TEST_CASE(folders) {
    const augur::testing::temporary_directory folder;
    BOOST_CHECK_EXCEPTION(read_tokenizer_folder(folder.path()), augur::error, says({"tokenizer.json", "No such file"}));
    const auto root = document_of(augur::testing::byte_level_words());
    augur::testing::write_file(folder / "tokenizer.json", root.dump());
    BOOST_TEST(read_tokenizer_folder(folder.path()).bos == no_token);
    augur::testing::write_file(folder / "tokenizer_config.json",
                               json{{"bos_token", "<|im_start|>"}, {"chat_template", "old"}}.dump());
    BOOST_TEST(read_tokenizer_folder(folder.path()).bos == 263);
    BOOST_TEST(read_tokenizer_folder(folder.path()).chat_template == "old");
    augur::testing::write_file(folder / "chat_template.jinja", "new");
    BOOST_TEST(read_tokenizer_folder(folder.path()).chat_template == "new");
    augur::testing::write_file(folder / "tokenizer_config.json", "{\"a\": ");
    BOOST_CHECK_EXCEPTION(read_tokenizer_folder(folder.path()), augur::error, says({"tokenizer_config.json", "parse"}));
    augur::testing::write_file(folder / "tokenizer_config.json", "{}");
    augur::testing::write_file(folder / "config.json", R"({"eos_token_id": -1})");
    augur::testing::write_file(folder / "generation_config.json", R"({"eos_token_id": [5, 1000]})");
    const auto stopped = read_tokenizer_folder(folder.path());
    BOOST_TEST((stopped.ends == std::vector<token>{5, 1000}));  // a model may have more rows than there are texts
    BOOST_TEST_REQUIRE(stopped.notes.size() == 1u);
    const tokenizer ending(stopped);
    BOOST_TEST((std::vector<token>(ending.end_tokens().begin(), ending.end_tokens().end()) ==
                std::vector<token>{5, 262, 264, 1000}));
    augur::testing::write_file(folder / "tokenizer.json", "{}");
    BOOST_CHECK_EXCEPTION(read_tokenizer_folder(folder.path()), augur::error,
                          says({"the tokenizer in " + folder.path().string() + ": model.type"}));
}

BOOST_AUTO_TEST_CASE(nothing_else_than_bounded_regular_files_is_read) {
    const auto root = document_of(augur::testing::byte_level_words()).dump();
    for (const std::string name :
         {"tokenizer.json", "tokenizer_config.json", "chat_template.jinja", "config.json", "generation_config.json"}) {
        const augur::testing::temporary_directory folder;
        augur::testing::write_file(folder / "tokenizer.json", root);
        std::filesystem::remove(folder / name);
        BOOST_REQUIRE(mkfifo((folder / name).c_str(), 0600) == 0);
        BOOST_CHECK_EXCEPTION(read_tokenizer_folder(folder.path()), augur::error, says({name + " is not a regular"}));
        std::filesystem::remove(folder / name);
        std::filesystem::create_symlink("/dev/zero", folder / name);
        BOOST_CHECK_EXCEPTION(read_tokenizer_folder(folder.path()), augur::error, says({name + " is not a regular"}));
        std::filesystem::remove(folder / name);
        augur::testing::write_file(folder / name, "");
        std::filesystem::resize_file(folder / name, std::uintmax_t{1} << 40);  // of nothing: it takes no room
        BOOST_CHECK_EXCEPTION(read_tokenizer_folder(folder.path()), augur::error, says({name + " has 1099511627776"}));
    }
}

BOOST_AUTO_TEST_CASE(deep_nesting_is_refused_wherever_it_is) {
    const std::string deep = std::string(75000, '[') + std::string(75000, ']');
    for (const std::string key : {"normalizer", "pre_tokenizer", "post_processor", "added_tokens", "unknown"}) {
        const augur::testing::temporary_directory folder;
        augur::testing::write_file(folder / "tokenizer.json", "{\"" + key + "\":" + deep + "}");
        BOOST_CHECK_EXCEPTION(read_tokenizer_folder(folder.path()), augur::error, says({"more than 64 levels"}));
    }
    for (const std::string key : {"merges", "vocab"}) {
        const augur::testing::temporary_directory folder;
        augur::testing::write_file(folder / "tokenizer.json", "{\"model\":{\"" + key + "\":{\"a\":" + deep + "}}}");
        BOOST_CHECK_EXCEPTION(read_tokenizer_folder(folder.path()), augur::error, says({"more than 64 levels"}));
    }
}

BOOST_AUTO_TEST_SUITE_END()
