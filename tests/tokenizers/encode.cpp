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
#include <ctime>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace {

using nlohmann::ordered_json;

augur::io::vocabulary words_of(const std::filesystem::path& path) {
    if (std::filesystem::is_directory(path)) return augur::io::read_tokenizer_folder(path);
    return augur::io::read_vocabulary(augur::io::gguf_file(path));
}

std::tm fixed_time() {
    std::tm time{};
    time.tm_year = 124;
    time.tm_mon = 6;
    time.tm_mday = 26;
    time.tm_wday = 5;
    time.tm_yday = 207;
    time.tm_hour = 13;
    time.tm_min = 5;
    return time;
}

std::vector<augur::token> chat_ids(const augur::io::tokenizer& tokens, const ordered_json& asked) {
    auto words = tokens.words();
    words.chat_template = asked.at("template").get<std::string>();
    const augur::io::chat_template layout(words);
    augur::io::render_options options;
    options.add_generation_prompt = asked.at("add_generation_prompt").get<bool>();
    options.tools = asked.value("tools", ordered_json());
    options.documents = asked.value("documents", ordered_json());
    options.variables = asked.value("variables", ordered_json());
    options.clock = fixed_time;
    return augur::io::encode_chat(tokens, layout, layout.render_json(asked.at("messages"), options));
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
