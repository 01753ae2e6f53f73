// Two threads, each with sequences of its own, on one model, or on two models that share a pool: what one reads, the
// other does not write. Also built with ThreadSanitizer.

#include <atomic>
#include <augur/llama/eagle_model.hpp>
#include <augur/llama/host_exit.hpp>
#include <augur/model/run.hpp>
#include <augur/testing/models.hpp>
#include <augur/testing/refined_models.hpp>
#include <boost/test/unit_test.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <thread>
#include <vector>

#include "in_child.hpp"
#include "llama/draft_bundle.hpp"

using namespace augur;

BOOST_AUTO_TEST_SUITE(llama_threads)

namespace {

/// Chains, trees, parts of layers and batches, and the sum of every number read, in an order of its own.
template <class M>
double work(const M& model, std::size_t layers) {
    auto a = model.make_sequence(), b = model.make_sequence();
    const std::vector<token> text{1, 2, 3, 0};
    const std::vector<std::int32_t> parents{-1, 0, 0, 1};
    double sum = 0;
    const auto read = [&](const auto& rows) {
        for (std::size_t i = 0; i < rows.size(); ++i) {
            for (const float logit : rows[i]) sum += static_cast<double>(logit);
        }
    };
    for (int round = 0; round < 20; ++round) {
        read(model::run(model, {.sequence = &a, .tokens = text, .states = true}));
        read(model.hidden(a));
        read(model::run(model, {.sequence = &a, .tokens = text, .parents = parents}));
        model.keep(a, std::vector<std::size_t>{0, 2});
        model::run(model, {.sequence = &a, .tokens = text, .to_layer = layers - 1});
        read(model::run(model, {.sequence = &a, .from_layer = layers - 1}));
        const std::vector<pass<sequence_t<M>>> both{{.sequence = &a, .tokens = text}, {.sequence = &b, .tokens = text}};
        std::vector<model::pass_rows<M>> results(2);
        model::run<M>(model, both, results);
        for (const auto& rows : results) read(rows);
        model.truncate(a, 2);
        model.truncate(b, 0);
    }
    return sum;
}

template <class M>
void two_at_once(const M& model, std::size_t layers) {
    const double expected = work(model, layers);
    double one = 0, two = 0;
    std::thread other([&] { one = work(model, layers); });
    two = work(model, layers);
    other.join();
    BOOST_TEST(one == expected);
    BOOST_TEST(two == expected);
}

/// The sum of every number of an eagle layer's rows and of an exit head's.
double draft(const llama::eagle_model& layer, const llama::host_exit& exit) {
    auto sequence = layer.make_sequence();
    const std::vector<token> text{1, 2, 3};
    std::vector<float> states(3 * layer.hidden_size(), 0.25f), row(exit.vocabulary_size());
    double sum = 0;
    for (int round = 0; round < 30; ++round) {
        const auto rows = layer.extend(sequence, text, states, 3);
        for (std::size_t i = 0; i < rows.size(); ++i) sum += static_cast<double>(rows[i][7]);
        exit.row(std::span<const float>(states).first(exit.hidden_size()), row);
        sum += static_cast<double>(row[7]);
    }
    return sum;
}

}  // namespace

BOOST_AUTO_TEST_CASE(sequences_of_two_threads_do_not_meet) {
    two_at_once(testing::full_mock(testing::hashed_model(7, 3)), 4);
    two_at_once(testing::small_llama(io::tensor_type::q8_0).load({.threads = 2}), 2);
    two_at_once(testing::small_llama(io::tensor_type::f32).load({.threads = 1}), 2);
}

BOOST_AUTO_TEST_CASE(models_on_one_pool_take_turns) {
    const testing::temporary_directory folder;
    const auto target = testing::small_llama(io::tensor_type::q8_0).load({.threads = 2});
    const auto other = testing::small_llama(io::tensor_type::f32).load({.pool = target.pool()});
    const auto layer =
        llama::eagle_model::load(testing::small_eagle(target).write(folder / "eagle.gguf"), target, {.threads = 2});
    const auto exit = llama::host_exit::untrained(target, 1);
    const double of_target = work(target, 2), of_other = work(other, 2), of_checkpoints = draft(layer, exit);
    double first = 0, second = 0;
    std::thread one([&] { first = work(other, 2); });
    std::thread two([&] { second = draft(layer, exit); });
    BOOST_TEST(work(target, 2) == of_target);
    one.join();
    two.join();
    BOOST_TEST(first == of_other);
    BOOST_TEST(second == of_checkpoints);
}

BOOST_AUTO_TEST_CASE(a_child_of_a_process_that_decodes_can_decode) {
    const auto model = testing::small_llama().load({.threads = 3});
    const double expected = work(model, 2);
    std::atomic<bool> is_over{false};
    std::thread other([&] {
        while (!is_over) work(model, 2);
    });
    for (int fork = 0; fork < 5; ++fork) {
        const auto same = [&] { return work(model, 2) == expected ? 10 : 0; };
        BOOST_TEST_REQUIRE(testing::in_child(same).value_or(-2) == 10);
    }
    is_over = true;
    other.join();
    BOOST_TEST(work(model, 2) == expected);
}

BOOST_AUTO_TEST_SUITE_END()
