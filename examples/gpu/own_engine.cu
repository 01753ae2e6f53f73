// An engine of one's own on a GPU, by Thrust: its kernels, its memory, and every scheme of augur over it. Then the same
// rows judged where they are, by a rule of one's own.
//
//   nvcc -std=c++20 -arch=native --expt-relaxed-constexpr --fmad=false -I include examples/gpu/own_engine.cu

#include <thrust/copy.h>
#include <thrust/device_vector.h>
#include <thrust/tabulate.h>

#include <augur/accept/exact.hpp>
#include <augur/backend/device/cuda_system.hpp>
#include <augur/backend/device/round.hpp>
#include <augur/decode/generate.hpp>
#include <augur/draft/prompt_lookup.hpp>
#include <augur/model/check_passes.hpp>
#include <augur/policy/fixed_length.hpp>
#include <augur/testing/criterion_laws.hpp>
#include <augur/testing/model_laws.hpp>
#include <cstdio>
#include <iostream>
#include <span>
#include <vector>

namespace device = augur::backend::device;
using augur::token;

constexpr std::size_t vocabulary = 50;

/// The engine's own code: any CUDA will do. Here a token makes its successors likely, whatever came before.
struct score {
    const token* tokens;

    __device__ float operator()(std::size_t at) const {
        const std::size_t i = at % vocabulary, row = at / vocabulary;
        const auto wanted = static_cast<std::size_t>(tokens[row] * 7 + 3) % vocabulary;
        return i == wanted ? 5.0f : static_cast<float>((i * 31 + wanted) % 5) * 0.1f;
    }
};

/// What augur asks of an engine: a Model. Rows of logits do not depend on how many are computed together.
class engine {
 public:
    struct sequence_type {
        std::vector<token> tokens;
        std::vector<float> rows;
    };
    static constexpr bool bitwise_rows = true;

    std::size_t vocabulary_size() const { return vocabulary; }
    std::size_t context_length() const { return 1000; }
    sequence_type make_sequence() const { return {}; }
    std::size_t length(const sequence_type& s) const { return s.tokens.size(); }
    augur::scores extend(sequence_type& s, std::span<const token> tokens) const {
        augur::model::check_room(s.tokens.size(), tokens.size(), context_length());
        const auto rows = rows_of(tokens);
        s.rows.resize(rows.size());
        thrust::copy(rows.begin(), rows.end(), s.rows.begin());
        s.tokens.insert(s.tokens.end(), tokens.begin(), tokens.end());
        return {s.rows.data(), tokens.size(), vocabulary};
    }
    void truncate(sequence_type& s, std::size_t length) const {
        augur::model::check_cut(s.tokens.size(), length);
        s.tokens.resize(length);
    }

    /// The rows where they were made.
    thrust::device_vector<float> rows_of(std::span<const token> tokens) const {
        const thrust::device_vector<token> there(tokens.begin(), tokens.end());
        thrust::device_vector<float> rows(tokens.size() * vocabulary);
        thrust::tabulate(rows.begin(), rows.end(), score{thrust::raw_pointer_cast(there.data())});
        return rows;
    }
};

static_assert(augur::Model<engine>);

/// A rule of one's own, on the host and in a kernel: what is likely enough under the target is accepted.
struct likely_enough {
    using guarantee = augur::guarantee::minimum_probability;
    using token_selector = augur::draft::sampled;

    double least = 0.05;

    AUGUR_WHERE_ARGUMENTS_CAN
    template <class DraftDistribution>
    AUGUR_HOST_DEVICE bool accepts(const auto& target, const augur::drafted_token<DraftDistribution>& drafted,
                                   auto& /*draws*/) const {
        return target.probability(drafted.id) >= least;
    }

    AUGUR_WHERE_ARGUMENTS_CAN
    AUGUR_HOST_DEVICE token draw(const auto& target, auto& draws) const {
        return static_cast<token>(draws.choose(target, augur::purpose::correction));
    }
};

int main() {
    int count = 0;
    if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0) {
        std::puts("there is no GPU here");
        return 77;
    }
    const engine mine;
    const augur::testing::report laws[] = {augur::testing::model_laws(mine),
                                           augur::testing::criterion_laws(likely_enough{})};
    std::cout << laws[0] << '\n' << laws[1] << '\n';
    const auto scheme = augur::speculate(augur::draft::prompt_lookup(1, 4), mine, augur::policy::fixed_length{4},
                                         augur::accept::exact{});
    augur::decode::options options;
    options.sampling.temperature = {0};
    options.stop.max_tokens = 60;
    const auto decoded = augur::decode::generate(scheme, std::vector<token>{1, 2, 3}, options);
    std::printf("%zu tokens in %zu passes\n", decoded.tokens.size(), decoded.counts.rounds());

    const std::vector<token> drafted = {10, 23, 4}, verified = {1, 10, 23, 4};  // the second of each follows the first
    const auto rows = mine.rows_of(verified);
    const thrust::device_vector<token> there(drafted);
    const device::round_judge<likely_enough, device::cuda_system> judge({}, vocabulary, 8, {}, 1);
    judge.judge(thrust::raw_pointer_cast(rows.data()),
                device::certain_chain{thrust::raw_pointer_cast(there.data()), drafted.size()}, 1, 0);
    std::printf("%zu of %zu drafted tokens accepted\n", judge.result().accepted, drafted.size());
    return laws[0].kept() && laws[1].kept() ? 0 : 1;
}
