// augur bench, and augur bench verify: what one verification costs, by the number of rows.

#include <algorithm>
#include <augur/tune/verify_curve.hpp>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "message.hpp"
#include "models.hpp"
#include "output_file.hpp"
#include "target.hpp"

namespace augur::program {
namespace {

struct bench_options {
    model_options model;
    engine_options engine;
    std::vector<std::size_t> rows = {1, 2, 4, 8};
    std::size_t prefix = 256;
    std::size_t repetitions = 21;
    bool json = false;
};

void verify(const bench_options& chosen) {
    if (std::count(chosen.rows.begin(), chosen.rows.end(), 0u) > 0)
        detail::fail("--rows holds 0; a pass has at least 1");
    if (chosen.repetitions == 0) detail::fail("--repetitions is 0; a median needs at least 1");
    check_standard_output();
    const engine_choice runs_on = choose_engine(chosen.engine, chosen.model);
    const std::size_t most = *std::max_element(chosen.rows.begin(), chosen.rows.end());
    const auto timed = [&](const auto& model) {
        return tune::pass_seconds(model, chosen.rows, chosen.prefix, {chosen.repetitions});
    };
    std::vector<double> medians;
    std::string weights;
    std::size_t threads = 0;
    if (runs_on.is_llama_cpp) {
        most::check("--context", chosen.prefix, most::tokens);
        most::check("--rows", most, most::tokens);
        const auto on = load_scores(runs_on, chosen.model, chosen.engine, {.room = chosen.prefix + most});
        medians = timed(on.model);
        weights = on.description;
        threads = on.threads;
    } else {
        const llama::host_model model = load_model(chosen.model.path, chosen.model);
        medians = timed(model);
        weights = name_of(model.format());
        threads = model.threads();
    }
    for (double& taken : medians) taken *= 1000;
    if (chosen.json) {
        return print(json_line({{"model", chosen.model.path},
                                {"engine", runs_on.name()},
                                {"weights", weights},
                                {"threads", threads},
                                {"context", chosen.prefix},
                                {"repetitions", chosen.repetitions},
                                {"rows", chosen.rows},
                                {"milliseconds", medians}}));
    }
    std::string table = detail::message(
        "  rows  milliseconds   of ", chosen.rows[0] == 1 ? "one row" : detail::message(chosen.rows[0], " rows"), "\n");
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
    add_engine_options(*command, chosen->engine);
    const auto rows = [chosen](const std::string& text) { chosen->rows = parse_list<std::size_t>("--rows", text); };
    add_text(*command, "--rows", rows, "Rows per pass", "LIST", "1,2,4,8");
    add_number(*command, "--context", chosen->prefix, "Context length in tokens before the pass", "N", "256");
    add_number(*command, "--repetitions", chosen->repetitions, "Passes of each kind", "N", "21", most::repetitions);
    command->add_flag("--json", chosen->json, "Print one JSON object");
    command->callback([command, chosen] {
        note_cache(*command, chosen->engine, chosen->model);
        verify(*chosen);
    });
    add_bench_schemes(*bench);
}

}  // namespace augur::program
