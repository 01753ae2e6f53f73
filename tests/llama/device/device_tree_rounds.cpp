// Rounds over trees of the bundled Llama on a device: what crosses to the host is the verdict.
#include <augur/accept/coupled.hpp>
#include <augur/accept/exact.hpp>
#include <augur/accept/rejection_sampling.hpp>
#include <augur/accept/typical.hpp>
#include <augur/decode/generate.hpp>
#include <augur/decode/step.hpp>
#include <augur/draft/draft_model.hpp>
#include <augur/draft/prompt_lookup.hpp>
#include <augur/model/any_model.hpp>
#include <augur/policy/tree_static.hpp>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "augur/llama/device/device_model.hpp"
#include "llama/small_llama.hpp"

namespace device = augur::llama::device;
namespace kernels = augur::backend::device;
namespace accept = augur::accept;
using augur::token;

BOOST_AUTO_TEST_SUITE(llama_device_tree_rounds)

namespace {

struct bytes {
    std::size_t downloaded = 0;  ///< to the host
    std::size_t shared = 0;      ///< that kernels and the host both see
};

/// Counts what the host can see. Copies count together.
struct counting_system : kernels::emulated_system {
    std::shared_ptr<bytes> counts = std::make_shared<bytes>();

    void download(void* to, const void* from, std::size_t size) const {
        counts->downloaded += size;
        emulated_system::download(to, from, size);
    }
    void* allocate_shared(std::size_t size) const {
        counts->shared += size;
        return emulated_system::allocate_shared(size);
    }
};

struct decoded_text {
    std::vector<token> text;
    std::size_t accepted = 0, branches = 0, rounds = 0;
};

/// The text, round by round; `seen(round)` after each, where 0 is the prompt's.
decoded_text run(const auto& scheme, const augur::transform::settings& chosen, const auto& seen) {
    const std::vector<token> prompt = {1, 2, 3, 1, 2, 3, 1, 2};
    augur::decode::session session(scheme, prompt, chosen, {.max_tokens = 30}, augur::random::philox_chooser(7));
    decoded_text text;
    seen(0);
    while (session.finished == augur::finish_reason::running) {
        const auto& last = augur::decode::step(scheme, session, {.timed = false});
        text.accepted += last.decided.accepted;
        for (std::size_t i = 0; i < last.decided.path.size(); ++i) text.branches += last.decided.path[i] != i;
        seen(++text.rounds);
    }
    text.text.assign(session.committed.tokens().begin(), session.committed.tokens().end());
    return text;
}

}  // namespace

/// Verdicts on nodes that are certain or drawn; every other round's rows come to the host.
BOOST_AUTO_TEST_CASE(verdicts_come_back_and_nothing_else) {
    const auto host = augur::testing::small_llama(augur::io::tensor_type::bf16).load();
    const counting_system on;
    using model_type = device::device_model<kernels::bfloat16, counting_system>;
    static_assert(kernels::RunsThere<model_type>);
    const model_type there(on, host);
    const augur::model::any_model here(there);
    const augur::policy::tree_static planned(
        augur::topology::of_paths({{0}, {1}, {2}, {0, 0}, {0, 1}, {1, 0}, {0, 0, 0}}));
    std::size_t accepted = 0, branches = 0;
    const auto check = [&](const auto& drafter, const auto& criterion, float temperature) {
        *on.counts = {};
        std::size_t prefilled = 0;
        const decoded_text got = run(augur::speculate(drafter, there, planned, criterion),
                                     {.temperature = {temperature}}, [&](std::size_t round) {
                                         if (round == 0) prefilled = on.counts->downloaded;
                                         BOOST_TEST(on.counts->downloaded == prefilled);
                                     });
        BOOST_TEST(on.counts->shared > 0u);
        BOOST_TEST(on.counts->shared % (sizeof(kernels::chain_verdict) + sizeof(kernels::tree_verdict)) == 0u);
        BOOST_TEST(on.counts->shared <= 4 * (sizeof(kernels::chain_verdict) + sizeof(kernels::tree_verdict)));
        *on.counts = {};
        const decoded_text expected = run(augur::speculate(drafter, here, planned, criterion),
                                          {.temperature = {temperature}}, [](std::size_t) {});
        BOOST_TEST(got.text == expected.text, boost::test_tools::per_element());
        BOOST_TEST(got.accepted == expected.accepted);
        BOOST_TEST(on.counts->downloaded >= expected.rounds * there.vocabulary_size() * sizeof(float));
        accepted += got.accepted;
        branches += got.branches;
    };
    const augur::draft::draft_model<const augur::llama::host_model&, augur::draft::argmax> certain(host);
    const augur::draft::draft_model<const augur::llama::host_model&, augur::draft::shared_noise> shared(host);
    const augur::draft::draft_model<const augur::llama::host_model&, augur::draft::sampled> drawn(host);
    check(certain, accept::exact{}, 0);
    check(shared, accept::coupled{}, 0.8f);
    check(drawn, accept::rejection_sampling{}, 0.8f);
    check(certain, accept::typical{}, 0.8f);
    check(augur::draft::prompt_lookup(1, 4), accept::rejection_sampling{}, 0.8f);
    BOOST_TEST(accepted > 30u);
    BOOST_TEST(branches > 3u);
}

/// What a mask allows after a node depends on the tokens of the node's path, not of those drafted before it.
BOOST_AUTO_TEST_CASE(a_mask_is_asked_about_paths) {
    const auto host = augur::testing::small_llama(augur::io::tensor_type::bf16).load();
    using model_type = device::device_model<kernels::bfloat16, kernels::emulated_system>;
    const model_type there({}, host);
    const augur::model::any_model here(there);
    const augur::policy::tree_static planned(
        augur::topology::of_paths({{0}, {1}, {2}, {0, 0}, {1, 0}, {2, 0}, {1, 0, 0}}));
    augur::transform::settings chosen{.temperature = {1.5f}};
    chosen.mask = [](std::span<float> logits, const augur::prefix& before) {
        const std::size_t last = before.size();
        const auto sum = static_cast<std::size_t>(before.tokens()[last - 1] + 3 * before.tokens()[last - 2]) + last;
        for (std::size_t i = 0; i < logits.size(); ++i) {
            if ((i + sum) % 5 > 1) logits[i] = -INFINITY;
        }
    };
    const augur::draft::draft_model<const augur::llama::host_model&, augur::draft::shared_noise> shared(host);
    const auto text = [&](const auto& target) {
        return run(augur::speculate(shared, target, planned, accept::coupled{}), chosen, [](std::size_t) {});
    };
    const decoded_text got = text(there), expected = text(here);
    BOOST_TEST(got.text == expected.text, boost::test_tools::per_element());
    BOOST_TEST(got.accepted == expected.accepted);
    BOOST_TEST(got.branches > 0u);
}

BOOST_AUTO_TEST_SUITE_END()
