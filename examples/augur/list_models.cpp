// augur models: what lies in the caches of other tools, and whether it runs here.

#include <algorithm>
#include <array>
#include <augur/io/files/gguf.hpp>
#include <augur/io/files/quote.hpp>
#include <augur/io/files/safetensors.hpp>
#include <augur/llama/gguf_config.hpp>
#include <augur/llama/hugging_face_config.hpp>
#include <augur/types/error.hpp>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "commands.hpp"
#include "message.hpp"
#include "model_caches.hpp"
#include "output_file.hpp"
#include "scoring_engine.hpp"
#include "terminal.hpp"

namespace augur::program {
namespace {

namespace fs = std::filesystem;

struct listed_model {
    std::string name, architecture;
    fs::path path;
    std::uintmax_t bytes = 0;
    std::string engine;  ///< what runs it by what its header says: augur, llama.cpp, or empty
    std::string reason;  ///< why augur does not
};

/// Of the file, of all parts of a split set beside it, or of a folder's safetensors.
std::uintmax_t disk_bytes(const fs::path& path) {
    const bool folder = io::holds_safetensors(path);
    const std::string name = path.filename().string();
    const std::size_t part = name.find("-00001-of-");
    std::uintmax_t sum = 0;
    std::error_code unknown;
    for (fs::directory_iterator at(folder ? path : path.parent_path(), unknown), end; !unknown && at != end;
         at.increment(unknown)) {
        const std::string each = at->path().filename().string();
        const bool is_of_set = part != std::string::npos && each.starts_with(name.substr(0, part + 1)) &&
                               each.ends_with(name.substr(part + 6));
        if (folder ? at->path().extension() != ".safetensors" : !is_of_set && each != name) continue;
        std::error_code broken;
        if (const auto size = fs::file_size(at->path(), broken); !broken) sum += size;
    }
    return sum;
}

/// `open` throws where the file is damaged, `read` where its description is not one that the bundled engine runs.
template <class Open, class Read>
void judge(listed_model& model, Open open, Read read) {
    try {
        const auto file = open();
        model.architecture = read.architecture(file);
        static_cast<void>(llama::read_config(file));
        model.engine = "augur";
    } catch (const error& problem) {
        model.reason = problem.what();
    }
}

struct said_by_gguf {
    static std::string architecture(const io::gguf_file& file) {
        return file.get_or<std::string>("general.architecture", "");
    }
};
struct said_by_safetensors {
    static std::string architecture(const io::safetensors_folder& file) {
        return io::json_reader(file.config(), file.config_path().string()).value_or<std::string>("model_type", "");
    }
};

/// Whether llama.cpp may run a sound GGUF file that augur does not.
bool is_for_llama_cpp(const fs::path& path) {
    if (!has_llama_cpp() || io::holds_safetensors(path)) return false;
    try {
        const io::gguf_file file(path);
        return true;
    } catch (const io::unread_tensor_type&) {
        return true;
    } catch (const error&) {
        return false;
    }
}

listed_model judged(cached_model found) {
    listed_model model;
    model.name = std::move(found.name);
    model.path = std::move(found.path);
    if (model.path.empty()) {
        model.reason = "its weights are not there";
        return model;
    }
    model.bytes = disk_bytes(model.path);
    if (io::holds_safetensors(model.path)) {
        judge(
            model, [&] { return io::safetensors_folder(model.path); }, said_by_safetensors());
    } else {
        judge(
            model, [&] { return io::gguf_file(model.path); }, said_by_gguf());
    }
    if (model.engine.empty() && is_for_llama_cpp(model.path)) model.engine = "llama.cpp";
    return model;
}

std::string size_text(std::uintmax_t bytes) {
    const double gigabytes = static_cast<double>(bytes) / 1e9;
    char text[32];
    std::snprintf(text, sizeof text, gigabytes < 1 ? "%.0f MB" : "%.1f GB",
                  gigabytes < 1 ? gigabytes * 1e3 : gigabytes);
    return text;
}

void print_table(const std::vector<listed_model>& models) {
    std::vector<std::array<std::string, 4>> rows{{"model", "architecture", "size", "runs on"}};
    for (const listed_model& each : models) {
        rows.push_back({each.name, each.architecture.empty() ? "?" : each.architecture, size_text(each.bytes),
                        each.engine.empty() ? "nothing here: " + each.reason : each.engine});
    }
    std::array<std::size_t, 3> widths{};
    for (const auto& row : rows) {
        for (std::size_t i = 0; i < widths.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
    }
    for (const auto& row : rows) {
        std::string line;
        for (std::size_t i = 0; i < widths.size(); ++i)
            line += row[i] + std::string(widths[i] - row[i].size() + 2, ' ');
        print_text(line + one_line(row[3], 160) + "\n");
    }
}

void list_models(const std::vector<std::string>& folders, bool as_json) {
    std::vector<cached_model> found = cached_models();
    for (const std::string& folder : folders) {
        if (!fs::is_directory(folder)) detail::fail(folder, " is no folder");
        for (const fs::path& each : gguf_files_below(folder)) found.push_back({each.string(), each});
    }
    std::vector<listed_model> models;
    for (cached_model& each : found) models.push_back(judged(std::move(each)));
    if (!as_json) {
        if (models.empty()) tell("note", "there is no model in the caches of Hugging Face, Ollama and LM Studio");
        return models.empty() ? void() : print_table(models);
    }
    auto all = nlohmann::ordered_json::array();
    for (const listed_model& each : models) {
        all.push_back({{"model", each.name},
                       {"path", each.path.string()},
                       {"architecture", each.architecture},
                       {"bytes", each.bytes},
                       {"engine", each.engine},
                       {"reason", each.reason}});
    }
    print(json_line({{"models", all}}));
}

}  // namespace

void add_models(CLI::App& program) {
    auto* command = program.add_subcommand(
        "models", "List models in the caches of Hugging Face (hf:), Ollama (ollama:) and LM Studio (lmstudio:)");
    const auto folders = std::make_shared<std::vector<std::string>>();
    const auto as_json = std::make_shared<bool>(false);
    command->add_option("folders", *folders, "Also GGUF files below these folders")->type_name("FOLDER");
    command->add_flag("--json", *as_json,
                      "Print one JSON object: models, each with model, path, architecture, bytes, engine, reason");
    command->callback([folders, as_json] { list_models(*folders, *as_json); });
}

}  // namespace augur::program
