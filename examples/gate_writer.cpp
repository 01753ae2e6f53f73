// A gate of two encoders before a decoder that writes.
//
// A sketch of a scene is cheap to encode and often says as much as the picture. The gate compares what both encoders
// saw and hands one's features to the decoder, which writes a sentence from them. Where they disagree the sketch is
// not lost: what the decoder would write from it is a draft for what it writes from the picture, so that the sentence
// is the picture's, in fewer passes.

#include <augur/accept/exact.hpp>
#include <augur/decode/generate.hpp>
#include <augur/encoder/gate.hpp>
#include <augur/policy/fixed_length.hpp>
#include <augur/scheme/speculator.hpp>
#include <augur/testing/models.hpp>
#include <cmath>
#include <cstddef>
#include <iostream>
#include <random>
#include <string>
#include <vector>

namespace {

using augur::token;
using augur::encoder::features;

constexpr Eigen::Index traits = 4;
constexpr int training = 300, scenes = 400;
constexpr double agrees_within = 0.1;  // cosine distance

struct scene {
    features truth;
    double blur;  ///< of the sketch
    unsigned seed;
};

scene drawn(std::mt19937& random) {
    std::normal_distribution<double> normal;
    const double blur = std::uniform_real_distribution(0.0, 1.0)(random);
    return {features::NullaryExpr(traits, [&] { return normal(random); }), blur, static_cast<unsigned>(random())};
}

/// What a sensor sees, up to its noise, as features of its own.
features seen(const scene& of, double noise, unsigned sensor) {
    std::mt19937 random(of.seed + sensor);
    std::normal_distribution<double> normal(0, 1);
    return of.truth + noise * features::NullaryExpr(traits, [&] { return normal(random); });
}
features sketch(const scene& of) {
    return 2 * seen(of, of.blur, 1).reverse();
}
features picture(const scene& of) {
    return seen(of, 0.05, 2);
}

/// Two words for each trait, one for its presence and one for its absence, then the end of the sentence.
const std::vector<std::string> words{"a", "small", "large", "green", "red", "round", "flat", "box", "lamp", "."};
constexpr token end_of_sentence = 9;

/// The decoder after features: a model whose rows depend on them, and on how much of the sentence there is.
augur::testing::function_model writer(const features& from) {
    return {words.size(), 16, [from](std::span<const token> before, std::span<float> row) {
                std::fill(row.begin(), row.end(), -20.0f);
                const std::size_t trait = before.size() - 1;
                if (trait >= static_cast<std::size_t>(traits)) {
                    row[end_of_sentence] = 0;
                    return;
                }
                const auto present = static_cast<float>(from[static_cast<Eigen::Index>(trait)]);
                row[1 + 2 * trait] = present;
                row[2 + 2 * trait] = -present;
            }};
}

struct sentence {
    std::vector<token> ids;
    std::size_t passes;
};

sentence written(const auto& scheme) {
    augur::decode::options greedy;
    greedy.sampling.temperature = {0};
    greedy.stop.stop_tokens = {end_of_sentence};
    const auto decoded = augur::decode::generate(scheme, std::vector<token>{0}, greedy);
    return {decoded.tokens, decoded.counts.rounds()};
}

}  // namespace

int main() {
    std::mt19937 random(4);
    augur::encoder::feature_samples of_sketches(training, traits), of_pictures(training, traits);
    for (Eigen::Index i = 0; i < training; ++i) {
        const scene each = drawn(random);
        of_sketches.row(i) = sketch(each);
        of_pictures.row(i) = picture(each);
    }
    const auto to_picture = augur::encoder::linear::fit(of_sketches, of_pictures);
    const auto gate = augur::gated(sketch, to_picture, picture).with({.thresholds = {agrees_within}});

    int agreed = 0, same = 0, same_ungated = 0, others_kept = 0;
    std::size_t passes = 0, tokens = 0;
    for (int i = 0; i < scenes; ++i) {
        const scene each = drawn(random);
        const auto best = writer(picture(each)), cheap = writer(to_picture(sketch(each)));
        const auto wanted = written(augur::plain(best)).ids;
        const bool is_same = written(augur::plain(cheap)).ids == wanted;
        same_ungated += is_same;
        const auto result = gate.as_published(each, each);  // the sketch's features where both agree
        if (result.exit == 0) {
            ++agreed;
            same += is_same && written(augur::plain(writer(result.accepted))).ids == wanted;
            continue;
        }
        const auto verified = written(
            augur::speculate(cheap, writer(result.accepted), augur::policy::fixed_length{4}, augur::accept::exact{}));
        others_kept += verified.ids == wanted;
        passes += verified.passes;
        tokens += verified.ids.size();
        if (i < 8) {
            for (const token id : verified.ids) std::cout << words[static_cast<std::size_t>(id)] << ' ';
            std::cout << '(' << verified.passes << " passes)\n";
        }
    }
    const double share = double(same) / agreed, ungated = double(same_ungated) / scenes;
    std::cout << "The sketch's features were accepted in " << agreed << " of " << scenes << " scenes; " << 100 * share
              << " % of these sentences are the picture's, of all scenes' " << 100 * ungated << " %.\nElsewhere "
              << others_kept << " of " << scenes - agreed << " are, in " << double(passes) / double(scenes - agreed)
              << " passes of " << double(tokens) / double(scenes - agreed) << " tokens.\n";
    return agreed > 0 && share > ungated && others_kept == scenes - agreed && passes < tokens ? 0 : 1;
}
