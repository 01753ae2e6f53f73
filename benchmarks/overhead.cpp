// What a round costs beside the forward pass: policy, drafter, transforms, acceptance, commit.
//
//   bench_overhead MODEL PROMPT_FILE [THREADS] [TOKENS]
//   bench_overhead texts [TOKENS]...
//
// One line of JSON per scheme. Every call to extend is timed by a wrapper around the model; what remains of the
// decoding is the overhead. Microseconds per round. The second: after texts of so many tokens (1000, 32,000, 256,000
// and 1,000,000), on models whose passes cost next to nothing.

#include <augur/augur.hpp>
#include <augur/detail/stopwatch.hpp>
#include <augur/io/files/gguf.hpp>
#include <augur/io/text/read_vocabulary.hpp>
#include <augur/io/text/tokenizer.hpp>
#include <augur/llama/host_model.hpp>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "text_length.hpp"

namespace {

using namespace augur;

/// A model that adds up the seconds spent in extend.
class timed_model {
 public:
    using sequence_type = llama::host_model::sequence_type;
    static constexpr bool bitwise_rows = has_bitwise_rows<llama::host_model>;

    explicit timed_model(const llama::host_model& model) : model_(&model) {}
    double seconds() const { return seconds_; }

    std::size_t vocabulary_size() const { return model_->vocabulary_size(); }
    std::size_t context_length() const { return model_->context_length(); }
    sequence_type make_sequence() const { return model_->make_sequence(); }
    std::size_t length(const sequence_type& sequence) const { return model_->length(sequence); }
    void truncate(sequence_type& sequence, std::size_t length) const { model_->truncate(sequence, length); }
    scores extend(sequence_type& sequence, std::span<const token> tokens) const {
        return extend(sequence, tokens, tokens.size());
    }
    scores extend(sequence_type& sequence, std::span<const token> tokens, std::size_t last) const {
        const detail::stopwatch watch;
        const scores rows = model_->extend(sequence, tokens, last);
        seconds_ += watch.seconds();
        return rows;
    }

 private:
    const llama::host_model* model_;
    mutable double seconds_ = 0;
};
static_assert(ScoresLastRows<timed_model>);

template <class Scheme>
void measure(const std::string& name, const timed_model& model, const Scheme& scheme, std::span<const token> prompt,
             const decode::options& chosen) {
    decode::session<Scheme> s(scheme, prompt, chosen.sampling, chosen.stop, random::philox_chooser(chosen.seed));
    const double prefilled = model.seconds();
    const detail::stopwatch watch;
    while (s.finished == finish_reason::running) decode::step(scheme, s);
    const double total = watch.seconds(), forward = model.seconds() - prefilled;
    const double each = 1e6 / static_cast<double>(s.counts.rounds());
    const time_spent& spent = s.counts.seconds;
    std::cout << nlohmann::ordered_json{{"scheme", name},
                                        {"temperature", chosen.sampling.temperature.value},
                                        {"tokens", s.counts.committed()},
                                        {"rounds", s.counts.rounds()},
                                        {"round", total * each},
                                        {"beside_forward", (total - forward) * each},
                                        {"share", (total - forward) / total},
                                        {"draft", spent.draft * each},
                                        {"accept", spent.accept * each},
                                        {"other", spent.other * each}}
              << std::endl;
}

void measure_all(const timed_model& model, std::span<const token> prompt, decode::options chosen) {
    chosen.sampling.temperature.value = 0;
    measure("plain", model, plain(model), prompt, chosen);
    const auto lookup = [&](auto policy, auto criterion) {
        return speculate(draft::prompt_lookup(2, 8), model, policy, criterion);
    };
    measure("lookup, 4", model, lookup(policy::fixed_length{4}, accept::exact{}), prompt, chosen);
    measure("lookup, as it pays", model, lookup(policy::cost_aware{}, accept::exact{}), prompt, chosen);
    chosen.sampling.temperature.value = 0.7f;
    chosen.sampling.top_p.p = 0.95f;
    measure("plain", model, plain(model), prompt, chosen);
    measure("lookup, 4", model, lookup(policy::fixed_length{4}, accept::coupled{}), prompt, chosen);
    measure("lookup, 4, rejection sampling", model, lookup(policy::fixed_length{4}, accept::rejection_sampling{}),
            prompt, chosen);
}

void run(const std::string& path, const std::string& prompt_file, std::size_t threads, std::size_t tokens) {
    const auto loaded = llama::host_model::load(path, {.threads = threads});
    const timed_model model(loaded);
    std::ifstream file(prompt_file);
    if (!file) detail::fail("cannot read ", prompt_file);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const io::tokenizer words(io::read_vocabulary(io::gguf_file(path)));
    const auto prompt = words.encode(text, {.add_special = true, .parse_special = true});
    decode::options chosen;
    chosen.stop.max_tokens = 8;
    decode::generate(plain(model), prompt, chosen);  // not counted
    chosen.stop.max_tokens = tokens;
    measure_all(model, prompt, chosen);
}

}  // namespace

int main(int argc, char** argv) {
    try {
        if (argc >= 2 && std::string(argv[1]) == "texts") {
            std::vector<std::size_t> lengths;
            for (int i = 2; i < argc; ++i) lengths.push_back(std::stoul(argv[i]));
            if (lengths.empty()) lengths = {1000, 32'000, 256'000, 1'000'000};
            bench::measure_lengths(lengths, 301, 16);
            return 0;
        }
        if (argc < 3) detail::fail("usage: bench_overhead MODEL PROMPT_FILE [THREADS] [TOKENS], or: texts [TOKENS]...");
        run(argv[1], argv[2], argc > 3 ? std::stoul(argv[3]) : 0, argc > 4 ? std::stoul(argv[4]) : 128);
    } catch (const std::exception& caught) {
        std::cerr << "bench_overhead: " << caught.what() << '\n';
        return 1;
    }
}
