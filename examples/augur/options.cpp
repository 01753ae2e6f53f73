#include "options.hpp"

#include <augur/transform/pipeline.hpp>

namespace augur::program {

void add_model_options(CLI::App& command, model_options& into, bool with_context) {
    command
        .add_option(
            "-m,--model", into.path,
            "The model: a GGUF file, a folder of safetensors, or a name that 'augur models' lists (hf:, ollama:, "
            "lmstudio:)")
        ->type_name("FILE")
        ->required();
    command
        .add_option("--weights", into.weights,
                    "Format of weights in memory: keep (as in the file), f32, f16, bf16, q8_0, q4_0 or q4_1")
        ->type_name("FORMAT")
        ->default_str(into.weights);
    command
        .add_option("--cache", into.cache,
                    "Format of the key-value cache: f32, or q8_0 for about a quarter of the memory")
        ->type_name("FORMAT")
        ->default_str(into.cache);
    add_number(command, "--threads", into.threads, "Threads, 0 for one per core", "N", "0");
    if (with_context)
        add_number(command, "--context", into.context, "Tokens of context, 0 for the model's own", "N", "0");
}

void add_max_tokens(CLI::App& command, std::size_t& into, const std::string& help, std::size_t limit) {
    const auto take = [limit, &into](const std::string& text) { into = parse_number("--max-tokens", text, limit); };
    add_text(command, "-n,--max-tokens", take, help, "N", std::to_string(into));
}

void check_temperature(float temperature) {
    of_option("--temperature", [&] { static_cast<void>(transform::pipeline({.temperature = {temperature}}, 1)); });
}

void add_prompt_options(CLI::App& command, prompt_options& into) {
    const auto keep = [](std::optional<std::string>& where) {
        return [&where](const std::string& text) { where = text; };
    };
    add_text(command, "-p,--prompt", keep(into.text), "The prompt; control tokens in it are parsed as such");
    add_text(command, "--prompt-file", keep(into.file),
             "A file with the prompt; - for standard input; a line feed at its end is no part of the prompt", "FILE");
    add_text(command, "--prompt-ids", keep(into.ids), "The prompt's token ids, e.g. 1,2,3", "IDS");
}

}  // namespace augur::program
