// What the library itself takes of a round: its models answer in no time, from a table.
//
//   bench_round [ROUNDS]
//
// One line of JSON per scheme and vocabulary: nanoseconds per round, the median of 9 runs, and allocations per round
// once storage has grown. It uses nothing that an earlier commit lacks: build it there, too, and run both in turns
// (benchmarks/ab.py).

#include <algorithm>
#include <atomic>
#include <augur/augur.hpp>
#include <augur/detail/stopwatch.hpp>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <random>
#include <string>
#include <vector>

namespace {
std::atomic<std::size_t> allocated = 0;
}

[[gnu::noinline]] void* operator new(std::size_t size) {
    ++allocated;
    if (void* memory = std::malloc(size)) return memory;
    throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
    std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept {
    std::free(memory);
}

namespace {

using namespace augur;

/// Rows of a table, by the last token: as many as are asked for lie together.
class table_model {
 public:
    struct sequence_type {
        std::size_t length = 0;
    };
    static constexpr bool bitwise_rows = true;

    table_model(std::size_t vocabulary, unsigned seed) : vocabulary_(vocabulary), rows_(vocabulary * (places + 64)) {
        std::mt19937 random(seed);
        std::normal_distribution<float> logit(0, 2);
        for (float& each : rows_) each = logit(random);
    }
    std::size_t vocabulary_size() const { return vocabulary_; }
    std::size_t context_length() const { return 1 << 20; }
    sequence_type make_sequence() const { return {}; }
    std::size_t length(const sequence_type& s) const { return s.length; }
    void truncate(sequence_type& s, std::size_t length) const { s.length = length; }
    scores extend(sequence_type& s, std::span<const token> tokens) const { return extend(s, tokens, tokens.size()); }
    scores extend(sequence_type& s, std::span<const token> tokens, std::size_t last) const {
        s.length += tokens.size();
        const std::size_t place = s.length % places;
        return {rows_.data() + place * vocabulary_, last, vocabulary_};
    }

 private:
    static constexpr std::size_t places = 97;
    std::size_t vocabulary_;
    std::vector<float> rows_;
};

constexpr std::size_t of_text = 50;

template <class Scheme>
void measure(const char* name, const Scheme& scheme, std::size_t vocabulary, std::size_t rounds, float temperature) {
    transform::settings sampling;
    sampling.temperature.value = temperature;
    const std::vector<token> prompt{1, 2, 3, 4};
    std::vector<double> each;
    std::size_t allocations = 0;
    for (int run = 0; run < 9; ++run) {
        double seconds = 0;
        for (std::size_t done = 0; done < rounds; done += of_text) {
            decode::session<Scheme> s(scheme, prompt, sampling, {.max_tokens = 1 << 14}, random::philox_chooser(done));
            for (std::size_t i = 0; i < of_text; ++i) decode::step(scheme, s);  // storage grows
            const std::size_t before = allocated;
            const augur::detail::stopwatch watch;
            for (std::size_t i = 0; i < of_text; ++i) decode::step(scheme, s);
            seconds += watch.seconds();
            allocations += allocated - before;
        }
        each.push_back(1e9 * seconds / static_cast<double>(rounds));
    }
    std::nth_element(each.begin(), each.begin() + 4, each.end());
    std::printf(
        "{\"scheme\": \"%s\", \"vocabulary\": %zu, \"temperature\": %g, \"nanoseconds\": %.0f, \"allocations\": "
        "%.3f}\n",
        name, vocabulary, static_cast<double>(temperature), each[4],
        static_cast<double>(allocations) / static_cast<double>(9 * rounds));
    std::fflush(stdout);
}

void measure_all(std::size_t vocabulary, std::size_t rounds) {
    const table_model small(vocabulary, 1), middle(vocabulary, 2), target(vocabulary, 3);
    const policy::fixed_length four{4};
    measure("plain", plain(target), vocabulary, rounds, 0);
    measure("plain", plain(target), vocabulary, rounds, 1);
    measure("draft model, 4, exact", speculate(small, target, four, accept::exact{}), vocabulary, rounds, 0);
    measure("draft model, 4, coupled", speculate(small, target, four, accept::coupled{}), vocabulary, rounds, 1);
    measure("draft model, 4, rejection sampling", speculate(small, target, four, accept::rejection_sampling{}),
            vocabulary, rounds, 1);
    measure("cascade of three, 2 and 4, rejection sampling",
            cascaded(small, scheme::model_link{policy::fixed_length{2}, accept::rejection_sampling{}}, middle,
                     scheme::model_link{four, accept::rejection_sampling{}}, target),
            vocabulary, rounds, 1);
}

}  // namespace

int main(int argc, char** argv) {
    const std::size_t rounds = argc > 1 ? std::stoul(argv[1]) : 4000;
    measure_all(16, rounds);
    measure_all(49152, std::max(rounds / 40, of_text));
}
