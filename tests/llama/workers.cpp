#include "augur/llama/workers.hpp"

#include <boost/test/unit_test.hpp>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>
#include <vector>

#include "augur/llama/draft_heads.hpp"
#include "augur/llama/eagle_model.hpp"
#include "augur/llama/early_exit.hpp"
#include "augur/llama/host_exit.hpp"
#include "llama/draft_bundle.hpp"

BOOST_AUTO_TEST_SUITE(llama_workers)

using namespace augur;
using namespace augur::testing;
using pool_type = std::shared_ptr<backend::host::thread_pool>;

namespace {

/// Of everything that is loaded for a target.
std::vector<pool_type> pools_of_checkpoints(const llama::host_model& target, const llama::load_options& options) {
    const temporary_directory folder;
    const auto exits = small_exits(target).write(folder / "exit.gguf");
    const auto heads = small_heads("hydra", target).write(folder / "hydra.gguf");
    return {llama::load_draft(small_checkpoint("draft", target).write(folder / "draft.gguf"), target, options).pool(),
            llama::eagle_model::load(small_eagle(target).write(folder / "eagle.gguf"), target, options).pool(),
            llama::load_exit(exits, target, 1, options).pool(),
            llama::host_exit::load(exits, target, 1, options).pool(),
            llama::host_exit::untrained(target, 1, options).pool(),
            llama::draft_heads::load(heads, "hydra", target, options).pool()};
}

}  // namespace

BOOST_AUTO_TEST_CASE(members_run_on_their_targets_threads) {
    const auto target = small_llama().load({.threads = 2});
    for (const std::size_t same : {0u, 2u}) {
        for (const auto& pool : pools_of_checkpoints(target, {.threads = same})) BOOST_TEST(pool == target.pool());
    }
    for (const auto& pool : pools_of_checkpoints(target, {.threads = 3})) {
        BOOST_TEST(pool != target.pool());
        BOOST_TEST(pool->size() == 3u);
    }
    const auto given = std::make_shared<backend::host::thread_pool>(3);
    for (const auto& pool : pools_of_checkpoints(target, {.pool = given})) BOOST_TEST(pool == given);
}

BOOST_AUTO_TEST_CASE(other_models_share_threads_when_they_are_told_to) {
    const auto first = small_llama().load({.threads = 2}), second = small_llama().load({.threads = 2});
    BOOST_TEST(first.pool() != second.pool());
    BOOST_TEST(small_llama().load({.pool = first.pool()}).pool() == first.pool());
    BOOST_TEST(small_llama().load({.threads = 2, .pool = first.pool()}).pool() == first.pool());
    const auto apart = small_llama().load({.threads = 1, .pool = first.pool()});
    BOOST_TEST(apart.pool() != first.pool());
    BOOST_TEST(apart.threads() == 1u);
}

BOOST_AUTO_TEST_CASE(a_pool_outlives_the_model_it_was_made_for) {
    const auto tokens = some_tokens(30, 77);
    std::optional<llama::host_model> first = small_llama().load({.threads = 2});
    const auto second = small_llama().load({.pool = first->pool()});
    const auto expected = logits_in_steps(*first, tokens, 7);
    first.reset();
    BOOST_TEST(same_bits(logits_in_steps(second, tokens, 7), expected));
}

BOOST_AUTO_TEST_CASE(what_ends_a_pass_leaves_the_pool_to_others) {
    const auto tokens = some_tokens(200, 77);
    const auto throwing =
        small_llama().load({.threads = 2, .between_layers = [] { throw std::runtime_error("enough"); }});
    const auto other = small_llama().load({.pool = throwing.pool()});
    const auto expected = logits_in_steps(small_llama().load({.threads = 2}), tokens, 9);
    auto sequence = throwing.make_sequence();
    BOOST_CHECK_THROW(throwing.extend(sequence, tokens, 1), std::runtime_error);
    std::vector<float> got;
    std::thread([&] { got = logits_in_steps(other, tokens, 9); }).join();  // who would wait for a lock that is kept
    BOOST_TEST(same_bits(got, expected));
    BOOST_TEST(same_bits(logits_in_steps(throwing, tokens, 9), expected));
}

BOOST_AUTO_TEST_CASE(another_model_of_the_pool_may_run_between_the_layers_of_one) {
    const auto tokens = some_tokens(200, 77);
    std::optional<llama::host_model> inner;
    std::vector<float> got;
    const auto outer =
        small_llama().load({.threads = 2, .between_layers = [&] { got = logits_in_steps(*inner, tokens, 9); }});
    inner.emplace(small_llama().load({.pool = outer.pool()}));
    BOOST_TEST(same_bits(logits_in_steps(outer, tokens, 200), logits_in_steps(*inner, tokens, 200)));
    BOOST_TEST(same_bits(got, logits_in_steps(*inner, tokens, 9)));
}

BOOST_AUTO_TEST_SUITE_END()
