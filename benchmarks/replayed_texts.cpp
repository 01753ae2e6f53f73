// Prompt lookup on texts that were written before, where passes take given times: cost_aware beside every fixed length.
//
//   bench_replayed_texts TEXTS.jsonl SECONDS...
//
// TEXTS: a line for each text, as `augur generate --json` prints it (prompt_ids and ids). SECONDS: of a pass over 1, 2,
// ... rows; each further row takes as much as the last. No model runs and no clock is read, so that the figures are the
// same everywhere. Prints for each text the speed over plain decoding of the best fixed length and of cost_aware,
// without and with these times known before, and at the end the means, and the worst beside the better of both, plain
// or the fixed length.

#include <algorithm>
#include <augur/augur.hpp>
#include <cstddef>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
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

double seconds_of(std::span<const double> passes, std::size_t rows) {
    if (rows <= passes.size()) return passes[rows - 1];
    return passes.back() + (passes.back() - passes[passes.size() - 2]) * static_cast<double>(rows - passes.size());
}

/// A policy that is told what rounds take where passes take given times, and adds that up.
template <class Policy>
struct with_given_times {
    static constexpr signals_read reads = policy::cost_aware<>::reads;
    Policy inner;
    std::span<const double> passes;
    double* spent;

    draft_plan plan(const observation& seen) const {
        if constexpr (requires { inner.plan(seen); }) {
            return inner.plan(seen);
        } else {
            return {.length = inner.length(seen)};
        }
    }
    void learn(outcome happened) {
        happened.draft_seconds = happened.accept_seconds = 0;
        happened.verify_seconds = seconds_of(passes, happened.drafted + 1);
        *spent += happened.verify_seconds;
        policy::learn(inner, happened);
    }
    friend std::ostream& operator<<(std::ostream& out, const with_given_times& p) { return out << p.inner; }
};

struct text {
    std::string id;
    std::vector<token> prompt, generated;
};

/// Speed over plain decoding.
template <class Policy>
double speed(const text& of, std::span<const double> passes, Policy policy) {
    std::vector<token> all = of.prompt;
    all.insert(all.end(), of.generated.begin(), of.generated.end());
    const replayed_model model(all);
    double spent = 0;
    const with_given_times<Policy> timed{std::move(policy), passes, &spent};
    decode::options chosen{.stop = {.max_tokens = of.generated.size()}};
    chosen.sampling.temperature.value = 0;
    const auto scheme = speculate(draft::prompt_lookup(1, 8), model, timed, accept::exact{});
    if (decode::generate(scheme, of.prompt, chosen).tokens != of.generated) fail(of.id, ": another text was written");
    return static_cast<double>(of.generated.size()) * passes[0] / spent;
}

void compare(std::istream& texts, const std::vector<double>& passes) {
    constexpr std::size_t longest = 10;
    double sums[2] = {}, worst[2] = {2, 2}, slowest[2] = {2, 2};
    std::size_t count = 0;
    for (std::string line; std::getline(texts, line); ++count) {
        const auto record = nlohmann::json::parse(line);
        const text of{"text " + std::to_string(count + 1), record.at("prompt_ids"), record.at("ids")};
        std::pair<double, std::size_t> best{};
        for (std::size_t length = 1; length <= longest; ++length) {
            best = std::max(best, {speed(of, passes, policy::fixed_length{length}), length});
        }
        const double found[2] = {speed(of, passes, policy::cost_aware<>()),
                                 speed(of, passes, policy::cost_aware<>({.verify_seconds = passes}))};
        std::printf("%s: fixed length %zu %.2f, cost_aware %.2f, with known times %.2f\n", of.id.c_str(), best.second,
                    best.first, found[0], found[1]);
        for (int known = 0; known < 2; ++known) {
            const double share = found[known] / std::max(1.0, best.first);
            sums[known] += share;
            worst[known] = std::min(worst[known], share);
            slowest[known] = std::min(slowest[known], found[known]);
        }
    }
    if (count == 0) fail("no texts");
    for (int known = 0; known < 2; ++known) {
        std::printf(
            "%s: of the better of plain and the best fixed length %.3f on average, %.3f at worst; of plain's "
            "speed %.3f at worst\n",
            known != 0 ? "with known times" : "cost_aware", sums[known] / static_cast<double>(count), worst[known],
            slowest[known]);
    }
}

}  // namespace

int main(int argc, char** argv) {
    try {
        if (argc < 4) fail("usage: bench_replayed_texts TEXTS.jsonl SECONDS... (of passes over 1, 2, ... rows)");
        std::vector<double> passes;
        for (int i = 2; i < argc; ++i) passes.push_back(std::stod(argv[i]));
        std::ifstream texts(argv[1]);
        if (!texts) fail("cannot read ", argv[1]);
        compare(texts, passes);
    } catch (const std::exception& failed) {
        std::fprintf(stderr, "error: %s\n", failed.what());
        return 1;
    }
}
