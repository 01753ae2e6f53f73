#pragma once
// The bundled Llama on the CPU. See docs/llama/host.md.

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "augur/backend/host/instruction_set.hpp"
#include "augur/io/fingerprint.hpp"
#include "augur/io/gguf.hpp"
#include "augur/io/safetensors.hpp"
#include "augur/llama/checks.hpp"
#include "augur/llama/config.hpp"
#include "augur/llama/forward.hpp"
#include "augur/llama/gguf_config.hpp"
#include "augur/llama/hugging_face_config.hpp"
#include "augur/llama/memory.hpp"
#include "augur/llama/selection.hpp"
#include "augur/llama/sequence.hpp"
#include "augur/llama/weights.hpp"
#include "augur/types/error.hpp"
#include "augur/types/scores.hpp"
#include "augur/types/token.hpp"

namespace augur::llama {

struct load_options {
    weight_format weights = weight_format::keep;
    std::size_t threads = 0;         ///< 1..64; 0 means as many as the machine has cores
    std::size_t context_length = 0;  ///< to allow less than the model's own; 0 means the model's own
    std::size_t cache_bytes = 0;     ///< that keys and values of a sequence may take; 0 means what memory is available
    backend::host::instruction_set instruction_set = backend::host::instruction_set::automatic;
    std::vector<token> head_tokens = {};   ///< the only ones with a logit, others have -infinity; empty means all
    std::vector<std::size_t> layers = {};  ///< those of the file, in the order to run them; empty means all
    /// Called between the layers of an extend by more than 128 tokens; what it throws ends that extend, which then has changed
    /// nothing. For those who want to stop a long prefill.
    std::function<void()> between_layers = {};
};

/// A Llama that models augur::Model, ScoresLastRows and PrefillsStates with bitwise rows: a row of logits depends on the
/// tokens up to it, not on how many rows, threads or vector lanes computed it. Const and safe to share: sequences of
/// several threads take turns.
class host_model {
 public:
    static constexpr bool bitwise_rows = true;
    using sequence_type = sequence;

    /// Loads a GGUF file, or a folder or file of safetensors. Throws augur::error naming the file and the values where it
    /// is not a Llama that can be run; the file is not needed afterwards.
    static host_model load(const std::filesystem::path& path, const load_options& options = {}) {
        if (io::holds_safetensors(path)) {
            const io::safetensors_folder file(path);
            return read(file, read_config(file), hugging_face_names(), options);
        }
        const io::gguf_file file(path);
        return read(file, read_config(file), gguf_names(), options);
    }

    /// From parts, for tests and engines with files of their own. The weights must have the configuration's shapes; which
    /// layers and head tokens there are is theirs to say, not the options'. `fingerprint` is their file's.
    host_model(config c, weights w, const load_options& options, std::string fingerprint = {})
        : parts_(std::make_unique<parts>(std::move(c), std::move(w), options)),
          format_(options.weights),
          between_layers_(options.between_layers),
          fingerprint_(std::move(fingerprint)),
          cache_limit_(options.cache_bytes) {
        context_ = checked_context(options.context_length, parts_->settings.context);
        const std::size_t wanted = options.context_length != 0 ? options.context_length : 1;
        check_cache(wanted, cache_bytes(wanted), 0, cache_limit_);
    }

    const config& configuration() const { return parts_->settings; }
    const weights& parameters() const { return parts_->weight; }
    /// Of the file that it was loaded from (io/fingerprint.hpp); empty if it was not.
    const std::string& fingerprint() const { return fingerprint_; }
    std::size_t vocabulary_size() const { return parts_->settings.vocabulary; }
    std::size_t context_length() const { return context_; }
    std::size_t hidden_size() const { return parts_->settings.width; }
    std::size_t layer_count() const { return parts_->settings.layers; }
    std::size_t threads() const { return parts_->forward.threads(); }
    weight_format format() const { return format_; }

    /// Of the weights, but for what another model lends; sequences count their own.
    std::size_t memory_bytes() const { return parts_->weight.memory_bytes(); }

    /// That keys and values of a sequence of so many tokens take: blocks of 256 tokens.
    std::size_t cache_bytes(std::size_t tokens) const { return layout().bytes(tokens); }

    sequence make_sequence() const { return sequence(layout()); }
    std::size_t length(const sequence& s) const { return s.length_; }

    /// Appends the tokens; returns a row of logits for each of the last `last`. Rows and hidden states stay valid until
    /// the sequence is extended again. Throws, and changes nothing, if a token is outside the vocabulary, the context would
    /// overflow, last exceeds the number of tokens, or there is no memory for the keys and values.
    scores extend(sequence& s, std::span<const token> tokens, std::size_t last) const {
        return run(s, tokens, last, true);
    }
    scores extend(sequence& s, std::span<const token> tokens) const { return extend(s, tokens, tokens.size()); }

    /// The same without logits; returns the hidden states of all these tokens. Cost: extend's without the head's product.
    scores extend_states(sequence& s, std::span<const token> tokens) const {
        run(s, tokens, tokens.size(), false);
        return hidden(s);
    }

    /// Forgets everything after the first `length` tokens, exactly. Throws if there are fewer.
    void truncate(sequence& s, std::size_t length) const {
        check(s);
        check_truncation(s.length_, length);
        s.length_ = length;
    }

    /// The normalised hidden states that the rows of the last extend were computed from.
    scores hidden(const sequence& s) const { return {s.hidden_.data(), s.rows_, hidden_size()}; }

 private:
    friend class eagle_model;

    /// On the heap, for its addresses must not change when the model is moved.
    struct parts {
        parts(config c, weights w, const load_options& options)
            : settings(std::move(c)),
              weight(std::move(w)),
              forward(settings, weight, backend::host::kernels_of(options.instruction_set),
                      options.threads != 0 ? options.threads : default_threads()) {}

        config settings;
        weights weight;
        std::mutex busy;
        forward_pass forward;
    };

    template <class File>
    static host_model read(const File& file, config c, tensor_names names, const load_options& options) {
        const std::string origin = file.path().string();
        const auto layers = chosen_layers(options.layers, c.layers, origin);
        c.layers = layers.size();
        validate(c, origin);
        const auto head_tokens = chosen_tokens(options.head_tokens, c.vocabulary, origin);
        weights w = weight_reader(file, c, std::move(names), options.weights).read(layers, head_tokens);
        return host_model(std::move(c), std::move(w), options, io::fingerprint(file));
    }

    /// Appends the tokens, with hidden states and, where they are wanted, logits of the last `last`. `states` are those
    /// that the inputs are fused with, one per token, in a model that does so.
    scores run(sequence& s, std::span<const token> tokens, std::size_t last, bool with_logits,
               const float* states = nullptr) const {
        check(s);
        check(s, tokens, last);
        const std::size_t length = s.length_ + tokens.size();
        check_cache(length, cache_bytes(length), s.cache_.memory_bytes(), cache_limit_);
        s.cache_.reserve(length);
        float* logits = with_logits ? s.logits_.require(last * vocabulary_size()) : nullptr;
        float* hidden = s.hidden_.require(last * hidden_size());
        if ((states != nullptr) != parts_->weight.fuses()) {
            augur::detail::fail("tokens ", states == nullptr ? "without" : "with", " hidden states, for a model that ",
                                states == nullptr ? "fuses them with its inputs" : "takes none");
        }
        const bool is_long = tokens.size() > forward_pass::most_rows;
        const std::lock_guard lock(parts_->busy);
        for (std::size_t done = 0; done < tokens.size();) {
            const std::size_t rows = std::min(tokens.size() - done, forward_pass::most_rows);
            const std::size_t unwanted = tokens.size() - last;  // rows before the first wanted one
            const std::size_t first = std::clamp(unwanted, done, done + rows);
            const std::size_t wanted = done + rows - first, row = first > unwanted ? first - unwanted : 0;
            parts_->forward.run({tokens.subspan(done, rows), s.length_ + done, wanted,
                                 states == nullptr ? nullptr : states + done * hidden_size(), &s.cache_,
                                 hidden + row * hidden_size(), with_logits ? logits + row * vocabulary_size() : nullptr,
                                 is_long && between_layers_ ? &between_layers_ : nullptr});
            done += rows;
        }
        s.length_ += tokens.size();
        s.rows_ = last;
        return {logits, with_logits ? last : 0, vocabulary_size()};
    }

    static std::size_t default_threads() {
        const std::size_t cores = std::thread::hardware_concurrency();
        return std::clamp<std::size_t>(cores, 1, backend::host::thread_pool::most_threads);
    }

    cache_layout layout() const {
        const config& c = parts_->settings;
        return {c.layers, c.key_value_heads, c.head_size};
    }

    void check(const sequence& s) const {
        if (s.cache_.layout() != layout()) augur::detail::fail("the sequence belongs to a model of another shape");
    }
    void check(const sequence& s, std::span<const token> tokens, std::size_t last) const {
        check_extension(tokens, last, s.length_, context_, vocabulary_size());
    }

    std::unique_ptr<parts> parts_;
    weight_format format_;
    std::function<void()> between_layers_;
    std::string fingerprint_;
    std::size_t context_ = 0;
    std::size_t cache_limit_ = 0;
};

}  // namespace augur::llama
