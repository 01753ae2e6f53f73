#pragma once
// The questions that both sides of a comparison answer, so that they are asked the very same: one line in, one line of
// JSON out. The caller lets the two processes take turns on one state of the machine. See benchmarks/run.py.
//
//   context N      the sequence holds N tokens from now on
//   pass N TIMES   one forward pass over N new tokens, logits for all of them, taken back afterwards
//   decode N TIMES N tokens, one pass each, taken back afterwards
//   prefill N TIMES N tokens into an empty sequence, logits for the last; the context is empty afterwards
//
// TIMES are timed, after one more that is not.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace peer {

using milliseconds = std::chrono::duration<double, std::milli>;

/// Tokens without meaning: what a pass costs does not depend on them.
inline std::vector<std::int32_t> some_tokens(std::size_t count, std::size_t vocabulary) {
    std::vector<std::int32_t> tokens(count);
    for (std::size_t i = 0; i < count; ++i) tokens[i] = static_cast<std::int32_t>((i * 7919 + 13) % vocabulary);
    return tokens;
}

/// One line of answer: `{"name": [values]}`.
inline void answer(const std::string& name, const std::vector<double>& values) {
    std::string line = "{\"" + name + "\": [";
    for (std::size_t i = 0; i < values.size(); ++i) {
        char number[40];
        std::snprintf(number, sizeof number, "%s%.9g", i == 0 ? "" : ", ", values[i]);
        line += number;
    }
    std::cout << line << "]}" << std::endl;
}

/// `Engine` has vocabulary(), extend(tokens, rows) for logits of the last `rows`, and truncate(length).
template <class Engine>
class server {
 public:
    explicit server(Engine& engine) : engine_(engine) {}

    /// The first pass over one token: what is only set up when it is needed belongs to loading.
    void warm_up() { pass(1); }

    void answer_line(const std::string& line) {
        std::istringstream words(line);
        std::string question;
        std::size_t count = 0, times = 1;
        if (!(words >> question >> count) || count == 0) throw std::runtime_error("not a question: " + line);
        words >> times;
        if (question == "context") {
            refill(count);
            answer("context", {static_cast<double>(context_)});
        } else if (question == "pass") {
            timed(times, [&] { return pass(count); });
        } else if (question == "decode") {
            timed(times, [&] { return decode(count); });
        } else if (question == "prefill") {
            timed(times, [&] { return refill(count); });
            engine_.truncate(context_ = 0);
        } else {
            throw std::runtime_error("not a question: " + line);
        }
    }

 private:
    template <class Work>
    static double time_of(const Work& work) {
        const auto start = std::chrono::steady_clock::now();
        work();
        return milliseconds(std::chrono::steady_clock::now() - start).count();
    }

    template <class Measure>
    static void timed(std::size_t times, const Measure& measure) {
        measure();
        std::vector<double> taken;
        for (std::size_t i = 0; i < times; ++i) taken.push_back(measure());
        answer("milliseconds", taken);
    }

    double pass(std::size_t rows) {
        const auto tokens = some_tokens(rows, engine_.vocabulary());
        const double taken = time_of([&] { engine_.extend(tokens, rows); });
        engine_.truncate(context_);
        return taken;
    }

    double decode(std::size_t count) {
        const auto tokens = some_tokens(count, engine_.vocabulary());
        const double taken = time_of([&] {
            for (const auto id : tokens) engine_.extend({id}, 1);
        });
        engine_.truncate(context_);
        return taken;
    }

    double refill(std::size_t count) {
        engine_.truncate(0);
        const auto tokens = some_tokens(count, engine_.vocabulary());
        const double taken = time_of([&] { engine_.extend(tokens, 1); });
        context_ = count;
        return taken;
    }

    Engine& engine_;
    std::size_t context_ = 0;
};

/// Loads by `load()`, says how long that took and how large the weights are, and answers until there are no more lines.
template <class Load>
int serve(const char* program, const Load& load) {
    try {
        const auto start = std::chrono::steady_clock::now();
        auto engine = load();
        server answers(engine);
        answers.warm_up();
        const milliseconds loading = std::chrono::steady_clock::now() - start;
        answer("loaded", {loading.count(), static_cast<double>(engine.weight_bytes())});
        for (std::string line; std::getline(std::cin, line);) answers.answer_line(line);
    } catch (const std::exception& caught) {
        std::cerr << program << ": " << caught.what() << '\n';
        return 1;
    }
    return 0;
}

}  // namespace peer
