#include "target.hpp"

#include <algorithm>
#include <augur/io/files/fingerprint.hpp>
#include <augur/io/files/gguf.hpp>
#include <augur/io/files/quote.hpp>
#include <augur/io/files/safetensors.hpp>
#include <augur/io/text/read_vocabulary.hpp>
#include <augur/llama/gguf_config.hpp>
#include <filesystem>
#include <optional>
#include <utility>

#include "calibration.hpp"
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

void note_cache(const CLI::App& command, engine_options& into, const model_options& chosen) {
    if (command.get_option("--cache")->count() > 0) into.cache = chosen.cache;
}

void engine_choice::tell_why() const {
    tell("note", "llama.cpp runs this model, which the bundled engine does not read: ", why);
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

scoring_model load_scores(const engine_choice& runs_on, const model_options& chosen, const engine_options& asked,
                          const scoring_needs& needs) {
    return runs_on.explained(
        [&] { return scoring_on(load_scoring_weights(chosen.path, asked), chosen, asked, needs); });
}

target_model::target_model(engine_choice runs_on, const model_options& chosen, const engine_options& asked,
                           const std::string& device, loaded_scheme& by)
    : engine_(std::move(runs_on)), chosen_(chosen), asked_(asked), device_(device) {
    if (engine_.is_llama_cpp) {
        load_scoring(by);
    } else {
        bundled_.emplace(load_model(chosen.path, chosen, by.taps(chosen.path)));
        computes_.emplace(program::engine_of(*bundled_, device_, chosen.weights));
        by.load(*bundled_, chosen);
    }
}

void target_model::load_scoring(loaded_scheme& by) {
    check_scores_suffice(by.scheme());
    scoring_.emplace(engine_.explained([&] {
        weights_ = load_scoring_weights(chosen_.path, asked_);
        return scoring_on(weights_, chosen_, asked_, needs_of(by.scheme()));
    }));
    by.load(*scoring_, chosen_, asked_);
}

void target_model::add(loaded_scheme& by) {
    if (bundled_) return by.load(*bundled_, chosen_);
    check_scores_suffice(by.scheme());
    const std::size_t nodes = needs_of(by.scheme()).tree_nodes;
    if (nodes > needs_.tree_nodes) {
        needs_.tree_nodes = nodes;
        trees_.reset();
        model_options as_the_first = chosen_;
        as_the_first.threads = scoring_->threads;
        trees_.emplace(scoring_on(weights_, as_the_first, asked_, needs_));
    }
    by.load(*scoring_, chosen_, asked_);
}

const scoring_model& target_model::scores_for(const scheme_options& resolved) const {
    return trees_ && needs_of(resolved).tree_nodes > 0 ? *trees_ : *scoring_;
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

nlohmann::ordered_json target_model::identity(const checkpoint_files& drafters,
                                              const transform::settings& sampling) const {
    if (bundled_) return identity_of(bundled_->fingerprint(), bundled_->threads(), drafters, chosen_, sampling);
    model_options as_here = chosen_;
    as_here.cache = asked_.cache.value_or(model_options().cache);
    auto all =
        identity_of(io::fingerprint(std::filesystem::path(chosen_.path)), threads(), drafters, as_here, sampling);
    all["engine"] = detail::message("llama.cpp: ", llama_cpp_backends());
    if (asked_.gpu_layers) all["gpu_layers"] = *asked_.gpu_layers;
    if (!asked_.rpc.empty()) all["rpc"] = asked_.rpc;
    return all;
}

void target_model::prepare(loaded_scheme& by, const std::vector<double>& verify_seconds) const {
    if (bundled_) return by.prepare(*bundled_, *computes_, device_, verify_seconds);
    const scoring_model& on = scores_for(by.scheme());
    by.prepare(on, &on == &*scoring_ ? verify_seconds : std::vector<double>());
}

run_result target_model::run(const loaded_scheme& by, run_request request) const {
    return bundled_ ? by.run(*computes_, std::move(request)) : by.run(scores_for(by.scheme()), std::move(request));
}

run_result target_model::run(const scheme_options& other, const loaded_scheme& by, const run_request& request) const {
    return bundled_ ? by.run(other, *computes_, request) : by.run(other, *scoring_, request);
}

run_result target_model::run_plainly(const run_request& request) const {
    const scheme_options plain{.scheme = "plain", .accept = "coupled"};
    if (bundled_) return program::run(plain, *computes_, draft_checkpoints{}, request);
    return program::run(plain, scoring_->model, scoring_drafters{}, request);
}

}  // namespace augur::program
