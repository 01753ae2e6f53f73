// augur bench verify: what one verification costs, by the number of rows.

#include <algorithm>
#include <augur/detail/stopwatch.hpp>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "models.hpp"
#include "output_file.hpp"

namespace augur::program {
namespace {

struct bench_options {
    model_options model;
    std::vector<std::size_t> rows = {1, 2, 4, 8};
    std::size_t prefix = 256;
    std::size_t repetitions = 21;
    bool json = false;
};

/// Tokens without meaning: what a pass costs does not depend on them.
std::vector<token> some_tokens(std::size_t count, std::size_t vocabulary) {
    std::vector<token> tokens(count);
    for (std::size_t i = 0; i < count; ++i) tokens[i] = static_cast<token>((i * 7919 + 13) % vocabulary);
    return tokens;
}

double median(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

/// Median milliseconds of a pass over each number of rows. The counts take turns, so that a disturbance meets all of them.
std::vector<double> measure(const bench_options& chosen, const llama::host_model& model) {
    auto sequence = model.make_sequence();
    model.extend(sequence, some_tokens(chosen.prefix, model.vocabulary_size()), 0);
    std::vector<std::vector<double>> times(chosen.rows.size());
    for (std::size_t round = 0; round <= chosen.repetitions; ++round) {
        for (std::size_t i = 0; i < chosen.rows.size(); ++i) {
            const auto tokens = some_tokens(chosen.rows[i], model.vocabulary_size());
            const detail::stopwatch watch;
            model.extend(sequence, tokens, tokens.size());
            const double taken = watch.seconds();
            model.truncate(sequence, chosen.prefix);
            if (round > 0) times[i].push_back(1000 * taken);  // the first warms up
        }
    }
    std::vector<double> medians;
    for (const auto& of : times) medians.push_back(median(of));
    return medians;
}

void verify(const bench_options& chosen) {
    if (std::count(chosen.rows.begin(), chosen.rows.end(), 0u) > 0)
        detail::fail("--rows holds 0; a pass has at least 1");
    if (chosen.repetitions == 0) detail::fail("--repetitions is 0; a median needs at least 1");
    const llama::host_model model = load_model(chosen.model.path, chosen.model);
    const std::vector<double> medians = measure(chosen, model);
    if (chosen.json) {
        return print(nlohmann::ordered_json{{"model", chosen.model.path},
                                            {"weights", name_of(model.format())},
                                            {"threads", model.threads()},
                                            {"context", chosen.prefix},
                                            {"repetitions", chosen.repetitions},
                                            {"rows", chosen.rows},
                                            {"milliseconds", medians}}
                         .dump() +
                     "\n");
    }
    std::string table = "  rows  milliseconds   of one row\n";
    for (std::size_t i = 0; i < medians.size(); ++i) {
        char line[96];
        std::snprintf(line, sizeof line, "%6zu %13.3f %10.2f x\n", chosen.rows[i], medians[i], medians[i] / medians[0]);
        table += line;
    }
    print(table);
}

}  // namespace

void add_bench(CLI::App& program) {
    auto* bench = program.add_subcommand("bench", "Measure this machine");
    bench->require_subcommand(1);
    auto* command = bench->add_subcommand("verify", "Median milliseconds of one pass, by the number of rows");
    const auto chosen = std::make_shared<bench_options>();
    add_model_options(*command, chosen->model, false);
    const auto rows = [chosen](const std::string& text) { chosen->rows = parse_list<std::size_t>("--rows", text); };
    add_text(*command, "--rows", rows, "Rows per pass", "LIST", "1,2,4,8");
    add_number(*command, "--context", chosen->prefix, "Tokens that are there before", "N", "256");
    add_number(*command, "--repetitions", chosen->repetitions, "Passes of each kind", "N", "21");
    command->add_flag("--json", chosen->json, "Print one JSON object");
    command->callback([chosen] { verify(*chosen); });
}

}  // namespace augur::program
