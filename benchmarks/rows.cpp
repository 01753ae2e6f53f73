// What is done with a row of logits once it is there, in microseconds a row, and what rounds cost beside the forward
// pass.
//
//   bench_rows [VOCABULARY]
//
// Rows are made up: normal noise, and twenty tokens that stand out by a falling amount, as in text; 2 to 3 nats of
// entropy. One thread. Medians over many rows; the model of whole rounds gives rows that it has already.

#include <algorithm>
#include <augur/augur.hpp>
#include <augur/detail/stopwatch.hpp>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <random>
#include <string>
#include <vector>

namespace {

using namespace augur;

constexpr std::size_t different_rows = 8;

/// Something that must not be optimised away.
volatile double sink;

std::vector<float> made_up_rows(std::size_t vocabulary, unsigned seed) {
    std::mt19937 source(seed);
    std::normal_distribution<float> noise(0, 2);
    std::uniform_int_distribution<std::size_t> any(0, vocabulary - 1);
    std::vector<float> rows(different_rows * vocabulary);
    for (float& x : rows) x = noise(source);
    for (std::size_t row = 0; row < different_rows; ++row) {
        for (int rank = 0; rank < 20; ++rank) {
            rows[row * vocabulary + any(source)] = 17.0f - 1.2f * std::log2(1.0f + static_cast<float>(rank));
        }
    }
    return rows;
}

/// Prints the median of body(row index) over many calls, in microseconds.
template <class Body>
void time_of(const std::string& what, const Body& body) {
    std::vector<double> times;
    double spent = 0;
    for (std::size_t i = 0; i < 2 * different_rows || (spent < 0.25 && i < 4000); ++i) {
        const detail::stopwatch watch;
        sink = static_cast<double>(body(i % different_rows));
        times.push_back(watch.seconds());
        spent += times.back();
    }
    std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2), times.end());
    std::printf("%-44s %9.2f\n", what.c_str(), 1e6 * times[times.size() / 2]);
}

/// Gives the same few rows again and again: a model whose forward pass is free.
class free_model {
 public:
    static constexpr bool bitwise_rows = true;
    struct sequence_type {
        std::size_t length = 0;
    };

    free_model(std::size_t vocabulary, unsigned seed)
        : vocabulary_(vocabulary), rows_(made_up_rows(vocabulary, seed)) {}

    std::size_t vocabulary_size() const { return vocabulary_; }
    std::size_t context_length() const { return 100000; }
    sequence_type make_sequence() const { return {}; }
    std::size_t length(const sequence_type& s) const { return s.length; }
    void truncate(sequence_type& s, std::size_t length) const { s.length = length; }
    scores extend(sequence_type& s, std::span<const token> tokens) const { return extend(s, tokens, tokens.size()); }
    scores extend(sequence_type& s, std::span<const token> tokens, std::size_t last) const {
        s.length += tokens.size();
        const std::size_t rows = std::min(last, different_rows);
        return {rows_.data(), rows, vocabulary_};
    }
    logit_row row(std::size_t i) const { return {rows_.data() + i * vocabulary_, vocabulary_}; }

 private:
    std::size_t vocabulary_;
    std::vector<float> rows_;
};
static_assert(ScoresLastRows<free_model>);

std::vector<token> made_up_text(std::size_t length, std::size_t vocabulary) {
    std::mt19937 source(7);
    std::vector<token> text(length);
    for (std::size_t i = 0; i < length; ++i) {  // a third repeats something
        text[i] = i > 300 && source() % 3 == 0 ? text[i - 300] : static_cast<token>(source() % vocabulary);
    }
    return text;
}

transform::settings sampling(float temperature, std::size_t k = 0, float p = 1, float min = 0) {
    transform::settings chosen;
    chosen.temperature.value = temperature;
    chosen.top_k.k = k;
    chosen.top_p.p = p;
    chosen.min_p.p = min;
    return chosen;
}

void time_transforms(const free_model& model) {
    const prefix before(made_up_text(500, model.vocabulary_size()));
    const random::philox_chooser chooser(1);
    distribution out;
    const auto time_one = [&](const std::string& what, const transform::settings& chosen) {
        const transform::pipeline pipeline(chosen, model.vocabulary_size());
        time_of(what, [&](std::size_t i) {
            pipeline.apply(model.row(i), before, out);
            return out.total();
        });
    };
    time_one("greedy", sampling(0));
    time_one("softmax", sampling(1));
    time_one("temperature", sampling(0.7f));
    time_one("temperature, top-k 40", sampling(0.7f, 40));
    time_one("temperature, top-p 0.9", sampling(0.7f, 0, 0.9f));
    time_one("top-p 0.9", sampling(1, 0, 0.9f));
    time_one("temperature, min-p 0.05", sampling(0.7f, 0, 1, 0.05f));
    time_one("temperature, top-k 40, top-p 0.9", sampling(0.7f, 40, 0.9f));
    auto penalised = sampling(0.7f, 40, 0.9f);
    penalised.penalties = {.repetition = 1.1f, .presence = 0.1f, .frequency = 0.1f};
    time_one("the same with penalties, 500 tokens before", penalised);
    penalised.temperature.value = 0;
    time_one("greedy with penalties, 500 tokens before", penalised);
}

void time_measures(const free_model& model) {
    time_of("entropy of a row", [&](std::size_t i) { return measure::entropy_nats(model.row(i)); });
    time_of("entropy as EAAD's code has it", [&](std::size_t i) { return measure::entropy_nats_offset(model.row(i)); });
    time_of("log-probability of a token", [&](std::size_t i) { return measure::log_probability(model.row(i), 5); });
}

/// Draws and judgements, given the distributions.
void time_decisions(const free_model& model, const free_model& other, const transform::settings& chosen,
                    const std::string& name) {
    const transform::pipeline pipeline(chosen, model.vocabulary_size());
    const prefix before;
    const random::philox_chooser chooser(1);
    std::vector<distribution> targets, drafts;
    for (std::size_t i = 0; i < different_rows; ++i) {
        targets.push_back(pipeline(model.row(i), before));
        drafts.push_back(pipeline(other.row(i), before));
    }
    std::size_t round = 0;
    time_of("draw, " + name, [&](std::size_t i) { return chooser.choose(targets[i], {i, purpose::draft, ++round}); });
    time_of("race, " + name, [&](std::size_t i) { return chooser.exponential_race(targets[i], ++round); });
    time_of("entropy of the distribution, " + name, [&](std::size_t i) { return measure::entropy_nats(targets[i]); });
    time_of("residual and draw, " + name, [&](std::size_t i) {
        const accept::residual_weights left(targets[i], drafted_token<distribution>{3, &drafts[i]});
        return chooser.choose(left, {i, purpose::correction, ++round});
    });
    time_of("residual and draw, point mass, " + name, [&](std::size_t i) {
        const accept::residual_weights left(targets[i], drafted_token<point_mass>{targets[i].mode()});
        return chooser.choose(left, {i, purpose::correction, ++round});
    });
}

/// One proposal of four tokens, by a drafter that knows the text already.
void time_lookup() {
    const transform::pipeline greedy(sampling(0), 49152);
    random::philox_chooser chooser(1);
    const policy::fixed_length four{4};
    const draft::prompt_lookup drafter;
    for (const std::size_t length : {2000u, 16000u}) {
        prefix before(made_up_text(length, 49152));
        auto state = drafter.make_state();
        time_of("prompt lookup in " + std::to_string(length) + " tokens", [&](std::size_t) {
            draft::context context(before, greedy, chooser, four, {}, 100);
            return draft::propose(drafter, state, context).size();
        });
    }
}

/// Whole rounds, of a session after a prompt of 500 tokens.
template <class Scheme>
void time_rounds(const std::string& what, const Scheme& scheme, const transform::settings& chosen) {
    const auto prompt = made_up_text(500, scheme.target().vocabulary_size());
    decode::session<Scheme> s(scheme, prompt, chosen, {.max_tokens = 90000}, random::philox_chooser(3));
    time_of("round: " + what, [&](std::size_t) { return decode::step(scheme, s).decided.accepted; });
}

/// Drafts some tokens of its own, whatever the text.
struct guesses {
    struct state_type {};
    using draft_distribution_type = point_mass;

    state_type make_state() const { return {}; }
    void propose(state_type&, auto& context, proposal<point_mass>& proposed) const {
        while (context.wants_more(proposed.size())) proposed.push(static_cast<token>(proposed.size()));
    }
    void on_commit(state_type&, const prefix&) const {}
};

void time_all_rounds(const free_model& model, const free_model& other) {
    const policy::fixed_length four{4};
    const auto usual = sampling(0.7f, 40, 0.9f);
    time_rounds("greedy, plain", plain(model), sampling(0));
    time_rounds("greedy, lookup of 4, exact", speculate(draft::prompt_lookup(), model, four, accept::exact{}),
                sampling(0));
    time_rounds("greedy, model of 4, exact", speculate(other, model, four, accept::exact{}), sampling(0));
    for (const auto& [name, chosen] : {std::pair{"0.7, 40, 0.9", usual}, std::pair{"softmax", sampling(1)}}) {
        const std::string with = name;
        time_rounds(with + ", plain", plain(model), chosen);
        time_rounds(with + ", 4 guesses, coupled", speculate(guesses{}, model, four, accept::coupled{}), chosen);
        time_rounds(with + ", 4 guesses, rejection", speculate(guesses{}, model, four, accept::rejection_sampling{}),
                    chosen);
        time_rounds(with + ", 4 guesses, block", speculate(guesses{}, model, four, accept::block{}), chosen);
        time_rounds(with + ", model of 4, coupled", speculate(other, model, four, accept::coupled{}), chosen);
        time_rounds(with + ", model of 4, rejection", speculate(other, model, four, accept::rejection_sampling{}),
                    chosen);
        time_rounds(with + ", model of 4, block", speculate(other, model, four, accept::block{}), chosen);
    }
}

}  // namespace

int main(int argc, char** argv) {
    const std::size_t vocabulary = argc > 1 ? std::stoul(argv[1]) : 49152;
    const free_model model(vocabulary, 1), other(vocabulary, 2);
    std::printf("vocabulary %zu, entropy %.2f nats; microseconds\n", vocabulary, measure::entropy_nats(model.row(0)));
    time_transforms(model);
    time_measures(model);
    time_decisions(model, other, sampling(1), "softmax");
    time_decisions(model, other, sampling(0.7f, 40, 0.9f), "0.7, 40, 0.9");
    time_lookup();
    time_all_rounds(model, other);
}
