// Tokenizes: `encode FILE`, of a GGUF file or of a folder with tokenizer.json. Lines of JSON on standard input, {text,
// add_special} or {template, messages, tools, documents, variables, add_generation_prompt}; on standard output lines
// {ids, text}, of the text that the ids stand for, or {error}. The clock stands at 26 July 2024, 13:05.

#include <augur/io/files/gguf.hpp>
#include <augur/io/text/chat_template.hpp>
#include <augur/io/text/chat_tokens.hpp>
#include <augur/io/text/read_vocabulary.hpp>
#include <augur/io/text/tokenizer.hpp>
#include <augur/io/text/tokenizer_json.hpp>
#include <augur/types/error.hpp>
#include <augur/types/token.hpp>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "../templates/render_options.hpp"

namespace {

using nlohmann::ordered_json;

augur::io::vocabulary words_of(const std::filesystem::path& path) {
    if (std::filesystem::is_directory(path)) return augur::io::read_tokenizer_folder(path);
    return augur::io::read_vocabulary(augur::io::gguf_file(path));
}

std::vector<augur::token> chat_ids(const augur::io::tokenizer& tokens, const ordered_json& asked) {
    auto words = tokens.words();
    words.chat_template = asked.at("template").get<std::string>();
    const augur::io::chat_template layout(words);
    return augur::io::encode_chat(tokens, layout, layout.render_json(asked.at("messages"), render_options_of(asked)));
}

ordered_json encoded(const augur::io::tokenizer& tokens, const ordered_json& asked) {
    try {
        const auto ids =
            asked.contains("messages")
                ? chat_ids(tokens, asked)
                : tokens.encode(asked.at("text").get<std::string>(),
                                {.add_special = asked.at("add_special").get<bool>(), .parse_special = true});
        return {{"ids", ids}, {"text", tokens.decode(ids, {.show_control = true})}};
    } catch (const augur::error& caught) {
        return {{"error", caught.what()}};
    }
}

}  // namespace

int main(int count, char** arguments) {
    try {
        if (count != 2) augur::detail::fail("one path is wanted, not ", count - 1);
        const augur::io::tokenizer tokens(words_of(arguments[1]));
        for (std::string line; std::getline(std::cin, line);) {
            std::cout << encoded(tokens, ordered_json::parse(line)).dump() << '\n';
        }
    } catch (const std::exception& caught) {
        std::cerr << caught.what() << '\n';
        return 1;
    }
}
