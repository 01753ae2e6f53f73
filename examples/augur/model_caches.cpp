#include "model_caches.hpp"

#include <algorithm>
#include <augur/io/files/json.hpp>
#include <augur/io/files/json_reader.hpp>
#include <augur/io/files/quote.hpp>
#include <augur/io/files/regular_file.hpp>
#include <augur/types/error.hpp>
#include <cctype>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

namespace augur::program {
namespace {

namespace fs = std::filesystem;

std::string variable(const char* name) {
    const char* const value = std::getenv(name);
    return value == nullptr ? "" : value;
}

fs::path home() {
    return variable("HOME");
}

bool is_there(const fs::path& path) {
    std::error_code unknown;
    return fs::exists(path, unknown);
}

bool is_folder(const fs::path& path) {
    std::error_code unknown;
    return fs::is_directory(path, unknown);
}

/// What is directly in a folder, by name; nothing where it cannot be read.
std::vector<fs::path> entries_of(const fs::path& folder) {
    std::vector<fs::path> found;
    std::error_code unknown;
    for (fs::directory_iterator at(folder, unknown), end; !unknown && at != end; at.increment(unknown)) {
        found.push_back(at->path());
    }
    std::sort(found.begin(), found.end());
    return found;
}

/// A word of a name that cannot lead out of the cache.
void check_word(std::string_view given, std::string_view word) {
    const bool is_sound =
        !word.empty() && word != "." && word != ".." && std::all_of(word.begin(), word.end(), [](char c) {
            return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.';
        });
    if (!is_sound) {
        detail::fail("the model ", io::quote(given), " has the part ", io::quote(word),
                     "; its parts are letters, digits, '-', '_' and '.'");
    }
}

/// "owner/name" into its two words.
std::pair<std::string, std::string> owner_and_name(std::string_view given, std::string_view text) {
    const std::size_t slash = text.find('/');
    if (slash == std::string_view::npos) {
        detail::fail("the model ", io::quote(given), " must be OWNER/NAME after '",
                     given.substr(0, given.find(':') + 1), "'");
    }
    const std::string owner(text.substr(0, slash)), name(text.substr(slash + 1));
    check_word(given, owner);
    check_word(given, name);
    return {owner, name};
}

/// "left:right"; nothing on the right where there is no such character.
std::pair<std::string, std::optional<std::string>> split_at(const std::string& text, char mark) {
    const std::size_t place = text.find(mark);
    if (place == std::string::npos) return {text, std::nullopt};
    return {text.substr(0, place), text.substr(place + 1)};
}

std::string lower(std::string text) {
    std::transform(text.begin(), text.end(), text.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return text;
}

bool is_safetensors_model(const fs::path& folder) {
    return is_there(folder / "config.json") &&
           (is_there(folder / "model.safetensors") || is_there(folder / "model.safetensors.index.json"));
}

/// "-00002-of-00003.gguf": a part of a split set that is not its first.
bool is_later_part(const std::string& name) {
    constexpr std::size_t end = std::string_view("-00002-of-00003.gguf").size();
    if (name.size() < end || name.substr(name.size() - end + 6, 4) != "-of-") return false;
    return name[name.size() - end] == '-' && name.substr(name.size() - end + 1, 5) != "00001";
}

bool is_gguf_model(const fs::path& path) {
    const std::string name = path.filename().string();
    return lower(path.extension().string()) == ".gguf" && lower(name).rfind("mmproj", 0) != 0 && !is_later_part(name);
}

/// The models of a folder, by their paths below it; "." is its safetensors.
std::vector<std::string> models_of(const fs::path& folder) {
    std::vector<std::string> found;
    if (is_safetensors_model(folder)) found.emplace_back(".");
    for (const fs::path& each : gguf_files_below(folder)) found.push_back(each.lexically_relative(folder).string());
    return found;
}

std::string list_of(const std::vector<std::string>& names) {
    constexpr std::size_t most = 8;
    std::string list;
    for (std::size_t i = 0; i < std::min(names.size(), most); ++i) list += (i == 0 ? "" : ", ") + names[i];
    if (names.size() > most) list += ", ...";
    return list.empty() ? "no model" : list;
}

/// The one that is asked for. `brings`: the command that downloads it.
fs::path model_in(const fs::path& folder, const std::string& given, const std::optional<std::string>& asked,
                  const std::string& brings) {
    const std::vector<std::string> there = models_of(folder);
    std::vector<std::string> fitting;
    for (const std::string& each : there) {
        if (asked && each == *asked) return each == "." ? folder : folder / each;
        if (!asked || (!asked->empty() && lower(each).find(lower(*asked)) != std::string::npos))
            fitting.push_back(each);
    }
    if (!asked && is_safetensors_model(folder)) return folder;
    if (fitting.size() == 1) return folder / fitting.front();
    const std::string of = asked ? " named " + io::quote(*asked) : "";
    if (fitting.empty()) {
        detail::fail("the model ", io::quote(given), " is not whole: ", folder.string(), " holds ", list_of(there),
                     of.empty() ? "" : ", none" + of, brings.empty() ? "" : "; '" + brings + "' brings it");
    }
    detail::fail("the model ", io::quote(given), " is one of ", fitting.size(), " in ", folder.string(), of, ": ",
                 list_of(fitting), "; name one");
}

// --- Hugging Face's hub: models--OWNER--NAME/refs/BRANCH says a commit, snapshots/COMMIT links to what it holds

fs::path hub() {
    if (const auto path = variable("HF_HUB_CACHE"); !path.empty()) return path;
    if (const auto path = variable("HUGGINGFACE_HUB_CACHE"); !path.empty()) return path;
    if (const auto path = variable("HF_HOME"); !path.empty()) return fs::path(path) / "hub";
    if (const auto path = variable("XDG_CACHE_HOME"); !path.empty()) return fs::path(path) / "huggingface" / "hub";
    return home() / ".cache" / "huggingface" / "hub";
}

/// The snapshot of a branch, a tag, a commit or the beginning of one; empty where there is none.
fs::path snapshot_of(const fs::path& repository, const std::string& revision) {
    const fs::path ref = repository / "refs" / revision;
    std::string commit = revision;
    if (is_there(ref)) {
        commit = io::read_text(ref, 256);
        while (!commit.empty() && std::isspace(static_cast<unsigned char>(commit.back())) != 0) commit.pop_back();
        if (commit.empty() || commit.find('/') != std::string::npos || commit == "..") {
            detail::fail(ref.string(), " says the commit ", io::quote(commit));
        }
        return is_folder(repository / "snapshots" / commit) ? repository / "snapshots" / commit : fs::path();
    }
    std::vector<fs::path> fitting;
    for (const fs::path& each : entries_of(repository / "snapshots")) {
        if (each.filename().string().starts_with(commit)) fitting.push_back(each);
    }
    return fitting.size() == 1 ? fitting.front() : fs::path();
}

std::string find_in_hub(const std::string& given) {
    const auto [named, file] = split_at(given.substr(3), ':');
    const auto [repository, revision] = split_at(named, '@');
    const auto [owner, name] = owner_and_name(given, repository);
    if (revision) check_word(given, *revision);
    const fs::path folder = hub() / ("models--" + owner + "--" + name);
    const std::string brings =
        "hf download " + owner + "/" + name + (revision ? " --revision " + *revision : "") + (file ? " " + *file : "");
    const fs::path snapshot = snapshot_of(folder, revision.value_or("main"));
    if (snapshot.empty()) {
        detail::fail("the model ", io::quote(given), " is not in the cache: ", folder.string(),
                     is_folder(folder) ? " has no revision " + io::quote(revision.value_or("main")) : " is not there",
                     "; '", brings, "' brings it");
    }
    return model_in(snapshot, given, file, brings).string();
}

void list_hub(std::vector<cached_model>& into) {
    for (const fs::path& repository : entries_of(hub())) {
        std::string name = repository.filename().string();
        if (!name.starts_with("models--")) continue;
        name.erase(0, std::string_view("models--").size());
        if (const std::size_t mark = name.find("--"); mark != std::string::npos) name.replace(mark, 2, "/");
        const fs::path snapshot = snapshot_of(repository, "main");
        if (snapshot.empty()) continue;
        const auto models = models_of(snapshot);
        for (const std::string& each : models) {
            into.push_back({"hf:" + name + (each == "." ? "" : ":" + each), each == "." ? snapshot : snapshot / each});
        }
    }
}

// --- Ollama: manifests/HOST/OWNER/NAME/TAG says which blob is the model

std::vector<fs::path> ollama_stores() {
    if (const auto path = variable("OLLAMA_MODELS"); !path.empty()) return {path};
    return {home() / ".ollama" / "models", "/usr/share/ollama/.ollama/models"};
}

constexpr std::string_view registry = "registry.ollama.ai";

/// Of what a manifest says, the file of weights.
fs::path blob_of(const fs::path& store, const fs::path& manifest) {
    const auto said = io::read_json(manifest);
    const io::json_reader in(said, manifest.string());
    std::vector<std::string> weights;
    for (const auto& layer : in.required_array("layers")) {
        const io::json_reader of(layer, manifest.string());
        const auto kind = of.value_or<std::string>("mediaType", "");
        if (kind == "application/vnd.ollama.image.adapter") {
            detail::fail(manifest.string(), " has an adapter, which is not applied; its model alone is another model");
        }
        if (kind == "application/vnd.ollama.image.model") weights.push_back(of.required<std::string>("digest"));
    }
    if (weights.size() != 1)
        detail::fail(manifest.string(), " names ", weights.size(), " files of weights; it must be 1");
    std::string digest = weights.front();
    std::replace(digest.begin(), digest.end(), ':', '-');
    check_word(manifest.string(), digest);
    const fs::path blob = store / "blobs" / digest;
    if (!is_there(blob)) detail::fail(manifest.string(), " names ", blob.string(), ", which is not there");
    return blob;
}

std::string find_in_ollama(const std::string& given) {
    const auto [named, tag] = split_at(given.substr(std::string_view("ollama:").size()), ':');
    std::string owner = "library", name = named;
    if (named.find('/') != std::string::npos) std::tie(owner, name) = owner_and_name(given, named);
    check_word(given, name);
    check_word(given, tag.value_or("latest"));
    std::string searched;
    for (const fs::path& store : ollama_stores()) {
        const fs::path manifest = store / "manifests" / registry / owner / name / tag.value_or("latest");
        if (is_there(manifest)) return blob_of(store, manifest).string();
        searched += (searched.empty() ? "" : " nor ") + manifest.string();
    }
    detail::fail("the model ", io::quote(given), " is not in the cache: there is no ", searched, "; 'ollama pull ",
                 named, tag ? ":" + *tag : "", "' brings it");
}

void list_ollama(std::vector<cached_model>& into) {
    for (const fs::path& store : ollama_stores()) {
        for (const fs::path& owner : entries_of(store / "manifests" / registry)) {
            for (const fs::path& name : entries_of(owner)) {
                for (const fs::path& tag : entries_of(name)) {
                    const std::string of = owner.filename() == "library" ? "" : owner.filename().string() + "/";
                    const std::string named = "ollama:" + of + name.filename().string() + ":" + tag.filename().string();
                    try {
                        into.push_back({named, blob_of(store, tag)});
                    } catch (const error&) {
                        into.push_back({named, {}});  // whoever asks for it is told why
                    }
                }
            }
        }
    }
}

// --- LM Studio: OWNER/NAME/FILE

std::vector<fs::path> lm_studio_stores() {
    return {home() / ".lmstudio" / "models", home() / ".cache" / "lm-studio" / "models"};
}

std::string find_in_lm_studio(const std::string& given) {
    const auto [named, file] = split_at(given.substr(std::string_view("lmstudio:").size()), ':');
    const auto [owner, name] = owner_and_name(given, named);
    std::string searched;
    for (const fs::path& store : lm_studio_stores()) {
        const fs::path folder = store / owner / name;
        if (is_folder(folder)) return model_in(folder, given, file, "lms get " + named).string();
        searched += (searched.empty() ? "" : " nor ") + folder.string();
    }
    detail::fail("the model ", io::quote(given), " is not there: there is no ", searched, "; 'lms get ", named,
                 "' brings it");
}

void list_lm_studio(std::vector<cached_model>& into) {
    for (const fs::path& store : lm_studio_stores()) {
        for (const fs::path& owner : entries_of(store)) {
            for (const fs::path& name : entries_of(owner)) {
                for (const std::string& each : models_of(name)) {
                    const std::string of = "lmstudio:" + owner.filename().string() + "/" + name.filename().string();
                    into.push_back({of + (each == "." ? "" : ":" + each), each == "." ? name : name / each});
                }
            }
        }
    }
}

}  // namespace

std::vector<fs::path> gguf_files_below(const fs::path& folder) {
    std::vector<fs::path> found;
    std::error_code unknown;
    for (fs::recursive_directory_iterator at(folder, fs::directory_options::skip_permission_denied, unknown), end;
         !unknown && at != end; at.increment(unknown)) {
        if (is_gguf_model(at->path()) && is_there(at->path()) && !is_folder(at->path())) found.push_back(at->path());
    }
    std::sort(found.begin(), found.end());
    return found;
}

std::string find_model(const std::string& given) {
    if (given.starts_with("hf:")) return find_in_hub(given);
    if (given.starts_with("ollama:")) return find_in_ollama(given);
    if (given.starts_with("lmstudio:")) return find_in_lm_studio(given);
    if (!is_folder(given) || is_there(fs::path(given) / "config.json")) return given;
    const std::vector<std::string> models = models_of(given);
    if (models.size() > 1) {
        detail::fail(given, ": config.json is missing, and there are ", models.size(),
                     " GGUF models: ", list_of(models), "; name one");
    }
    if (models.size() == 1) return (fs::path(given) / models.front()).string();
    return given;
}

std::vector<cached_model> cached_models() {
    std::vector<cached_model> found;
    list_hub(found);
    list_ollama(found);
    list_lm_studio(found);
    std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
    return found;
}

}  // namespace augur::program
