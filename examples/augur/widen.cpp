// augur widen: a model's text at the cost of a larger one, and its drafts for it, as ordinary files.

#include <augur/io/files/fingerprint.hpp>
#include <augur/io/files/gguf.hpp>
#include <augur/io/files/safetensors.hpp>
#include <augur/llama/gguf_config.hpp>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "commands.hpp"
#include "draft_checkpoints.hpp"
#include "learning.hpp"
#include "llama_shape.hpp"
#include "message.hpp"
#include "models.hpp"
#include "options.hpp"
#include "output_file.hpp"
#include "terminal.hpp"
#include "widened_adapter.hpp"
#include "widened_gguf.hpp"

namespace augur::program {
namespace {

namespace fs = std::filesystem;

struct widen_options {
    std::string model, shape, weights = "keep", output;
    std::vector<std::string> drafts, adapters;
};

/// A model and what drafts for it, in a larger shape. All files are read and checked when it is made.
class widened_family {
 public:
    explicit widened_family(const widen_options& chosen)
        : chosen_(chosen),
          to_(of_option("--shape", [&] { return parse_shape(chosen.shape); })),
          format_(parse_weights(chosen.weights)),
          file_(checked_model(chosen)),
          model_(widened_gguf::of_model(file_, to_, format_)),
          fingerprint_(io::fingerprint(file_)) {
        for (const std::string& path : draft_paths()) add_draft(path);
        for (const std::string& path : chosen.adapters) add_adapter(path);
        check_outputs();
    }

    /// Each file whole or not at all, the model first: drafts say its fingerprint.
    void write() const {
        const std::uint64_t written = write(model_, chosen_.output, {});
        tell("note", chosen_.output, ": ", written, " bytes; the text of ", chosen_.model, " at the cost of ",
             to_.text());
        if (places_.empty()) return;
        const draft_target whom{io::fingerprint(io::gguf_file(chosen_.output)), model_.name()};
        fs::create_directories(folder());
        for (const auto& [draft, path] : drafts_) {
            write(draft, path, whom);
            tell("note", path.string(), ": drafts for it");
        }
        for (const auto& [adapter, path] : adapters_) {
            removed_on_signals seen;
            adapter.save(path, whom.fingerprint, &seen);
            tell("note", path.string(), ": drafts for it");
        }
    }

 private:
    /// Opened after --output, which costs nothing to check.
    static io::gguf_file checked_model(const widen_options& chosen) {
        check_output("--output", chosen.output, {chosen.model});
        if (!io::holds_safetensors(chosen.model)) return io::gguf_file(chosen.model);
        detail::fail("augur widen writes from GGUF files; ", chosen.model, " holds safetensors");
    }

    /// Where drafts go: a folder by the name of the model's file without its ending, as a draft bundle is laid out.
    fs::path folder() const { return fs::path(chosen_.output).replace_extension(); }

    std::vector<std::string> draft_paths() const {
        std::vector<std::string> paths;
        for (const std::string& each : chosen_.drafts) {
            if (each != "all") {
                paths.push_back(each);
                continue;
            }
            for (std::string& found : checkpoints_for(fingerprint_)) paths.push_back(std::move(found));
        }
        return paths;
    }

    void add_draft(const std::string& path) {
        if (io::holds_safetensors(path)) {
            detail::fail("--draft ", path, " holds published heads (",
                         llama::published_kind(io::safetensors_folder(path)),
                         "), which have no fingerprint to name another target by; a draft checkpoint is widened");
        }
        const io::gguf_file& file = files_.emplace_back(path);
        widened_gguf draft = widened_gguf::of_draft(file, file_, to_);
        drafts_.emplace_back(std::move(draft), place("--draft", path, llama::checkpoint_kind(file) + ".gguf"));
    }

    void add_adapter(const std::string& path) {
        const llama::config narrow = llama::read_config(file_);
        widened_adapter adapter = widened_adapter::read(path, fingerprint_, narrow, widening(narrow, to_).wide());
        adapters_.emplace_back(std::move(adapter), place("--adapter", path, fs::path(path).filename()));
    }

    /// In folder(). Throws where another file goes there.
    fs::path place(const char* flag, const std::string& path, const fs::path& name) {
        const fs::path to = folder() / name;
        if (places_.insert(to).second) return to;
        detail::fail(flag, " ", path, ": ", to.string(), " is written from another one already");
    }

    void check_outputs() const {
        std::vector<fs::path> inputs{chosen_.model};
        for (const io::gguf_file& draft : files_) inputs.push_back(draft.path());
        for (const std::string& path : chosen_.adapters) inputs.emplace_back(path);
        check_output("--output", chosen_.output, inputs);
        if (places_.empty()) return;
        if (folder() == fs::path(chosen_.output)) {
            detail::fail("--output ", chosen_.output,
                         " has no ending, such as .gguf: drafts are written into a folder "
                         "by its name without one");
        }
        for (const fs::path& path : places_) {
            std::error_code unknown;
            if (fs::exists(path, unknown)) check_output("--output", path, inputs);
        }
    }

    /// The number of bytes.
    static std::uint64_t write(const widened_gguf& from, const fs::path& path, const draft_target& whom) {
        output_file out(path);
        std::uint64_t written = 0;
        {
            const interruption stop;
            const passing_note note("writing " + path.string() + " ...");
            from.write(
                [&](std::span<const std::byte> bytes) {
                    interruption::check();
                    out.write({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
                    written += bytes.size();
                },
                whom);
        }
        out.commit();
        return written;
    }

    const widen_options& chosen_;
    llama_shape to_;
    llama::weight_format format_;
    io::gguf_file file_;
    widened_gguf model_;
    std::string fingerprint_;
    std::deque<io::gguf_file> files_;  ///< of drafts, which must not move
    std::set<fs::path> places_;        ///< of what is written beside the model
    std::vector<std::pair<widened_gguf, fs::path>> drafts_;
    std::vector<std::pair<widened_adapter, fs::path>> adapters_;
};

}  // namespace

void add_widen(CLI::App& program) {
    auto* command = program.add_subcommand(
        "widen", "Write a model in a larger shape: the same text, up to rounding, at the cost of that size");
    const auto chosen = std::make_shared<widen_options>();
    command->add_option("-m,--model", chosen->model, "The model: a GGUF file")->type_name("FILE")->required();
    command
        ->add_option("--shape", chosen->shape,
                     "360m, 1b, 3b, 8b or width,feed_forward,heads,key_value_heads,head_size,layers")
        ->type_name("SHAPE")
        ->required();
    command->add_option("--weights", chosen->weights, "How the model's matrices are stored: as --weights of generate")
        ->type_name("FORMAT")
        ->default_str(chosen->weights);
    command
        ->add_option("--draft", chosen->drafts,
                     "A draft checkpoint of the model, to write for the wide one, too; all: those of its draft bundles "
                     "(repeatable)")
        ->type_name("FILE")
        ->allow_extra_args(false);
    command->add_option("--adapter", chosen->adapters, "What an exit of the model learned, the same (repeatable)")
        ->type_name("FILE")
        ->allow_extra_args(false);
    command
        ->add_option("--output", chosen->output,
                     "The file to write; drafts and adapters go into a folder by its name without the ending")
        ->type_name("FILE")
        ->required();
    command->callback([chosen] { widened_family(*chosen).write(); });
}

}  // namespace augur::program
