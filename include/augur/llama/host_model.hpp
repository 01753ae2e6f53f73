#pragma once
// The bundled Llama on the CPU. See docs/llama/host.md.

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "augur/backend/host/instruction_set.hpp"
#include "augur/backend/host/thread_pool.hpp"
#include "augur/io/files/fingerprint.hpp"
#include "augur/io/files/gguf.hpp"
#include "augur/io/files/safetensors.hpp"
#include "augur/io/files/taken_tensors.hpp"
#include "augur/llama/checks.hpp"
#include "augur/llama/config.hpp"
#include "augur/llama/gguf_config.hpp"
#include "augur/llama/host_passes.hpp"
#include "augur/llama/hugging_face_config.hpp"
#include "augur/llama/key_value_cache.hpp"
#include "augur/llama/memory.hpp"
#include "augur/llama/rotary.hpp"
#include "augur/llama/selection.hpp"
#include "augur/llama/sequence.hpp"
#include "augur/llama/weights.hpp"
#include "augur/model/pass.hpp"
#include "augur/types/scores.hpp"
#include "augur/types/token.hpp"

namespace augur::llama {

struct load_options {
    weight_format weights = weight_format::keep;
    std::size_t threads = 0;                 ///< 1..64; 0 means as many as the machine has cores
    std::size_t context_length = 0;          ///< to allow less than the model's own; 0 means the model's own
    cache_format cache = cache_format::f32;  ///< of keys and values; q8_0 takes about a quarter of the memory
    std::size_t cache_bytes = 0;  ///< that keys and values of a sequence may take; 0 means what memory is available
    backend::host::instruction_set instruction_set = backend::host::instruction_set::automatic;
    std::vector<token> head_tokens = {};   ///< the only ones with a logit, others have -infinity; empty means all
    std::vector<std::size_t> layers = {};  ///< those of the file, in the order to run them; empty means all
    /// Ascending, each 0 to the number of layers: hidden() shows of a position the states after so many layers, one
    /// after the other, as EAGLE-3 reads them, and hidden_size() is as many times the width; passes then run all layers
    /// at once. Empty means the normalised last one. Costs a copy of each.
    std::vector<std::size_t> taps = {};
    /// Called between the layers of an extend by more than 128 tokens; what it throws ends that extend, which then has
    /// changed nothing. For those who want to stop a long prefill. Others on the same pool
    /// wait meanwhile; it must not run this model.
    std::function<void()> between_layers = {};
    /// To run on the threads of other models, taking turns with them: where `threads` is 0 or the pool's size. Empty
    /// means a target's, for what is loaded for a target, else a new one.
    std::shared_ptr<backend::host::thread_pool> pool = {};
};

/// The pool that a model with these options runs on: theirs, unless they ask for another number of threads.
inline std::shared_ptr<backend::host::thread_pool> pool_of(const load_options& options) {
    if (options.pool && (options.threads == 0 || options.threads == options.pool->size())) return options.pool;
    const std::size_t cores =
        std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, backend::host::thread_pool::most_threads);
    return std::make_shared<backend::host::thread_pool>(options.threads != 0 ? options.threads : cores);
}

/// A Llama that models every refinement of augur::Model with bitwise rows: a row of logits depends on the tokens up to
/// it, not on how many rows, threads or vector lanes computed it, or in which trees, parts or batches. Const and safe
/// to share: sequences of several threads take turns.
class host_model {
 public:
    static constexpr bool bitwise_rows = true;
    static constexpr pass_features passes = every_pass_feature;
    using sequence_type = sequence;

    /// Loads a GGUF file, or a folder or file of safetensors. Throws augur::error naming the file and the values where
    /// it is not a Llama that can be run; the file is not needed afterwards.
    static host_model load(const std::filesystem::path& path, const load_options& options = {}) {
        if (io::holds_safetensors(path)) {
            const io::safetensors_folder file(path);
            config c = read_config(file);
            return read(file, c, hugging_face_names(c), options);
        }
        const io::gguf_file file(path);
        config c = read_config(file);
        return read(file, c, gguf_names(c), options);
    }

    /// From parts, for tests and engines with files of their own. The weights must have the configuration's shapes;
    /// which layers and head tokens there are is theirs to say, not the options'. `fingerprint` is their file's.
    host_model(config c, weights w, const load_options& options, std::string fingerprint = {})
        : parts_(std::make_unique<parts>(std::move(c), std::move(w), options)),
          format_(options.weights),
          fingerprint_(std::move(fingerprint)) {
        const std::size_t wanted = options.context_length != 0 ? options.context_length : 1;
        check_cache(wanted, cache_bytes(wanted), 0, options.cache_bytes);
    }

    const config& configuration() const { return parts_->settings; }
    const weights& parameters() const { return parts_->weight; }
    /// Of the file that it was loaded from (io/files/fingerprint.hpp); empty if it was not.
    const std::string& fingerprint() const { return fingerprint_; }
    std::size_t vocabulary_size() const { return parts_->settings.vocabulary; }
    const std::string& vocabulary_fingerprint() const { return parts_->settings.vocabulary_fingerprint; }
    std::size_t context_length() const { return parts_->passes.context_length(); }
    /// The width, or of several taps as many times that.
    std::size_t hidden_size() const { return parts_->passes.hidden_size(); }
    /// Of load_options; empty where hidden() shows the normalised last state.
    const std::vector<std::size_t>& taps() const { return parts_->passes.taps(); }
    std::size_t layer_count() const { return parts_->settings.layers; }
    std::size_t threads() const { return parts_->passes.threads(); }
    /// For load_options of other models that run in turns with this one.
    const std::shared_ptr<backend::host::thread_pool>& pool() const { return parts_->passes.pool(); }
    weight_format format() const { return format_; }

    /// Of the weights, but for what another model lends; sequences count their own.
    std::size_t memory_bytes() const { return parts_->weight.memory_bytes(); }

    /// See weights::parameter_count.
    std::size_t parameter_count() const { return parts_->weight.parameter_count(); }

    /// That keys and values of a sequence of so many tokens take: blocks of 256 tokens.
    std::size_t cache_bytes(std::size_t tokens) const { return parts_->passes.layout().bytes(tokens); }

    sequence make_sequence() const { return sequence(parts_->passes.layout()); }
    /// One as long as after so many tokens of which nothing was computed: all keys and values are 0. For timing passes
    /// behind a text. Throws where the context is shorter, or the memory for the cache.
    sequence make_blank_sequence(std::size_t tokens) const {
        if (tokens > context_length()) {
            augur::detail::fail("a sequence of ", tokens, " tokens exceeds the context of ", context_length());
        }
        parts_->passes.check_room(tokens);
        sequence blank = make_sequence();
        blank.cache_.reserve(tokens);
        blank.length_ = tokens;
        return blank;
    }
    std::size_t length(const sequence& s) const { return s.length_; }

    /// Appends the tokens; returns a row of logits for each of the last `last`. Rows and hidden states stay valid until
    /// the sequence is run again. Throws, and changes nothing, if a token is outside the vocabulary, the context would
    /// overflow, last exceeds the number of tokens, or there is no memory for the keys and values.
    scores extend(sequence& s, std::span<const token> tokens, std::size_t last) const {
        return append({.sequence = &s, .tokens = tokens, .rows = last}, nullptr);
    }
    scores extend(sequence& s, std::span<const token> tokens) const { return extend(s, tokens, tokens.size()); }

    /// Passes in one go over the weights, where they are through the same layers; see model/run.hpp. Each row's numbers
    /// are its sequence's; where the rows of the run lie is noted in the first.
    scattered_scores run(std::span<const pass<sequence>> asked) const { return parts_->passes.run(asked); }

    /// Appends a path of the tree that was run last. Cost: a copy of its keys and values.
    void keep(sequence& s, std::span<const std::size_t> path) const { parts_->passes.keep(s, path); }

    std::size_t waiting(const sequence& s) const { return s.waiting_.size() / parts_->settings.width; }

    /// Forgets everything after the first `length` tokens, exactly. Throws if there are fewer.
    void truncate(sequence& s, std::size_t length) const {
        parts_->passes.check(s);
        augur::model::check_cut(s.length_, length);
        const std::size_t finished = s.length_ - waiting(s);
        s.waiting_.resize(std::min(waiting(s), length - std::min(length, finished)) * parts_->settings.width);
        s.length_ = length;
    }

    /// The normalised hidden states that the rows of the last run were computed from; of all its tokens, if states were
    /// asked for; after layers that are not the last, as these leave them. With taps, those.
    scores hidden(const sequence& s) const { return {s.hidden_.data(), s.shown_, hidden_size()}; }

    /// See augur::LayerInputModel.
    std::size_t layer_input_size() const { return parts_->passes.layer_input_size(); }
    logit_row layer_input(const sequence& s) const {
        return {s.layer_input_.data(), s.layer_input_.capacity() == 0 ? 0 : layer_input_size()};
    }

 private:
    friend class fused_layer;

    /// On the heap, for its addresses must not change when the model is moved.
    struct parts {
        parts(config c, weights w, const load_options& options)
            : settings(with_rotary_factors(std::move(c), options.context_length)),
              weight(std::move(w)),
              passes(settings, weight, backend::host::kernels_of(options.instruction_set), pool_of(options),
                     {checked_context(options.context_length, settings.context), options.cache_bytes, options.cache},
                     options.between_layers, checked_taps(options.taps, settings.layers)) {}

        config settings;
        weights weight;
        host_passes passes;
    };

    template <class File>
    static host_model read(const File& file, config c, tensor_names names, const load_options& options) {
        const std::string origin = file.path().string();
        const auto layers = chosen_layers(options.layers, c.layers, origin);
        const std::size_t file_layers = c.layers;
        take_layers(c, layers);
        validate(c, origin);
        check_cache_format(options.cache, c.head_size, origin);
        const auto head_tokens = chosen_tokens(options.head_tokens, c.vocabulary, origin);
        const io::tracked_file tensors(file);
        weights w = weight_reader(tensors, c, names, options.weights).read(layers, head_tokens);
        pass_over_prediction(tensors, names, c);
        check_all_read(tensors, names, layers, file_layers);
        note_widened(file, options.weights, c.notes);
        return host_model(std::move(c), std::move(w), options, io::fingerprint(file));
    }

    /// Layers for multi-token prediction, which are read where they draft. Of more than the file says it is not sure
    /// what they are; fewer were left out by who wrote it, and change nothing here.
    template <class Tensors>
    static void pass_over_prediction(const Tensors& tensors, const tensor_names& names, config& c) {
        const std::size_t stored = stored_prediction_layers(tensors, names);
        for (std::size_t i = 0; i < c.prediction_layers; ++i) {
            for (const std::string& name : names.of_prediction_layer(i)) tensors.pass_over(name);
        }
        if (stored == c.prediction_layers) return;
        const std::string both =
            augur::detail::message("num_nextn_predict_layers is ", c.prediction_layers, ", but there are tensors of ",
                                   stored, " layers for multi-token prediction");
        if (stored > c.prediction_layers) augur::detail::fail(tensors.path().string(), ": ", both);
        c.notes.push_back(both + ": none of them can draft");
    }

    /// But for layers that were not chosen.
    template <class Tensors>
    static void check_all_read(const Tensors& tensors, const tensor_names& names,
                               const std::vector<std::size_t>& layers, std::size_t file_layers) {
        for (std::size_t index = 0; index < file_layers; ++index) {
            if (std::find(layers.begin(), layers.end(), index) != layers.end()) continue;
            for (const std::string& name : names.of_layer(index)) tensors.pass_over(name);
        }
        for (const std::string& name : tensors_of_config(tensors.original())) tensors.pass_over(name);
        tensors.check_all_read();
    }

    /// `fused`: hidden states for the inputs, one per token, in a model that fuses them.
    scores append(const pass<sequence>& one, const float* fused) const {
        parts_->passes.run(std::span(&one, 1), fused);
        return {one.sequence->logits_.data(), one.sequence->rows_, vocabulary_size(), parameters().head_tokens};
    }

    std::unique_ptr<parts> parts_;
    weight_format format_;
    std::string fingerprint_;
};

/// Options for a model that runs in turns with the target: on its threads, unless the options say otherwise.
inline load_options with_pool_of(const host_model& target, load_options options) {
    if (!options.pool) options.pool = target.pool();
    return options;
}

}  // namespace augur::llama
