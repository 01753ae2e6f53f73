// A head whose last layer learns reads layer inputs, which its target has to show.
// expected-error {{this exit head reads layer inputs, which its target has to show \(LayerInputModel\)}}
#include "augur/accept/exact.hpp"
#include "augur/draft/exit_head.hpp"
#include "augur/scheme/speculator.hpp"
#include "augur/testing/refined_models.hpp"

struct head {
    static constexpr bool reads_layer_input = true;
    std::size_t layer() const { return 1; }
    std::size_t vocabulary_size() const { return 8; }
    std::size_t hidden_size() const { return 8; }
    void row(std::span<const float>, std::span<float>) const {}
};

int main() {
    const augur::testing::split_mock target(augur::testing::hashed_model(8, 1));
    augur::speculate(head{}, target, augur::policy::fixed_length{2}, augur::accept::exact{});
}
