// Plans with models that are not here: cascades of mocks at the speeds and divergences of real ones, on a virtual
// clock.
//
//   bench_plan [--tokens 4000] [--draft-speed 250] [--qualifier-speed 120] [--target-speed 60] ...
//
// The draft's rows are the qualifier's with noise, the qualifier's the target's with noise. Speeds are passes a second.
// Prints how far apart the rows are, what SD, FSD, PSD_A and three forms of PSD_F yield at the given thresholds and
// lengths, and how that depends on them.

#include <CLI/CLI.hpp>
#include <augur/augur.hpp>
#include <augur/testing/costed_model.hpp>
#include <augur/testing/models.hpp>
#include <cstdio>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

namespace {

using namespace augur;
using divergence = measure::kl;
using policy::fixed_length;

struct settings {
    std::size_t tokens = 4000, vocabulary = 64, draft_length = 3, qualifier_length = 8;
    double draft_speed = 250, qualifier_speed = 120, target_speed = 60;
    float draft_noise = 1.2f, qualifier_noise = 0.9f, spread = 4;
    double qualifier_threshold = 0.4, target_threshold = 0.5;
};

/// `model` with another model's logits added, of which some rows have much and some little.
testing::function_model blurred(const testing::function_model& model, float noise, std::uint64_t seed) {
    const auto other = testing::hashed_model(model.vocabulary_size(), seed, 1);
    return {model.vocabulary_size(), model.context_length(),
            [model, other, noise](std::span<const token> before, std::span<float> row) {
                std::vector<float> added(row.size());
                other.fill_row(before, added);
                model.fill_row(before, row);
                const float share = 1 + added.front();  // 0 to 2
                for (std::size_t i = 0; i < row.size(); ++i) row[i] += noise * share * added[i];
            }};
}

/// The three models on one clock.
struct family {
    explicit family(const settings& of)
        : clock(std::make_shared<testing::virtual_clock>()),
          large(testing::hashed_model(of.vocabulary, 1, of.spread, 4 * of.tokens)),
          middle(blurred(large, of.qualifier_noise, 2)),
          small(blurred(middle, of.draft_noise, 3)),
          target(large, {1 / of.target_speed}, clock),
          qualifier(middle, {1 / of.qualifier_speed}, clock),
          draft(small, {1 / of.draft_speed}, clock) {}

    using costed = testing::costed_model<testing::function_model>;
    std::shared_ptr<testing::virtual_clock> clock;
    testing::function_model large, middle, small;
    costed target, qualifier, draft;
};

/// Tokens a second of a decoding.
double yield(const family& of, const auto& scheme, const settings& chosen) {
    decode::options options;
    options.stop.max_tokens = chosen.tokens;
    of.clock->seconds = 0;
    const auto decoded = decode::generate<any_guarantee>(scheme, std::vector<token>{1, 2, 3}, options);
    return static_cast<double>(decoded.tokens.size()) / of.clock->seconds;
}

/// As published the divergence rule stands alone; "rejection first" runs it after rejection sampling.
struct yields {
    double sd, fsd, psd_a, psd_f, psd_f_by_drawn_rows, fsd_rejecting, psd_a_rejecting, psd_f_rejecting;
};

template <class Rule>
auto link_by(std::size_t length, double threshold) {
    return scheme::model_link{fixed_length{length}, Rule(threshold)};
}

yields run(const settings& chosen) {
    using published = accept::fuzzy<divergence>;
    using rejecting = accept::rejection_then_fuzzy<divergence>;
    const family of(chosen);
    const scheme::model_link exact{fixed_length{chosen.draft_length}, accept::rejection_sampling{}};
    const auto two = [&](const auto& link) { return yield(of, cascaded(of.draft, link, of.target), chosen); };
    const auto three = [&](const auto& first, const auto& last) {
        return yield(of, cascaded(of.draft, first, of.qualifier, last, of.target), chosen);
    };
    const auto of_two = [&]<class Rule>() { return two(link_by<Rule>(chosen.draft_length, chosen.target_threshold)); };
    const auto at_target = [&]<class Rule>() {
        return link_by<Rule>(chosen.qualifier_length, chosen.target_threshold);
    };
    const auto at_qualifier = [&]<class Rule>() {
        return link_by<Rule>(chosen.draft_length, chosen.qualifier_threshold);
    };
    const auto first = at_qualifier.operator()<published>(), last = at_target.operator()<published>();
    const auto first_rejecting = at_qualifier.operator()<rejecting>(),
               last_rejecting = at_target.operator()<rejecting>();
    return {two(exact),
            of_two.operator()<published>(),
            three(exact, last),
            yield(of, cascaded_as_published(of.draft, first, of.qualifier, last, of.target), chosen),
            three(first, last),
            of_two.operator()<rejecting>(),
            three(exact, last_rejecting),
            three(first_rejecting, last_rejecting)};
}

void print_row(const std::string& name, const yields& found) {
    std::printf("|%s|%.1f|", name.c_str(), found.sd);
    for (const double each : {found.fsd, found.psd_a, found.psd_f, found.psd_f_by_drawn_rows, found.fsd_rejecting,
                              found.psd_a_rejecting, found.psd_f_rejecting}) {
        std::printf("%.1f (%.2f)|", each, each / found.sd);
    }
    std::printf("\n");
}

void print_head(const char* what) {
    std::printf(
        "\n|%s|SD|FSD|PSD_A|PSD_F|PSD_F by drawn rows|FSD rejecting first|PSD_A rejecting first|PSD_F rejecting "
        "first|\n|-|-|-|-|-|-|-|-|-|\n",
        what);
}

/// Mean divergence of rows along a text of the target, and its share within the thresholds.
void print_divergences(const settings& chosen) {
    const family of(chosen);
    decode::options options;
    options.stop.max_tokens = 500;
    const auto text = decode::generate(plain(of.large), std::vector<token>{1, 2, 3}, options).tokens;
    const transform::pipeline softmax({}, chosen.vocabulary);
    double by_draft = 0, by_qualifier = 0, below = 0;
    std::vector<float> row(chosen.vocabulary);
    std::vector<token> before{1, 2, 3};
    for (const token next : text) {
        distribution rows[3];
        const prefix at{before};
        const testing::function_model* const models[] = {&of.large, &of.middle, &of.small};
        for (std::size_t i = 0; i < 3; ++i) {
            models[i]->fill_row(before, row);
            softmax.apply(row, at, rows[i]);
        }
        const auto apart = [](const distribution& a, const distribution& b) {
            return measure::divergence<measure::total_variation>(a, drafted_token<distribution>{0, &b}) / 500;
        };
        by_draft += apart(rows[0], rows[2]);
        by_qualifier += apart(rows[0], rows[1]);
        below += apart(rows[1], rows[2]);
        before.push_back(next);
    }
    std::printf("Mean total variation: target and draft %.2f, target and qualifier %.2f, qualifier and draft %.2f.\n",
                by_draft, by_qualifier, below);
}

void run_all(const settings& chosen) {
    print_divergences(chosen);
    print_head("tokens a second");
    print_row("as given", run(chosen));
    print_head("threshold of the qualifier");
    for (const double threshold : {0.0, 0.1, 0.2, 0.4, 0.8, 1.6}) {
        settings changed = chosen;
        changed.qualifier_threshold = threshold;
        print_row(std::to_string(threshold).substr(0, 3), run(changed));
    }
    print_head("threshold of the target");
    for (const double threshold : {0.0, 0.1, 0.2, 0.4, 0.8, 1.6}) {
        settings changed = chosen;
        changed.target_threshold = threshold;
        print_row(std::to_string(threshold).substr(0, 3), run(changed));
    }
    print_head("lengths of draft and qualifier");
    for (const auto& [draft, qualifier] : {std::pair{1, 2}, {2, 4}, {3, 8}, {5, 12}, {5, 25}, {10, 15}, {15, 25}}) {
        settings changed = chosen;
        changed.draft_length = static_cast<std::size_t>(draft);
        changed.qualifier_length = static_cast<std::size_t>(qualifier);
        print_row(std::to_string(draft) + ", " + std::to_string(qualifier), run(changed));
    }
}

}  // namespace

int main(int argc, char** argv) {
    settings chosen;
    CLI::App app("Cascades of mocks at given speeds and divergences");
    const auto option = [&app](const char* name, auto& value, const char* help) {
        app.add_option(name, value, help)->capture_default_str();
    };
    option("--tokens", chosen.tokens, "of each decoding");
    option("--vocabulary", chosen.vocabulary, "tokens");
    option("--spread", chosen.spread, "of the target's logits");
    option("--draft-speed", chosen.draft_speed, "passes a second");
    option("--qualifier-speed", chosen.qualifier_speed, "passes a second");
    option("--target-speed", chosen.target_speed, "passes a second");
    option("--draft-noise", chosen.draft_noise, "of the draft's logits, beside the qualifier's");
    option("--qualifier-noise", chosen.qualifier_noise, "of the qualifier's logits, beside the target's");
    option("--draft-length", chosen.draft_length, "tokens handed to the qualifier, or to the target of two");
    option("--qualifier-length", chosen.qualifier_length, "tokens handed to the target of three");
    option("--qualifier-threshold", chosen.qualifier_threshold, "nats (KL)");
    option("--target-threshold", chosen.target_threshold, "nats (KL)");
    CLI11_PARSE(app, argc, argv);
    try {
        run_all(chosen);
        return 0;
    } catch (const std::exception& caught) {
        std::cerr << "bench_plan: " << caught.what() << '\n';
        return 1;
    }
}
