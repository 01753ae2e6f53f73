#include "augur/llama/early_exit.hpp"

#include <augur/accept/exact.hpp>
#include <augur/accept/rejection_sampling.hpp>
#include <augur/testing/promise.hpp>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>

#include "llama/draft_bundle.hpp"

BOOST_AUTO_TEST_SUITE(llama_early_exit)

using namespace augur;
using namespace augur::testing;

namespace {

constexpr std::uint64_t rank = exit_rank;

/// What the definition says, in double precision: norm, low-rank change, scale, head.
std::vector<double> by_definition(const io::gguf_file& file, const llama::host_model& target, std::size_t depth,
                                  std::span<const token> tokens) {
    const std::size_t width = target.hidden_size();
    llama::config c = target.configuration();
    c.layers = depth;
    llama::weights first;
    first.embedding = target.parameters().embedding;
    first.layers.assign(target.parameters().layers.begin(),
                        target.parameters().layers.begin() + static_cast<std::ptrdiff_t>(depth));
    const llama::weight_reader reader(file, c, llama::gguf_names(), llama::weight_format::keep);
    const std::string name = "augur.exit." + std::to_string(depth) + ".";
    first.final_norm = reader.vector(name + "norm.weight", width);
    const llama::host_model shallow(c, std::move(first), {});
    auto sequence = shallow.make_sequence();
    shallow.extend(sequence, tokens, 1);
    const auto state = shallow.hidden(sequence)[0];
    const auto up = reader.floats(name + "up.weight", {width, rank});
    const auto down = reader.floats(name + "down.weight", {rank, width});
    const double scale = reader.vector(name + "scale", 1)[0];
    std::vector<double> changed(state.begin(), state.end());
    for (std::size_t j = 0; j < rank; ++j) {
        double through = 0;
        for (std::size_t i = 0; i < width; ++i) through += double(down[j * width + i]) * double(state[i]);
        for (std::size_t i = 0; i < width; ++i) changed[i] += double(up[i * rank + j]) * through;
    }
    std::vector<double> logits(target.vocabulary_size(), -std::numeric_limits<double>::infinity());
    std::vector<float> row(width);
    for (const std::size_t id : {0u, 3u, 40u, 76u}) {
        target.parameters().output().unpack_row(id, row);
        double sum = 0;
        for (std::size_t i = 0; i < width; ++i) sum += scale * double(row[i]) * changed[i];
        logits[id] = sum;
    }
    return logits;
}

}  // namespace

BOOST_AUTO_TEST_CASE(an_exit_says_what_its_definition_says) {
    const temporary_directory folder;
    const auto tokens = some_tokens(7, 77);
    for (const bool own_head : {false, true}) {
        small_llama file;
        if (own_head) file.shapes["output.weight"] = {77, 64};
        const auto target = file.load();
        const auto path = small_exits(target).write(folder / "exit.gguf");
        const io::gguf_file stored(path);
        for (const std::size_t depth : {1u, 2u}) {
            const auto exit = llama::load_exit(path, target, depth);
            BOOST_TEST(exit.layer_count() == depth);
            const auto rows = logits_in_steps(exit, tokens, 3);
            const auto wanted = by_definition(stored, target, depth, tokens);
            for (std::size_t id = 0; id < 77; ++id) {
                const double found = rows[6 * 77 + id];
                if (std::isinf(wanted[id])) {
                    BOOST_TEST(found == wanted[id]);
                } else {
                    BOOST_TEST(std::abs(found - wanted[id]) < 1e-3 * (1 + std::abs(wanted[id])),
                               depth << ' ' << id << ": " << found << " is not " << wanted[id]);
                }
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(the_layers_are_the_targets_own) {
    const temporary_directory folder;
    const auto target = small_llama(io::tensor_type::q4_1).load();
    const auto path = small_exits(target).write(folder / "exit.gguf");
    const auto exit = llama::load_exit(path, target);
    BOOST_TEST(exit.layer_count() == 2u);  // the last one
    BOOST_TEST(exit.parameters().layers[1] == target.parameters().layers[1]);
    const auto& head = exit.parameters().head;
    BOOST_TEST(exit.memory_bytes() == head.memory_bytes() + 64 * sizeof(float));
    BOOST_TEST(exit.parameter_count() == target.parameter_count() + head.rows() * 64);  // lent ones count
    BOOST_CHECK(head.format() == backend::host::storage::q8_0);  // in four bits small changes would be lost
    BOOST_CHECK(llama::load_exit(path, target, 1, {.weights = llama::weight_format::bf16}).parameters().head.format() ==
                backend::host::storage::bf16);
}

BOOST_AUTO_TEST_CASE(drafts_of_an_exit_leave_the_law_as_it_is) {
    const temporary_directory folder;
    const auto target = small_llama(io::tensor_type::f32, 32, 4, 2, 24, 4).load({.threads = 1});
    small_llama part = small_exits(target);
    part.lists["augur.head.tokens"] = {1, 3};
    const auto exit = llama::load_exit(part.write(folder / "exit.gguf"), target, 1, {.threads = 1});
    decode::options chosen;
    chosen.stop.max_tokens = 3;
    const std::vector<token> prompt{2, 0, 1};
    const policy::fixed_length two{2};
    BOOST_TEST(broken_promise(speculate(exit, target, two, accept::rejection_sampling{}), prompt, chosen) == "");
    chosen.sampling.temperature.value = 0;
    BOOST_TEST(broken_promise(speculate(exit, target, two, accept::exact{}), prompt, chosen) == "");
}

BOOST_AUTO_TEST_CASE(exits_that_cannot_be_are_refused) {
    const temporary_directory folder;
    const auto target = small_llama().load();
    const auto refused = [&](const small_llama& file, std::size_t depth, const std::vector<std::string>& words) {
        const auto path = file.write(folder / "exit.gguf");
        BOOST_CHECK_EXCEPTION(llama::load_exit(path, target, depth), error, says(words));
    };
    refused(small_exits(target), 3, {"exit.gguf", "after 3 layers", "1, 2"});
    for (const std::vector<std::int32_t>& depths : {std::vector<std::int32_t>{0, 1}, {-1}, {2, 1}, {1, 1}, {1, 3}}) {
        small_llama odd = small_exits(target);
        odd.lists["augur.exits"] = depths;
        refused(odd, 1, {"exit.gguf", "augur.exits", "2 layers"});
    }
    small_llama none = small_exits(target);
    none.lists["augur.exits"].clear();
    refused(none, 1, {"exit.gguf", "augur.exits"});
    small_llama narrow = small_exits(target);
    narrow.shapes["augur.exit.1.down.weight"] = {rank, 32};
    refused(narrow, 1, {"augur.exit.1.down.weight", "{3, 32}", "{3, 64}"});
    small_llama other = small_exits(target);
    other.texts["augur.target.fingerprint"] = "0123456789abcdef";
    refused(other, 1, {"exit.gguf", "0123456789abcdef", target.fingerprint()});
    other.texts["augur.member"] = "draft";
    refused(other, 1, {"'draft'", "'exit'"});
}

BOOST_AUTO_TEST_SUITE_END()
