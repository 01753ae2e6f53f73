#include "augur/llama/eagle_model.hpp"

#include <augur/accept/coupled.hpp>
#include <augur/accept/exact.hpp>
#include <augur/accept/rejection_sampling.hpp>
#include <augur/draft/eagle.hpp>
#include <augur/testing/drafter_laws.hpp>
#include <augur/testing/promise.hpp>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>

#include "llama/draft_bundle.hpp"

BOOST_AUTO_TEST_SUITE(llama_eagle_model)

using namespace augur;
using namespace augur::testing;

static_assert(FusedTreeModel<llama::eagle_model>);

namespace {

using numbers = std::vector<double>;

/// The layer by its definition: in double precision, all positions anew, from the tensors of the file.
class by_definition {
 public:
    by_definition(const std::filesystem::path& path, const llama::host_model& target)
        : file_(path), target_(target), c_(target.configuration()) {}

    /// The logits after the last of `tokens`, which come with the rows of `states`; and its own hidden state.
    std::pair<numbers, numbers> operator()(std::span<const token> tokens, std::span<const float> states) const {
        std::vector<numbers> rows;
        for (std::size_t i = 0; i < tokens.size(); ++i) {
            std::vector<float> embedding(c_.width);
            target_.parameters().embedding->unpack_row(static_cast<std::size_t>(tokens[i]), embedding);
            numbers both = normed({embedding.begin(), embedding.end()}, "augur.fusion.embedding_norm.weight");
            const auto state = states.subspan(i * c_.width, c_.width);
            const numbers hidden = normed({state.begin(), state.end()}, "augur.fusion.hidden_norm.weight");
            both.insert(both.end(), hidden.begin(), hidden.end());
            rows.push_back(times("augur.fusion.weight", both));
        }
        numbers row = add(rows.back(), times("blk.0.attn_output.weight", attention(rows)));
        const numbers in = normed(row, "blk.0.ffn_norm.weight");
        numbers gate = times("blk.0.ffn_gate.weight", in);
        const numbers up = times("blk.0.ffn_up.weight", in);
        for (std::size_t i = 0; i < gate.size(); ++i) gate[i] = gate[i] / (1 + std::exp(-gate[i])) * up[i];
        row = normed(add(row, times("blk.0.ffn_down.weight", gate)), "output_norm.weight");
        numbers logits(c_.vocabulary);
        for (std::size_t t = 0; t < c_.vocabulary; ++t) {
            std::vector<float> weights(c_.width);
            target_.parameters().output().unpack_row(t, weights);
            for (std::size_t i = 0; i < c_.width; ++i) logits[t] += static_cast<double>(weights[i]) * row[i];
        }
        return {logits, row};
    }

 private:
    numbers values(const std::string& name) const {
        const auto& view = file_.tensor(name);
        std::vector<float> out(view.element_count());
        io::dequantize(view.type, view.bytes, out);
        return {out.begin(), out.end()};
    }
    numbers times(const std::string& name, const numbers& in) const {
        const numbers weights = values(name);
        numbers out(weights.size() / in.size());
        for (std::size_t i = 0; i < weights.size(); ++i) out[i / in.size()] += weights[i] * in[i % in.size()];
        return out;
    }
    numbers normed(numbers in, const std::string& name) const {
        if (!file_.find(name)) return in;
        double squares = 0;
        for (const double x : in) squares += x * x;
        const numbers weights = values(name);
        for (std::size_t i = 0; i < in.size(); ++i) {
            in[i] *= weights[i] / std::sqrt(squares / static_cast<double>(in.size()) + 1e-5);
        }
        return in;
    }
    static numbers add(numbers a, const numbers& b) {
        for (std::size_t i = 0; i < a.size(); ++i) a[i] += b[i];
        return a;
    }
    /// Turned as at this position. Distances count, so it may start anywhere.
    numbers turned(numbers heads, std::size_t position) const {
        const std::size_t size = c_.head_size;
        for (std::size_t i = 0; i < heads.size(); i += 2) {
            const double exponent = -static_cast<double>(i % size) / static_cast<double>(size);
            const double angle = static_cast<double>(position + 1) * std::pow(500.0, exponent);
            const double x = heads[i], y = heads[i + 1];
            heads[i] = x * std::cos(angle) - y * std::sin(angle);
            heads[i + 1] = x * std::sin(angle) + y * std::cos(angle);
        }
        return heads;
    }
    /// Of the last row over all.
    numbers attention(const std::vector<numbers>& rows) const {
        const std::size_t size = c_.head_size, last = rows.size() - 1;
        const auto input = [&](std::size_t i) { return normed(rows[i], "blk.0.attn_norm.weight"); };
        const numbers query = turned(times("blk.0.attn_q.weight", input(last)), last);
        std::vector<numbers> keys, found;
        for (std::size_t i = 0; i <= last; ++i) {
            keys.push_back(turned(times("blk.0.attn_k.weight", input(i)), i));
            found.push_back(times("blk.0.attn_v.weight", input(i)));
        }
        numbers out(query.size());
        for (std::size_t head = 0; head < c_.heads; ++head) {
            const std::size_t shared = head / (c_.heads / c_.key_value_heads) * size;
            numbers weights(rows.size());
            double total = 0;
            for (std::size_t i = 0; i <= last; ++i) {
                double score = 0;
                for (std::size_t d = 0; d < size; ++d) score += query[head * size + d] * keys[i][shared + d];
                total += weights[i] = std::exp(score / std::sqrt(static_cast<double>(size)));
            }
            for (std::size_t i = 0; i <= last; ++i) {
                for (std::size_t d = 0; d < size; ++d)
                    out[head * size + d] += weights[i] / total * found[i][shared + d];
            }
        }
        return out;
    }

    io::gguf_file file_;
    const llama::host_model& target_;
    llama::config c_;
};

std::vector<float> states_of(const llama::host_model& target, std::span<const token> tokens) {
    auto sequence = target.make_sequence();
    model::run(target, {.sequence = &sequence, .tokens = tokens, .rows = 0, .states = true});
    return copied(target.hidden(sequence));
}

}  // namespace

BOOST_AUTO_TEST_CASE(rows_and_states_are_those_of_the_definition) {
    const temporary_directory folder;
    const auto target = small_llama().load();
    const auto tokens = some_tokens(12, 77);
    const auto states = states_of(target, std::span(tokens).first(11));
    for (const bool norms : {true, false}) {
        const auto path = small_eagle(target, norms).write(folder / "eagle.gguf");
        const auto model = llama::eagle_model::load(path, target, {.threads = 2});
        const by_definition expected(path, target);
        auto sequence = model.make_sequence();
        const auto rows = copied(model.extend(sequence, std::span(tokens).subspan(1), states, 11));
        const auto own = copied(model.hidden(sequence));
        for (const std::size_t length : {1u, 2u, 11u}) {
            const auto [logits, hidden] =
                expected(std::span(tokens).subspan(1, length), std::span(states).first(length * 64));
            for (std::size_t t = 0; t < 77; ++t) {
                BOOST_TEST(std::abs(static_cast<double>(rows[(length - 1) * 77 + t]) - logits[t]) < 1e-4);
            }
            for (std::size_t i = 0; i < 64; ++i) {
                BOOST_TEST(std::abs(static_cast<double>(own[(length - 1) * 64 + i]) - hidden[i]) < 1e-4);
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(rows_do_not_depend_on_how_many_are_computed_together) {
    using enum io::tensor_type;
    const temporary_directory folder;
    const auto tokens = some_tokens(150, 77);  // more than a pass takes at once
    for (const auto type : {f32, f16, bf16, q8_0, q4_0}) {
        const auto target = small_llama(type).load();
        const auto states = states_of(target, std::span(tokens).first(149));
        const auto path = small_eagle(target, true, type).write(folder / "eagle.gguf");
        std::vector<float> wanted;
        for (const std::size_t rows : {149u, 1u, 2u, 5u, 16u}) {
            const auto model = llama::eagle_model::load(path, target, {.threads = rows % 3 + 1});
            auto sequence = model.make_sequence();
            std::vector<float> found;
            for (std::size_t at = 0; at < 149; at += rows) {
                const std::size_t count = std::min<std::size_t>(rows, 149 - at);
                const auto got = copied(model.extend(sequence, std::span(tokens).subspan(at + 1, count),
                                                     std::span(states).subspan(at * 64, count * 64), count));
                found.insert(found.end(), got.begin(), got.end());
            }
            if (wanted.empty()) wanted = found;
            BOOST_TEST(same_bits(found, wanted), io::name_of(type) << ", " << rows << " rows");
        }
    }
}

BOOST_AUTO_TEST_CASE(rows_of_a_tree_are_those_of_its_paths) {
    const temporary_directory folder;
    const auto target = small_llama(io::tensor_type::q4_1).load();
    const auto model = llama::eagle_model::load(small_eagle(target).write(folder / "eagle.gguf"), target);
    constexpr std::size_t first = 9, nodes = 24;  // inputs before the tree, in no order of depth
    const auto tokens = some_tokens(first + nodes, 77);
    const auto states = states_of(target, tokens);
    const auto states_of_node = [&](std::size_t i) { return std::span(states).subspan((first + i) * 64, 64); };
    std::vector<std::int32_t> parents;
    for (std::size_t i = 0; i < nodes; ++i) parents.push_back(static_cast<std::int32_t>(i * 7 % (i + 1)) - 1);
    auto sequence = model.make_sequence();
    model.extend(sequence, std::span(tokens).first(first), std::span(states).first(first * 64), 0);
    for (const std::size_t last : {nodes, std::size_t{5}}) {
        const auto rows = copied(model.extend_tree(sequence, std::span(tokens).subspan(first),
                                                   std::span(states).subspan(first * 64, nodes * 64), parents, last));
        const auto hidden = copied(model.hidden(sequence));
        BOOST_TEST(model.length(sequence) == first);
        for (std::size_t i = 0; i < last; ++i) {
            std::vector<std::size_t> path;
            for (auto at = static_cast<std::int32_t>(nodes - last + i); at >= 0; at = parents[path.back()]) {
                path.push_back(static_cast<std::size_t>(at));
            }
            auto alone = model.make_sequence();
            model.extend(alone, std::span(tokens).first(first), std::span(states).first(first * 64), 0);
            std::vector<float> row;
            for (std::size_t at = path.size(); at-- > 0;) {
                const std::size_t node = path[at];
                row = copied(model.extend(alone, std::span(tokens).subspan(first + node, 1), states_of_node(node), 1));
            }
            BOOST_TEST(same_bits(std::vector(rows.begin() + static_cast<std::ptrdiff_t>(i * 77),
                                             rows.begin() + static_cast<std::ptrdiff_t>((i + 1) * 77)),
                                 row));
            BOOST_TEST(same_bits(std::vector(hidden.begin() + static_cast<std::ptrdiff_t>(i * 64),
                                             hidden.begin() + static_cast<std::ptrdiff_t>((i + 1) * 64)),
                                 copied(model.hidden(alone))));
        }
    }
    BOOST_CHECK_THROW(model.extend_tree(sequence, std::span(tokens).first(2), std::span(states).first(64),
                                        std::vector<std::int32_t>{-1, 0}, 1),
                      error);
}

BOOST_AUTO_TEST_CASE(the_head_has_the_targets_rows_of_its_tokens) {
    const temporary_directory folder;
    const auto target = small_llama(io::tensor_type::q4_1).load();
    const auto tokens = some_tokens(6, 77);
    const auto states = states_of(target, std::span(tokens).first(5));
    small_llama file = small_eagle(target);
    const auto rows_of = [&](const llama::eagle_model& model) {
        auto sequence = model.make_sequence();
        return copied(model.extend(sequence, std::span(tokens).subspan(1), states, 5));
    };
    const auto whole = llama::eagle_model::load(file.write(folder / "whole.gguf"), target);
    auto wanted = rows_of(whole);
    file.lists["augur.head.tokens"] = {0, 3, 15, 16, 17, 40, 76};
    const auto model = llama::eagle_model::load(file.write(folder / "some.gguf"), target);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        const auto& kept = file.lists["augur.head.tokens"];
        const auto id = static_cast<std::int32_t>(i % 77);
        if (!std::binary_search(kept.begin(), kept.end(), id)) wanted[i] = -std::numeric_limits<float>::infinity();
    }
    BOOST_TEST(same_bits(rows_of(model), wanted));
    auto sequence = model.make_sequence();
    const std::vector<float> one_state(target.hidden_size(), 0.5f);
    const auto& listed = file.lists["augur.head.tokens"];
    const std::vector<token> one{5};
    const std::vector<std::int32_t> root{-1};
    for (const scores& got :
         {model.extend(sequence, one, one_state, 1), model.extend_tree(sequence, one, one_state, root, 1)}) {
        BOOST_TEST(got.back().possible() == listed, boost::test_tools::per_element());
    }
    const auto rows = target.parameters().output().selected(std::vector<std::size_t>(7));
    BOOST_TEST(model.memory_bytes() == whole.memory_bytes() + rows.memory_bytes());  // the whole head is borrowed
}

BOOST_AUTO_TEST_CASE(drafting_with_it_keeps_every_law) {
    const temporary_directory folder;
    const auto target = small_llama(io::tensor_type::f32, 32, 4, 2, 24, 4).load({.threads = 1});  // four tokens
    small_llama file = small_eagle(target);
    file.lists["augur.head.tokens"] = {0, 1, 3};
    const auto model = llama::eagle_model::load(file.write(folder / "eagle.gguf"), target, {.threads = 1});
    const auto r = drafter_laws(draft::eagle(model, draft::sampled{}), target, {.cases = 25});
    BOOST_TEST(r.kept(), r);
    decode::options chosen;
    chosen.stop.max_tokens = 3;
    const std::vector<token> prompt{2, 0, 1};
    const policy::fixed_length two{2};
    const auto promised = [&](const auto& scheme) { return broken_promise(scheme, prompt, chosen); };
    BOOST_TEST(promised(speculate(draft::eagle(model, draft::sampled{}), target, two, accept::rejection_sampling{})) ==
               "");
    BOOST_TEST(promised(speculate(draft::eagle(model, draft::shared_noise{}), target, two, accept::coupled{})) == "");
    chosen.sampling.temperature.value = 0;
    BOOST_TEST(promised(speculate(draft::eagle(model), target, two, accept::exact{})) == "");
    const draft::eagle tree(model, {2, 2, 4});
    const auto trees = drafter_laws(tree, target, {.cases = 25});
    BOOST_TEST(trees.kept(), trees);
    BOOST_TEST(promised(speculate(tree, target, two, accept::exact{})) == "");
    chosen.sampling.temperature.value = 1;
    BOOST_TEST(promised(speculate(tree, target, two, accept::rejection_sampling{})) == "");
}

BOOST_AUTO_TEST_CASE(what_does_not_fit_is_refused) {
    const temporary_directory folder;
    const auto target = small_llama().load();
    const auto refused = [&](auto&& change, std::vector<std::string> words) {
        small_llama file = small_eagle(target);
        change(file);
        const auto path = file.write(folder / "eagle.gguf");
        BOOST_CHECK_EXCEPTION(llama::eagle_model::load(path, target), error, says(words));
    };
    refused([](auto& f) { f.texts["augur.member"] = "draft"; }, {"eagle.gguf", "'draft'", "'eagle'"});
    refused([](auto& f) { f.texts["augur.target.fingerprint"] = "0123456789abcdef"; },
            {"eagle.gguf", "'a small one'", "0123456789abcdef", target.fingerprint()});
    refused([](auto& f) { f.shapes["augur.fusion.weight"] = {64, 64}; }, {"augur.fusion.weight", "64"});
    refused([](auto& f) { f.shapes.erase("augur.fusion.weight"); }, {"augur.fusion.weight"});
    refused([](auto& f) { f.lists["augur.head.tokens"] = {3, 2}; }, {"augur.head.tokens", "ascending"});
    refused([](auto& f) { f.lists["augur.head.tokens"] = {3, 77}; }, {"77"});

    const auto model = llama::eagle_model::load(small_eagle(target).write(folder / "eagle.gguf"), target);
    auto sequence = model.make_sequence();
    const std::vector<float> states(64);
    BOOST_CHECK_EXCEPTION(model.extend(sequence, std::vector<token>{1, 2}, states, 1), error, says({"2", "128", "64"}));
    BOOST_CHECK_THROW(model.extend(sequence, std::vector<token>{77}, states, 1), error);
    BOOST_CHECK_THROW(model.extend(sequence, std::vector<token>{1}, states, 2), error);
    BOOST_TEST(model.length(sequence) == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
