#include "augur/io/text/token_texts.hpp"

#include <augur/io/text/tokenizer_json.hpp>
#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "io/files.hpp"
#include "io/gguf_writer.hpp"

using namespace augur;
using nlohmann::json;

BOOST_AUTO_TEST_SUITE(io_token_texts)

namespace {

using texts = std::vector<std::string>;
using all = std::vector<io::token_text>;

testing::gguf_writer file_of(const texts& tokens, const std::vector<std::int32_t>& kinds = {}) {
    testing::gguf_writer file;
    file.set("tokenizer.ggml.tokens", tokens);
    if (!kinds.empty()) file.set("tokenizer.ggml.token_type", kinds);
    return file;
}

struct folder {
    testing::temporary_directory at;

    std::filesystem::path gguf(const std::string& name, const texts& tokens,
                               const std::vector<std::int32_t>& kinds = {}) const {
        return file_of(tokens, kinds).write(at / name);
    }
    all read(const texts& tokens, const std::vector<std::int32_t>& kinds = {}) const {
        return io::token_texts(gguf("one.gguf", tokens, kinds));
    }
    std::string refused(const texts& ours, const texts& theirs) const {
        try {
            io::check_same_tokens(gguf("ours.gguf", ours), gguf("theirs.gguf", theirs));
        } catch (const error& e) {
            std::string what = e.what();
            for (const char* name : {"ours.gguf", "theirs.gguf"}) {
                const std::string path = (at / name).string();
                const auto found = what.find(path);
                if (found != std::string::npos) what.replace(found, path.size(), name);
            }
            return what;
        }
        return "";
    }
};

std::string mark_of(const all& tokens) {
    return io::vocabulary_fingerprint(tokens);
}

const char* const opening = "models that decode together must have the same tokens, but token ";

}  // namespace

BOOST_FIXTURE_TEST_CASE(of_a_gguf_file_all_that_are_used_in_order, folder) {
    BOOST_TEST((read({"a", "b", "c"}) == all{{0, "a"}, {1, "b"}, {2, "c"}}));
    BOOST_TEST((read({"a", "", "[PAD2]", "d"}, {3, 1, 5, 6}) == all{{0, "a"}, {3, "d"}}));
    BOOST_TEST((read({"a", "b"}, {5}) == all{{1, "b"}}));  // kinds are for those who read tokenizers to check
    BOOST_TEST(io::token_texts(testing::gguf_writer().write(at / "none.gguf")).empty());
}

BOOST_FIXTURE_TEST_CASE(a_fingerprint_is_of_texts_and_numbers, folder) {
    const std::string mark = mark_of(read({"a", "b", "c"}));
    BOOST_TEST(mark.size() == 16u);
    BOOST_TEST(mark == mark_of({{0, "a"}, {1, "b"}, {2, "c"}}));
    BOOST_TEST(mark == mark_of(read({"a", "b", "c", "[PAD3]"}, {1, 1, 1, 5})));
    BOOST_TEST(mark == mark_of(read({"a", "b", "c"}, {3, 4, 6})));
    for (const texts& other : {texts{"b", "a", "c"}, texts{"a", "b"}, texts{"a", "b", "d"}, texts{"ab", "", "c"},
                               texts{"a", "bc", ""}, texts{"a", "b", "", "c"}, texts{"a", "b", "c", "d"}}) {
        BOOST_TEST(mark != mark_of(read(other)));
    }
    // Where one text ends and the next number begins is part of it.
    BOOST_TEST(mark_of({{0, "a"}, {1, "b"}}) != mark_of({{0, std::string("a\1\0\0\0\0\0\0\0b", 10)}}));
    BOOST_TEST(mark_of({}).empty());
}

BOOST_FIXTURE_TEST_CASE(the_first_token_that_differs_is_named_with_both_texts, folder) {
    const std::string start = opening;
    BOOST_TEST(refused({"a", "b", "c"}, {"a", "b", "c"}).empty());
    BOOST_TEST(refused({"a", "b", "c"}, {"a", "c", "b"}) == start + "1 is 'b' in ours.gguf and 'c' in theirs.gguf");
    BOOST_TEST(refused({"a"}, {"a", "b"}) == start + "1 is no token in ours.gguf and 'b' in theirs.gguf");
    BOOST_TEST(refused({"a", "b"}, {"a"}) == start + "1 is 'b' in ours.gguf and no token in theirs.gguf");
    BOOST_TEST(refused({"a", "", "c"}, {"a", "b", "c"}) == start + "1 is no token in ours.gguf and 'b' in theirs.gguf");
    BOOST_TEST(refused({"", "b"}, {"a", "b"}) == start + "0 is no token in ours.gguf and 'a' in theirs.gguf");
    BOOST_TEST(refused({}, {"a"}).empty());  // nothing is said of these
}

BOOST_AUTO_TEST_CASE(a_tokenizer_json_spells_the_same_tokens) {
    const json tokenizer = json::parse(R"({"model": {"vocab": {"b": 1, "a": 0, "<s>": 2}},
        "added_tokens": [{"id": 2, "content": "<s>"}, {"id": 5, "content": "<t>"}]})");
    const auto found = io::token_texts(tokenizer, "tokenizer.json");
    BOOST_TEST((found == all{{0, "a"}, {1, "b"}, {2, "<s>"}, {5, "<t>"}}));
    BOOST_TEST(io::token_texts(json::parse(R"({"model": {"vocab": [["a", 0.5]]}})"), "x").empty());
    BOOST_TEST(io::token_texts(json::parse("{}"), "x").empty());
}

BOOST_AUTO_TEST_CASE(ids_that_are_none_are_refused) {
    for (const std::string id : {"-1", "1.5", "\"1\"", "null"}) {
        const std::string vocab = R"({"model": {"vocab": {"a": )" + id + "}}}";
        const std::string added =
            R"({"model": {"vocab": {"b": 0}}, "added_tokens": [{"content": "a", "id": )" + id + "}]}";
        for (const std::string& tokenizer : {vocab, added}) {
            BOOST_CHECK_EXCEPTION(io::token_texts(json::parse(tokenizer), "some.json"), error, [](const error& e) {
                return std::string(e.what()).starts_with("some.json: the token 'a' has the id ");
            });
        }
    }
    const json far = json::parse(R"({"model": {"vocab": {"a": 1152921504606846976}}})");
    BOOST_TEST((io::token_texts(far, "x") == all{{std::size_t{1} << 60, "a"}}));  // takes no more memory than others
}

BOOST_FIXTURE_TEST_CASE(what_lies_beside_safetensors_is_read, folder) {
    std::filesystem::create_directory(at / "model");
    const std::string header = "{}";
    testing::byte_writer image;
    image.number(std::uint64_t{header.size()}).raw_bytes(std::as_bytes(std::span(header)));
    testing::write_file(at / "model" / "model.safetensors", image.bytes());
    testing::write_file(at / "model" / "config.json", "{}");
    BOOST_TEST(io::token_texts(at / "model").empty());
    testing::write_file(at / "model" / "tokenizer.json", R"({"model": {"vocab": {"b": 1, "a": 0}}})");
    for (const auto& path : {at / "model", at / "model" / "model.safetensors"}) {
        BOOST_TEST((io::token_texts(path) == all{{0, "a"}, {1, "b"}}));
    }
    BOOST_CHECK_NO_THROW(io::check_same_tokens(at / "model", gguf("same.gguf", {"a", "b"})));
    BOOST_CHECK_THROW(io::check_same_tokens(at / "model", gguf("other.gguf", {"b", "a"})), error);
    testing::write_file(at / "model" / "tokenizer.json", "{");
    BOOST_CHECK_THROW(io::token_texts(at / "model"), error);
}

BOOST_AUTO_TEST_SUITE_END()
