#include "members.hpp"

#include <algorithm>
#include <augur/io/gguf.hpp>
#include <augur/io/quote.hpp>
#include <augur/io/read_ngrams.hpp>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <system_error>
#include <utility>

namespace augur::program {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> family_folders() {
    const char* chosen = std::getenv("AUGUR_FAMILY");
    std::istringstream text(chosen == nullptr ? AUGUR_FAMILY_DIRECTORY : chosen);
    std::vector<std::string> folders;
    for (std::string folder; std::getline(text, folder, ':');) {
        if (!folder.empty()) folders.push_back(folder);
    }
    return folders;
}

/// Sorted, so that every machine finds the same one first; nothing where the folder cannot be read.
std::vector<fs::path> families_in(const fs::path& folder) {
    std::vector<fs::path> found;
    std::error_code problem;
    for (fs::directory_iterator at(folder, problem), end; !problem && at != end; at.increment(problem)) {
        if (at->is_directory()) found.push_back(at->path());
    }
    std::sort(found.begin(), found.end());
    return found;
}

bool is_for(const fs::path& path, const llama::host_model& target) {
    return io::gguf_file(path).get_or<std::string>("augur.target.fingerprint", "") == target.fingerprint();
}

std::string kind_of(const std::string& path) {
    const std::string kind = llama::member_kind(io::gguf_file(path));
    for (const char* known : {"draft", "eagle", "medusa", "hydra", "ngram"}) {
        if (kind == known) return kind;
    }
    detail::fail("--heads ", path, ": augur.member is ", io::quote(kind),
                 "; valid are draft, eagle, medusa, hydra, ngram");
}

/// Whether it is a GGUF file that says that it is a member of a family.
bool is_member(const std::string& path) {
    std::error_code unknown;  // then opening the file says why
    if (fs::is_directory(path, unknown) || fs::path(path).extension() == ".safetensors") return false;
    return !llama::member_kind(io::gguf_file(path)).empty();
}

draft::ngram_table load_ngrams(const std::string& path, const llama::host_model& target) {
    const io::gguf_file file(path);
    if (file.contains("augur.target.fingerprint")) llama::check_target(file, target);
    return io::read_ngrams(file, target.vocabulary_size());
}

}  // namespace

std::size_t members::memory_bytes() const {
    return (draft ? draft->memory_bytes() : 0) + (eagle ? eagle->memory_bytes() : 0) +
           (heads ? heads->memory_bytes() : 0);
}

member_files named_members(const std::vector<std::string>& drafts, const std::vector<std::string>& heads) {
    member_files named;
    if (!drafts.empty()) named["draft"] = drafts.front();
    for (const std::string& path : heads) {
        const auto [at, is_new] = named.emplace(kind_of(path), path);
        if (!is_new) {
            detail::fail("--heads ", path, ": its augur.member is ", io::quote(at->first), ", but so is that of ",
                         at->second);
        }
    }
    return named;
}

std::string find_member(const std::string& kind, const llama::host_model& target) {
    for (const std::string& folder : family_folders()) {
        for (const fs::path& family : families_in(folder)) {
            const fs::path file = family / (kind + ".gguf");
            if (fs::exists(file) && is_for(file, target)) return file.string();
        }
    }
    return "";
}

void refuse_without(const std::string& scheme, const std::string& kind, const llama::host_model& target) {
    std::string looked;
    for (const std::string& folder : family_folders()) looked += (looked.empty() ? "" : ", ") + folder;
    const char* const needed = kind == "draft"   ? "a draft model: give --draft"
                               : kind == "ngram" ? "counted n-grams: give --heads"
                                                 : "heads: give --heads";
    detail::fail("scheme '", scheme, "' needs ", needed, " FILE; in ", looked.empty() ? "no folder" : looked,
                 " there is no ", kind, ".gguf for a target with the fingerprint ", target.fingerprint());
}

void load_member(members& into, const std::string& kind, const std::string& path, const llama::host_model& target,
                 const llama::load_options& options) {
    if (kind == "ngram") {
        into.ngrams.emplace(load_ngrams(path, target));
    } else if (kind == "eagle") {
        into.eagle.emplace(llama::eagle_model::load(path, target, options));
    } else if (kind != "draft") {
        into.heads.emplace(llama::draft_heads::load(path, kind, target, options));
    } else if (is_member(path)) {
        into.draft.emplace(llama::load_draft(path, target, options));
    } else {
        into.draft.emplace(llama::host_model::load(path, options));
    }
}

}  // namespace augur::program
