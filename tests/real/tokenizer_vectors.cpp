// Token for token what llama.cpp and Hugging Face's tokenizers produce, on the vocabularies that models come with.
#include <augur/io/files/gguf.hpp>
#include <augur/io/text/chat_template.hpp>
#include <augur/io/text/read_vocabulary.hpp>
#include <augur/io/text/text_decoder.hpp>
#include <augur/io/text/tokenizer.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "io/vocabularies.hpp"

BOOST_AUTO_TEST_SUITE(real_tokenizer_vectors)

using namespace augur;
using namespace augur::io;

namespace {

const std::filesystem::path models = AUGUR_MODEL_DIRECTORY;

std::string read_text(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    BOOST_REQUIRE_MESSAGE(file.is_open(), path << " cannot be read");
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

tokenizer load(const std::filesystem::path& path) {
    return tokenizer(read_vocabulary(gguf_file(path)));
}

const tokenizer& smollm2() {
    static const tokenizer tokens = load(models / "SmolLM2-135M-Instruct.Q4_1.gguf");
    return tokens;
}

/// The texts of a .inp file of llama.cpp's vocabulary tests.
std::vector<std::string> texts_of(const std::string& file) {
    const std::string separator = "\n__ggml_vocab_test__\n";
    std::vector<std::string> texts;
    std::size_t begin = 0;
    for (auto end = file.find(separator); end != std::string::npos; end = file.find(separator, begin)) {
        texts.push_back(file.substr(begin, end - begin));
        begin = end + separator.size();
    }
    if (begin < file.size()) texts.push_back(file.substr(begin));
    return texts;
}

/// The ids of a .out file, a line for each text.
std::vector<std::vector<token>> ids_of(const std::string& file) {
    std::vector<std::vector<token>> ids;
    std::istringstream lines(file);
    for (std::string line; std::getline(lines, line);) {
        std::istringstream numbers(line);
        ids.emplace_back(std::istream_iterator<token>(numbers), std::istream_iterator<token>());
    }
    return ids;
}

}  // namespace

BOOST_DATA_TEST_CASE(llama_cpp_agrees_on_every_line,
                     boost::unit_test::data::make({"llama-bpe", "llama-spm", "gpt-2", "qwen2"}), name) {
    const auto path = models / "llama-vocab" / ("ggml-vocab-" + std::string(name) + ".gguf");
    const auto texts = texts_of(read_text(path.string() + ".inp"));
    const auto expected = ids_of(read_text(path.string() + ".out"));
    BOOST_REQUIRE(texts.size() > 40u);
    BOOST_REQUIRE(texts.size() == expected.size());
    const auto tokens = load(path);
    for (std::size_t i = 0; i < texts.size(); ++i) {
        BOOST_TEST_CONTEXT("text " << i << ": " << quote(texts[i])) {
            const auto ids = tokens.encode(texts[i], {.add_special = false});
            BOOST_TEST(ids == expected[i], boost::test_tools::per_element());
            BOOST_TEST(tokens.decode(ids) == texts[i]);
        }
    }
}

BOOST_AUTO_TEST_CASE(hugging_face_agrees_on_smollm2) {
    const auto vectors =
        nlohmann::json::parse(read_text(std::filesystem::path(AUGUR_TEST_DATA) / "io/smollm2_tokens.json"));
    BOOST_REQUIRE(vectors.size() > 30u);
    for (const auto& vector : vectors) {
        const auto text = vector["text"].get<std::string>();
        BOOST_TEST_CONTEXT(quote(text)) {
            const auto ids = smollm2().encode(text, {.parse_special = true});
            BOOST_TEST(ids == vector["ids"].get<std::vector<token>>(), boost::test_tools::per_element());
            BOOST_TEST(smollm2().decode(ids, {.show_control = true}) == text);
        }
    }
}

BOOST_AUTO_TEST_CASE(smollm2_knows_its_special_tokens) {
    const auto& tokens = smollm2();
    BOOST_TEST(tokens.vocabulary_size() == 49152u);
    BOOST_TEST(tokens.words().bos == 1);
    BOOST_TEST(tokens.words().eos == 2);
    BOOST_TEST(!tokens.words().add_bos);
    BOOST_TEST(
        (std::vector<token>(tokens.end_tokens().begin(), tokens.end_tokens().end()) == std::vector<token>{0, 2}));
    BOOST_TEST(tokens.is_control(1));
    BOOST_TEST(!tokens.is_control(504));
    BOOST_TEST(tokens.bytes_of(504) == "The");
}

BOOST_AUTO_TEST_CASE(smollm2_has_no_token_for_six_control_characters) {
    std::string ascii;
    for (int letter = 1; letter < 128; ++letter) ascii += static_cast<char>(letter);
    BOOST_TEST(smollm2().left_out(ascii) == "\x04\x06\x13\x14\x16\x1d");
}

BOOST_AUTO_TEST_CASE(smollm2_chats_as_its_template_says) {
    const chat_template layout(smollm2().words());
    const std::vector<chat_message> question = {{"user", "What is photosynthesis?"}};
    const auto prompt = layout.render(question);
    BOOST_TEST(prompt ==
               "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n"
               "<|im_start|>user\nWhat is photosynthesis?<|im_end|>\n<|im_start|>assistant\n");
    const std::vector<token> expected = {1,     9690, 198,   2683, 359, 253,   5356, 5646, 11173, 3365, 3511, 308,
                                         34519, 28,   7018,  411,  407, 19712, 8182, 2,    198,   1,    4093, 198,
                                         1780,  314,  19173, 47,   2,   198,   1,    520,  9531,  198};
    BOOST_TEST(smollm2().encode(prompt, {.parse_special = true}) == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(random_texts_come_back_where_every_byte_has_a_token) {
    const auto tokens = load(models / "llama-vocab" / "ggml-vocab-llama-bpe.gguf");
    for (unsigned seed = 0; seed < 300; ++seed) {
        BOOST_TEST_CONTEXT("seed " << seed) {
            std::mt19937 random(seed);
            const auto text = augur::testing::random_text(random, random() % 400);
            const auto ids = tokens.encode(text, {.add_special = false});
            BOOST_TEST(tokens.decode(ids) == text);
            text_decoder decoder(tokens);
            std::string streamed;
            for (const auto id : ids) streamed += decoder.push(id);
            BOOST_TEST(streamed + decoder.flush() == text);
        }
    }
}

BOOST_AUTO_TEST_CASE(words_of_a_megabyte) {
    for (const auto* name : {"llama-bpe", "llama-spm"}) {
        const auto tokens = load(models / "llama-vocab" / ("ggml-vocab-" + std::string(name) + ".gguf"));
        std::mt19937 random(1);
        std::string word(1'000'000, 'a');
        for (auto& letter : word) letter = static_cast<char>('a' + random() % 26);
        BOOST_TEST((tokens.decode(tokens.encode(word)) == word), name);
    }
}

BOOST_AUTO_TEST_SUITE_END()
