#include "augur/llama/host_exit.hpp"

#include <augur/draft/exit_head.hpp>
#include <boost/test/unit_test.hpp>
#include <thread>
#include <vector>

#include "llama/draft_bundle.hpp"

BOOST_AUTO_TEST_SUITE(llama_host_exit)

using namespace augur;
using namespace augur::testing;

static_assert(draft::ExitHead<llama::host_exit>);
static_assert(HasVocabularyFingerprint<llama::host_exit>);

/// The rows of a head on the states of a model's first layers.
std::vector<float> rows_of(const llama::host_exit& head, const llama::host_model& model,
                           std::span<const token> tokens) {
    auto sequence = model.make_sequence();
    const pass<llama::sequence> shallow{.sequence = &sequence, .tokens = tokens, .to_layer = head.layer()};
    model.run(std::span(&shallow, 1));
    std::vector<float> rows(tokens.size() * model.vocabulary_size());
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        head.row(model.hidden(sequence)[i],
                 std::span(rows).subspan(i * model.vocabulary_size(), model.vocabulary_size()));
    }
    return rows;
}

BOOST_AUTO_TEST_CASE(its_rows_are_those_of_the_exit_as_a_model) {
    const temporary_directory folder;
    const auto tokens = some_tokens(9, 77);
    for (const auto type : {io::tensor_type::f32, io::tensor_type::q4_1, io::tensor_type::bf16}) {
        for (const bool own_head : {false, true}) {
            small_llama file(type);
            if (own_head) file.shapes["output.weight"] = {77, 64};
            const auto target = file.load();
            const auto path = small_exits(target).write(folder / "exit.gguf");
            for (const std::size_t depth : {1u, 2u}) {
                for (const std::size_t threads : {1u, 3u}) {
                    const auto head = llama::host_exit::load(path, target, depth, {.threads = threads});
                    const auto exit = llama::load_exit(path, target, depth);
                    BOOST_TEST(head.layer() == depth);
                    const std::vector<token> listed{0, 3, 40, 76};
                    BOOST_TEST(head.possible() == listed, boost::test_tools::per_element());
                    BOOST_TEST(same_bits(rows_of(head, target, tokens), logits_in_steps(exit, tokens, 4)),
                               io::name_of(type) << ' ' << depth << ' ' << threads);
                    BOOST_TEST(head.memory_bytes() == exit.memory_bytes());
                }
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(untrained_it_is_the_targets_norm_and_output) {
    const auto tokens = some_tokens(9, 77);
    for (const auto type : {io::tensor_type::f32, io::tensor_type::q4_1}) {
        for (const std::vector<token>& kept : {std::vector<token>{}, {2, 5, 70}}) {
            const auto target = small_llama(type).load({.head_tokens = kept});
            const auto head = llama::host_exit::untrained(target, 1);
            BOOST_TEST(head.possible() == kept, boost::test_tools::per_element());
            const auto first = small_llama(type).load({.head_tokens = kept, .layers = {0}});
            BOOST_TEST(same_bits(rows_of(head, target, tokens), logits_in_steps(first, tokens, 9)));
            BOOST_TEST(head.memory_bytes() == 64 * sizeof(float));  // the rest is lent
        }
    }
}

BOOST_AUTO_TEST_CASE(the_split_is_three_quarters_down_unless_told_otherwise) {
    BOOST_TEST(llama::default_split(32) == 24u);
    BOOST_TEST(llama::default_split(30) == 22u);
    BOOST_TEST(llama::default_split(4) == 3u);
    BOOST_TEST(llama::default_split(2) == 1u);
    BOOST_TEST(llama::default_split(1) == 1u);
    const temporary_directory folder;
    const auto target = small_llama().load();
    BOOST_TEST(llama::host_exit::untrained(target).layer() == 1u);
    BOOST_TEST(llama::host_exit::load(small_exits(target).write(folder / "exit.gguf"), target).layer() == 1u);
}

BOOST_AUTO_TEST_CASE(callers_of_several_threads_take_turns) {
    const auto target = small_llama().load();
    const auto head = llama::host_exit::untrained(target, 1);
    const auto tokens = some_tokens(40, 77);
    const auto expected = rows_of(head, target, tokens);
    std::vector<std::vector<float>> got(3);
    std::vector<std::thread> threads;
    for (auto& rows : got) threads.emplace_back([&] { rows = rows_of(head, target, tokens); });
    for (auto& each : threads) each.join();
    for (const auto& rows : got) BOOST_TEST(same_bits(rows, expected));
}

BOOST_AUTO_TEST_CASE(what_does_not_fit_is_refused) {
    const temporary_directory folder;
    const auto target = small_llama().load();
    const auto path = small_exits(target).write(folder / "exit.gguf");
    BOOST_CHECK_EXCEPTION(llama::host_exit::load(path, target, 3), error,
                          says({"exit.gguf", "after 3 layers", "1, 2"}));
    small_llama other = small_exits(target);
    other.texts["augur.target.fingerprint"] = "0123456789abcdef";
    BOOST_CHECK_EXCEPTION(llama::host_exit::load(other.write(folder / "other.gguf"), target), error,
                          says({"other.gguf", "0123456789abcdef", target.fingerprint()}));
    const auto make = [&](std::size_t norm, std::vector<token> tokens) {
        llama::host_exit(1, std::vector<float>(norm), {}, std::move(tokens), target, {});
    };
    BOOST_CHECK_EXCEPTION(make(63, {}), error, says({"norm of 63", "states of 64"}));
    BOOST_CHECK_EXCEPTION(make(64, {1, 2}), error, says({"77 rows", "for 2 tokens"}));
    const auto head = llama::host_exit::untrained(target, 1);
    std::vector<float> state(64), row(77);
    BOOST_CHECK_EXCEPTION(head.row(std::span(state).first(63), row), error, says({"of 64", "of 63"}));
    BOOST_CHECK_EXCEPTION(head.row(state, std::span(row).first(76)), error, says({"77 logits", "76"}));
    BOOST_CHECK_EXCEPTION(draft::check_exit(llama::host_exit::untrained(target, 2), target), error,
                          says({"after 2 layers", "target of 2"}));
}

BOOST_AUTO_TEST_SUITE_END()
