// PyramidSD: its two ablations (thresholds, lengths) and its gradient of entropy, on prompts or problems at a
// temperature.
//
//   bench_pyramid --target FILE --draft FILE --qualifier FILE (--prompts FILE.jsonl | --problems FILE.jsonl) --json OUT
//                 [--seeds 3] [--each 1] [--limit N] [--thresholds 0.4/0.5,0.5/0.4] [--lengths 2/4,15/25]
//                 [--draft-length 3] [--qualifier-length 8]
//
// The draft and the qualifier are draft checkpoints of the target's draft bundle, or models with its tokens. Problems
// have answers: the share that is right is a column then. Files of `augur widen` cost what larger models cost, and
// write what their originals write (docs/llama/widened.md).
// FSD and PSD_A come with the divergence rule alone (as published) and after rejection sampling, PSD_F in three forms:
// as published (the divergence rule alone, the target's row against the qualifier's), by drawn rows (the same rule,
// against the row that the token was drawn from) and rejection first (by drawn rows, after rejection sampling). All
// settings decode a prompt with a seed before the next one, so that a machine's other work meets all alike. Speed is
// tokens per second after prefill, per seed over all prompts; perplexity is the target's, of what was written;
// divergence is the total variation per token between what a token was drawn from and the target's row
// (tune/divergence_meter.hpp); as published that is not known, for tokens are proposed with rows that they were not
// drawn from.

#include <CLI/CLI.hpp>
#include <augur/accept/rejection_then_fuzzy.hpp>
#include <augur/augur.hpp>
#include <augur/io/files/gguf.hpp>
#include <augur/io/text/read_vocabulary.hpp>
#include <augur/io/text/token_texts.hpp>
#include <augur/io/text/tokenizer.hpp>
#include <augur/llama/draft_checkpoint.hpp>
#include <augur/llama/qualifier.hpp>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "formats.hpp"
#include "prompts.hpp"

namespace {

using namespace augur;
using nlohmann::json;
using fuzzy = accept::rejection_then_fuzzy<measure::total_variation>;
using divergence_rule = accept::fuzzy<measure::total_variation>;
using llama::host_model;

struct settings {
    std::string target, draft, qualifier, prompts, problems, json_file, weights = "keep";
    std::vector<std::string> thresholds = {"0.2/0.2", "0.3/0.3", "0.4/0.4", "0.5/0.5",
                                           "0.3/0.5", "0.4/0.5", "0.5/0.3", "0.5/0.4"};
    std::vector<std::string> lengths = {"1/2", "2/4", "4/10", "5/15", "10/15", "15/15", "20/20", "15/25", "25/25"};
    std::size_t draft_length = 3, qualifier_length = 8;  // where thresholds vary
    std::size_t seeds = 3, each = 1, limit = 0, max_tokens = 64, threads = 2;
    float temperature = 1;
};

struct configuration {
    std::string table, scheme;
    double qualifier_threshold = 0, target_threshold = 0;
    std::size_t draft_length = 3, qualifier_length = 8;
};

/// Sums over the prompts of one seed.
struct outcome {
    std::size_t tokens = 0, asked = 0, right = 0;
    double seconds = 0, surprise = 0, divergence = 0;
    stage_statistics qualifier{}, target{};
};

struct family {
    host_model target, draft, qualifier;
    io::tokenizer words;
};

constexpr const char* as_published = "PSD_F as published";
constexpr const char* forms[] = {as_published, "PSD_F rejection first", "PSD_F drawn rows"};

/// "0.4/0.5": the qualifier's, then the target's; or of lengths the draft's, then the qualifier's.
template <class Number>
std::pair<Number, Number> parse_pair(const std::string& text, Number least) {
    std::istringstream in(text);
    Number first{}, second{};
    char between{};
    if (!(in >> first >> between >> second) || between != '/' || !in.eof() || !(first >= least) || !(second >= least)) {
        detail::fail("'", text, "' is no pair; it must be like 0.4/0.5 or 15/25, of numbers from ", least, " on");
    }
    return {first, second};
}

std::vector<configuration> configurations(const settings& chosen) {
    std::vector<configuration> all{{"thresholds", "plain"}, {"thresholds", "SD"}};
    std::set<double> seen;
    for (const std::string& each : chosen.thresholds) {
        const auto [first, last] = parse_pair(each, 0.0);
        const auto add = [&, first = first, last = last](const char* scheme) {
            all.push_back({"thresholds", scheme, first, last, chosen.draft_length, chosen.qualifier_length});
        };
        if (seen.insert(last).second) {
            for (const char* scheme : {"FSD as published", "FSD", "PSD_A as published", "PSD_A"}) add(scheme);
        }
        for (const char* form : forms) add(form);
    }
    for (const std::string& each : chosen.lengths) {
        const auto [draft, qualifier] = parse_pair<std::size_t>(each, 1);
        for (const char* form : forms) all.push_back({"lengths", form, 0.4, 0.5, draft, qualifier});
    }
    return all;
}

void add(stage_statistics& into, const stage_statistics& more) {
    into.rounds += more.rounds;
    into.drafted += more.drafted;
    into.accepted += more.accepted;
}

void add(outcome& into, const auto& scheme, const prompt& asked, const decode::options& options, const family& of,
         auto&... watchers) {
    const auto decoded = decode::generate<any_guarantee>(scheme, asked.tokens, options, watchers...);
    const auto& text = decoded.tokens;
    into.tokens += text.size();
    ++into.asked;
    into.right += is_right(of.words.decode(text), asked.answer) ? 1 : 0;
    into.seconds += decoded.counts.seconds.decoding();
    ((into.divergence += watchers.divergence()), ...);
    add(into.target, decoded.counts.stages.back());
    if (decoded.counts.stages.size() > 1) add(into.qualifier, decoded.counts.stages.front());
    std::vector<token> all = asked.tokens;
    all.insert(all.end(), text.begin(), text.end());
    auto sequence = of.target.make_sequence();
    const auto rows = of.target.extend(sequence, std::span<const token>(all).first(all.size() - 1), text.size());
    for (std::size_t i = 0; i < text.size(); ++i) into.surprise -= measure::log_probability(rows[i], text[i]);
}

void run(outcome& into, const configuration& chosen, const family& of, const prompt& asked,
         const decode::options& options) {
    using policy::fixed_length;
    using scheme::model_link;
    const fuzzy last(chosen.target_threshold);
    tune::divergence_meter meter(last, options.sampling, of.target.vocabulary_size());
    const fixed_length by_draft{chosen.draft_length}, by_qualifier{chosen.qualifier_length}, alone{4};
    const auto decoded = [&](const auto& scheme, auto&... watchers) {
        add(into, scheme, asked, options, of, watchers...);
    };
    const auto pyramid = [&](auto first, const auto& at_target) {
        decoded(cascaded(of.draft, model_link{by_draft, first}, of.qualifier, model_link{by_qualifier, at_target},
                         of.target),
                meter);
    };
    const divergence_rule rule_inside(chosen.qualifier_threshold), rule(chosen.target_threshold);
    if (chosen.scheme == "plain")
        return decoded(speculate(draft::no_draft{}, of.target, fixed_length{0}, accept::coupled{}));
    if (chosen.scheme == "SD")
        return decoded(cascaded(of.draft, model_link{alone, accept::rejection_sampling{}}, of.target));
    if (chosen.scheme == "FSD as published")
        return decoded(cascaded(of.draft, model_link{alone, rule}, of.target), meter);
    if (chosen.scheme == "PSD_A as published") return pyramid(accept::rejection_sampling{}, rule);
    if (chosen.scheme == "FSD") return decoded(cascaded(of.draft, model_link{alone, last}, of.target), meter);
    if (chosen.scheme == "PSD_A") return pyramid(accept::rejection_sampling{}, last);
    if (chosen.scheme == as_published) {
        return decoded(cascaded_as_published(of.draft, model_link{by_draft, rule_inside}, of.qualifier,
                                             model_link{by_qualifier, rule}, of.target));
    }
    if (chosen.scheme == forms[1]) return pyramid(fuzzy(chosen.qualifier_threshold), last);
    pyramid(rule_inside, rule);
}

/// Entropies in nats of a model's rows over a text that the target drew.
std::vector<double> entropies(const host_model& model, const std::vector<token>& text, std::size_t prompt) {
    auto sequence = model.make_sequence();
    const std::size_t count = text.size() - prompt;
    const auto rows = model.extend(sequence, std::span<const token>(text).first(text.size() - 1), count);
    std::vector<double> found;
    for (std::size_t i = 0; i < count; ++i) found.push_back(measure::entropy_nats(rows[i]));
    return found;
}

json gradient(const family& of, const std::vector<prompt>& prompts, const decode::options& options) {
    std::map<std::string, std::vector<double>> found;
    for (const prompt& asked : prompts) {
        std::vector<token> text = asked.tokens;
        const auto decoded = decode::generate<any_guarantee>(
            speculate(draft::no_draft{}, of.target, policy::fixed_length{0}, accept::coupled{}), asked.tokens, options);
        text.insert(text.end(), decoded.tokens.begin(), decoded.tokens.end());
        for (const auto& [name, model] :
             {std::pair("draft", &of.draft), {"qualifier", &of.qualifier}, {"target", &of.target}}) {
            const auto more = entropies(*model, text, asked.tokens.size());
            found[name].insert(found[name].end(), more.begin(), more.end());
        }
    }
    std::printf("\n|model|mean entropy, nats|positions|\n|-|-|-|\n");
    for (const auto& [name, all] : found) {
        double sum = 0;
        for (const double each : all) sum += each;
        std::printf("|%s|%.3f|%zu|\n", name.c_str(), sum / static_cast<double>(all.size()), all.size());
    }
    return found;
}

struct spread {
    double mean = 0, deviation = 0;
};

spread over_seeds(const std::vector<outcome>& seeds, const auto& figure) {
    spread found;
    const auto count = static_cast<double>(seeds.size());
    for (const outcome& each : seeds) found.mean += figure(each) / count;
    for (const outcome& each : seeds) found.deviation += std::pow(figure(each) - found.mean, 2);
    if (seeds.size() > 1) found.deviation = std::sqrt(found.deviation / (count - 1));
    return found;
}

double per_token(double sum, const outcome& of) {
    return sum / static_cast<double>(of.tokens);
}

/// A link as the throughput model sees it: the share that a round yields of one token more than it is handed.
tune::verification link_of(const host_model& verifier, std::size_t length, const stage_statistics& of) {
    const std::size_t rows[] = {length + 1};
    const auto rounds = static_cast<double>(of.rounds);
    const double yielded = static_cast<double>(of.accepted) + rounds;
    return {.length = length,
            .kept = std::min(1.0, yielded / (rounds * static_cast<double>(length + 1))),
            .pass_seconds = tune::pass_seconds(verifier, rows, 64, {.repetitions = 5}).front()};
}

/// Tokens per second by PyramidSD's formulas, from passes timed one by one and what the runs kept.
double predicted(const configuration& at, const family& of, const std::vector<outcome>& seeds) {
    outcome sum;
    for (const outcome& each : seeds) {
        add(sum.qualifier, each.qualifier);
        add(sum.target, each.target);
    }
    if (at.scheme == "plain") return 1 / link_of(of.target, 0, sum.target).pass_seconds;
    const double draft_speed = 1 / link_of(of.draft, 0, sum.target).pass_seconds;
    if (sum.qualifier.rounds == 0) {
        return tune::throughput(draft_speed, std::vector{link_of(of.target, 4, sum.target)});
    }
    return tune::throughput(draft_speed, std::vector{link_of(of.qualifier, at.draft_length, sum.qualifier),
                                                     link_of(of.target, at.qualifier_length, sum.target)});
}

/// Passes of a model whose tokens the next one judged; a scheme of which a model is idle is no measurement of it.
void check_all_ran(const configuration& at, const std::vector<outcome>& seeds) {
    std::size_t by_draft = 0, by_qualifier = 0;
    const bool by_three = at.scheme.starts_with("PSD");
    for (const outcome& each : seeds) {
        by_draft += by_three ? each.qualifier.drafted : each.target.drafted;
        by_qualifier += each.target.drafted;
    }
    if (at.scheme == "plain" || (by_draft > 0 && by_qualifier > 0)) return;
    detail::fail(at.scheme, " at lengths ", at.draft_length, " and ", at.qualifier_length, ": the draft proposed ",
                 by_draft, " tokens and the last link judged ", by_qualifier, "; a model was idle");
}

/// Of the target and the qualifier; of the draft the tokens that it proposed, one pass each.
json passes_of(const std::vector<outcome>& seeds) {
    std::size_t target = 0, qualifier = 0, draft = 0;
    for (const outcome& each : seeds) {
        target += each.target.rounds;
        qualifier += each.qualifier.rounds;
        draft += each.qualifier.rounds > 0 ? each.qualifier.drafted : each.target.drafted;
    }
    return {{"target", target}, {"qualifier", qualifier}, {"draft", draft}};
}

/// Of every setting the three forms of PSD_F side by side: times SD, and perplexity of the text.
void print_forms(const json& rows) {
    std::printf("\n|t_Q|t_T|l_D|l_Q|as published|rejection first|drawn rows|\n|-|-|-|-|-|-|-|\n");
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const json& row = rows[i];
        if (row["scheme"] == as_published) {
            std::printf("|%g|%g|%d|%d|", row["t_Q"].get<double>(), row["t_T"].get<double>(), row["l_D"].get<int>(),
                        row["l_Q"].get<int>());
            for (const std::size_t form : {i, i + 1, i + 2}) {
                std::printf("%.2f (%.2f)|", rows[form]["times_sd"].get<double>(),
                            rows[form]["perplexity"][0].get<double>());
            }
            std::printf("\n");
        }
    }
    std::printf("Times SD (perplexity of the text).\n");
}

json report(const family& models, const std::vector<configuration>& all, const std::vector<std::vector<outcome>>& found,
            bool scored) {
    const auto speed = [](const outcome& of) { return static_cast<double>(of.tokens) / of.seconds; };
    const double of_sd = over_seeds(found[1], speed).mean;
    std::printf(
        "|table|scheme|t_Q|t_T|l_D|l_Q|tokens/s|predicted|times SD|right, %%|perplexity|total variation per "
        "token|\n|-|-|-|-|-|-|-|-|-|-|-|-|\n");
    json rows = json::array();
    for (std::size_t i = 0; i < all.size(); ++i) {
        const configuration& at = all[i];
        check_all_ran(at, found[i]);
        const bool known = at.scheme != as_published;
        const spread fast = over_seeds(found[i], speed);
        const double foreseen = predicted(at, models, found[i]);
        const spread odd = over_seeds(found[i], [](const outcome& of) { return std::exp(per_token(of.surprise, of)); });
        const spread far = over_seeds(found[i], [](const outcome& of) { return per_token(of.divergence, of); });
        const spread right = over_seeds(found[i], [](const outcome& of) {
            return 100 * static_cast<double>(of.right) / static_cast<double>(of.asked);
        });
        std::printf("|%s|%s|%g|%g|%zu|%zu|%.1f ± %.1f|%.1f|%.2f|", at.table.c_str(), at.scheme.c_str(),
                    at.qualifier_threshold, at.target_threshold, at.draft_length, at.qualifier_length, fast.mean,
                    fast.deviation, foreseen, fast.mean / of_sd);
        if (scored) std::printf("%.1f ± %.1f", right.mean, right.deviation);
        std::printf("|%.2f ± %.2f|", odd.mean, odd.deviation);
        if (known) std::printf("%.4f ± %.4f", far.mean, far.deviation);
        std::printf("|\n");
        rows.push_back({{"table", at.table},
                        {"scheme", at.scheme},
                        {"t_Q", at.qualifier_threshold},
                        {"t_T", at.target_threshold},
                        {"l_D", at.draft_length},
                        {"l_Q", at.qualifier_length},
                        {"tokens_per_second", {fast.mean, fast.deviation}},
                        {"predicted", foreseen},
                        {"times_sd", fast.mean / of_sd},
                        {"passes", passes_of(found[i])},
                        {"right_percent", scored ? json{right.mean, right.deviation} : json()},
                        {"perplexity", {odd.mean, odd.deviation}},
                        {"total_variation", known ? json{far.mean, far.deviation} : json()}});
    }
    print_forms(rows);
    return rows;
}

/// A draft checkpoint of the target's draft bundle, or a model with its tokens.
host_model load_lesser(const std::string& path, const host_model& target, const settings& chosen,
                       const llama::load_options& how) {
    const std::string kind = llama::checkpoint_kind(io::gguf_file(path));
    if (kind == "qualifier") return llama::load_qualifier(path, target, how);
    if (kind == "draft") return llama::load_draft(path, target, how);
    io::check_same_tokens(path, chosen.target);
    return host_model::load(path, how);
}

family load(const settings& chosen, const io::vocabulary& vocabulary) {
    const llama::load_options how{.weights = format_named(chosen.weights), .threads = chosen.threads};
    host_model target = host_model::load(chosen.target, how);
    host_model qualifier = load_lesser(chosen.qualifier, target, chosen, how);
    host_model draft = load_lesser(chosen.draft, target, chosen, how);
    return {std::move(target), std::move(draft), std::move(qualifier), io::tokenizer(vocabulary)};
}

std::vector<prompt> read(const settings& chosen, const io::tokenizer& words, const io::vocabulary& vocabulary) {
    if (!chosen.problems.empty()) return read_problems(chosen.problems, chosen.limit, words);
    std::map<std::string, std::size_t> seen;
    std::vector<prompt> prompts;
    for (prompt& each : read_prompts(chosen.prompts, chosen.limit, true, words, vocabulary)) {
        if (seen[each.task]++ < chosen.each) prompts.push_back(std::move(each));
    }
    return prompts;
}

void measure_all(const settings& chosen) {
    const auto all = configurations(chosen);
    const auto vocabulary = io::read_vocabulary(io::gguf_file(chosen.target));
    const family of = load(chosen, vocabulary);
    const std::vector<prompt> prompts = read(chosen, of.words, vocabulary);
    decode::options options;
    options.sampling.temperature.value = chosen.temperature;
    options.stop.max_tokens = chosen.max_tokens;
    options.stop.stop_tokens.assign(of.words.end_tokens().begin(), of.words.end_tokens().end());
    std::vector<std::vector<outcome>> found(all.size(), std::vector<outcome>(chosen.seeds));
    for (options.seed = 0; options.seed < chosen.seeds; ++options.seed) {
        for (const prompt& asked : prompts) {
            for (std::size_t i = 0; i < all.size(); ++i) run(found[i][options.seed], all[i], of, asked, options);
            std::fprintf(stderr, "pyramid: seed %zu, %s\n", static_cast<std::size_t>(options.seed), asked.task.c_str());
        }
    }
    json out = {{"rows", report(of, all, found, !chosen.problems.empty())},
                {"entropies", gradient(of, prompts, options)}};
    std::ofstream file(chosen.json_file);
    file << out.dump() << '\n';
    if (!file.flush()) detail::fail("cannot write ", chosen.json_file);
}

}  // namespace

int main(int argc, char** argv) {
    settings chosen;
    CLI::App app("PyramidSD's ablations and its gradient of entropy, on a real family");
    app.add_option("--target", chosen.target, "a GGUF file")->required();
    app.add_option("--draft", chosen.draft, "a member of its draft bundle, or a GGUF file with its tokens")->required();
    app.add_option("--qualifier", chosen.qualifier, "the same")->required();
    const auto prompts = app.add_option("--prompts", chosen.prompts, "JSON lines with task and prompt");
    const auto problems = app.add_option("--problems", chosen.problems, "JSON lines with prompt and answer");
    problems->excludes(prompts);
    app.add_option("--limit", chosen.limit, "prompts or problems at most; 0: all")->capture_default_str();
    app.add_option("--json", chosen.json_file, "where the figures go, with all entropies")->required();
    app.add_option("--thresholds", chosen.thresholds,
                   "pairs of the qualifier's and the target's, in either order of size")
        ->delimiter(',')
        ->capture_default_str();
    app.add_option("--lengths", chosen.lengths, "pairs of the draft's and the qualifier's")
        ->delimiter(',')
        ->capture_default_str();
    app.add_option("--draft-length", chosen.draft_length, "where thresholds vary")
        ->capture_default_str()
        ->check(CLI::PositiveNumber);
    app.add_option("--qualifier-length", chosen.qualifier_length, "where thresholds vary")
        ->capture_default_str()
        ->check(CLI::PositiveNumber);
    app.add_option("--weights", chosen.weights, "of all models")->capture_default_str();
    app.add_option("--seeds", chosen.seeds)->capture_default_str()->check(CLI::PositiveNumber);
    app.add_option("--each", chosen.each, "prompts of a task")->capture_default_str()->check(CLI::PositiveNumber);
    app.add_option("--max-tokens", chosen.max_tokens)->capture_default_str()->check(CLI::PositiveNumber);
    app.add_option("--threads", chosen.threads)->capture_default_str();
    app.add_option("--temperature", chosen.temperature)->capture_default_str();
    CLI11_PARSE(app, argc, argv);
    try {
        if (chosen.problems.empty() && chosen.prompts.empty()) detail::fail("give --problems or --prompts");
        measure_all(chosen);
        return 0;
    } catch (const std::exception& caught) {
        std::cerr << "bench_pyramid: " << caught.what() << '\n';
        return 1;
    }
}
