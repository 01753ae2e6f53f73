// augur entropy: what entropy-aware schemes see of a text, by one model or by two or three.

#include <unistd.h>

#include <algorithm>
#include <array>
#include <augur/detail/largest.hpp>
#include <augur/model/any_model.hpp>
#include <augur/types/prefix.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "commands.hpp"
#include "draft_checkpoints.hpp"
#include "known_words.hpp"
#include "message.hpp"
#include "models.hpp"
#include "output_file.hpp"
#include "smaller_model.hpp"
#include "target.hpp"
#include "terminal.hpp"
#include "text_report.hpp"

namespace augur::program {
namespace {

/// Rows that are held at once, of each model.
constexpr std::size_t rows_at_once = 32;

struct entropy_options {
    model_options model;
    engine_options engine;
    prompt_options prompt;
    std::optional<std::string> draft, qualifier, chart;
    std::size_t more = 0;
    std::size_t best = 5;
    std::vector<double> edges_nats = {0.5, 1.5, 2.5};
    std::vector<std::size_t> lengths = {4, 3, 2, 1};
    double threshold_bits = 0.25;
    std::size_t window = 5;
    std::size_t dwell = 10;
    bool json = false;
};

/// A model and how far it has read.
struct model_reader {
    std::string name, file;
    model::any_model model;
    model::any_model::sequence_type sequence;

    model_reader(std::string named, std::string path, model::any_model of)
        : name(std::move(named)), file(std::move(path)), model(std::move(of)), sequence(model.make_sequence()) {}
};

/// The models of one call, cheapest first.
class readers {
 public:
    readers(const entropy_options& chosen, const engine_choice& runs_on, std::size_t room) {
        runs_on.is_llama_cpp ? load_scores_of(chosen, runs_on, room) : load_bundled(chosen);
    }

    std::vector<model_reader>& all() { return all_; }
    const model::any_model& target() const { return all_.back().model; }
    /// The shortest of all, and whose it is.
    const model_reader& shortest() const {
        return *std::min_element(all_.begin(), all_.end(), [](const model_reader& a, const model_reader& b) {
            return a.model.context_length() < b.model.context_length();
        });
    }

 private:
    void load_bundled(const entropy_options& chosen) {
        auto target = load_model(chosen.model.path, chosen.model);
        llama::load_options options = load_options_of(chosen.model);
        options.context_length = 0;
        for (const auto& [flag, named] : smaller(chosen)) {
            if (!named) continue;
            smaller_model loaded = load_smaller(flag, *named, target, chosen.model.path, options);
            all_.emplace_back(flag + 2, loaded.path, model::any_model(std::move(loaded.model)));
        }
        all_.emplace_back("target", chosen.model.path, model::any_model(std::move(target)));
    }

    /// `room`: tokens that each reads.
    void load_scores_of(const entropy_options& chosen, const engine_choice& runs_on, std::size_t room) {
        for (const auto& [flag, named] : smaller(chosen)) {
            if (named) check_is_no_name(flag, *named);
        }
        const scoring_needs needs{.room = room};
        scoring_model target = load_scores(runs_on, chosen.model, chosen.engine, needs);
        const std::size_t tokens = target.model.vocabulary_size();
        for (const auto& [flag, named] : smaller(chosen)) {
            if (!named) continue;
            scoring_model loaded = load_scoring_draft(*named, needs, chosen.model, chosen.engine, target);
            if (loaded.model.vocabulary_size() != tokens) {
                detail::fail(flag, " ", *named, " has ", loaded.model.vocabulary_size(), " tokens, but the model has ",
                             tokens);
            }
            all_.emplace_back(flag + 2, *named, std::move(loaded.model));
        }
        all_.emplace_back("target", chosen.model.path, std::move(target.model));
    }

    /// Draft checkpoints share tensors with a target on the bundled engine.
    static void check_is_no_name(const char* flag, const std::string& named) {
        std::error_code unknown;
        const bool is_checkpoint = named == "draft" || named == "exit" || named == "qualifier";
        if (!is_checkpoint || std::filesystem::exists(named, unknown)) return;
        detail::fail(flag, " ", named, ": there is no such file, and draft bundles are for the bundled engine");
    }

    static std::array<std::pair<const char*, const std::optional<std::string>&>, 2> smaller(
        const entropy_options& chosen) {
        return {{{"--draft", chosen.draft}, {"--qualifier", chosen.qualifier}}};
    }

    std::vector<model_reader> all_;
};

/// Reads the text in parts, and goes on by the target's best tokens. `see` is shown every position in turn.
class text_reading {
 public:
    text_reading(readers& by, text_observer observer) : by_(by), observer_(std::move(observer)) {}

    /// `all` grows by up to `more` tokens, none of them or after them an end token.
    void read(std::vector<token>& all, std::size_t more, const std::vector<token>& ends, const auto& see) {
        const std::size_t given = all.size();
        for (std::size_t at = 0; at < all.size();) {
            const std::size_t count = std::min(rows_at_once, all.size() - at);
            std::vector<scattered_scores> rows;
            for (model_reader& each : by_.all()) {
                rows.push_back(each.model.extend(each.sequence, std::span<const token>(all).subspan(at, count)));
            }
            if (at + count == all.size() && all.size() - given < more) go_on(all, rows.back()[count - 1], ends);
            for (std::size_t i = 0; i < count; ++i) {
                const std::size_t position = at + i + 1;
                std::vector<logit_row> here;
                for (const scattered_scores& each : rows) here.push_back(each[i]);
                see(observer_.look(here, position, position < all.size() ? all[position] : no_token));
            }
            at += count;
        }
    }

 private:
    static void go_on(std::vector<token>& all, logit_row row, const std::vector<token>& ends) {
        std::vector<std::int32_t> best;
        detail::largest_of(row, 1, best);
        if (best.empty() || std::find(ends.begin(), ends.end(), best.front()) != ends.end()) return;
        all.push_back(best.front());
    }

    readers& by_;
    text_observer observer_;
};

void check_room(const entropy_options& chosen, const readers& by, std::span<const token> ids) {
    const model_reader& shortest = by.shortest();
    const std::size_t context = shortest.model.context_length();
    if (ids.size() <= context && chosen.more <= context - ids.size()) {
        static_cast<void>(checked_prompt(ids, by.target().vocabulary_size(), ids.size() + 1));
        return;
    }
    detail::fail("the text has ", ids.size(), " tokens, and --continue is ", chosen.more, ", but the context of the ",
                 shortest.name, " ", shortest.file, " is ", context);
}

text_report report_for(const entropy_options& chosen, readers& by, const known_words& words,
                       const switching::rolling_entropy& turns) {
    text_report report{.names = {},
                       .files = {},
                       .bin_edges_nats = chosen.edges_nats,
                       .bin_lengths = chosen.lengths,
                       .turns = turns.options()};
    for (const model_reader& each : by.all()) {
        report.names.push_back(each.name);
        report.files.push_back(each.file);
    }
    report.words = words.any() ? &words : nullptr;
    return report;
}

/// Before anything is loaded.
void check_early(const entropy_options& chosen) {
    check_standard_output();
    if (chosen.best == 0) detail::fail("--top is 0; it must be at least 1");
    if (!chosen.chart) return;
    std::vector<std::filesystem::path> inputs{chosen.model.path};
    for (const auto& file : {chosen.prompt.file, chosen.draft, chosen.qualifier}) {
        if (file) inputs.emplace_back(*file);
    }
    check_output("--chart", *chosen.chart, with_checkpoints(std::move(inputs)));
}

void entropy(const entropy_options& chosen) {
    check_early(chosen);
    const policy::entropy_bins bins(chosen.edges_nats, chosen.lengths);
    const switching::rolling_entropy turns(
        {.thresholds_bits = {chosen.threshold_bits}, .window = chosen.window, .dwell = chosen.dwell});
    const engine_choice runs_on = choose_engine(chosen.engine, chosen.model);
    const known_words words(runs_on.is_llama_cpp, chosen.model.path);
    std::vector<token> ids = words.encode(chosen.prompt);
    std::optional<passing_note> note(std::in_place, "loading the models");
    readers by(chosen, runs_on, ids.size() + chosen.more);
    note.reset();
    check_room(chosen, by, ids);
    text_report report = report_for(chosen, by, words, turns);
    report.given = ids.size();
    const bool keeps = chosen.json || chosen.chart;
    if (!chosen.json) print_text(table_head(report));
    const std::vector<token> ends = words.end_tokens(by.target().vocabulary_size());
    text_reading(by, text_observer(bins, turns, chosen.best)).read(ids, chosen.more, ends, [&](position_facts at) {
        if (!chosen.json) print_text(table_line(report, at));
        report.add(std::move(at), keeps);
    });
    report.ids = std::move(ids);
    if (chosen.chart) {
        output_file file(*chosen.chart);
        file.write(as_chart(report));
        file.commit();
    }
    chosen.json ? print(json_line(as_json(report))) : print_text(table_means(report));
}

void add_model_choices(CLI::App& command, entropy_options& into) {
    const auto keep = [](std::optional<std::string>& where) {
        return [&where](const std::string& text) { where = text; };
    };
    add_text(
        command, "--draft", keep(into.draft),
        "A cheaper model that reads the text, too: a file, or draft, exit or qualifier of the model's draft bundle",
        "FILE");
    add_text(command, "--qualifier", keep(into.qualifier), "The same, between draft and model", "FILE");
    add_text(command, "--chart", keep(into.chart), "Write a chart (SVG)", "FILE");
}

}  // namespace

void add_entropy(CLI::App& program) {
    auto* command = program.add_subcommand(
        "entropy", "Show entropies, best tokens and the agreement of one to three models on a text");
    const auto chosen = std::make_shared<entropy_options>();
    add_model_options(*command, chosen->model);
    add_engine_options(*command, chosen->engine);
    add_prompt_options(*command, chosen->prompt);
    add_model_choices(*command, *chosen);
    add_number(*command, "--continue", chosen->more, "Continue the text greedily by up to N tokens", "N", "0",
               most::tokens);
    add_number(*command, "--top", chosen->best, "Keep each model's K most probable tokens", "K", "5", most::length);
    const auto edges = [chosen](const std::string& text) {
        chosen->edges_nats = parse_list("--bins", text, most::threshold);
    };
    add_text(*command, "--bins", edges, "EAAD: upper edges of the bins of the cheapest model's entropy, nats", "LIST",
             "0.5,1.5,2.5");
    const auto lengths = [chosen](const std::string& text) {
        chosen->lengths = parse_list("--bin-lengths", text, most::length);
    };
    add_text(*command, "--bin-lengths", lengths, "EAAD: length in each bin", "LIST", "4,3,2,1");
    add_number(*command, "--threshold", chosen->threshold_bits,
               "EAD: bits of mean entropy above which the model writes and not the draft", "BITS", "0.25",
               most::threshold);
    add_number(*command, "--window", chosen->window, "EAD: window of the mean entropy, in tokens", "N", "5",
               most::window);
    add_number(*command, "--dwell", chosen->dwell, "EAD: minimum tokens between two switches", "N", "10", most::dwell);
    command->add_flag("--json", chosen->json, "Print one JSON object instead of the table");
    command->callback([command, chosen] {
        note_cache(*command, chosen->engine, chosen->model);
        entropy(*chosen);
    });
}

}  // namespace augur::program
