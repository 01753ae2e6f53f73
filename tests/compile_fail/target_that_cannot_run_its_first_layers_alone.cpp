// Self-speculation needs a target that can be split, also inside a cascade.
// expected-error {{but this target cannot run its first layers alone}}
// expected-error {{SplitModel}}
#include "augur/accept/exact.hpp"
#include "augur/draft/exit_head.hpp"
#include "augur/scheme/speculator.hpp"
#include "augur/testing/models.hpp"

struct head {
    std::size_t layer() const { return 1; }
    std::size_t vocabulary_size() const { return 8; }
    std::size_t hidden_size() const { return 8; }
    void row(std::span<const float>, std::span<float>) const {}
};

int main() {
    const auto target = augur::testing::hashed_model(8, 1);
    augur::speculate(head{}, target, augur::policy::fixed_length{2}, augur::accept::exact{});
}
