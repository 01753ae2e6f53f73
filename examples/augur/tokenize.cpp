// augur tokenize: text to ids, and back.

#include <augur/io/files/quote.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "commands.hpp"
#include "message.hpp"
#include "models.hpp"
#include "output_file.hpp"
#include "terminal.hpp"

namespace augur::program {
namespace {

struct tokenize_options {
    std::string model;
    prompt_options prompt;
    std::optional<std::string> ids;
    bool no_special = false;
    bool decode = false;
    bool json = false;
};

std::vector<token> ids_of(const tokenize_options& chosen, const io::tokenizer& words) {
    if (chosen.decode) {
        if (!chosen.ids) detail::fail("--decode needs --ids");
        for (const auto& [option, given] :
             {std::pair("--prompt", chosen.prompt.text), std::pair("--prompt-file", chosen.prompt.file)}) {
            if (given) detail::fail(option, " is ", io::quote(*given), ", but --decode prints the text of --ids");
        }
        return parse_list<token>("--ids", *chosen.ids);
    }
    if (chosen.ids) detail::fail("--ids needs --decode");
    const bool special = !chosen.no_special;
    return words.encode(*read_prompt(chosen.prompt), {.add_special = special, .parse_special = special});
}

void tokenize(const tokenize_options& chosen) {
    const auto loaded = load_tokenizer(chosen.model);
    const io::tokenizer& words = require(loaded, chosen.model, "'augur tokenize'");
    const std::vector<token> ids = ids_of(chosen, words);
    const std::string text = words.decode(ids, {.show_control = !chosen.no_special});
    if (chosen.json) {
        auto pieces = nlohmann::ordered_json::array();
        for (const token id : ids) pieces.push_back(io::repair_utf8(words.bytes_of(id, true)));
        return print(json_line({{"ids", ids}, {"pieces", pieces}, {"text", text}}));
    }
    if (chosen.decode) return print_text(text + "\n");
    std::string list;
    for (const token id : ids) list += (list.empty() ? "" : ",") + std::to_string(id);
    print(list + "\n");
}

}  // namespace

void add_tokenize(CLI::App& program) {
    auto* command = program.add_subcommand("tokenize", "Print a text's token ids, or the text of ids");
    const auto chosen = std::make_shared<tokenize_options>();
    command->add_option("-m,--model", chosen->model, "The model; only its tokenizer is read")
        ->type_name("FILE")
        ->required();
    add_text(
        *command, "-p,--prompt", [chosen](const std::string& text) { chosen->prompt.text = text; }, "The text");
    add_text(
        *command, "--prompt-file", [chosen](const std::string& path) { chosen->prompt.file = path; },
        "A file with the text", "FILE");
    command->add_flag("--no-special", chosen->no_special, "Neither add nor parse special tokens");
    command->add_flag("--decode", chosen->decode, "Detokenize: print the text of --ids");
    add_text(
        *command, "--ids", [chosen](const std::string& ids) { chosen->ids = ids; }, "Token ids, e.g. 1,2,3", "IDS");
    command->add_flag("--json", chosen->json, "Print one JSON object: ids, pieces, text");
    command->callback([chosen] { tokenize(*chosen); });
}

}  // namespace augur::program
