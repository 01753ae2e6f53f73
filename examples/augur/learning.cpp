#include "learning.hpp"

#include <algorithm>
#include <augur/draft/exit_head.hpp>
#include <augur/io/files/fingerprint.hpp>
#include <augur/io/files/safetensors.hpp>
#include <augur/llama/host_exit.hpp>
#include <augur/train/checkpoint.hpp>
#include <cstddef>
#include <filesystem>
#include <numeric>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "draft_checkpoints.hpp"
#include "output_file.hpp"

namespace augur::program {
namespace {

train::state_identity identity_of(const llama::host_model& target, std::size_t layer) {
    return {target.fingerprint(), layer, target.hidden_size(), target.vocabulary_size()};
}

std::size_t exit_layer_of(const llama::host_model& target, const learning_options& chosen) {
    return chosen.exit_layer != 0 ? chosen.exit_layer : llama::default_split(target.layer_count());
}
/// Rows are taken from a head that has all.
void check_rows(std::span<const token> tokens, const llama::weights& own) {
    if (own.head_tokens.empty()) return;
    detail::fail("the heads have rows for ", tokens.size(), " tokens, and the model's own output for ",
                 own.head_tokens.size(), "; one of both must have all");
}
/// What a head starts from, on the model's threads: it drafts by turns with the model. One that a thread beside it
/// trains has its own, or passes would wait for updates.
template <class Model>
train::packed_weight_matrix base_of(const llama::weights& own, const Model& model, bool background) {
    if (background) return train::packed_weight_matrix(own.output(), model.threads());
    return {own.output(), model.pool()};
}
/// The `layer`-th on a path of its own, from the states before it.
learned_attending::head_type new_attending(const llama::host_model& target, std::size_t layer, std::size_t rank,
                                           const train::head_options& of, const train::packed_weight_matrix& output,
                                           train::head_place place) {
    if (layer < 2 || layer >= target.layer_count()) {
        detail::fail("--exit-layer is ", layer, "; with --attention-rank it must be 2 to ", target.layer_count() - 1,
                     " of ", target.layer_count(), " layers: the last that drafts is computed from the one before");
    }
    const llama::config& c = target.configuration();
    llama::check_is_llama(c, "--attention-rank");
    const llama::layer_weights& last = *target.parameters().layers[layer - 1];
    const std::vector<double> frequencies = llama::rotary_frequencies(c);
    train::attending_options chosen{of};
    chosen.attention_rank = rank;
    place.layer = layer - 1;
    return {{output.beside(last.query), output.beside(last.key), output.beside(last.value), c.head_size, frequencies,
             last.attention_norm},
            {output.beside(last.attention_output), output.beside(last.gate), output.beside(last.up),
             output.beside(last.down), last.feed_forward_norm},
            output,
            place,
            chosen};
}
/// A head that reads the states, or with the last of the layers the layer inputs, from which it makes them.
template <class Head>
Head new_exit(const llama::host_model& target, const learning_options& chosen) {
    const llama::weights& own = target.parameters();
    if (const llama::logit_rule rule(target.configuration()); !rule.is_plain()) {
        detail::fail("heads are not learnt for a model whose logits have a scale of ", rule.scale, " and a cap of ",
                     rule.cap);
    }
    const std::size_t layer = exit_layer_of(target, chosen);
    train::head_options of = chosen.head;
    of.epsilon = static_cast<double>(target.configuration().norm_epsilon);
    const bool is_pruned = !chosen.tokens.empty();
    if (is_pruned) check_rows(chosen.tokens, own);
    const std::span<const token> tokens = is_pruned ? chosen.tokens : own.head_tokens;
    const train::head_place place{layer, target.vocabulary_size(), own.final_norm, tokens};
    const train::packed_weight_matrix whole = base_of(own, target, chosen.trainer.background);
    const train::packed_weight_matrix output = is_pruned ? whole.selected(tokens) : whole;
    const auto make = [&]() -> Head {
        if constexpr (draft::AttendingHead<Head>) {
            return new_attending(target, layer, chosen.attention_rank, of, output, place);
        } else if constexpr (draft::reads_layer_input<Head>) {
            draft::check_exit_layer(layer, target.layer_count());
            llama::check_is_llama(target.configuration(), "a head that reads a layer's input");
            const llama::layer_weights& last = *own.layers[layer - 1];
            return {{output.beside(last.attention_output), output.beside(last.gate), output.beside(last.up),
                     output.beside(last.down), last.feed_forward_norm},
                    output,
                    place,
                    of};
        } else {
            return {output, place, of};
        }
    };
    Head head = make();
    draft::check_exit_sizes(head, target);
    return head;
}
/// Of what such a head reads.
train::state_identity identity_of_taps(const llama::host_model& target, std::size_t layer) {
    train::state_identity identity = identity_of(target, layer);
    identity.width = target.layer_input_size();
    return identity;
}

/// What an exit's adapter says of itself, before its numbers.
struct adapter_kind {
    train::state_identity whose;
    train::head_options head;
};
adapter_kind kind_of(const std::string& adapter) {
    using format = train::options_format<train::head_options>;
    train::state_reader in(adapter, format::kind, train::checkpoint_file::version);
    adapter_kind result{in.identity(), {}};
    static_cast<void>(in.get<std::uint32_t>("the size of a number"));
    result.head = format::read(in);
    return result;
}
/// What it has to be of: of states, or with a layer that learns of layer inputs.
train::state_identity identity_for(const adapter_kind& of, const llama::host_model& target) {
    const std::size_t layer = of.whose.layer;
    return of.head.layer_rank != 0 ? identity_of_taps(target, layer) : identity_of(target, layer);
}
/// All.
std::vector<std::size_t> rows_of(const backend::host::packed_matrix& of) {
    std::vector<std::size_t> rows(of.rows());
    std::iota(rows.begin(), rows.end(), std::size_t{0});
    return rows;
}

/// An adapter is of the file, which says of which model that is.
train::state_identity identity_of(const llama::eagle_model& layer, const std::string& path) {
    return {io::fingerprint(std::filesystem::path(path)), layer.configuration().layers, layer.hidden_size(),
            layer.vocabulary_size()};
}
llama::eagle_model load_eagle(const llama::host_model& target, const learning_options& chosen,
                              const llama::load_options& options) {
    if (chosen.heads.empty()) detail::fail("scheme 'eagle' learns from a layer that there is; name it by --heads");
    if (io::holds_safetensors(chosen.heads)) {
        detail::fail("--heads ", chosen.heads,
                     ": scheme 'eagle' learns from a draft checkpoint (GGUF), not from a layer "
                     "as others publish it");
    }
    return llama::eagle_model::load(chosen.heads, target, options);
}
/// The layer has normed its states, and its matrix takes no bias.
learned_eagle::head_type new_output(const llama::eagle_model& layer, train::head_options chosen,
                                    bool background = false) {
    if (chosen.norm == train::norm_kind::layer || chosen.bias) {
        detail::fail("scheme 'eagle' learns ", chosen.bias ? "no bias" : "after the layer's own norm",
                     ", but the options ask for ", chosen.bias ? "--bias" : "--norm layer");
    }
    chosen.norm = train::norm_kind::none;
    const llama::weights& own = layer.parameters();
    return {base_of(own, layer, background),
            {layer.configuration().layers, layer.vocabulary_size(), {}, own.head_tokens},
            chosen};
}

/// Of a head, W row by row, then b; blocks in the order of the layout.
void read_into(train::vector<float>& values, const train::heads_layout& layout, const std::string& path,
               const std::vector<llama::head_weights>& from) {
    for (std::size_t head = 0; head < from.size(); ++head) {
        const llama::head_weights& of = from[head];
        const llama::head_block& only = of.blocks.front();
        if (of.blocks.size() != 1 || only.skip.rows() != 0 || of.output.rows() != 0) {
            detail::fail("--heads ", path, ": head ", head, " has ", of.blocks.size(), " blocks, ",
                         only.skip.rows() != 0 ? "a skip, " : "", of.output.rows() != 0 ? "an output of its own, " : "",
                         "but what learns is one block without either");
        }
        const train::head_block& weight = layout.weights[head];
        const train::head_block& bias = layout.biases[head];
        if (only.weight.rows() != weight.rows || only.weight.depth() != weight.columns ||
            only.bias.size() != bias.rows) {
            detail::fail("--heads ", path, ": head ", head, " is of ", only.weight.rows(), " by ", only.weight.depth(),
                         " numbers and ", only.bias.size(), " biases, not ", weight.rows, " by ", weight.columns,
                         " and ", bias.rows);
        }
        for (std::size_t row = 0; row < weight.rows; ++row) {
            only.weight.unpack_row(row, {values.data() + weight.offset + row * weight.columns, weight.columns});
        }
        std::copy(only.bias.begin(), only.bias.end(), values.data() + bias.offset);
    }
}

/// Over these tokens, or where none are named the target's own.
learned_heads::head_type new_heads(const llama::host_model& target, const train::heads_options& chosen,
                                   std::span<const token> tokens, bool background) {
    const llama::weights& own = target.parameters();
    const train::packed_weight_matrix whole = base_of(own, target, background);
    const auto embed = [from = own.embedding](token id, std::span<float> out) {
        from->unpack_row(static_cast<std::size_t>(id), out);
    };
    const auto place = [&](std::span<const token> of) {
        return train::head_place{target.layer_count(), target.vocabulary_size(), {}, of};
    };
    if (tokens.empty()) return {whole, place(own.head_tokens), chosen, embed};
    check_rows(tokens, own);
    return {whole.selected(tokens), place(tokens), chosen, embed};
}

train::checkpoint<float, train::heads_options> heads_adapter(const std::string& adapter,
                                                             const llama::host_model& target) {
    return train::checkpoint_file::load<float, train::heads_options>(adapter,
                                                                     identity_of(target, target.layer_count()));
}

learned_heads::head_type heads_of(const llama::host_model& target, const learning_options& chosen,
                                  const llama::load_options& options) {
    const bool see_tokens = chosen.scheme == "hydra", background = chosen.trainer.background;
    if (chosen.heads.empty()) return new_heads(target, {chosen.head_count, see_tokens}, chosen.tokens, background);
    const auto read = llama::draft_heads::load(chosen.heads, chosen.scheme, target, options);
    if (read.reads_text()) {
        detail::fail("--heads ", chosen.heads,
                     ": heads of Hydra++ read a layer over the text, which is not trained here");
    }
    auto heads = new_heads(target, {read.head_count(), see_tokens}, read.head_tokens(), background);
    train::vector<float> values = heads.values();
    read_into(values, heads.layout(), chosen.heads, read.weights());
    heads.assign(values);
    return heads;
}

}  // namespace

int removed_on_signals::create(const std::filesystem::path& part) {
    return create_removed_on_signals(part);
}
void removed_on_signals::ends(const std::filesystem::path& part) {
    leave_on_signals(part);
}

learned_heads::learned_heads(const llama::host_model& target, const learning_options& chosen,
                             const llama::load_options& options)
    : learned(identity_of(target, target.layer_count()), heads_of(target, chosen, options), chosen.trainer) {}

learned_eagle::learned_eagle(const llama::host_model& target, const learning_options& chosen,
                             const llama::load_options& options)
    : loaded_eagle{load_eagle(target, chosen, options)},
      learned(identity_of(layer, chosen.heads), new_output(layer, chosen.head, chosen.trainer.background),
              chosen.trainer) {}

llama::eagle_model eagle_of_adapter(const std::string& adapter, const std::string& path,
                                    const llama::eagle_model& layer, const llama::load_options& options) {
    if (io::holds_safetensors(path)) {
        detail::fail("--adapter ", adapter, " is of a draft checkpoint, but the layer is ", path,
                     ", as others publish it");
    }
    const auto kept = train::checkpoint_file::load<float>(adapter, identity_of(layer, path));
    auto head = new_output(layer, kept.options);
    kept.check(head, adapter);
    head.assign(kept.values);
    // Without norm and bias the head is linear: its matrix is what it makes of unit vectors.
    const std::size_t width = head.hidden_size();
    const train::matrix<float> whole =
        head.forward(train::columns<float>::Identity(detail::index(width), detail::index(width))).logits;
    const llama::weights& own = layer.parameters();
    llama::weights learned{.embedding = own.embedding,
                           .embedding_is_lent = own.embedding_is_lent,
                           .head = {backend::host::storage::f32, head.classes(), width},
                           .head_tokens = own.head_tokens,
                           .layers = own.layers,
                           .final_norm = own.final_norm,
                           .fusion = {own.fusion.weight.selected(rows_of(own.fusion.weight)), own.fusion.embedding_norm,
                                      own.fusion.hidden_norm}};
    for (std::size_t row = 0; row < head.classes(); ++row) {
        learned.head.set_row(row, std::as_bytes(std::span(whole.data() + row * width, width)));
    }
    llama::load_options shared = options;
    shared.pool = layer.pool();
    return {layer.configuration(), std::move(learned), shared};
}

llama::draft_heads heads_of_adapter(const std::string& adapter, const std::string& kind,
                                    const llama::host_model& target, const llama::load_options& options) {
    const auto kept = heads_adapter(adapter, target);
    if (kept.options.see_tokens != (kind == "hydra")) {
        detail::fail(adapter, ": its heads ", kept.options.see_tokens ? "see" : "do not see",
                     " the tokens drafted before, but the scheme is ", kind);
    }
    const train::heads_layout layout(kept.options, target.hidden_size());
    if (detail::index(layout.size) != kept.values.size()) {
        detail::fail(adapter, ": it has ", kept.values.size(), " parameters, but its ", kept.options.heads,
                     " heads have ", layout.size);
    }
    std::vector<llama::head_weights> heads;
    for (std::size_t head = 0; head < kept.options.heads; ++head) {
        const train::head_block& at = layout.weights[head];
        backend::host::packed_matrix weight(backend::host::storage::f32, at.rows, at.columns);
        for (std::size_t row = 0; row < at.rows; ++row) {
            const std::span<const float> numbers(kept.values.data() + at.offset + row * at.columns, at.columns);
            weight.set_row(row, std::as_bytes(numbers));
        }
        const float* const bias = kept.values.data() + layout.biases[head].offset;
        heads.emplace_back().blocks.push_back({std::move(weight), {bias, bias + at.rows}});
    }
    const llama::weights& own = target.parameters();
    std::vector<std::size_t> rows(kept.tokens.begin(), kept.tokens.end());
    if (rows.empty() || !own.head_tokens.empty()) rows = rows_of(own.output());
    return {std::move(heads), target, kept.tokens, own.output().selected(rows), options};
}

learned_exit::learned_exit(const llama::host_model& target, const learning_options& chosen)
    : learned(identity_of(target, exit_layer_of(target, chosen)), new_exit<head_type>(target, chosen), chosen.trainer) {
}

learned_exit_layer::learned_exit_layer(const llama::host_model& target, const learning_options& chosen)
    : learned(identity_of_taps(target, exit_layer_of(target, chosen)), new_exit<head_type>(target, chosen),
              chosen.trainer) {}

learned_attending::learned_attending(const llama::host_model& target, const learning_options& chosen)
    : learned(identity_of(target, exit_layer_of(target, chosen)), new_exit<head_type>(target, chosen), chosen.trainer) {
}

std::vector<token> drafted_tokens(const llama::host_model& target, const std::string& which) {
    if (which == "all") return {};
    if (!which.empty()) return head_tokens_in(which, target);
    return target.parameters().head_tokens.empty() ? head_tokens_of_bundle(target) : std::vector<token>();
}

learning_options new_options(const llama::host_model& target, const std::string& tokens) {
    constexpr std::size_t rank = 128;
    learning_options options{.tokens = drafted_tokens(target, tokens)};
    options.head.rank = std::min(rank, target.hidden_size());
    return options;
}

train::checkpoint<float> exit_adapter(const std::string& adapter, const llama::host_model& target) {
    return train::checkpoint_file::load<float>(adapter, identity_for(kind_of(adapter), target));
}

learning_options options_of_adapter(const std::string& adapter, const llama::host_model& target) {
    using attending = train::attending_options;
    learning_options options;
    const auto take = [&](auto kept) {
        if constexpr (std::is_same_v<decltype(kept.options), train::heads_options>) {
            options.head_count = kept.options.heads;
        } else {
            options.head = kept.options;
        }
        if (kept.tokens != target.parameters().head_tokens) options.tokens = std::move(kept.tokens);
    };
    constexpr auto attends = train::options_format<attending>::kind;
    if (train::is_state_of(adapter, train::options_format<train::heads_options>::kind)) {
        take(heads_adapter(adapter, target));
        return options;
    }
    if (!train::is_state_of(adapter, attends)) {
        take(exit_adapter(adapter, target));
        options.exit_layer = kind_of(adapter).whose.layer;
        return options;
    }
    options.exit_layer = train::state_reader(adapter, attends, train::checkpoint_file::version).identity().layer;
    const auto kept = train::checkpoint_file::load<float, attending>(adapter, identity_of(target, options.exit_layer));
    options.attention_rank = kept.options.attention_rank;
    take(kept);
    return options;
}

}  // namespace augur::program
