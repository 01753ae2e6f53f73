// What trees cost a round beside the model: siblings that are judged and rejected, and switching between the trees of a
// bank.
//
//   bench_tree_rounds [VOCABULARY]
//
// Rows are made up: normal noise, and twenty tokens that stand out by a falling amount, as in text. One thread.
// Microseconds, medians; allocations are counted once storage has grown.

#include <algorithm>
#include <atomic>
#include <augur/augur.hpp>
#include <augur/detail/stopwatch.hpp>
#include <cmath>
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

/// Something that must not be optimised away.
volatile double sink;

std::vector<float> made_up_row(std::size_t vocabulary, unsigned seed) {
    std::mt19937 source(seed);
    std::normal_distribution<float> noise(0, 2);
    std::uniform_int_distribution<std::size_t> any(0, vocabulary - 1);
    std::vector<float> row(vocabulary);
    for (float& x : row) x = noise(source);
    for (int rank = 0; rank < 20; ++rank) row[any(source)] = 17.0f - 1.2f * std::log2(1.0f + static_cast<float>(rank));
    return row;
}

/// Prints the median of many calls of body(), which does it so many times.
template <class Body>
void time_of(const std::string& what, const Body& body, std::size_t times_each = 1) {
    std::vector<double> times;
    double spent = 0;
    for (int warm = 0; warm < 3; ++warm) sink = static_cast<double>(body());
    const std::size_t before = allocated;
    times.reserve(4000);
    for (std::size_t i = 0; i < 16 || (spent < 0.3 && i < 4000); ++i) {
        const detail::stopwatch watch;
        sink = static_cast<double>(body());
        times.push_back(watch.seconds());
        spent += times.back();
    }
    const std::size_t count = allocated - before - 1;  // the times
    std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2), times.end());
    std::printf("%-52s %12.4f %6.2f\n", what.c_str(), 1e6 * times[times.size() / 2] / static_cast<double>(times_each),
                static_cast<double>(count) / static_cast<double>(times.size()));
}

/// Accepts nothing that has a chance to be rejected: what the worst round costs.
struct rejecting : random::philox_chooser {
    using random::philox_chooser::philox_chooser;
    bool flip(double probability, draw_key) const { return probability >= 1; }
};

/// Children of the prefix, drawn without replacement from a row.
proposal<distribution> siblings(std::size_t count, const distribution& row) {
    proposal<distribution> proposed;
    const random::philox_chooser chooser(5);
    for (std::size_t i = 0; i < count; ++i) {
        distribution& left = proposed.next_row();
        left = row;
        for (std::size_t before = 0; before < i; ++before) left.exclude(proposed.tokens()[before]);
        proposed.complete(static_cast<token>(chooser.choose(left, {0, purpose::draft, 0, 0, i})), after_prefix);
    }
    return proposed;
}

template <class Criterion>
void time_siblings(const std::string& name, const Criterion& criterion, std::size_t vocabulary,
                   const transform::settings& sampling) {
    const std::vector<float> target_logits = made_up_row(vocabulary, 1);
    const transform::pipeline pipeline(sampling, vocabulary);
    prefix before(std::vector<token>{1, 2});
    distribution row;
    pipeline.apply(made_up_row(vocabulary, 2), before, row);
    for (const std::size_t count : {1u, 2u, 4u, 8u, 16u}) {
        const auto proposed = siblings(count, row);
        const std::vector<std::vector<float>> rows(count + 1, target_logits);
        accept::walk_storage<transform::pipeline, Criterion> storage;
        verdict out;
        rejecting chooser(7);
        std::size_t round = 0;
        time_of(name + ", siblings: " + std::to_string(count), [&] {
            accept::walk(criterion, proposed, rows, pipeline, before, chooser, ++round, storage, out);
            return out.next;
        });
    }
}

/// Trees of 1, 17, 33, ... nodes, two children each.
tree::bank bank_of(std::size_t trees) {
    std::vector<tree::measured_tree> shapes;
    for (std::size_t nodes = 1; shapes.size() < trees; nodes += 16) {
        std::vector<std::int32_t> parents;
        for (std::size_t node = 0; node < nodes; ++node)
            parents.push_back((static_cast<std::int32_t>(node) + 1) / 2 - 1);
        shapes.push_back({topology(parents), 1, 1, static_cast<double>(nodes)});
    }
    return tree::bank(std::move(shapes));
}

/// A choice for every round, `switched` times in ten (an even number) another tree than in the round before.
template <class Policy>
void time_switches(const std::string& name, Policy policy, std::size_t switched) {
    constexpr std::size_t rounds = 10000;
    std::vector<observation> seen(10);
    for (std::size_t i = 0, at = 0; i < seen.size(); ++i) {
        at = i < switched ? 1 - at : at;
        seen[i] = {.target_confidence = 1, .path_value = at == 0 ? 0.1 : 0.9};
    }
    const auto choose = [&] {
        std::size_t nodes = 0;
        for (std::size_t i = 0; i < rounds; ++i) {
            const observation& now = seen[i % seen.size()];
            nodes += policy.plan(now).tree->size();
            policy.learn({now, 1, 0});
        }
        return nodes;
    };
    time_of("a round: " + name + ", switches in ten: " + std::to_string(switched), choose, rounds);
}

}  // namespace

int main(int argc, char** argv) {
    const std::size_t vocabulary = argc > 1 ? std::stoul(argv[1]) : 49152;
    std::printf("vocabulary %-41zu %12s %6s\n", vocabulary, "us", "alloc.");
    transform::settings cut;
    cut.temperature.value = 0.7f;
    cut.top_k.k = 40;
    time_siblings("rejection", accept::rejection_sampling{}, vocabulary, {});
    time_siblings("traversal", accept::traversal{}, vocabulary, {});
    time_siblings("rejection, 0.7, top-k 40", accept::rejection_sampling{}, vocabulary, cut);
    const tree::bank bank = bank_of(16);
    const std::vector<double> edges{0.05, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.85};
    for (const std::size_t switched : {0u, 2u, 10u}) {
        time_switches("hysteresis", policy::tree_hysteresis<policy::tree_feature::path_value>(bank, {.on = 0.5}),
                      switched);
        time_switches("ladder of 16 trees", policy::tree_ladder<policy::tree_feature::path_value>(bank, edges),
                      switched);
    }
}
