// augur answer: many prompts, several at a time.

#include <algorithm>
#include <array>
#include <augur/accept/coupled.hpp>
#include <augur/decode/batch.hpp>
#include <augur/detail/half.hpp>
#include <augur/detail/stopwatch.hpp>
#include <augur/draft/suffix_lookup.hpp>
#include <augur/draft/suffix_memory.hpp>
#include <augur/io/files/json_reader.hpp>
#include <augur/io/files/quote.hpp>
#include <augur/io/text/utf8.hpp>
#include <augur/scheme/speculator.hpp>
#include <augur/transform/pipeline.hpp>
#include <augur/types/prefix.hpp>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "chain_rules.hpp"
#include "commands.hpp"
#include "known_words.hpp"
#include "message.hpp"
#include "models.hpp"
#include "output_file.hpp"
#include "scheme.hpp"
#include "target.hpp"
#include "terminal.hpp"

namespace augur::program {
namespace {

using json = nlohmann::ordered_json;

/// Tokens of prompts and answers that there is room for.
inline constexpr std::size_t latest_texts = std::size_t{1} << 18;

struct answer_options {
    model_options model;
    engine_options engine;
    std::string prompts, output, states, scheme = "plain";
    std::optional<std::size_t> length{};  ///< of suffix: tokens that are drafted; without it as many as pay
    bool chat = false, ignore_eos = false;
    std::size_t together = 32, max_tokens = 128;
    float temperature = 0;
    std::uint64_t seed = 0;
};

/// A line of the prompts: what is asked, and how it is answered.
struct question {
    std::vector<token> ids;
    float temperature;
    std::uint64_t seed;
    std::size_t max_tokens;
    std::string origin;
};

/// Drafts nothing and keeps the target's hidden state at every position, in 16 bits.
struct state_keeper {
    struct state_type {
        std::vector<std::uint16_t> rows;
    };
    using draft_distribution_type = point_mass;

    state_type make_state() const { return {}; }
    void propose(state_type&, auto& /*context*/, proposal<point_mass>&) const {}
    void on_commit(state_type& state, const prefix&, const auto& states) const {
        for (std::size_t i = 0; i < states.size(); ++i) {
            for (const float number : states[i]) state.rows.push_back(detail::float_to_bfloat16(number));
        }
    }
};

/// Drafts from texts that were written before.
template <class Scheme>
inline constexpr bool drafts_from_texts = std::is_same_v<typename Scheme::drafter_type, draft::suffix_lookup>;

/// A text that is being written.
template <class Scheme>
struct open_text {
    std::unique_ptr<decode::session<Scheme>> session;
    std::optional<draft::suffix_watcher> reads{};
    std::size_t known = 0;  ///< tokens of other texts in the memory when it began
};

class answering {
 public:
    explicit answering(const answer_options& chosen)
        : chosen_(chosen),
          runs_on_(choose_engine(chosen.engine, chosen.model)),
          words_(runs_on_.is_llama_cpp, chosen.model.path) {
        if (!runs_on_.is_llama_cpp) {
            bundled_.emplace(load_model(chosen.model.path, chosen.model));
            questions_ = read_questions();
        } else if (!chosen.states.empty()) {
            detail::fail("--states is ", chosen.states, ", which needs hidden states, but llama.cpp shows none");
        } else {
            questions_ = read_questions();
            scores_.emplace(load_scores(runs_on_, chosen.model, chosen.engine, needs()));
            for (const question& each : questions_) check(each, scores_->model);
        }
    }

    void run() {
        const interruption stop;
        if (!chosen_.output.empty()) answers_.emplace(chosen_.output);
        if (scores_) {
            answer_all_by(scores_->model);
        } else if (chosen_.states.empty()) {
            answer_all_by(*bundled_);
        } else {
            states_.emplace(chosen_.states);
            answer_all(speculate(state_keeper{}, *bundled_, policy::fixed_length{0}, accept::coupled{}));
            states_->commit();
        }
        if (answers_) answers_->commit();
    }

 private:
    std::vector<question> read_questions() const {
        std::vector<question> all;
        for_each_line(chosen_.prompts, [&](const io::json_reader<json>& entry, std::size_t) {
            all.push_back(read_question(entry, all.size()));
        });
        if (all.empty()) detail::fail(chosen_.prompts, " holds no prompts");
        return all;
    }

    /// Of llama.cpp's context: room for the texts that are longest and as many as run together.
    scoring_needs needs() const {
        if (chosen_.together > 256) {
            detail::fail("--together is ", chosen_.together, "; llama.cpp runs at most 256 texts together");
        }
        scoring_needs all{.sequences = std::min(chosen_.together, questions_.size())};
        for (const question& each : questions_) {
            const std::size_t most = std::min(each.max_tokens, most::tokens);
            all.room = std::max(all.room, each.ids.size() + most);
        }
        return all;
    }

    static void check_keys(const io::json_reader<json>& entry) {
        constexpr std::array<std::string_view, 6> known = {"prompt", "prompt_ids", "temperature",
                                                           "seed",   "max_tokens", "task"};
        for (const auto& [key, _] : entry.value().items()) {
            if (std::find(known.begin(), known.end(), key) != known.end()) continue;
            detail::fail(entry.origin(), ": the key ", io::quote(key),
                         " is unknown; there are prompt, prompt_ids, temperature, seed, max_tokens, and task, which "
                         "says nothing here");
        }
    }

    /// Throws for what no answer can begin with, before any other is made.
    static void check(const question& asked, const auto& model) {
        const std::size_t vocabulary = model.vocabulary_size();
        try {
            static_cast<void>(checked_prompt(asked.ids, vocabulary, model.context_length()));
            static_cast<void>(transform::pipeline(transform::settings{.temperature = {asked.temperature}}, vocabulary));
        } catch (const error& problem) {
            detail::fail(asked.origin, ": ", problem.what());
        }
    }

    question read_question(const io::json_reader<json>& entry, std::size_t number) const {
        check_keys(entry);
        auto ids = entry.optional<std::vector<token>>("prompt_ids");
        if ((entry.find("prompt") != nullptr) == ids.has_value()) {
            detail::fail(entry.origin(), ": one of prompt and prompt_ids is needed, not ", ids ? "both" : "none");
        }
        if (!ids) ids = words_.encode(entry, chosen_.chat);
        question asked{*std::move(ids), entry.value_or<float>("temperature", chosen_.temperature),
                       entry.value_or<std::uint64_t>("seed", chosen_.seed + number),
                       entry.value_or<std::size_t>("max_tokens", chosen_.max_tokens), entry.origin()};
        if (bundled_) check(asked, *bundled_);
        return asked;
    }

    /// By the scheme that was asked for.
    void answer_all_by(const auto& model) {
        if (chosen_.scheme == "plain") return answer_all(plain(model));
        texts_.emplace(model.vocabulary_size(), latest_texts);
        scheme_options asked;
        asked.length = chosen_.length;
        answer_all(speculate(draft::suffix_lookup(*texts_), model, planned_length(asked, {}), accept::coupled{}));
    }

    /// As many texts at a time as were asked for: where one ends the next prompt begins.
    template <class Scheme>
    void answer_all(const Scheme& scheme) {
        using watched = decode::batch<Scheme, random::philox_chooser, draft::suffix_watcher>;
        constexpr bool drafts = drafts_from_texts<Scheme>;
        std::map<std::size_t, open_text<Scheme>> active;
        std::conditional_t<drafts, watched, decode::batch<Scheme>> together(scheme);
        const detail::stopwatch watch;
        std::size_t next = 0;
        while (next < questions_.size() || !active.empty()) {
            interruption::check();
            for (; active.size() < chosen_.together && next < questions_.size(); ++next) {
                open_text<Scheme>& begun = active.emplace(next, begin(scheme, next)).first->second;
                if constexpr (drafts) {
                    together.add(*begun.session, *begun.reads);
                } else {
                    together.add(*begun.session);
                }
            }
            together.advance();
            for (auto at = active.begin(); at != active.end();) {
                if (at->second.session->finished == finish_reason::running) {
                    ++at;
                    continue;
                }
                together.remove(*at->second.session);
                end(at->first, at->second);
                at = active.erase(at);
            }
        }
        tell("note", questions_.size(), " texts, ", written_, " tokens, ",
             static_cast<std::size_t>(static_cast<double>(written_) / watch.seconds()), " a second");
    }

    template <class Scheme>
    open_text<Scheme> begin(const Scheme& scheme, std::size_t at) {
        const question& asked = questions_[at];
        commit::stop_conditions stops{.max_tokens = asked.max_tokens};
        if (!chosen_.ignore_eos) stops.stop_tokens = words_.end_tokens(vocabulary_size());
        try {
            open_text<Scheme> begun{std::make_unique<decode::session<Scheme>>(
                scheme, asked.ids, transform::settings{.temperature = {asked.temperature}}, std::move(stops),
                random::philox_chooser(asked.seed))};
            if constexpr (drafts_from_texts<Scheme>) {
                begun.known = texts_->tokens();
                begun.reads.emplace(*texts_).read(asked.ids);
            }
            return begun;
        } catch (const interrupted&) {
            throw;
        } catch (const error& problem) {
            detail::fail(asked.origin, ": ", problem.what());
        }
    }

    template <class Scheme>
    void end(std::size_t at, open_text<Scheme>& text) {
        auto& session = *text.session;
        if (session.finished == finish_reason::invalid_logits) detail::fail(questions_[at].origin, ": ", session.fault);
        const auto ids = session.committed.generated();
        written_ += ids.size();
        json line{{"prompt_ids", questions_[at].ids}, {"ids", std::vector<token>(ids.begin(), ids.end())}};
        if (words_.any()) line["text"] = text_of(ids, session.finished);
        line["finish_reason"] = name_of(session.finished);
        if constexpr (drafts_from_texts<Scheme>) {
            const stage_statistics& counts = session.counts.stages.back();
            line.update({{"rounds", counts.rounds},
                         {"drafted", counts.drafted},
                         {"accepted", counts.accepted},
                         {"tokens_known_before", text.known}});
        }
        finished one{json_line(line), {}};
        if constexpr (requires { session.drafter_state.rows; }) one.rows = std::move(session.drafter_state.rows);
        waiting_.emplace(at, std::move(one));
        for (auto first = waiting_.begin(); first != waiting_.end() && first->first == passed_on_; ++passed_on_) {
            pass_on(first->second.line);
            if (states_) states_->write(bytes_of(first->second.rows));
            first = waiting_.erase(first);
        }
    }

    void pass_on(const std::string& line) {
        if (answers_) return answers_->write(line);
        print(line);
    }

    /// As they lie in memory, which is little-endian wherever this runs.
    static std::string_view bytes_of(const std::vector<std::uint16_t>& rows) {
        static_assert(std::endian::native == std::endian::little);
        return {reinterpret_cast<const char*>(rows.data()), rows.size() * sizeof(rows[0])};
    }

    /// As generate's: it goes on after the prompt, so that a space it begins with stays.
    std::string text_of(std::span<const token> ids, finish_reason why) const {
        if (why == finish_reason::stop_token) ids = ids.first(ids.size() - 1);
        std::string text;
        for (const token id : ids) text += words_.bytes_of(id);
        return io::repair_utf8(text);
    }

    std::size_t vocabulary_size() const {
        return scores_ ? scores_->model.vocabulary_size() : bundled_->vocabulary_size();
    }

    struct finished {
        std::string line;
        std::vector<std::uint16_t> rows;
    };

    const answer_options& chosen_;
    engine_choice runs_on_;
    known_words words_;
    std::optional<llama::host_model> bundled_;
    std::optional<scoring_model> scores_;  ///< on llama.cpp
    std::vector<question> questions_;
    std::optional<draft::suffix_memory> texts_;  ///< of suffix: prompts and answers, the latest
    std::optional<output_file> answers_, states_;
    std::map<std::size_t, finished> waiting_;  ///< that an earlier prompt's have to precede
    std::size_t passed_on_ = 0, written_ = 0;
};

void check_answer_scheme(const answer_options& chosen) {
    if (chosen.scheme != "plain" && chosen.scheme != "suffix") {
        detail::fail("--scheme is ", io::quote(chosen.scheme), "; valid are plain, suffix");
    }
    if (chosen.length && chosen.scheme == "plain") {
        detail::fail("--length is ", *chosen.length, ", but the scheme is 'plain'; suffix uses it");
    }
    if (!chosen.states.empty() && chosen.scheme != "plain") {
        detail::fail("--states is ", chosen.states, ", but the scheme is ", io::quote(chosen.scheme),
                     "; plain uses it");
    }
}

void answer_prompts(const answer_options& chosen) {
    check_answer_scheme(chosen);
    if (chosen.together == 0) detail::fail("--together is 0; it must be at least 1");
    check_temperature(chosen.temperature);
    if (chosen.output.empty()) check_standard_output();
    if (!chosen.output.empty()) check_output("--output", chosen.output, {chosen.model.path, chosen.prompts});
    if (!chosen.states.empty()) check_output("--states", chosen.states, {chosen.model.path, chosen.prompts});
    if (!chosen.states.empty() && !chosen.output.empty() && is_same_file(chosen.states, chosen.output)) {
        detail::fail("--states ", chosen.states, " is written to twice; --output and --states are different files");
    }
    answering(chosen).run();
}

}  // namespace

void add_answer(CLI::App& program) {
    auto* command = program.add_subcommand("answer", "Answer many prompts in batches");
    const auto chosen = std::make_shared<answer_options>();
    add_model_options(*command, chosen->model);
    add_engine_options(*command, chosen->engine);
    command
        ->add_option("--prompts", chosen->prompts,
                     "JSON lines with \"prompt\" or \"prompt_ids\", and optionally \"temperature\", \"seed\" and "
                     "\"max_tokens\", which override the options")
        ->type_name("FILE")
        ->required();
    command->add_flag("--chat", chosen->chat, "Wrap each prompt in the model's chat template");
    add_max_tokens(*command, chosen->max_tokens, "Maximum tokens per answer");
    add_number(*command, "--temperature", chosen->temperature, "0 is greedy", "T", "0");
    add_number(*command, "--seed", chosen->seed, "Random seed of the first prompt; each later prompt uses the next",
               "N", "0");
    command
        ->add_option("--scheme", chosen->scheme,
                     "plain, or suffix: drafts what followed the longest suffix known from the prompts and answers of "
                     "this run, of which it keeps the latest, at most " +
                         std::to_string(latest_texts) + " tokens; the texts are those of plain")
        ->type_name("NAME")
        ->default_str("plain");
    const auto length = [chosen](const std::string& text) {
        chosen->length = parse_number("--length", text, most::length);
    };
    add_text(*command, "--length", length, "suffix: tokens to draft; without it as many as pay", "N", "");
    command->add_flag("--ignore-eos", chosen->ignore_eos, "Continue after end-of-text tokens");
    add_number(*command, "--together", chosen->together, "Batch size: texts decoded together", "N", "32",
               most::together);
    command->add_option("--output", chosen->output, "Write the answers here, one per line; else to standard output")
        ->type_name("FILE");
    command
        ->add_option("--states", chosen->states,
                     "Write the hidden state of every token but the last of each text: rows of bfloat16, little-endian")
        ->type_name("FILE");
    command->callback([command, chosen] {
        note_cache(*command, chosen->engine, chosen->model);
        answer_prompts(*chosen);
    });
}

}  // namespace augur::program
