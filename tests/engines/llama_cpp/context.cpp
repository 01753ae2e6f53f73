#include "augur/engines/llama_cpp/context.hpp"

#include <atomic>
#include <boost/test/unit_test.hpp>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "augur/engines/llama_cpp.hpp"
#include "augur/testing/compare_rows.hpp"
#include "augur/testing/model_laws.hpp"
#include "engines/tiny_engines.hpp"

using namespace augur;
using namespace augur::testing;
namespace llama_cpp = augur::engines::llama_cpp;

BOOST_AUTO_TEST_SUITE(engines_context)

namespace {

std::vector<token> text_of(std::size_t length) {
    std::vector<token> text(length);
    for (std::size_t i = 0; i < length; ++i) text[i] = static_cast<token>((i + 3) % 96);
    return text;
}

template <class Engine, class Change>
void check_refused(const llama_cpp::weights& weights, const Change& change, std::vector<std::string> words) {
    auto options = exact();
    change(options);
    BOOST_CHECK_EXCEPTION(Engine(weights, options), error, says(std::move(words)));
}

}  // namespace

BOOST_AUTO_TEST_CASE(wrong_options_are_refused_with_their_values) {
    using llama_cpp::context_options, llama_cpp::streams, llama_cpp::trees;
    const llama_cpp::weights weights = tiny_weights("llama");
    const auto refused = [&]<class E>(std::type_identity<E>, auto change, std::vector<std::string> words) {
        check_refused<E>(weights, change, std::move(words));
    };
    const std::type_identity<streams> s;
    const std::type_identity<trees> t;
    refused(s, [](context_options& o) { o.context_length = 513; }, {"513", "512"});
    refused(s, [](context_options& o) { o.sequences = 0; }, {"sequences is 0", "1 to 256"});
    refused(s, [](context_options& o) { o.sequences = 257; }, {"sequences is 257"});
    refused(s, [](context_options& o) { o.threads = 513; }, {"threads is 513"});
    refused(s, [](context_options& o) { o.pass_tokens = 0; }, {"pass_tokens is 0"});
    refused(s, [](context_options& o) { o.pass_rows = 0; }, {"pass_rows is 0"});
    refused(s, [](context_options& o) { o.keys = GGML_TYPE_COUNT; }, {"keys and values"});
    refused(s, [](context_options& o) { o.values = GGML_TYPE_Q8_0; }, {"llama.cpp says", "flash"});  // is off
    refused(t, [](context_options& o) { o.leaves = 257; }, {"leaves is 257"});
    refused(t, [](context_options& o) { o.tree_nodes = 0; }, {"tree_nodes is 0"});
    BOOST_CHECK_EXCEPTION(streams(tiny_weights("mamba"), exact()), error, says({"mamba", "checkpoints"}));
    BOOST_CHECK_EXCEPTION(trees(tiny_weights("lfm2"), exact()), error, says({"lfm2", "checkpoints"}));
    tiny_gguf embedder;
    embedder.is_causal = false;
    BOOST_CHECK_EXCEPTION(streams(tiny_weights(embedder), exact()), error, says({"embeddings"}));
}

BOOST_AUTO_TEST_CASE(long_passes_are_cut_into_calls) {
    auto options = exact(16);
    options.pass_tokens = 7;
    options.pass_rows = 3;
    options.leaves = 16;
    const effort some{.cases = 30};
    const auto attends = tiny_weights("llama");
    const auto laws = model_laws(llama_cpp::streams(attends, options), some, rounding);
    BOOST_TEST(laws.kept(), laws);
    options.sequences = 6;
    options.leaves = 32;
    const auto of_trees = model_laws(llama_cpp::trees(attends, options), some, rounding);
    BOOST_TEST(of_trees.kept(), of_trees);
    const auto of_states = model_laws(llama_cpp::checkpoints(tiny_weights("mamba"), options), some, rounding);
    BOOST_TEST(of_states.kept(), of_states);
}

BOOST_AUTO_TEST_CASE(rows_are_lent_where_a_run_is_one_call) {
    auto options = exact(2);
    options.pass_rows = 4;
    const llama_cpp::streams engine(tiny_weights("llama"), options);
    auto sequence = engine.make_sequence();
    const float* const lent = engine.extend(sequence, text_of(4))[0].data();
    BOOST_TEST(lent == llama_get_logits(engine.context_handle()));
    const float* const copied = engine.extend(sequence, text_of(5))[0].data();
    BOOST_TEST(copied != llama_get_logits(engine.context_handle()));
    BOOST_TEST(engine.limits().rows_end_with_next_run);
}

BOOST_AUTO_TEST_CASE(ids_come_back) {
    const llama_cpp::trees engine(tiny_weights("llama"), exact(2));
    const std::vector<token> nodes{1, 2, 3, 4};
    const std::vector<std::int32_t> parents{-1, -1, 0, 0};
    for (int time = 0; time < 400; ++time) {
        auto one = engine.make_sequence(), other = engine.make_sequence();
        BOOST_CHECK_EXCEPTION(engine.make_sequence(), error, says({"2 sequences", "in use"}));
        engine.extend(one, nodes);
        const pass<llama_cpp::trees::sequence_type> tree{.sequence = &one, .tokens = nodes, .parents = parents};
        engine.run(std::span(&tree, 1));
        other = std::move(one);  // with the tree that waits
        BOOST_CHECK_EXCEPTION(engine.extend(one, nodes), error, says({"moved away"}));
        if (time % 2 == 0) engine.keep(other, std::vector<std::size_t>{0, 3});
    }
    auto left = [&] {
        const llama_cpp::trees gone(tiny_weights("llama"), exact());
        return gone.make_sequence();
    }();
    BOOST_CHECK_EXCEPTION(engine.extend(left, nodes), error, says({"another engine"}));
}

BOOST_AUTO_TEST_CASE(trees_that_are_too_large_are_refused_and_change_nothing) {
    auto options = exact();
    options.leaves = 2;
    options.tree_nodes = 4;
    const llama_cpp::trees engine(tiny_weights("llama"), options);
    BOOST_TEST(engine.limits().most_leaves == 2u);
    BOOST_TEST(engine.limits().most_tree_nodes == 4u);
    auto sequence = engine.make_sequence();
    engine.extend(sequence, text_of(126));
    const auto run = [&](std::vector<std::int32_t> parents) {
        const auto nodes = text_of(parents.size());
        const pass<llama_cpp::trees::sequence_type> tree{.sequence = &sequence, .tokens = nodes, .parents = parents};
        engine.run(std::span(&tree, 1));
    };
    BOOST_CHECK_EXCEPTION(run({-1, -1, -1}), error, says({"3 leaves", "at most 2"}));
    BOOST_CHECK_EXCEPTION(run({-1, 0, 1, 2, 3}), error, says({"5 tokens", "at most 4"}));
    BOOST_CHECK_EXCEPTION(run({-1, 0, 1}), error, says({"126 tokens", "grow by 3", "128"}));
    run({-1, 0, -1, 2});
    BOOST_TEST(engine.length(sequence) == 126u);
    engine.keep(sequence, std::vector<std::size_t>{2, 3});
    BOOST_CHECK_EXCEPTION(engine.extend(sequence, text_of(1)), error, says({"128"}));
}

BOOST_AUTO_TEST_CASE(a_full_context_refuses_more_and_is_usable_when_cut) {
    const auto check = [](const auto& engine) {
        auto sequence = engine.make_sequence();
        engine.extend(sequence, text_of(128));
        BOOST_CHECK_EXCEPTION(engine.extend(sequence, text_of(1)), error, says({"128 tokens", "grow by 1", "128"}));
        BOOST_TEST(engine.length(sequence) == 128u);
        engine.truncate(sequence, 127);
        const std::vector<token> last{text_of(128).back()};
        const auto got = copy_of(engine.extend(sequence, last));
        engine.truncate(sequence, 0);
        const std::string found = difference(copy_of(engine.extend(sequence, text_of(128), 1)), got, rounding);
        BOOST_TEST(found.empty(), found);
    };
    check(llama_cpp::streams(tiny_weights("llama"), exact()));
    check(llama_cpp::trees(tiny_weights("llama"), exact()));
    check(llama_cpp::checkpoints(tiny_weights("mamba"), exact()));
}

BOOST_AUTO_TEST_CASE(a_failure_of_llama_cpp_changes_nothing) {
    const auto check = [](const auto& engine, auto& sequence) {
        std::atomic<int> left = 1 << 30;
        llama_set_abort_callback(
            engine.context_handle(), [](void* count) { return --*static_cast<std::atomic<int>*>(count) < 0; }, &left);
        engine.extend(sequence, text_of(5));
        std::size_t calls = 0;  // that were made by a run that failed
        for (int steps = 0;; steps += 5) {
            left = steps;
            const std::size_t before = engine.calls();
            try {
                engine.extend(sequence, text_of(60));
                break;
            } catch (const error& caught) {
                BOOST_TEST(says({"llama.cpp cannot run", "code 2"})(caught));
            }
            BOOST_TEST_REQUIRE(engine.length(sequence) == 5u);
            calls = engine.calls() - before;
        }
        BOOST_TEST(calls == 3u);  // two were done when it failed
        engine.truncate(sequence, 5);
        left = 1 << 30;
        const auto got = copy_of(engine.extend(sequence, text_of(9)));
        engine.truncate(sequence, 0);
        std::vector<token> whole = text_of(5);
        for (const token each : text_of(9)) whole.push_back(each);
        const std::string found = difference(last_of(copy_of(engine.extend(sequence, whole)), 9), got, rounding);
        BOOST_TEST(found.empty(), found);
    };
    auto options = exact();
    options.pass_tokens = 20;  // three calls, of which the first are done when a later one fails
    const llama_cpp::streams streams(tiny_weights("llama"), options);
    const llama_cpp::trees trees(tiny_weights("llama"), options);
    const llama_cpp::checkpoints checkpoints(tiny_weights("mamba"), options);
    auto a = streams.make_sequence();
    auto b = trees.make_sequence();
    auto c = checkpoints.make_sequence();
    check(streams, a);
    check(trees, b);
    check(checkpoints, c);
}

BOOST_AUTO_TEST_CASE(threads_take_turns) {
    const llama_cpp::streams engine(tiny_weights("llama"), exact(2));
    std::vector<row_copies> got(2);
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < 2; ++i) {
        threads.emplace_back([&, i] {
            for (int time = 0; time < 20; ++time) {
                auto sequence = engine.make_sequence();
                for (const token each : text_of(12)) engine.extend(sequence, std::vector<token>{each});
                got[i] = copy_of(engine.extend(sequence, text_of(3)));
            }
        });
    }
    for (std::thread& each : threads) each.join();
    BOOST_TEST(difference(got[0], got[1], rounding).empty());
}

BOOST_AUTO_TEST_CASE(free_cores_are_at_least_one) {
    BOOST_TEST(llama_cpp::free_cores() >= 1u);
    BOOST_TEST(llama_cpp::free_cores() <= std::max(1u, std::thread::hardware_concurrency()));
}

BOOST_AUTO_TEST_SUITE_END()
