#include "draft_checkpoints.hpp"

#include <algorithm>
#include <augur/io/files/fingerprint.hpp>
#include <augur/io/files/gguf.hpp>
#include <augur/io/files/quote.hpp>
#include <augur/io/files/read_ngrams.hpp>
#include <augur/io/files/safetensors.hpp>
#include <augur/io/text/token_texts.hpp>
#include <augur/llama/early_exit.hpp>
#include <augur/llama/qualifier.hpp>
#include <cstddef>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <numeric>
#include <sstream>
#include <system_error>
#include <utility>

#include "family_folder.hpp"
#include "message.hpp"
#include "models.hpp"
#include "scheme.hpp"
#include "smaller_model.hpp"

namespace augur::program {
namespace {

namespace fs = std::filesystem;

constexpr const char* checkpoint_kinds[] = {"draft", "qualifier", "exit", "eagle", "medusa", "hydra", "ngram"};

std::vector<std::string> bundle_folders() {
    const char* chosen = std::getenv("AUGUR_FAMILY");
    std::istringstream text(chosen == nullptr ? family_folder() : chosen);
    std::vector<std::string> folders;
    for (std::string folder; std::getline(text, folder, ':');) {
        if (!folder.empty()) folders.push_back(folder);
    }
    return folders;
}

/// Those of a folder sorted, so that every machine finds the same one first; none of one that cannot be read.
std::vector<fs::path> all_bundles() {
    std::vector<fs::path> found;
    for (const std::string& folder : bundle_folders()) {
        const auto before = static_cast<std::ptrdiff_t>(found.size());
        std::error_code problem;
        for (fs::directory_iterator at(folder, problem), end; !problem && at != end; at.increment(problem)) {
            std::error_code unknown;
            if (at->is_directory(unknown)) found.push_back(at->path());
        }
        std::sort(found.begin() + before, found.end());
    }
    return found;
}

fs::path checkpoint_of(const fs::path& family, const std::string& kind) {
    return family / (kind + ".gguf");
}

bool is_for(const fs::path& path, const std::string& target) {
    return io::gguf_file(path).get_or<std::string>("augur.target.fingerprint", "") == target;
}

/// What a draft checkpoint is used as, or heads as they are published.
std::string use_of(const std::string& path, const std::string& scheme) {
    if (fs::is_directory(path)) {
        for (const char* const kind : {"medusa", "hydra"}) {
            if (fs::exists(llama::published_heads_file(path, kind))) return kind;
        }
        return "eagle";
    }
    if (fs::is_regular_file(path) && io::holds_safetensors(path)) {
        return llama::published_kind(io::safetensors_folder(path));
    }
    const std::string kind = llama::checkpoint_kind(io::gguf_file(path));
    if (kind == "qualifier" && scheme.starts_with("psd")) return kind;
    if (kind == "exit" && scheme == "kangaroo") return kind;
    if (kind == "exit" || kind == "qualifier") return "draft";
    for (const char* known : {"draft", "eagle", "medusa", "hydra", "ngram"}) {
        if (kind == known) return kind;
    }
    detail::fail("--heads ", path, ": augur.member is ", io::quote(kind),
                 "; valid are draft, eagle, medusa, hydra, ngram, exit, qualifier");
}

/// The draft checkpoint that it says it is; empty if it was made for no other model.
std::string checkpoint_in(const std::string& path) {
    if (io::holds_safetensors(path)) return "";
    const io::gguf_file file(path);
    return file.contains("augur.target.fingerprint") ? llama::checkpoint_kind(file) : "";
}

/// How a scheme's models are held.
struct holding {
    llama::load_options options;          ///< of those that are no draft checkpoints
    llama::weight_format of_checkpoints;  ///< whatever the target's weights are: bytes are what a draft costs

    llama::load_options for_checkpoints() const {
        llama::load_options chosen = options;
        chosen.weights = of_checkpoints;
        return chosen;
    }
};

llama::host_model load_draft(const std::string& path, const llama::host_model& target, const holding& how) {
    llama::load_options options = how.options;
    const std::string checkpoint = checkpoint_in(path);
    if (checkpoint.empty()) {
        auto loaded = llama::host_model::load(path, llama::with_pool_of(target, std::move(options)));
        tell_notes(path, loaded.configuration());
        return loaded;
    }
    if (checkpoint == "exit") return llama::load_exit(path, target, 0, options);
    if (checkpoint == "qualifier") return llama::load_qualifier(path, target, options);
    return llama::load_draft(path, target, how.for_checkpoints());
}

draft::ngram_table load_ngrams(const std::string& path, const llama::host_model& target) {
    const io::gguf_file file(path);
    if (file.contains("augur.target.fingerprint")) llama::check_target(file, target.fingerprint());
    return io::read_ngrams(file, target.vocabulary_size());
}

/// Any Llama may draft that has the target's tokens. Throws, naming the first that differs, where it has others; models
/// of another size that say nothing of their tokens are the scheme's to refuse.
void check_tokens(const llama::host_model& loaded, const std::string& path, const llama::host_model& target,
                  const std::string& target_path) {
    if (loaded.vocabulary_fingerprint() != target.vocabulary_fingerprint()) io::check_same_tokens(path, target_path);
}

/// Loads a file as the draft checkpoint of this kind. A draft may also be any Llama; of mtp the file is the target's.
void load_checkpoint(draft_checkpoints& into, const std::string& kind, const std::string& path,
                     const llama::host_model& target, const holding& how, std::size_t exit_layer) {
    if (kind == "ngram") {
        into.ngrams.emplace(load_ngrams(path, target));
    } else if (kind == "eagle") {
        into.eagle.emplace(llama::eagle_model::load(path, target, how.for_checkpoints()));
    } else if (kind == "mtp") {
        into.eagle.emplace(llama::eagle_model::load_prediction(path, target, how.options));
    } else if (kind == "exit") {
        into.exit.emplace(llama::host_exit::load(path, target, exit_layer, how.options));
    } else if (kind == "draft") {
        into.draft.emplace(load_draft(path, target, how));
    } else if (kind == "qualifier") {
        into.qualifier.emplace(load_draft(path, target, how));
    } else {
        into.heads.emplace(llama::draft_heads::load(path, kind, target, how.for_checkpoints()));
    }
}

/// Whether a draft bundle's file was made for the target and is loaded now. One that cannot be read is nobody's
/// business but its owner's.
bool load_if_for(draft_checkpoints& into, const std::string& kind, const fs::path& path,
                 const llama::host_model& target, const holding& how, std::size_t exit_layer) {
    std::error_code unknown;
    if (fs::symlink_status(path, unknown).type() == fs::file_type::not_found) return false;
    try {
        if (!is_for(path, target.fingerprint())) return false;
        load_checkpoint(into, kind, path.string(), target, how, exit_layer);
        return true;
    } catch (const std::exception& problem) {
        if (kind == "exit" && exit_layer != 0) throw;  // the user names what is not in it
        tell("warning", "skipped the draft bundle's ", path.string(), ": ", problem.what());
        return false;
    }
}

/// Its file; empty if there is none.
std::string load_found(draft_checkpoints& into, const std::string& kind, const llama::host_model& target,
                       const holding& how, std::size_t exit_layer) {
    for (const fs::path& family : all_bundles()) {
        const fs::path file = checkpoint_of(family, kind);
        if (load_if_for(into, kind, file, target, how, exit_layer)) return file.string();
    }
    return "";
}

/// The file of a draft bundle that was made for the target; empty if there is none.
std::string find_checkpoint(const std::string& kind, const std::string& target) {
    for (const fs::path& family : all_bundles()) {
        const fs::path file = checkpoint_of(family, kind);
        std::error_code unknown;
        try {
            if (fs::exists(file, unknown) && is_for(file, target)) return file.string();
        } catch (const std::exception& problem) {
            tell("warning", "skipped the draft bundle's ", file.string(), ": ", problem.what());
        }
    }
    return "";
}

/// That no draft bundle has a draft checkpoint for the target, and where it was looked for.
std::string not_found(const std::string& kind, const llama::host_model& target) {
    std::string all;
    for (const std::string& folder : bundle_folders()) all += (all.empty() ? "" : ", ") + folder;
    if (all.empty()) return "AUGUR_FAMILY is empty, so no draft bundle was searched for a " + kind + ".gguf";
    return detail::message("in ", all, " there is no ", kind, ".gguf for a target with the fingerprint ",
                           target.fingerprint());
}

/// For a scheme that needs a draft checkpoint which is neither named nor found.
[[noreturn]] void refuse_without(const std::string& scheme, const std::string& kind, const llama::host_model& target) {
    const char* const needed = kind == "draft"              ? "a draft model: give --draft"
                               : kind.ends_with("or draft") ? "heads, a layer or a draft model: give --heads or --draft"
                               : kind == "qualifier"        ? "a qualifier: give --draft FILE, and after it --draft"
                               : kind == "exit"             ? "an exit: give --untrained, or --heads"
                               : kind == "ngram"            ? "counted n-grams: give --heads"
                                                            : "heads: give --heads";
    detail::fail("scheme '", scheme, "' needs ", needed, " FILE; ", not_found(kind, target));
}

}  // namespace

std::vector<fs::path> with_checkpoints(std::vector<fs::path> inputs) {
    for (const fs::path& family : all_bundles()) {
        for (const char* const kind : checkpoint_kinds) {
            std::error_code unknown;
            if (fs::exists(checkpoint_of(family, kind), unknown)) inputs.push_back(checkpoint_of(family, kind));
        }
    }
    return inputs;
}

std::vector<std::string> checkpoints_for(const std::string& target) {
    std::vector<std::string> found;
    for (const char* const kind : checkpoint_kinds) {
        if (std::string path = find_checkpoint(kind, target); !path.empty()) found.push_back(std::move(path));
    }
    return found;
}

smaller_model load_smaller(const std::string& flag, const std::string& named, const llama::host_model& target,
                           const std::string& target_path, const llama::load_options& options) {
    std::string path = named;
    const bool is_checkpoint = named == "draft" || named == "exit" || named == "qualifier";
    if (is_checkpoint && !fs::exists(named)) {
        path = find_checkpoint(named, target.fingerprint());
        if (path.empty()) {
            detail::fail(flag, " ", named, ": there is no such file, and ", not_found(named, target));
        }
    }
    smaller_model loaded{path, load_draft(path, target, {options, llama::weight_format::keep})};
    check_tokens(loaded.model, path, target, target_path);
    if (loaded.model.vocabulary_size() != target.vocabulary_size()) {
        detail::fail(flag, " ", path, " has ", loaded.model.vocabulary_size(), " tokens, but the model has ",
                     target.vocabulary_size());
    }
    return loaded;
}

std::vector<token> head_tokens_in(const std::string& path, const llama::host_model& target) {
    const llama::draft_checkpoint file(path, llama::checkpoint_kind(io::gguf_file(path)), target);
    return file.head_tokens();
}

std::vector<token> head_tokens_of_bundle(const llama::host_model& target) {
    for (const char* const kind : {"exit", "eagle", "draft", "hydra", "medusa"}) {
        const std::string path = find_checkpoint(kind, target.fingerprint());
        if (path.empty()) continue;
        try {
            return head_tokens_in(path, target);
        } catch (const error& problem) {
            tell("warning", "skipped the draft bundle's ", path, ": ", problem.what());
        }
    }
    return {};
}

std::size_t draft_checkpoints::memory_bytes() const {
    return (draft ? draft->memory_bytes() : 0) + (qualifier ? qualifier->memory_bytes() : 0) +
           (eagle ? eagle->memory_bytes() : 0) + (heads ? heads->memory_bytes() : 0) +
           (exit ? exit->memory_bytes() : 0) +
           std::accumulate(more.begin(), more.end(), std::size_t{0},
                           [](std::size_t so_far, const auto& each) { return so_far + each->memory_bytes(); });
}

std::string draft_number(std::size_t number) {
    return number == 1 ? "draft" : "draft " + std::to_string(number);
}

std::vector<std::string> numbered_drafts(const checkpoint_files& files) {
    std::vector<std::string> all;
    for (std::size_t i = 2; files.contains(draft_number(i)); ++i) all.push_back(draft_number(i));
    return all;
}

checkpoint_files named_checkpoints(const std::vector<std::string>& drafts, const std::vector<std::string>& heads,
                                   const std::string& scheme) {
    checkpoint_files named;
    if (!drafts.empty()) named["draft"] = drafts.front();
    const bool is_numbered = scheme == "cascade" || scheme == "ead";
    if (drafts.size() > 1 && !is_numbered) named["qualifier"] = drafts[1];
    for (std::size_t i = 1; is_numbered && i < drafts.size(); ++i) named[draft_number(i + 1)] = drafts[i];
    for (auto each = drafts.begin(); each != drafts.end(); ++each) {
        if (std::find(drafts.begin(), each, *each) != each) detail::fail("--draft names ", *each, " twice");
    }
    for (const std::string& path : heads) {
        const auto [at, is_new] = named.emplace(use_of(path, scheme), path);
        if (!is_new) {
            detail::fail("--heads ", path, ": it is used as ", io::quote(at->first), ", but so is ", at->second);
        }
    }
    return named;
}

std::vector<std::size_t> taps_for(const checkpoint_files& named, const std::string& target_path) {
    const auto layer = named.find("eagle");
    if (layer == named.end() || !io::holds_safetensors(layer->second)) return {};
    const llama::config of = io::holds_safetensors(target_path)
                                 ? llama::read_config(io::safetensors_folder(target_path))
                                 : llama::read_config(io::gguf_file(target_path));
    return llama::eagle_model::taps_of(layer->second, of.layers);
}

io::bank_identity bank_identity_of(const llama::host_model& target, const draft_checkpoints& loaded,
                                   const checkpoint_files& files) {
    const auto path = [&] {
        for (const char* const kind : {"hydra", "medusa", "eagle", "draft"}) {
            if (const auto file = files.find(kind); file != files.end()) return fs::path(file->second);
        }
        detail::fail("a bank of trees is for heads, a layer or a draft model, and none is loaded");
    };
    return {target.fingerprint(), io::fingerprint(path()), target.vocabulary_size(),
            loaded.heads ? loaded.heads->head_count() : topology::most_nodes};
}

checkpoint_files load_checkpoints(draft_checkpoints& into, const std::string& scheme, bool required,
                                  const checkpoint_files& named, const llama::host_model& target,
                                  const std::string& target_path, const llama::load_options& options,
                                  std::size_t exit_layer) {
    // What a lossy scheme writes depends on what its drafts say.
    const holding how{options, is_lossy(scheme) ? llama::weight_format::keep : llama::weight_format::halved};
    checkpoint_files loaded;
    std::vector<std::string> kinds = members_used_by(scheme);
    const bool one_of_them = scheme == "entmtp" || scheme == "merged";  // that is named, else that is found
    if (one_of_them) {
        std::stable_partition(kinds.begin(), kinds.end(), [&](const auto& kind) { return named.contains(kind); });
    }
    for (const std::string& kind : kinds) {
        if (kind == "mtp") {
            load_checkpoint(into, kind, target_path, target, how, exit_layer);
            return {{kind, target_path}};
        }
        const auto given = named.find(kind);
        if (given != named.end()) {
            load_checkpoint(into, kind, given->second, target, how, exit_layer);
        }
        const std::string path = given != named.end() ? given->second : load_found(into, kind, target, how, exit_layer);
        if (!path.empty()) {
            if (kind == "draft") check_tokens(*into.draft, path, target, target_path);
            if (kind == "qualifier") check_tokens(*into.qualifier, path, target, target_path);
            loaded[kind] = path;
            if (one_of_them) return loaded;
            continue;
        }
        if (one_of_them && kind != kinds.back()) continue;
        if (one_of_them) refuse_without(scheme, "hydra.gguf, medusa.gguf, eagle.gguf or draft", target);
        const bool is_first = kind == kinds.front();
        if ((is_first && required) || kind == "qualifier") refuse_without(scheme, kind, target);
        if (is_first) return loaded;
    }
    for (const std::string& kind : numbered_drafts(named)) {
        const std::string& path = loaded[kind] = named.at(kind);
        into.more.push_back(std::make_unique<llama::host_model>(load_draft(path, target, how)));
        check_tokens(*into.more.back(), path, target, target_path);
    }
    return loaded;
}

}  // namespace augur::program
