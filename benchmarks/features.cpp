// What EntMTP's figures are made of: for every place of a text, what a scheduler can know there and what any draft tree
// would have been accepted; trees that were grown from that; and what the library's policies choose.
//
//   bench_features --model FILE --heads FILE --prompts FILE.jsonl --published TREE.json --json FILE
//                  [--tasks code,maths,conversation] [--grow 2] [--seeds 2] [--max-tokens 128]
//
// Greedy texts and texts at a temperature under accept::coupled are plain decoding's, whatever tree drafts them. So
// each is decoded once, without drafts, and of each of its tokens the rank is noted that each head gives it after the
// text before: a tree accepts the tokens whose ranks are a path of it. Rounds are replayed from these ranks, with the
// trees, the growth and the policies of the library. Their seconds are modelled: T(n) from points measured elsewhere,
// and a time for each row of a head. Nothing is timed here. benchmarks/features.py reads the result.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <augur/accept/coupled.hpp>
#include <augur/accept/exact.hpp>
#include <augur/decode/generate.hpp>
#include <augur/draft/heads.hpp>
#include <augur/draft/no_draft.hpp>
#include <augur/io/files/gguf.hpp>
#include <augur/io/text/read_vocabulary.hpp>
#include <augur/llama/draft_heads.hpp>
#include <augur/llama/host_model.hpp>
#include <augur/measure/entropy.hpp>
#include <augur/policy/cost_aware.hpp>
#include <augur/policy/fixed_length.hpp>
#include <augur/policy/tree_hysteresis.hpp>
#include <augur/policy/tree_static.hpp>
#include <augur/scheme/speculator.hpp>
#include <augur/tree/bank.hpp>
#include <augur/tree/frontier.hpp>
#include <augur/tree/growth.hpp>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "formats.hpp"
#include "prompts.hpp"

namespace {

using namespace augur;
using nlohmann::json;

struct settings {
    std::string model, heads, prompts, published, json_file, weights = "bf16";
    std::vector<std::string> tasks{"code", "maths", "conversation"};
    std::size_t grow = 2, max_tokens = 128, seeds = 2, nodes = 32, thresholds = 7, threads = 0;
    float temperature = 0.7f;
    /// BF16 trees after 256 tokens, and a row of a Hydra head, by the tables of docs/measurements.
    std::vector<double> rows{1, 2, 4, 8, 12, 16, 32}, verify_ms{6.54, 6.98, 7.33, 8.38, 9.48, 12.34, 19.29};
    double row_ms = 0.21;
};

/// A text by its places: place p is after p tokens of it. Of place 0 the target's row is not known.
struct recorded {
    std::string task;
    std::size_t prompt = 0;
    float temperature = 0;
    std::uint64_t seed = 0;
    std::vector<token> tokens{};
    std::vector<double> entropy{}, top1{};           ///< of the row that the last committed token came from
    std::vector<std::vector<double>> confidences{};  ///< of each head, along the greedy chain
    std::vector<std::vector<token>> chains{};        ///< that chain
    std::vector<std::vector<std::int32_t>> ranks{};  ///< of the tokens that follow, each by its head; -1: no logit

    bool has_budget(std::size_t place) const { return place + confidences.front().size() < tokens.size(); }
};

/// Milliseconds of a round.
struct costs {
    std::vector<double> rows, milliseconds;
    double head_row;

    /// Of a pass: a line between the points, and beyond them the last one's.
    double pass(double n) const {
        std::size_t to = 1;
        while (to + 1 < rows.size() && rows[to] < n) ++to;
        const double share = (n - rows[to - 1]) / (rows[to] - rows[to - 1]);
        return milliseconds[to - 1] + share * (milliseconds[to] - milliseconds[to - 1]);
    }
    /// With a tree, and rows of the greedy chain that the policy looks at first.
    double round(const topology& tree, std::size_t ahead) const {
        const auto parents = tree.parents();
        std::int32_t chain = after_prefix;
        std::size_t drafted = 0;
        for (std::int32_t node = after_prefix; node < static_cast<std::int32_t>(tree.size()); ++node) {
            const std::size_t child = parents::next_child(parents, tree.size(), node, 0);
            if (child == tree.size()) continue;
            ++drafted;
            if (node != chain || ahead == 0) continue;
            --ahead;  // this row is the tree's, too
            chain = static_cast<std::int32_t>(child);
        }
        return pass(static_cast<double>(tree.size() + 1)) + head_row * static_cast<double>(drafted + ahead);
    }
};

std::int32_t rank_of(logit_row row, token t) {
    const float own = row[static_cast<std::size_t>(t)];
    if (!std::isfinite(own)) return -1;
    const auto before = std::count_if(row.begin(), row.begin() + t, [&](float each) { return each >= own; });
    return static_cast<std::int32_t>(before +
                                     std::count_if(row.begin() + t, row.end(), [&](float each) { return each > own; }));
}

/// What the heads say at a place: after its text, and along their own greedy chain.
void record_heads(const llama::draft_heads& heads, llama::draft_heads::workspace_type& work,
                  std::span<const float> state, token last, std::span<const token> following, recorded& into) {
    std::vector<token> text{last}, chain{last};
    std::vector<double> confidences;
    std::vector<std::int32_t> ranks;
    for (std::size_t head = 0; head < heads.head_count(); ++head) {
        if (head < following.size()) {
            ranks.push_back(rank_of(heads.row(work, state, text, head), following[head]));
            text.push_back(following[head]);
        }
        const logit_row row = heads.row(work, state, chain, head);
        confidences.push_back(measure::confidence(measure::moments(row)));
        chain.push_back(static_cast<token>(std::max_element(row.begin(), row.end()) - row.begin()));
    }
    into.ranks.push_back(std::move(ranks));
    into.confidences.push_back(std::move(confidences));
    into.chains.emplace_back(chain.begin() + 1, chain.end());
}

template <class Criterion>
void record_text(const llama::host_model& target, const llama::draft_heads& heads, const std::vector<token>& prompt,
                 const decode::options& options, const Criterion& criterion, recorded& into) {
    const auto plain = speculate(draft::no_draft{}, target, policy::fixed_length{0}, criterion);
    into.tokens = decode::generate(plain, prompt, options).tokens;
    std::vector<token> text = prompt;
    text.insert(text.end(), into.tokens.begin(), into.tokens.end());
    auto sequence = target.make_sequence();
    const pass<sequence_t<llama::host_model>> all{.sequence = &sequence,
                                                  .tokens = std::span(text).first(text.size() - 1),
                                                  .rows = into.tokens.size(),
                                                  .states = true};
    const auto rows = target.run(std::span(&all, 1));
    const scores states = target.hidden(sequence);
    auto work = heads.make_workspace();
    for (std::size_t place = 0; place < into.tokens.size(); ++place) {
        const auto moments = place == 0 ? measure::softmax_moments{} : measure::moments(rows[place - 1]);
        into.entropy.push_back(place == 0 ? observation::unknown : measure::entropy_nats(moments));
        into.top1.push_back(place == 0 ? observation::unknown : measure::confidence(moments));
        const std::size_t last = prompt.size() - 1 + place;
        record_heads(heads, work, states[last - 1], text[last], std::span(text).subspan(last + 1), into);
    }
}

/// The path of a tree that these ranks are.
verdict accepted_of(const topology& tree, std::span<const std::int32_t> ranks) {
    verdict decided{.drafted = tree.size(), .next = 0};
    std::int32_t node = after_prefix;
    for (const std::int32_t rank : ranks) {
        std::size_t child = rank < 0 ? tree.size() : parents::next_child(tree.parents(), tree.size(), node, 0);
        for (std::int32_t i = 0; i < rank && child < tree.size(); ++i) {
            child = parents::next_child(tree.parents(), tree.size(), node, child + 1);
        }
        if (child == tree.size()) break;
        decided.path.push_back(child);
        node = static_cast<std::int32_t>(child);
    }
    decided.accepted = decided.path.size();
    return decided;
}

struct replayed_round {
    std::size_t place;
    proposal<point_mass> proposed{};
    verdict decided{};
    observation decided_on{};
    double milliseconds = 0, draft_milliseconds = 0;

    outcome result() const {
        return {decided_on, decided.drafted, decided.accepted, draft_milliseconds / 1000,
                (milliseconds - draft_milliseconds) / 1000};
    }
};

observation seen_at(const recorded& text, std::size_t place, std::size_t round, std::size_t ahead) {
    observation seen{.round = round,
                     .prefix_length = place,
                     .target_entropy_nats = text.entropy[place],
                     .target_confidence = text.top1[place],
                     .path_value = 1,
                     .path_value_sum = 0};
    for (std::size_t depth = 0; depth < ahead; ++depth) {
        seen.path_value_sum += seen.path_value *= text.confidences[place][depth];
    }
    return seen;
}

/// The rounds that have room for the deepest tree, as the policy would have had them.
template <class Policy>
std::vector<replayed_round> replay(Policy policy, const recorded& text, const costs& cost, std::size_t ahead = 0) {
    std::vector<replayed_round> rounds;
    for (std::size_t place = 0; text.has_budget(place); place += rounds.back().decided.accepted + 1) {
        replayed_round round{.place = place, .decided_on = seen_at(text, place, rounds.size(), ahead)};
        const topology tree = *policy.plan(round.decided_on).tree;
        for (const std::int32_t parent : tree.parents()) round.proposed.push(0, parent);
        round.decided = accepted_of(tree, text.ranks[place]);
        round.milliseconds = cost.round(tree, ahead);
        round.draft_milliseconds = round.milliseconds - cost.pass(static_cast<double>(tree.size() + 1));
        policy::show(policy, std::as_const(round));
        rounds.push_back(std::move(round));
    }
    return rounds;
}

/// Decodes with this tree, and refuses a record by which its rounds are others.
template <class Criterion>
void check_replay(const llama::host_model& target, const llama::draft_heads& heads, const std::vector<token>& prompt,
                  const decode::options& options, const Criterion& criterion, const topology& tree,
                  const recorded& text) {
    const auto scheme = speculate(draft::heads(heads, draft::argmax{}), target, policy::tree_static(tree), criterion);
    decode::session session(scheme, prompt, options.sampling, options.stop, random::philox_chooser(options.seed));
    for (std::size_t place = 0; !text.tokens.empty() && text.has_budget(place);) {
        const std::size_t expected = accepted_of(tree, text.ranks[place]).accepted;
        const auto& round = decode::step(scheme, session, {.timed = false});
        if (round.decided.drafted != tree.size() || round.decided.accepted != expected) {
            detail::fail("place ", place, " of a text of ", text.task, ": of ", round.decided.drafted, " nodes ",
                         round.decided.accepted, " were accepted, but by the ranks ", expected, " of ", tree.size());
        }
        place += expected + 1;
    }
}

using texts = std::vector<const recorded*>;

/// Tokens in these rounds, their number, and their milliseconds.
struct totals {
    double tokens = 0, rounds = 0, milliseconds = 0;
    void add(const std::vector<replayed_round>& all) {
        for (const auto& each : all)
            tokens += static_cast<double>(each.decided.accepted + 1), milliseconds += each.milliseconds;
        rounds += static_cast<double>(all.size());
    }
    double accepted_length() const { return rounds == 0 ? 0 : tokens / rounds; }
    double tokens_per_second() const { return milliseconds == 0 ? 0 : 1000 * tokens / milliseconds; }
};

template <class Policy>
totals total_of(const Policy& policy, const texts& all, const costs& cost, std::size_t ahead = 0) {
    totals sums;
    for (const recorded* each : all) sums.add(replay(policy, *each, cost, ahead));
    return sums;
}

/// tune::joint_rollout of one text, from its ranks.
tree::tally joint_replay(const tree::augmentations& trees, const recorded& text) {
    std::vector<tree::path> current;
    const std::vector<tree::path> joint = tree::paths_of(trees.joint);
    for (std::size_t i = 0; i < joint.size(); ++i) {
        if (trees.place[i] == tree::augmentations::none) current.push_back(joint[i]);
    }
    const topology shape = topology::of_paths(current);
    tree::tally counted{.gained = std::vector<std::uint64_t>(trees.added.size(), 0)};
    for (std::size_t place = 0; text.has_budget(place);) {
        const verdict decided = accepted_of(shape, text.ranks[place]);
        const verdict larger = accepted_of(trees.joint, text.ranks[place]);
        if (larger.accepted > decided.accepted) ++counted.gained[trees.place[larger.path[decided.accepted]]];
        ++counted.rounds;
        counted.committed += decided.accepted + 1;
        place += decided.accepted + 1;
    }
    return counted;
}

/// As augur grow: a tree for each depth, the sizes on the way, each measured by itself.
std::vector<tree::measured_tree> grown_trees(const texts& all, const costs& cost, const settings& chosen) {
    std::vector<tree::measured_tree> measured{
        {.shape = {}, .accepted_length = 1, .scored_length = 1, .tokens_per_second = 1000 / cost.pass(1)}};
    for (std::size_t depth = 1; depth <= all.front()->confidences.front().size(); ++depth) {
        tree::growth state{.depth = depth, .order = {}, .lengths = {}};
        tree::grow(
            state, chosen.nodes, all.size(),
            [&](const auto& trees, std::size_t part) { return joint_replay(trees, *all[part]); }, [](const auto&) {});
        for (std::size_t nodes = 1; nodes <= state.order.size(); ++nodes) {
            const topology shape = state.shape(nodes);
            if (shape.depth() < depth) continue;  // the tree of a smaller depth, too
            const totals own = total_of(policy::tree_static(shape), all, cost);
            measured.push_back({shape, own.accepted_length(), state.lengths[nodes - 1], own.tokens_per_second()});
        }
    }
    return measured;
}

json as_json(const tree::measured_tree& of) {
    return {{"paths", tree::paths_of(of.shape)},
            {"accepted_length", of.accepted_length},
            {"scored_length", of.scored_length},
            {"tokens_per_second", of.tokens_per_second}};
}

json as_json(const std::vector<replayed_round>& rounds) {
    json list = json::array();
    for (const auto& each : rounds) {
        list.push_back(
            {each.place, each.decided.drafted, each.decided.accepted, std::round(1e4 * each.milliseconds) / 1e4});
    }
    return list;
}

json as_json(const recorded& of) {
    json places = json::array();
    for (std::size_t p = 0; p < of.tokens.size(); ++p) {
        places.push_back({{"entropy", of.entropy[p]},
                          {"top1", of.top1[p]},
                          {"confidences", of.confidences[p]},
                          {"chain", of.chains[p]},
                          {"ranks", of.ranks[p]}});
    }
    return {{"task", of.task},     {"prompt", of.prompt},         {"temperature", of.temperature}, {"seed", of.seed},
            {"tokens", of.tokens}, {"places", std::move(places)}, {"rounds", json::object()}};
}

/// The threshold of the path value, as augur grow sweeps it.
double swept(const tree::bank& bank, const policy::tree_hysteresis_options& options, const texts& all,
             const costs& cost, std::size_t count) {
    std::vector<double> values;
    for (const recorded* text : all) {
        for (const auto& round :
             replay(policy::tree_hysteresis<policy::tree_feature::path_value>(bank, {.on = 0.5}, options), *text, cost,
                    options.feature.depth)) {
            values.push_back(round.decided_on.target_confidence * round.decided_on.path_value);
        }
    }
    std::vector<tree::swept_threshold> tried;
    for (const double on : tree::thresholds_from(values, count)) {
        const policy::tree_hysteresis<policy::tree_feature::path_value> policy(bank, {.on = on}, options);
        tried.push_back({on, total_of(policy, all, cost, options.feature.depth).tokens_per_second()});
    }
    return tree::best_of(tried).threshold;
}

/// All rounds of a task at a temperature, into `entries`, of which text number i is `all[i]`.
json schedule(const texts& all, std::vector<json*> entries, const topology& published, const costs& cost,
              const settings& chosen) {
    texts calibration;
    std::copy_if(all.begin(), all.end(), std::back_inserter(calibration),
                 [&](const recorded* each) { return each->prompt < chosen.grow; });
    const auto measured = grown_trees(calibration, cost, chosen);
    const tree::bank bank = tree::throughput_frontier(measured);
    const auto note = [&](const char* name, const auto& policy, std::size_t ahead = 0) {
        for (std::size_t i = 0; i < all.size(); ++i)
            (*entries[i])["rounds"][name] = as_json(replay(policy, *all[i], cost, ahead));
    };
    json out{{"task", all.front()->task},
             {"temperature", all.front()->temperature},
             {"grown", json::array()},
             {"bank", json::array()}};
    for (const auto& each : measured) out["grown"].push_back(as_json(each));
    for (std::size_t i = 0; i < bank.size(); ++i) out["bank"].push_back(as_json(bank[i]));
    note("plain", policy::tree_static());
    note("published", policy::tree_static(published));
    note("static", policy::tree_static(bank.shape(bank.fastest())));
    note("cost_aware", policy::cost_aware<draft_shape::tree>());
    if (bank.size() == 1) return out;
    const tree::tree_pair pair = tree::pair_of(bank);
    const std::size_t depth = bank.shape(pair.aggressive).depth();
    const policy::tree_hysteresis_options options{
        .conservative = pair.conservative, .aggressive = pair.aggressive, .feature = {.depth = depth}};
    const double threshold = swept(bank, options, calibration, cost, chosen.thresholds);
    note("threshold", policy::tree_hysteresis<policy::tree_feature::path_value>(bank, {.on = threshold}, options),
         depth);
    out.update({{"conservative", pair.conservative},
                {"aggressive", pair.aggressive},
                {"depth", depth},
                {"threshold", threshold}});
    return out;
}

std::vector<recorded> record_all(const settings& chosen, topology& published) {
    llama::load_options options;
    options.weights = format_named(chosen.weights);
    options.threads = chosen.threads;
    const auto target = llama::host_model::load(chosen.model, options);
    const auto heads = llama::draft_heads::load(chosen.heads, "hydra", target, options);
    published = published.within(heads.head_count());
    const auto vocabulary = io::read_vocabulary(io::gguf_file(chosen.model));
    const io::tokenizer words(vocabulary);
    decode::options asked;
    asked.stop.max_tokens = chosen.max_tokens;
    asked.stop.stop_tokens.assign(words.end_tokens().begin(), words.end_tokens().end());
    std::vector<recorded> all;
    std::map<std::string, std::size_t> prompts;
    for (const prompt& each : read_prompts(chosen.prompts, 0, true, words, vocabulary)) {
        if (std::find(chosen.tasks.begin(), chosen.tasks.end(), each.task) == chosen.tasks.end()) continue;
        const std::size_t number = prompts[each.task]++;
        for (asked.seed = 0; asked.seed <= chosen.seeds; ++asked.seed) {
            recorded kept{.task = each.task,
                          .prompt = number,
                          .temperature = asked.seed == 0 ? 0 : chosen.temperature,
                          .seed = asked.seed};
            asked.sampling.temperature.value = kept.temperature;
            const auto record = [&](const auto& criterion) {
                record_text(target, heads, each.tokens, asked, criterion, kept);
                // Of a prompt of each task it is seen that rounds come to what the ranks say.
                if (number == 0 && asked.seed <= 1)
                    check_replay(target, heads, each.tokens, asked, criterion, published, kept);
            };
            asked.seed == 0 ? record(accept::exact{}) : record(accept::coupled{});
            if (kept.tokens.size() > heads.head_count()) all.push_back(std::move(kept));
        }
        std::fprintf(stderr, "features: %s, prompt %zu\n", each.task.c_str(), number);
    }
    return all;
}

void run(const settings& chosen) {
    std::ifstream tree(chosen.published);
    if (!tree) detail::fail("cannot read ", chosen.published);
    topology published = topology::of_paths(json::parse(tree).get<std::vector<tree::path>>());
    const costs cost{chosen.rows, chosen.verify_ms, chosen.row_ms};
    if (cost.rows.size() < 2 || cost.rows.size() != cost.milliseconds.size()) {
        detail::fail("--rows has ", cost.rows.size(), " numbers and --verify-ms ", cost.milliseconds.size(),
                     "; they go in pairs, two at least");
    }
    const std::vector<recorded> all = record_all(chosen, published);
    json out{{"texts", json::array()}, {"tasks", json::array()}, {"published", tree::paths_of(published)},
             {"grow", chosen.grow},    {"rows", cost.rows},      {"verify_ms", cost.milliseconds},
             {"row_ms", cost.head_row}};
    for (const recorded& each : all) out["texts"].push_back(as_json(each));
    for (const std::string& task : chosen.tasks) {
        for (const float temperature : {0.0f, chosen.temperature}) {
            texts some;
            std::vector<json*> into;
            for (std::size_t i = 0; i < all.size(); ++i) {
                if (all[i].task != task || all[i].temperature != temperature) continue;
                some.push_back(&all[i]);
                into.push_back(&out["texts"][i]);
            }
            if (!some.empty()) out["tasks"].push_back(schedule(some, into, published, cost, chosen));
        }
    }
    std::ofstream file(chosen.json_file);
    if (!(file << out << '\n' << std::flush)) detail::fail("cannot write ", chosen.json_file);
}

}  // namespace

int main(int argc, char** argv) {
    settings chosen;
    CLI::App app("What a scheduler of draft trees can know at every place of a text, and what trees accept there");
    app.add_option("--model", chosen.model, "the target, a GGUF file")->required();
    app.add_option("--heads", chosen.heads, "the draft checkpoint hydra of its draft bundle")->required();
    app.add_option("--prompts", chosen.prompts, "JSON lines with task and prompt")->required();
    app.add_option("--published", chosen.published, "the default tree, as paths")->required();
    app.add_option("--json", chosen.json_file, "where the result goes")->required();
    app.add_option("--weights", chosen.weights)->capture_default_str();
    app.add_option("--tasks", chosen.tasks)->delimiter(',')->capture_default_str();
    app.add_option("--grow", chosen.grow, "prompts of each task for trees and thresholds")->capture_default_str();
    app.add_option("--seeds", chosen.seeds, "texts at the temperature of each prompt")->capture_default_str();
    app.add_option("--temperature", chosen.temperature)->capture_default_str();
    app.add_option("--max-tokens", chosen.max_tokens)->capture_default_str();
    app.add_option("--nodes", chosen.nodes, "of the largest tree")->capture_default_str();
    app.add_option("--thresholds", chosen.thresholds, "that are tried")->capture_default_str();
    app.add_option("--threads", chosen.threads, "0: one per core")->capture_default_str();
    app.add_option("--rows", chosen.rows, "rows of the passes whose time is known")
        ->delimiter(',')
        ->capture_default_str();
    app.add_option("--verify-ms", chosen.verify_ms, "their milliseconds")->delimiter(',')->capture_default_str();
    app.add_option("--row-ms", chosen.row_ms, "milliseconds of a head's row")->capture_default_str();
    CLI11_PARSE(app, argc, argv);
    try {
        run(chosen);
        return 0;
    } catch (const std::exception& caught) {
        std::cerr << "bench_features: " << caught.what() << '\n';
        return 1;
    }
}
