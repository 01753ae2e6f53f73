// Models on llama.cpp, and whoever drafts for them.

#include <algorithm>
#include <array>
#include <augur/engines/llama_cpp.hpp>
#include <augur/engines/llama_cpp/chat.hpp>
#include <augur/io/files/fingerprint.hpp>
#include <augur/io/files/gguf.hpp>
#include <augur/io/files/quote.hpp>
#include <augur/io/files/read_ngrams.hpp>
#include <augur/io/files/regular_file.hpp>
#include <augur/io/files/safetensors.hpp>
#include <augur/io/text/token_texts.hpp>
#include <augur/llama/draft_checkpoint.hpp>
#include <augur/llama/host_model.hpp>
#include <augur/policy/cost_aware_options.hpp>
#include <string_view>
#include <utility>

#include "message.hpp"
#include "models.hpp"
#include "scoring_engine.hpp"
#include "terminal.hpp"
#include "trees.hpp"

namespace augur::program {

struct scoring_weights {
    std::string path;
    engines::llama_cpp::weights held;
};

namespace {

namespace llama_cpp = engines::llama_cpp;

/// llama.cpp opens whatever has the name, and would wait for a pipe.
llama_cpp::weights load_weights(const std::string& path, const llama_cpp::load_options& options) {
    static_cast<void>(io::regular_file(path));
    return llama_cpp::weights::load(path, options);
}

scoring_model on_bundled(const std::string& path, const llama::load_options& options) {
    auto loaded = llama::host_model::load(path, options);
    tell_notes(path, loaded.configuration());
    const std::size_t threads = loaded.threads(), parameters = loaded.parameter_count(), bytes = loaded.memory_bytes();
    return {model::any_model(std::move(loaded)), path, "llama", threads, parameters, bytes};
}

/// A draft computes here, whatever servers its target has.
scoring_model load_draft(const std::string& path, const scoring_needs& needs, const model_options& chosen,
                         const engine_options& asked) {
    if (!io::holds_safetensors(path)) static_cast<void>(io::regular_file(path));
    model_options of_draft = chosen;
    of_draft.context = 0;
    try {
        return on_bundled(path, load_options_of(of_draft));
    } catch (const interrupted&) {
        throw;
    } catch (const error& problem) {
        tell("note", "llama.cpp runs ", path, ", which the bundled Llama does not read: ", problem.what());
    }
    engine_options here = asked;
    here.rpc.clear();
    return scoring_on(load_scoring_weights(path, here), chosen, here, needs);
}

draft::ngram_table load_ngrams(const std::string& path, const scoring_model& target, const std::string& target_path) {
    const io::gguf_file file(path);
    if (file.contains("augur.target.fingerprint")) llama::check_target(file, io::fingerprint(target_path));
    return io::read_ngrams(file, target.model.vocabulary_size());
}

class llama_cpp_words final : public scoring_words {
 public:
    explicit llama_cpp_words(const llama_cpp::weights& of) : words_(of) {}

    std::vector<token> encode(const prompt_options& prompt) const override {
        const std::optional<std::string> text = read_prompt(prompt);
        if (!text) return parse_list<token>("--prompt-ids", *prompt.ids);
        if (!prompt.chat) return words_.encode(*text, {.add_special = true, .parse_special = true});
        std::vector<io::chat_message> messages;
        if (prompt.system) messages.push_back({"system", *prompt.system});
        messages.push_back({"user", *text});
        return encode_chat(messages);
    }
    std::vector<token> encode_chat(std::span<const io::chat_message> messages) const override {
        const std::string rendered = llama_cpp::render_chat(words_, messages);
        const bool has_bos = words_.bos() != no_token && rendered.starts_with(words_.bytes_of(words_.bos(), true));
        return words_.encode(rendered, {.add_special = !has_bos, .parse_special = true});
    }
    bool has_chat_template() const override { return !words_.chat_template().empty(); }
    std::string bytes_of(token id, bool show_control) const override { return words_.bytes_of(id, show_control); }
    std::vector<token> ends() const override { return words_.ends(); }
    std::vector<commit::stop_mark> stop_marks(std::span<const std::string> strings) const override {
        std::vector<commit::stop_mark> marks;
        for (const std::string& stop : strings) {
            for (const token id : words_.encode(stop, {.add_special = false, .parse_special = true})) {
                const std::string name = words_.bytes_of(id, true);
                if (name.empty() || !words_.bytes_of(id, false).empty()) continue;  // it writes its text
                if (name != stop) {
                    detail::fail("the stop string ", io::quote(stop), " holds ", io::quote(name), " (token ", id,
                                 "), which writes no text, beside other text; it can be a stop string alone");
                }
                marks.push_back({id, name});
            }
        }
        return marks;
    }

 private:
    llama_cpp::tokenizer words_;
};

}  // namespace

bool has_llama_cpp() {
    return true;
}

std::string llama_cpp_backends() {
    llama_backend_init();
    std::string all;
    for (std::size_t i = 0; i < ggml_backend_reg_count(); ++i) {
        all += (all.empty() ? "" : ", ") + std::string(ggml_backend_reg_name(ggml_backend_reg_get(i)));
    }
    return all.empty() ? "no backend" : all;
}

void check_llama_cpp(const engine_options& asked, const model_options& chosen) {
    if (chosen.weights != "keep") {
        detail::fail("--weights is ", chosen.weights, ", but llama.cpp computes with weights as the file has them");
    }
    if (asked.cache) static_cast<void>(parse_cache(*asked.cache));
    if (chosen.threads > 512) detail::fail("--threads is ", chosen.threads, "; it must be 0 to 512");
}

void check_scores_suffice(const scheme_options& resolved) {
    constexpr std::array<std::pair<std::string_view, std::string_view>, 7> lacking = {
        {{"medusa", "hidden states"},
         {"hydra", "hidden states"},
         {"eagle", "hidden states"},
         {"mtp", "hidden states"},
         {"entmtp", "hidden states"},
         {"kangaroo", "the model's first layers alone"},
         {"dvi", "the model's first layers alone"}}};
    for (const auto& [scheme, needed] : lacking) {
        if (resolved.scheme != scheme) continue;
        detail::fail("scheme '", scheme, "' needs ", needed,
                     ", which llama.cpp does not show; give --engine augur for a Llama, or another --scheme");
    }
    if (!resolved.bank_path.empty()) {
        detail::fail("--bank is ", resolved.bank_path, ", but banks are grown on the bundled engine; give --tree");
    }
    if (resolved.scheme == "hybrid" && resolved.automatic_tree) {
        detail::fail("scheme 'hybrid' drafts trees by a layer on hidden states, which llama.cpp does not show");
    }
}

std::unique_ptr<scoring_words> load_scoring_words(const std::string& path) {
    return std::make_unique<llama_cpp_words>(load_weights(path, {.gpu_layers = 0}));
}

scoring_needs needs_of(const scheme_options& resolved) {
    if (!drafts_trees(resolved)) return {};
    std::size_t nodes = policy::cost_aware_options<draft_shape::tree>{}.max_nodes;
    if (resolved.tree) nodes = resolved.tree->size();
    if (resolved.dynamic) nodes = resolved.dynamic->nodes;
    return {.tree_nodes = std::max<std::size_t>(nodes, 1)};
}

std::shared_ptr<const scoring_weights> load_scoring_weights(const std::string& path, const engine_options& asked) {
    if (io::holds_safetensors(path)) detail::fail("llama.cpp reads GGUF files, and ", path, " holds safetensors");
    return std::make_shared<scoring_weights>(
        scoring_weights{path, load_weights(path, {.gpu_layers = asked.gpu_layers.value_or(-1), .rpc = asked.rpc})});
}

scoring_model scoring_on(const std::shared_ptr<const scoring_weights>& weights, const model_options& chosen,
                         const engine_options& asked, const scoring_needs& needs) {
    const llama_cpp::weights& held = weights->held;
    llama_cpp::context_options settings{.context_length = chosen.context, .sequences = needs.sequences};
    if (chosen.context == 0) settings.context_length = std::min(needs.room, held.trained_length());
    settings.threads = chosen.threads != 0 ? chosen.threads : llama_cpp::free_cores();
    if (asked.cache) settings.keys = settings.values = *asked.cache == "q8_0" ? GGML_TYPE_Q8_0 : GGML_TYPE_F32;
    settings.tree_nodes = settings.leaves = std::clamp<std::size_t>(needs.tree_nodes, 1, 256);
    const auto shape = needs.tree_nodes > 0 ? llama_cpp::shape::trees : llama_cpp::shape::chains;
    return {llama_cpp::any_engine(held, settings, shape),
            weights->path,
            held.description(),
            settings.threads,
            held.parameter_count(),
            held.memory_bytes()};
}

/// Of other vocabularies a token that differs is named, where the files say their texts.
scoring_model load_scoring_draft(const std::string& path, const scoring_needs& needs, const model_options& chosen,
                                 const engine_options& asked, const scoring_model& target) {
    scoring_model draft = load_draft(path, needs, chosen, asked);
    const std::string mine = draft.model.vocabulary_fingerprint(), theirs = target.model.vocabulary_fingerprint();
    if (!mine.empty() && !theirs.empty() && mine != theirs) io::check_same_tokens(path, target.path);
    return draft;
}

checkpoint_files load_scoring_drafters(scoring_drafters& into, const scheme_options& resolved,
                                       const checkpoint_files& named, const scoring_model& target,
                                       const model_options& chosen, const engine_options& asked) {
    checkpoint_files loaded;
    for (const std::string& kind : members_used_by(resolved.scheme)) {
        const auto given = named.find(kind);
        const bool needs_states = kind == "eagle" || kind == "hydra" || kind == "medusa";
        if (given != named.end() && needs_states) {
            detail::fail("--heads is ", given->second, ", which drafts from hidden states, but llama.cpp shows none");
        }
        if (needs_states) continue;
        if (given == named.end()) {
            detail::fail("scheme '", resolved.scheme, "' needs ",
                         kind == "ngram"       ? "counted n-grams: give --heads"
                         : kind == "qualifier" ? "a qualifier: give --draft FILE, and after it --draft"
                                               : "a draft model: give --draft",
                         " FILE; draft bundles are for the bundled engine");
        }
        const std::string& path = loaded[kind] = given->second;
        if (kind == "ngram") {
            into.ngrams.emplace(load_ngrams(path, target, chosen.path));
            continue;
        }
        scoring_model draft = load_scoring_draft(path, needs_of(resolved), chosen, asked, target);
        into.bytes += draft.bytes;
        if (kind == "draft") into.draft_parameters = draft.parameters;
        (kind == "draft" ? into.draft : into.qualifier).emplace(std::move(draft.model));
    }
    for (const std::string& kind : numbered_drafts(named)) {
        const std::string& path = loaded[kind] = named.at(kind);
        scoring_model draft = load_scoring_draft(path, needs_of(resolved), chosen, asked, target);
        into.bytes += draft.bytes;
        into.more_parameters.push_back(draft.parameters);
        into.more.push_back(std::make_unique<model::any_model>(std::move(draft.model)));
    }
    return loaded;
}

}  // namespace augur::program
