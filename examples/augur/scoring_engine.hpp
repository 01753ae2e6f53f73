#pragma once
// Models on an engine that scores tokens, and shows neither hidden states nor layers: llama.cpp's. Defined in
// llama_cpp_*.cpp, or, where the program was built without it, in no_llama_cpp.cpp, which refuses.

#include <augur/commit/stop_conditions.hpp>
#include <augur/draft/ngram_table.hpp>
#include <augur/io/text/chat_template.hpp>
#include <augur/model/any_model.hpp>
#include <augur/transform/pipeline.hpp>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "draft_checkpoints.hpp"
#include "options.hpp"
#include "scheme.hpp"

namespace augur::program {

/// What says which engine runs the model, and what only llama.cpp takes.
struct engine_options {
    std::string name = "auto";  ///< auto, augur or llama.cpp
    std::optional<int> gpu_layers{};
    std::vector<std::string> rpc{};      ///< servers, host:port
    std::optional<std::string> cache{};  ///< --cache, where it was given: llama.cpp's own format is f16
};

/// What an engine has to have room for.
struct scoring_needs {
    std::size_t tree_nodes = 0;  ///< of the trees that are drafted; 0: chains
    std::size_t sequences = 1;   ///< at a time
    std::size_t room = 0;  ///< without --context: tokens that each needs; 0: what it was trained for, at most 4096
};

/// What chains or trees of this scheme need.
scoring_needs needs_of(const scheme_options& resolved);

/// A file that is loaded there, shared by the engines on it.
struct scoring_weights;

/// A model, and what there is to say of it.
struct scoring_model {
    model::any_model model;
    std::string path;
    std::string description;  ///< family, size and format
    std::size_t threads, parameters, bytes;
};

/// Whom schemes draft with there.
struct scoring_drafters {
    std::optional<model::any_model> draft, qualifier;
    std::vector<std::unique_ptr<model::any_model>> more;  ///< as draft_checkpoints::more
    std::optional<draft::ngram_table> ngrams;
    std::size_t draft_parameters = 0, bytes = 0;
    std::vector<std::size_t> more_parameters{};
};

/// A vocabulary that only llama.cpp reads.
struct scoring_words {
    virtual ~scoring_words() = default;
    /// As encode_prompt.
    virtual std::vector<token> encode(const prompt_options& prompt) const = 0;
    virtual std::string bytes_of(token id, bool show_control) const = 0;
    virtual std::vector<token> ends() const = 0;
    /// As io::stop_marks_of.
    virtual std::vector<commit::stop_mark> stop_marks(std::span<const std::string> strings) const = 0;
    virtual bool has_chat_template() const = 0;
    /// The tokens of a conversation up to where its next answer begins. Throws what the template refuses.
    virtual std::vector<token> encode_chat(std::span<const io::chat_message> messages) const = 0;
};

/// Whether this program has llama.cpp in it.
bool has_llama_cpp();
/// Its backends, as "CPU, RPC"; or how to get it.
std::string llama_cpp_backends();

/// Throws what llama.cpp cannot do with these settings, before a model is loaded; and where the program has none, how
/// to get it.
void check_llama_cpp(const engine_options& asked, const model_options& chosen);
/// Throws, saying what is missing, where the scheme cannot run there.
void check_scores_suffice(const scheme_options& resolved);

/// Throws llama.cpp's reason.
std::unique_ptr<scoring_words> load_scoring_words(const std::string& path);

/// What is generated has to be a text of a grammar.
struct scoring_grammar {
    transform::mask mask{};
    std::size_t vocabulary = 0;  ///< tokens
    std::vector<token> ends{};   ///< of a text
};

/// Of a grammar in GBNF, on the vocabulary of a GGUF file. Throws llama.cpp's reason.
scoring_grammar load_scoring_grammar(const std::string& path, const std::string& gbnf);

/// Throws llama.cpp's reason.
std::shared_ptr<const scoring_weights> load_scoring_weights(const std::string& path, const engine_options& asked);
/// An engine on them. Throws llama.cpp's reason.
scoring_model scoring_on(const std::shared_ptr<const scoring_weights>& weights, const model_options& chosen,
                         const engine_options& asked, const scoring_needs& needs);
/// A model that reads or drafts the target's text: on the bundled Llama where that reads it, else on llama.cpp. Throws
/// where its vocabulary is another, unless it `may_differ`.
scoring_model load_scoring_draft(const std::string& path, const scoring_needs& needs, const model_options& chosen,
                                 const engine_options& asked, const scoring_model& target, bool may_differ = false);
/// Loads whom the scheme drafts with, draft models by load_scoring_draft. Returns the files, as load_checkpoints does.
checkpoint_files load_scoring_drafters(scoring_drafters& into, const scheme_options& resolved,
                                       const checkpoint_files& named, const scoring_model& target,
                                       const model_options& chosen, const engine_options& asked, bool may_differ);

/// As run, run_trees and run_lossy, on this engine.
run_result run(const scheme_options& resolved, const model::any_model& target, const scoring_drafters& drafters,
               const run_request& request);
run_result run_trees(const scheme_options& resolved, const model::any_model& target, const scoring_drafters& drafters,
                     const run_request& request);
run_result run_lossy(const scheme_options& resolved, const model::any_model& target, const scoring_drafters& drafters,
                     const run_request& request);

}  // namespace augur::program
