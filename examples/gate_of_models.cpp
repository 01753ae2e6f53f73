// A gate over what language models see: the last hidden states of a draft, a qualifier and their target.
//
// The three read the same texts. Which map leads from the states of one to those of the next is fitted on half of the
// texts; on the others the gate asks, position by position, whether a model sees what the one below saw. Beside it: how
// the target's own layers come to agree with its last one, the deeper the more.
//
// Needs SmolLM2-135M-Instruct.Q4_1.gguf (examples/fetch.py) in the folder that AUGUR_MODEL_DIRECTORY names; without it
// exits with code 77, which tests take for skipped.

#include <algorithm>
#include <augur/encoder/gate.hpp>
#include <augur/io/files/gguf.hpp>
#include <augur/io/files/json.hpp>
#include <augur/io/text/read_vocabulary.hpp>
#include <augur/io/text/tokenizer.hpp>
#include <augur/llama/draft_checkpoint.hpp>
#include <augur/llama/qualifier.hpp>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <iomanip>
#include <iostream>
#include <span>
#include <string>
#include <vector>

namespace {

using augur::token;
using augur::encoder::cosine_distance;
using augur::encoder::feature_samples;
using augur::encoder::features;
using augur::encoder::linear;
using augur::llama::host_model;

constexpr double ridge = 100;
constexpr std::size_t depths[] = {5, 10, 20, 30};

/// Half of the texts to fit maps on, the others to look at.
struct halves {
    std::vector<std::vector<token>> fitted, held_out;
};

halves read_texts(const augur::io::tokenizer& words) {
    halves texts;
    std::ifstream file(AUGUR_EXAMPLE_TEXTS);
    std::size_t count = 0;
    for (std::string line; std::getline(file, line); ++count) {
        const auto entry = augur::io::parse_json(line, AUGUR_EXAMPLE_TEXTS);
        auto& half = count % 2 == 0 ? texts.fitted : texts.held_out;
        half.push_back(words.encode(entry.at("prompt").get<std::string>()));
    }
    if (texts.held_out.empty()) augur::detail::fail(AUGUR_EXAMPLE_TEXTS, " holds ", count, " texts; two are needed");
    return texts;
}

/// As the last layer's states are, before its rows are made.
void normalise(std::span<float> state, const std::vector<float>& weights) {
    float squares = 0;
    for (const float each : state) squares += each * each;
    const float scale = 1 / std::sqrt(squares / static_cast<float>(state.size()) + 1e-5f);
    for (std::size_t i = 0; i < state.size(); ++i) state[i] *= scale * weights[i];
}

/// A row for every position but a text's first, which stands for no context: states after so many layers.
feature_samples states_of(const host_model& model, const std::vector<std::vector<token>>& texts, std::size_t depth) {
    std::vector<float> all;
    for (const auto& text : texts) {
        auto sequence = model.make_sequence();
        const bool whole = depth >= model.layer_count();
        const augur::pass<augur::llama::sequence> reading{.sequence = &sequence,
                                                          .tokens = text,
                                                          .rows = 0,
                                                          .to_layer = whole ? augur::all_layers : depth,
                                                          .states = whole};
        model.run(std::span(&reading, 1));
        const auto states = model.hidden(sequence);
        for (std::size_t i = 1; i < states.size(); ++i) {
            const auto added = all.insert(all.end(), states[i].begin(), states[i].end());
            if (!whole) normalise({added, all.end()}, model.parameters().final_norm);
        }
    }
    using rows = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
    const auto width = static_cast<Eigen::Index>(model.hidden_size());
    return Eigen::Map<const rows>(all.data(), static_cast<Eigen::Index>(all.size()) / width, width).cast<double>();
}

/// The states of one model, made beforehand: they do not depend on who reads along.
struct reader {
    feature_samples fitted, held_out;
    double layers;  ///< what reading a position costs

    reader(const host_model& model, const halves& texts, std::size_t depth = augur::all_layers)
        : fitted(states_of(model, texts.fitted, depth)),
          held_out(states_of(model, texts.held_out, depth)),
          layers(static_cast<double>(std::min(depth, model.layer_count()))) {}

    features operator()(Eigen::Index position) const { return held_out.row(position).transpose(); }
};

struct column {
    double value;
    int width, digits;
};

void print(const std::string& name, std::initializer_list<column> columns) {
    std::cout << "  " << std::left << std::setw(26) << name << std::right << std::fixed;
    for (const column& each : columns)
        std::cout << std::setw(each.width) << std::setprecision(each.digits) << each.value;
    std::cout << '\n';
}

/// Mean distance of aligned states from the next model's, and the shares that are within the thresholds. Returns the
/// mean.
double print_agreement(const std::string& name, const reader& lower, const reader& upper) {
    const auto map = linear::fit(lower.fitted, upper.fitted, ridge);
    const Eigen::Index positions = lower.held_out.rows();
    double distance = 0, strict = 0, relaxed = 0;
    const auto thresholds = augur::encoder::recommended_thresholds(2);
    for (Eigen::Index i = 0; i < positions; ++i) {
        const double each = cosine_distance::between(upper(i), map(lower(i)));
        distance += each;
        strict += each <= thresholds.front() ? 100 : 0;
        relaxed += each <= thresholds.back() ? 100 : 0;
    }
    const auto count = static_cast<double>(positions);
    print(name, {{lower.layers, 8, 0}, {distance / count, 10, 3}, {strict / count, 10, 1}, {relaxed / count, 10, 1}});
    return distance / count;
}

void print_rules(const reader& draft, const reader& qualifier, const reader& target) {
    const auto to_qualifier = linear::fit(draft.fitted, qualifier.fitted, ridge);
    const auto to_target = linear::fit(qualifier.fitted, target.fitted, ridge);
    const auto gate = augur::gated(draft, to_qualifier, qualifier, to_target, target);
    const double layers[] = {draft.layers, qualifier.layers, target.layers};
    const Eigen::Index positions = target.held_out.rows();
    const auto count = static_cast<double>(positions);
    const auto print_rule = [&](const char* name, const auto& rule) {
        double cost = 0, distance = 0;
        augur::encoder::gate_statistics<3> counts;
        for (Eigen::Index i = 0; i < positions; ++i) {
            const auto result = rule(i);
            counts.add(result);
            for (std::size_t stage = 0; stage < 3; ++stage) cost += result.ran[stage] ? layers[stage] : 0;
            distance += cosine_distance::between(target(i), result.accepted);
        }
        const auto share = [&](std::size_t exit) { return 100 * static_cast<double>(counts.exits[exit]) / count; };
        print(
            name,
            {{cost / count, 8, 1}, {distance / count, 10, 3}, {share(0), 10, 1}, {share(1), 10, 1}, {share(2), 10, 1}});
    };
    std::cout << "\n  rule                        layers  distance     draft qualifier    target, % of positions\n";
    print_rule("first agreement", [&](Eigen::Index i) { return gate.first_agreement(i, i, i); });
    print_rule("first confirmation", [&](Eigen::Index i) { return gate.first_confirmation(i, i, i); });
    print_rule("as published", [&](Eigen::Index i) { return gate.as_published(i, i, i); });
}

int show(const std::string& path) {
    const auto target = host_model::load(path);
    const std::string family = AUGUR_FAMILY_DIRECTORY "/smollm2-135m/";
    const auto draft = augur::llama::load_draft(family + "draft.gguf", target);
    const auto qualifier = augur::llama::load_qualifier(family + "qualifier.gguf", target);
    const augur::io::tokenizer words(augur::io::read_vocabulary(augur::io::gguf_file(path)));
    const halves texts = read_texts(words);
    const reader of_draft(draft, texts), of_qualifier(qualifier, texts), of_target(target, texts);
    std::cout << "Maps fitted on " << of_target.fitted.rows() << " positions, agreement on "
              << of_target.held_out.rows()
              << " others\n\n  link                        layers  distance  <= 0.3, %  <= 0.5, %\n";
    print_agreement("draft to qualifier", of_draft, of_qualifier);
    print_agreement("qualifier to target", of_qualifier, of_target);
    print_agreement("draft to target", of_draft, of_target);
    std::vector<double> distances;
    for (const std::size_t depth : depths) {
        distances.push_back(print_agreement("target to its last layer", reader(target, texts, depth), of_target));
    }
    print_rules(of_draft, of_qualifier, of_target);
    return std::is_sorted(distances.rbegin(), distances.rend()) ? 0 : 1;  // deeper layers agree more
}

}  // namespace

int main() {
    const char* const folder = std::getenv("AUGUR_MODEL_DIRECTORY");
    const std::filesystem::path path =
        std::filesystem::path(folder == nullptr ? "" : folder) / "SmolLM2-135M-Instruct.Q4_1.gguf";
    if (folder == nullptr || !std::filesystem::exists(path)) {
        std::cout << "skipped: there is no " << path.filename().string() << " in AUGUR_MODEL_DIRECTORY, which is "
                  << (folder == nullptr ? "not set" : "'" + std::string(folder) + "'") << " (examples/fetch.py)\n";
        return 77;
    }
    try {
        return show(path.string());
    } catch (const std::exception& problem) {
        std::cerr << problem.what() << '\n';
        return 1;
    }
}
