// augur serve: a model over HTTP, by the API that clients of OpenAI's speak.

#include <augur/io/files/quote.hpp>
#include <augur/io/files/regular_file.hpp>
#include <augur/llama/host_model.hpp>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <functional>
#include <memory>
#include <sstream>
#include <thread>
#include <utility>

#include "commands.hpp"
#include "message.hpp"
#include "models.hpp"
#include "serve_answer.hpp"
#include "serve_connection.hpp"
#include "serve_decoder.hpp"
#include "serve_error.hpp"
#include "serve_metrics.hpp"
#include "serve_options.hpp"
#include "serve_request.hpp"
#include "target.hpp"
#include "terminal.hpp"

namespace augur::program {
namespace {

using json = nlohmann::ordered_json;
using httplib::Request;
using httplib::Response;

volatile std::sig_atomic_t asked_to_end = 0;

void note_end(int) {
    asked_to_end = asked_to_end + 1;
}

/// From here on SIGTERM and SIGINT are counted.
void watch_signals() {
    struct sigaction by {};
    by.sa_handler = note_end;
    by.sa_flags = SA_RESTART;
    sigaction(SIGTERM, &by, nullptr);
    sigaction(SIGINT, &by, nullptr);
}

/// One a line.
std::vector<std::string> read_keys(const std::string& path) {
    std::vector<std::string> keys;
    if (path.empty()) return keys;
    std::istringstream lines(of_option("--api-key-file", [&] { return io::read_text(path, 1 << 16); }));
    for (std::string line; std::getline(lines, line);) {
        if (line.ends_with('\r')) line.pop_back();
        if (!line.empty()) keys.push_back(line);
    }
    if (keys.empty()) detail::fail("--api-key-file ", path, " holds no key: each line of it that is not empty is one");
    return keys;
}

/// In a time that says nothing of where they differ.
bool is_same(const std::string& a, const std::string& b) {
    unsigned char differs = a.size() == b.size() ? 0 : 1;
    for (std::size_t i = 0; i < a.size(); ++i)
        differs = static_cast<unsigned char>(differs | (a[i] ^ b[i % std::max<std::size_t>(b.size(), 1)]));
    return differs == 0;
}

void set(Response& to, const json& object, int status = 200) {
    to.status = status;
    to.set_content(json_line(object), "application/json");
}

void set_error(Response& to, const api_error& problem) {
    set(to, problem.json(), problem.status());
    if (problem.status() == 429 || problem.status() == 503) to.set_header("Retry-After", "1");
    to.set_header("Connection", "close");
}

class model_server {
 public:
    explicit model_server(const serve_options& chosen)
        : chosen_(chosen),
          keys_(read_keys(chosen.api_key_file)),
          runs_on_(choose_engine(chosen.engine, chosen.model)),
          words_(runs_on_.is_llama_cpp, chosen.model.path) {
        load();
        describe();
        make_decoder();
        http_.emplace(connection_limits{chosen.connections, chosen.body_bytes, chosen.client_seconds});
        add_routes();
    }

    /// Until a signal ends it.
    void run() {
        const std::size_t port = bind();
        watch_signals();
        std::thread listening([this] { http_->listen_after_bind(); });
        tell("note", "serving ", served_.name, " at http://", chosen_.host, ":", port,
             keys_.empty() && !is_loopback() ? "; whoever reaches it may use it: there is no --api-key-file" : "");
        while (asked_to_end == 0) std::this_thread::sleep_for(std::chrono::milliseconds(20));
        drain();
        http_->halt();
        listening.join();
    }

 private:
    void load() {
        const passing_note note("loading " + std::filesystem::path(chosen_.model.path).filename().string());
        if (!runs_on_.is_llama_cpp) {
            bundled_.emplace(load_model(chosen_.model.path, chosen_.model));
            erased_.emplace(*bundled_);
        } else {
            scores_.emplace(load_scores(runs_on_, chosen_.model, chosen_.engine, {.sequences = chosen_.together}));
        }
    }
    const model::any_model& target() const { return scores_ ? scores_->model : *erased_; }

    void describe() {
        served_.name = chosen_.model_name;
        if (served_.name.empty()) {
            const std::filesystem::path path = std::filesystem::path(chosen_.model.path).lexically_normal();
            served_.name = (path.extension() == ".gguf" ? path.stem() : path.filename()).string();
        }
        served_.words = &words_;
        served_.vocabulary = target().vocabulary_size();
        served_.context = target().context_length();
        served_.max_tokens = chosen_.max_tokens;
        served_.end_tokens = words_.end_tokens(served_.vocabulary);
        try {
            words_.require("a conversation");
            if (words_.ours() != nullptr) {
                served_.layout.emplace(words_.ours()->words());
            } else if (!words_.theirs()->has_chat_template()) {
                detail::fail("the model has no chat template");
            }
        } catch (const error& problem) {
            served_.no_chat = problem.what();
        }
    }

    void make_decoder() {
        decoder_settings settings;
        settings.most_drafted = chosen_.scheme == "plain" ? 0 : chosen_.length.value_or(8);
        settings.limits.most_running = chosen_.together;
        settings.limits.most_waiting = chosen_.queue;
        settings.limits.prefill_tokens = chosen_.prefill_tokens;
        if (chosen_.cached_tokens > 0) settings.limits.cached_tokens = chosen_.cached_tokens;
        if (bundled_) {
            settings.limits.cache_bytes_of = [this](std::size_t tokens) { return bundled_->cache_bytes(tokens); };
        }
        decoder_.emplace(target(), settings);
    }

    bool is_loopback() const {
        return chosen_.host.starts_with("127.") || chosen_.host == "::1" || chosen_.host == "localhost";
    }

    std::size_t bind() {
        const bool any = chosen_.port == 0;
        const int port =
            any ? http_->bind_to_any_port(chosen_.host)
                : (http_->bind_to_port(chosen_.host, static_cast<int>(chosen_.port)) ? static_cast<int>(chosen_.port)
                                                                                     : -1);
        if (port < 0) {
            detail::fail("--host ", io::quote(chosen_.host), " and --port ", chosen_.port,
                         ": they cannot be listened at (in use, no address of this machine, or not permitted)");
        }
        return static_cast<std::size_t>(port);
    }

    /// What is being answered is finished, unless that takes too long or a second signal comes.
    void drain() {
        draining_ = true;
        decoder_->drain();
        const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(chosen_.drain_seconds);
        if (answering_ > 0) tell("note", "ending: ", answering_.load(), " requests are finished first");
        while (answering_ > 0 && asked_to_end == 1 && std::chrono::steady_clock::now() < until) {
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
        if (answering_ > 0) tell("warning", "ending: ", answering_.load(), " requests are cut off");
    }

    using handler = std::function<void(const Request&, Response&)>;

    /// While it answers the server does not end; what it throws is an answer.
    handler guarded(handler work) {
        return [this, work = std::move(work)](const Request& asked, Response& answer) {
            const std::shared_ptr<void> counted = answering();
            try {
                work(asked, answer);
            } catch (const api_error& problem) {
                set_error(answer, problem);
            } catch (const std::bad_alloc&) {
                set_error(answer, {500, "out_of_memory", "out of memory"});
            } catch (const std::exception& problem) {
                set_error(answer, {500, "failed", problem.what()});
            }
        };
    }
    std::shared_ptr<void> answering() {
        ++answering_;
        return {nullptr, [this](void*) { --answering_; }};
    }

    void add_routes() {
        http_->set_pre_routing_handler([this](const Request& asked, Response& answer) {
            try {
                check(asked);
                return httplib::Server::HandlerResponse::Unhandled;
            } catch (const api_error& problem) {
                set_error(answer, problem);
                return httplib::Server::HandlerResponse::Handled;
            }
        });
        http_->set_error_handler([this](const Request& asked, Response& answer) {
            if (answer.body.empty()) set_error(answer, explained(asked, answer.status));
        });
        http_->Get("/health", [this](const Request&, Response& answer) {
            set(answer, {{"status", draining_ ? "draining" : "ok"}}, draining_ ? 503 : 200);
        });
        http_->Get("/metrics", guarded([this](const Request&, Response& answer) {
                       answer.set_content(
                           metrics_.text(*decoder_, http_->answers(), http_->connections(), chosen_.scheme),
                           "text/plain; version=0.0.4");
                   }));
        http_->Get("/v1/models", guarded([this](const Request&, Response& answer) {
                       set(answer, {{"object", "list"}, {"data", json::array({model_object()})}});
                   }));
        add_posts();
    }

    void add_posts() {
        const auto post = [this](const char* path, json (*work)(const json&, const served_model&)) {
            http_->Post(path, guarded([this, work](const Request& asked, Response& answer) {
                            set(answer, work(read_body(asked.body, chosen_.body_bytes), served_));
                        }));
        };
        post("/tokenize", tokenized);
        post("/detokenize", detokenized);
        for (const bool chat : {false, true}) {
            http_->Post(
                chat ? "/v1/chat/completions" : "/v1/completions",
                guarded([this, chat](const Request& asked, Response& answer) { complete(asked, chat, answer); }));
        }
    }

    json model_object() const {
        return {{"id", served_.name},        {"object", "model"},          {"created", started_},
                {"owned_by", "augur"},       {"context", served_.context}, {"vocabulary", served_.vocabulary},
                {"engine", runs_on_.name()}, {"scheme", chosen_.scheme}};
    }

    /// Before a body is read.
    void check(const Request& asked) const {
        if (asked.path != "/health" && asked.path != "/" && !is_allowed(asked)) {
            throw api_error(401, "invalid_api_key",
                            "the header Authorization must be \"Bearer KEY\" with a key of this server");
        }
        if (asked.has_header("Content-Encoding")) {
            throw api_error(415, "unsupported_encoding",
                            "bodies are taken as they are, not encoded as " +
                                io::quote(asked.get_header_value("Content-Encoding")));
        }
        const std::string type = asked.get_header_value("Content-Type");
        if (asked.method != "POST" || type == "application/json" || type.starts_with("application/json;")) return;
        throw api_error(415, "unsupported_type",
                        "the Content-Type is " + io::quote(type) + "; it must be application/json");
    }
    bool is_allowed(const Request& asked) const {
        const std::string given = asked.get_header_value("Authorization");
        bool found = keys_.empty();
        for (const std::string& key : keys_) found = is_same(given, "Bearer " + key) || found;
        return found;
    }

    api_error explained(const Request& asked, int status) const {
        const std::string what = io::quote(asked.method + " " + asked.path);
        if (status == 404) return {404, "not_found", "there is no " + what};
        if (status == 413) {
            return {413, "body_too_large",
                    "the body has more than the " + std::to_string(chosen_.body_bytes) + " bytes that are read"};
        }
        return {status, "bad_request", "the request cannot be read as HTTP"};
    }

    void complete(const Request& asked, bool chat, Response& answer) {
        completion_request read = read_completion(read_body(asked.body, chosen_.body_bytes), chat, served_);
        const bool stream = read.stream;
        const auto running =
            std::make_shared<completion_answer>(std::move(read), served_, *decoder_, metrics_, chosen_.request_seconds);
        if (stream) return this->stream(running, answer);
        const auto whole = running->whole([this] { return http_->is_halted() || limited_server::client_is_gone(); });
        if (!whole) throw api_error(503, "cancelled", "the server ends, or nobody waits for the answer");
        set(answer, *whole);
    }
    void stream(const std::shared_ptr<completion_answer>& running, Response& answer) {
        answer.set_header("Cache-Control", "no-store");
        answer.set_chunked_content_provider("text/event-stream",
                                            [running, counted = answering()](std::size_t, httplib::DataSink& sink) {
                                                if (limited_server::client_is_gone()) return false;
                                                const std::string events = running->next_events();
                                                if (!events.empty() && !sink.write(events.data(), events.size()))
                                                    return false;
                                                if (running->is_over()) sink.done();
                                                return true;
                                            });
    }

    const serve_options& chosen_;
    std::vector<std::string> keys_;
    engine_choice runs_on_;
    known_words words_;
    served_model served_{};
    std::optional<llama::host_model> bundled_;
    std::optional<model::any_model> erased_;  ///< of the bundled one
    std::optional<scoring_model> scores_;     ///< on llama.cpp
    serve_metrics metrics_;
    std::atomic<std::size_t> answering_ = 0;
    std::atomic<bool> draining_ = false;
    std::optional<request_decoder> decoder_;
    std::optional<limited_server> http_;
    long started_ = static_cast<long>(std::time(nullptr));
};

void check_serve(const serve_options& chosen) {
    if (chosen.scheme != "plain" && chosen.scheme != "lookup") {
        detail::fail("--scheme is ", io::quote(chosen.scheme), "; valid are lookup, plain");
    }
    if (chosen.length && chosen.scheme == "plain") {
        detail::fail("--length is ", *chosen.length, ", but the scheme is 'plain'; lookup uses it");
    }
    const auto positive = [](const char* name, std::size_t value) {
        if (value == 0) detail::fail(name, " is 0; it must be at least 1");
    };
    positive("--together", chosen.together);
    positive("--connections", chosen.connections);
    positive("--max-tokens", chosen.max_tokens);
    positive("--max-body", chosen.body_bytes);
    positive("--prefill", chosen.prefill_tokens);
    if (!(chosen.request_seconds > 0)) detail::fail("--request-seconds is 0; it must be more");
    if (!(chosen.client_seconds > 0)) detail::fail("--client-seconds is 0; it must be more");
}

void add_serve_limits(CLI::App& command, serve_options& into) {
    add_number(command, "--together", into.together, "Texts decoded together", "N", "16", std::size_t{256});
    add_number(command, "--queue", into.queue, "Texts that wait; further ones are refused with 429", "N", "64",
               std::size_t{1} << 16);
    add_number(command, "--connections", into.connections, "Open connections; further ones are refused with 429", "N",
               "128", std::size_t{4096});
    add_max_tokens(command, into.max_tokens, "The most max_tokens that a request may ask for", most::tokens);
    add_number(command, "--max-body", into.body_bytes, "Bytes of a request's body", "N", "1048576",
               std::size_t{1} << 28);
    add_number(command, "--cached-tokens", into.cached_tokens,
               "Tokens that the caches of all texts together hold; 0: no limit but --together and --context", "N", "0");
    add_number(command, "--prefill", into.prefill_tokens,
               "Prompt tokens computed between two tokens of other texts, at most", "N", "256", most::tokens);
    add_seconds(command, "--request-seconds", into.request_seconds, "A request's time, from its arrival to its end",
                "600");
    add_seconds(command, "--client-seconds", into.client_seconds,
                "The time for a client to send a request, and to take what it is sent", "10");
    add_seconds(command, "--drain-seconds", into.drain_seconds, "After SIGTERM: the time to finish requests", "30");
}

}  // namespace

void add_serve(CLI::App& program) {
    auto* command = program.add_subcommand("serve", "Serve a model over HTTP, by OpenAI's API");
    const auto chosen = std::make_shared<serve_options>();
    add_model_options(*command, chosen->model);
    add_engine_options(*command, chosen->engine);
    command->add_option("--host", chosen->host, "The address to listen at")
        ->type_name("ADDRESS")
        ->default_str("127.0.0.1");
    add_number(*command, "--port", chosen->port, "The port, 0 for one that is free", "N", "8080", std::size_t{65535});
    command->add_option("--api-key-file", chosen->api_key_file, "A file of keys, one a line; a request must have one")
        ->type_name("FILE");
    command->add_option("--model-name", chosen->model_name, "The model's name for clients")
        ->type_name("NAME")
        ->default_str("the file's");
    command
        ->add_option(
            "--scheme", chosen->scheme,
            "lookup: drafts what followed the same tokens earlier in the text; or plain. The texts are the same")
        ->type_name("NAME")
        ->default_str("lookup");
    add_text(
        *command, "--length",
        [chosen](const std::string& text) { chosen->length = parse_number("--length", text, most::length); },
        "lookup: the most tokens drafted a round; how many of them are verified is decided by what pays", "K", "8");
    add_serve_limits(*command, *chosen);
    command->callback([command, chosen] {
        note_cache(*command, chosen->engine, chosen->model);
        check_serve(*chosen);
        model_server(*chosen).run();
    });
}

}  // namespace augur::program
