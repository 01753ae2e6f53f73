#include "target.hpp"

#include <algorithm>
#include <augur/io/files/gguf.hpp>
#include <augur/io/files/quote.hpp>
#include <augur/io/files/safetensors.hpp>
#include <augur/io/text/read_vocabulary.hpp>
#include <augur/io/text/stop_marks.hpp>
#include <augur/llama/gguf_config.hpp>
#include <optional>
#include <utility>

#include "llama_shape.hpp"
#include "message.hpp"
#include "models.hpp"

namespace augur::program {
namespace {

/// Why the bundled engine cannot run a sound file of this family and these formats; empty where it can. Of other
/// families than Llama's the vocabulary is asked for, too, as llama.cpp may read it where augur does not.
std::string unread_because(const std::string& path) {
    std::optional<io::gguf_file> file;
    try {
        file.emplace(path);
    } catch (const io::unread_tensor_type& problem) {
        return problem.what();
    } catch (const error&) {
        return "";  // damaged, or no file at all: nothing for another engine, and the bundled one says what it is
    }
    try {
        static_cast<void>(llama::read_config(*file));
        const bool has_words = file->get_or<std::string>("tokenizer.ggml.model", "no_vocab") != "no_vocab";
        if (has_words && file->get<std::string>("general.architecture") != "llama") {
            static_cast<void>(io::read_vocabulary(*file));
        }
        return "";
    } catch (const error& problem) {
        return problem.what();
    }
}

/// Throws where the file has a format that the bundled engine does not read, and says whose it is.
void check_formats(const std::string& path) {
    try {
        const io::gguf_file file(path);
    } catch (const io::unread_tensor_type& problem) {
        detail::fail(problem.what(), " by the bundled engine; --engine llama.cpp may run it",
                     has_llama_cpp() ? "" : ", in a program that is built with llama.cpp");
    } catch (const error&) {  // who loads the file says what it is
    }
}

/// Options for an engine that is not the one.
void check_engine_options(const engine_options& asked, const engine_choice& runs_on, const model_options& chosen,
                          const std::string& device) {
    if (runs_on.is_llama_cpp) {
        if (device != "cpu") {
            detail::fail("--device is ", device, ", which is for --engine augur; llama.cpp takes --gpu-layers");
        }
        check_llama_cpp(asked, chosen);
        return;
    }
    const char* const by = asked.name == "auto" ? ", chosen by auto; " : "; ";
    if (asked.gpu_layers) {
        detail::fail("--gpu-layers is ", *asked.gpu_layers, ", but the engine is 'augur'", by, "llama.cpp uses it");
    }
    if (!asked.rpc.empty()) {
        detail::fail("--rpc is ", asked.rpc.front(), ", but the engine is 'augur'", by, "llama.cpp uses it");
    }
}

}  // namespace

void add_engine_options(CLI::App& command, engine_options& into) {
    command
        .add_option(
            "--engine", into.name,
            "What runs the model: augur (the bundled Llama), llama.cpp (any GGUF file), or auto: augur where it "
            "reads the file")
        ->type_name("NAME")
        ->default_str("auto");
    const auto layers = [&into](const std::string& text) { into.gpu_layers = parse_number<int>("--gpu-layers", text); };
    add_text(command, "--gpu-layers", layers, "llama.cpp: layers kept on accelerators and servers; -1 for all", "N",
             "-1");
    const auto servers = [&into](const std::string& text) {
        into.rpc.clear();
        for (std::size_t from = 0; from <= text.size();) {
            const std::size_t comma = std::min(text.find(',', from), text.size());
            if (comma == from) detail::fail("--rpc is ", io::quote(text), "; a server is missing");
            into.rpc.push_back(text.substr(from, comma - from));
            from = comma + 1;
        }
    };
    add_text(command, "--rpc", servers, "llama.cpp: servers that share the layers, host:port,...", "LIST");
}

engine_choice choose_engine(const engine_options& asked, const model_options& chosen, const std::string& device) {
    engine_choice runs_on;
    if (asked.name == "llama.cpp") {
        runs_on.is_llama_cpp = true;
    } else if (asked.name == "auto") {
        if (has_llama_cpp() && !io::holds_safetensors(chosen.path)) runs_on.why = unread_because(chosen.path);
        runs_on.is_llama_cpp = !runs_on.why.empty();
    } else if (asked.name != "augur") {
        detail::fail("--engine ", io::quote(asked.name), " is unknown; valid are auto, augur, llama.cpp");
    }
    check_engine_options(asked, runs_on, chosen, device);
    const bool is_tried = asked.name == "auto" && has_llama_cpp();
    if (!runs_on.is_llama_cpp && !is_tried && !io::holds_safetensors(chosen.path)) check_formats(chosen.path);
    return runs_on;
}

known_words::known_words(const engine_choice& runs_on, const std::string& path) : path_(path) {
    try {
        ours_ = load_tokenizer(path);
    } catch (const error& problem) {
        if (!runs_on.is_llama_cpp) throw;
        try {
            theirs_ = load_scoring_words(path);
        } catch (const error&) {
            throw problem;
        }
        tell("note", "llama.cpp reads the vocabulary, which augur does not: ", problem.what());
    }
}

const io::tokenizer& known_words::ours(const std::string& what) const {
    if (theirs_) detail::fail(what, " needs a vocabulary that augur reads, but only llama.cpp reads that of ", path_);
    return require(ours_, path_, what);
}

std::vector<token> known_words::encode(const prompt_options& prompt) const {
    return theirs_ ? theirs_->encode(prompt) : encode_prompt(prompt, ours_, path_);
}

std::string known_words::bytes_of(token id, bool show_control) const {
    if (theirs_) return theirs_->bytes_of(id, show_control);
    return ours_ ? program::bytes_of(*ours_, id, show_control) : std::string();
}

std::vector<token> known_words::end_tokens(std::size_t vocabulary) const {
    return theirs_ ? theirs_->ends() : end_tokens_of(ours_, vocabulary, path_);
}

std::vector<commit::stop_mark> known_words::stop_marks(const std::vector<std::string>& strings) const {
    if (strings.empty()) return {};
    return of_option("--stop", [&] {
        return theirs_ ? theirs_->stop_marks(strings) : io::stop_marks_of(require(ours_, path_, "--stop"), strings);
    });
}

target_model::target_model(engine_choice runs_on, const model_options& chosen, const engine_options& asked,
                           const std::string& device, loaded_scheme& by)
    : engine_(std::move(runs_on)), device_(device) {
    if (engine_.is_llama_cpp) {
        load_scoring(chosen, asked, by);
    } else {
        bundled_.emplace(load_model(chosen.path, chosen));
        computes_.emplace(program::engine_of(*bundled_, device_, chosen.weights));
        by.load(*bundled_, chosen);
    }
}

/// Where llama.cpp cannot load what auto gave it, the bundled one's reason is the better one.
void target_model::load_scoring(const model_options& chosen, const engine_options& asked, loaded_scheme& by) {
    check_scores_suffice(by.scheme());
    try {
        scoring_.emplace(program::load_scoring(chosen, asked, by.scheme()));
    } catch (const error&) {
        if (!engine_.why.empty()) throw error(engine_.why);
        throw;
    }
    if (!engine_.why.empty()) {
        tell("note", "llama.cpp runs this model, which the bundled engine does not read: ", engine_.why);
    }
    by.load(*scoring_, chosen, asked);
}

std::size_t target_model::vocabulary_size() const {
    return bundled_ ? bundled_->vocabulary_size() : scoring_->model.vocabulary_size();
}
std::size_t target_model::context_length() const {
    return bundled_ ? bundled_->context_length() : scoring_->model.context_length();
}
std::size_t target_model::threads() const {
    return bundled_ ? bundled_->threads() : scoring_->threads;
}
std::size_t target_model::parameter_count() const {
    return bundled_ ? bundled_->parameter_count() : scoring_->parameters;
}
std::size_t target_model::memory_bytes() const {
    return bundled_ ? bundled_->memory_bytes() : scoring_->bytes;
}
std::string target_model::shape() const {
    return bundled_ ? shape_of(bundled_->configuration()).text() : scoring_->description;
}

void target_model::prepare(loaded_scheme& by) const {
    bundled_ ? by.prepare(*bundled_, *computes_, device_) : by.prepare(*scoring_);
}

run_result target_model::run(const loaded_scheme& by, run_request request) const {
    return bundled_ ? by.run(*computes_, std::move(request)) : by.run(*scoring_, std::move(request));
}

run_result target_model::run_plainly(const run_request& request) const {
    const scheme_options plain{.scheme = "plain", .accept = "coupled"};
    if (bundled_) return program::run(plain, *computes_, draft_checkpoints{}, request);
    return program::run(plain, scoring_->model, scoring_drafters{}, request);
}

}  // namespace augur::program
