// augur logits: the row that scores what follows a prompt.

#include <algorithm>
#include <augur/io/text/utf8.hpp>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>

#include "commands.hpp"
#include "message.hpp"
#include "models.hpp"
#include "output_file.hpp"

namespace augur::program {
namespace {

struct logits_options {
    model_options model;
    prompt_options prompt;
    std::optional<std::string> output;
    bool json = false;
};

void write_row(logit_row row, const std::string& path) {
    output_file file(path);
    for (const float logit : row) {
        const auto bits = std::bit_cast<std::uint32_t>(logit);
        for (int shift = 0; shift < 32; shift += 8) file.write(std::string(1, static_cast<char>(bits >> shift & 255)));
    }
    file.commit();
}

nlohmann::ordered_json largest(logit_row row, std::size_t count) {
    const auto rank = [&](token t) {
        const float logit = row[static_cast<std::size_t>(t)];
        return std::isnan(logit) ? -std::numeric_limits<float>::infinity() : logit;
    };
    std::vector<token> ids(row.size());
    std::iota(ids.begin(), ids.end(), 0);
    const auto end = ids.begin() + static_cast<std::ptrdiff_t>(std::min(count, ids.size()));
    std::partial_sort(ids.begin(), end, ids.end(),
                      [&](token a, token b) { return rank(a) != rank(b) ? rank(a) > rank(b) : a < b; });
    auto top = nlohmann::ordered_json::array();
    for (auto id = ids.begin(); id != end; ++id) {
        top.push_back({{"id", *id}, {"logit", row[static_cast<std::size_t>(*id)]}});
    }
    return top;
}

void logits(const logits_options& chosen) {
    if (!chosen.output && !chosen.json) detail::fail("give --output FILE, --json, or both");
    if (chosen.json) check_standard_output();
    if (chosen.output) {
        check_output("--output", *chosen.output, {chosen.model.path, chosen.prompt.file.value_or(chosen.model.path)});
    }
    const auto words = load_tokenizer(chosen.model.path);
    const std::vector<token> ids = encode_prompt(chosen.prompt, words, chosen.model.path);
    const llama::host_model model = load_model(chosen.model.path, chosen.model);
    auto sequence = model.make_sequence();
    const logit_row row = model.extend(sequence, ids, 1)[0];
    if (chosen.output) write_row(row, *chosen.output);
    if (!chosen.json) return;
    auto top = largest(row, 10);
    if (words) {
        for (auto& entry : top) entry["text"] = io::repair_utf8(bytes_of(*words, entry["id"].get<token>()));
    }
    print(json_line({{"prompt_ids", ids}, {"vocabulary", row.size()}, {"top", top}}));
}

}  // namespace

void add_logits(CLI::App& program) {
    auto* command = program.add_subcommand("logits", "Compute the logits after a prompt");
    const auto chosen = std::make_shared<logits_options>();
    add_model_options(*command, chosen->model);
    add_prompt_options(*command, chosen->prompt);
    add_text(
        *command, "--output", [chosen](const std::string& path) { chosen->output = path; },
        "Write the row as little-endian float32", "FILE");
    command->add_flag("--json", chosen->json, "Print the ten largest as one JSON object");
    command->callback([chosen] { logits(*chosen); });
}

}  // namespace augur::program
