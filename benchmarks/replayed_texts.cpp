// Prompt lookup on texts that were written before, where passes take given times: cost_aware beside every fixed length.
//
//   bench_replayed_texts TEXTS.jsonl [--tokens N] [--lookup-min N] [--noise X] [--each] TABLE...
//
// TEXTS: a line for each text, as `augur generate --json` prints it (prompt_ids and ids). TABLE: rows and what a pass
// over them takes, as 1=12.2,4=30.1,8=48.9; on the line through its neighbours in between and beyond. --tokens: of each
// text only the first so many. --noise: what the policy is told varies by this share of itself, and one pass in thirty
// takes 2.5 times as long; what is counted does not. No model runs and no clock is read, so that the figures are the
// same everywhere. Prints for each table what cost_aware has, without and with these times known before, of the better
// of both, plain decoding or the best of the fixed lengths 1 to 16, and of plain decoding: the median of the texts and
// the worst; with --each for every text, too.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <augur/augur.hpp>
#include <cstddef>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace augur;

/// A model that continues every prefix of a text as the text does.
class replayed_model {
 public:
    using sequence_type = std::vector<token>;
    static constexpr bool bitwise_rows = true;

    explicit replayed_model(std::vector<token> text)
        : text_(std::move(text)), vocabulary_(static_cast<std::size_t>(*std::ranges::max_element(text_)) + 1) {}

    std::size_t vocabulary_size() const { return vocabulary_; }
    static std::size_t context_length() { return std::size_t{1} << 20; }
    static sequence_type make_sequence() { return {}; }
    static std::size_t length(const sequence_type& sequence) { return sequence.size(); }
    static void truncate(sequence_type& sequence, std::size_t length) { sequence.resize(length); }
    std::vector<logit_row> extend(sequence_type& sequence, std::span<const token> tokens) const {
        return extend(sequence, tokens, tokens.size());
    }
    std::vector<logit_row> extend(sequence_type& sequence, std::span<const token> tokens, std::size_t last) const {
        sequence.insert(sequence.end(), tokens.begin(), tokens.end());
        rows_.resize(std::max(rows_.size(), last));
        std::vector<logit_row> rows;
        for (std::size_t i = 0; i < last; ++i) {
            const std::size_t next = sequence.size() - last + i + 1;
            rows_[i].assign(vocabulary_, 0);
            rows_[i][next < text_.size() ? static_cast<std::size_t>(text_[next]) : 0] = 1;
            rows.emplace_back(rows_[i]);
        }
        return rows;
    }

 private:
    std::vector<token> text_;
    std::size_t vocabulary_;
    mutable std::vector<std::vector<float>> rows_{};
};
static_assert(ScoresLastRows<replayed_model>);

/// What a pass over 1, 2, ... rows takes.
std::vector<double> read_table(const std::string& table, std::size_t rows) {
    std::map<double, double> known;
    std::istringstream entries(table);
    for (std::string entry; std::getline(entries, entry, ',');) {
        const std::size_t equals = entry.find('=');
        if (equals == std::string::npos) fail("a table is 1=SECONDS,ROWS=SECONDS,...; here is ", table);
        known[std::stod(entry.substr(0, equals))] = std::stod(entry.substr(equals + 1));
    }
    if (known.size() < 2 || !known.contains(1)) fail(table, " has not one row and another number of them");
    std::vector<double> passes;
    while (passes.size() < rows) {
        const double at = static_cast<double>(passes.size() + 1);
        auto above = known.lower_bound(at);
        if (above == known.end()) --above;
        if (above == known.begin()) ++above;
        const auto below = std::prev(above);
        const double slope = (above->second - below->second) / (above->first - below->first);
        passes.push_back(below->second + slope * (at - below->first));
    }
    return passes;
}

struct text {
    std::string name;
    std::vector<token> prompt, generated;
};

/// With tokens named by the order of their first occurrences, so that rows are short.
text read_text(const std::string& line, std::size_t number, std::size_t most) {
    const auto record = nlohmann::json::parse(line);
    text result{record.value("id", "text " + std::to_string(number)), record.at("prompt_ids"), record.at("ids")};
    result.generated.resize(std::min(result.generated.size(), most));
    std::map<token, token> names;
    for (auto* part : {&result.prompt, &result.generated}) {
        for (token& each : *part) each = names.try_emplace(each, static_cast<token>(names.size())).first->second;
    }
    return result;
}

/// A policy that is told what rounds take where passes take given times, with noise, and adds them up without.
template <class Policy>
struct with_given_times {
    static constexpr signals_read reads = policy::cost_aware<>::reads;
    Policy inner;
    std::span<const double> passes;
    double noise;
    double* spent;
    std::mt19937 random{1};

    draft_plan plan(const observation& seen) const {
        if constexpr (requires { inner.plan(seen); }) {
            return inner.plan(seen);
        } else {
            return {.length = inner.length(seen)};
        }
    }
    void learn(outcome happened) {
        const double takes = passes[happened.drafted];
        *spent += takes;
        happened.draft_seconds = happened.accept_seconds = 0;
        happened.verify_seconds = takes * disturbed();
        policy::learn(inner, happened);
    }
    friend std::ostream& operator<<(std::ostream& out, const with_given_times& p) { return out << p.inner; }

 private:
    double disturbed() {
        if (!(noise > 0)) return 1;
        const double share = static_cast<double>(random()) * 0x1.0p-32;
        return random() % 30 == 0 ? 2.5 : 1 + noise * (2 * share - 1);
    }
};

struct settings {
    std::string texts;
    std::vector<std::string> tables;
    std::size_t tokens = 96, lookup_min = 1;
    double noise = 0;
    bool each = false;
};

/// Speed over plain decoding.
template <class Policy>
double speed(const text& of, std::span<const double> passes, const settings& set, Policy policy) {
    std::vector<token> all = of.prompt;
    all.insert(all.end(), of.generated.begin(), of.generated.end());
    const replayed_model model(all);
    double spent = 0;
    const with_given_times<Policy> timed{std::move(policy), passes, set.noise, &spent};
    decode::options chosen{.stop = {.max_tokens = of.generated.size()}};
    chosen.sampling.temperature.value = 0;
    const auto scheme = speculate(draft::prompt_lookup(set.lookup_min, 8), model, timed, accept::exact{});
    if (decode::generate(scheme, of.prompt, chosen).tokens != of.generated) fail(of.name, ": another text was written");
    return static_cast<double>(of.generated.size()) * passes[0] / spent;
}

struct shares {
    std::vector<double> of_all{};
    void print(const char* what) {
        std::ranges::sort(of_all);
        std::printf("  %s: median %.3f, worst %.3f", what, of_all[of_all.size() / 2], of_all.front());
    }
};

void compare(const std::vector<text>& texts, const std::string& table, const settings& set) {
    constexpr std::size_t longest = 16;
    const std::vector<double> passes = read_table(table, 64);
    std::array<shares, 2> of_best, of_plain;
    std::printf("%s\n", table.c_str());
    for (const text& each : texts) {
        std::pair<double, std::size_t> best{};
        for (std::size_t length = 1; length <= longest; ++length) {
            best = std::max(best, {speed(each, passes, set, policy::fixed_length{length}), length});
        }
        const std::array found = {speed(each, passes, set, policy::cost_aware<>()),
                                  speed(each, passes, set, policy::cost_aware<>({.verify_seconds = passes}))};
        for (std::size_t known = 0; known < 2; ++known) {
            of_best[known].of_all.push_back(found[known] / std::max(1.0, best.first));
            of_plain[known].of_all.push_back(found[known]);
        }
        if (!set.each) continue;
        std::printf("  %-32s fixed length %2zu %.3f, cost_aware %.3f (%.3f), with known times %.3f (%.3f)\n",
                    each.name.c_str(), best.second, best.first, found[0], of_best[0].of_all.back(), found[1],
                    of_best[1].of_all.back());
    }
    for (std::size_t known = 0; known < 2; ++known) {
        std::printf("  %s", known != 0 ? "times known before" : "cost_aware        ");
        of_best[known].print("of the best");
        of_plain[known].print("of plain");
        std::printf("\n");
    }
}

}  // namespace

int main(int argc, char** argv) {
    try {
        settings set;
        CLI::App app("Prompt lookup on texts that were written before, where passes take given times");
        app.add_option("texts", set.texts, "Texts, a JSON object a line")->required();
        app.add_option("tables", set.tables, "Rows and what a pass over them takes, as 1=12.2,4=30.1")->required();
        app.add_option("--tokens", set.tokens, "Of each text only the first so many");
        app.add_option("--lookup-min", set.lookup_min, "Shortest n-gram to match");
        app.add_option("--noise", set.noise, "Share by which times vary that the policy is told");
        app.add_flag("--each", set.each, "Print every text");
        CLI11_PARSE(app, argc, argv);
        std::ifstream lines(set.texts);
        if (!lines) fail("cannot read ", set.texts);
        std::vector<text> texts;
        for (std::string line; std::getline(lines, line);) {
            texts.push_back(read_text(line, texts.size() + 1, set.tokens));
        }
        if (texts.empty()) fail("no texts in ", set.texts);
        for (const std::string& table : set.tables) compare(texts, table, set);
    } catch (const std::exception& failed) {
        std::fprintf(stderr, "error: %s\n", failed.what());
        return 1;
    }
}
