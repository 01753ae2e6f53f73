#pragma once
// Runs a decoding with injected faults, and resumes after each.

#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "augur/decode/generate.hpp"
#include "augur/decode/step.hpp"
#include "augur/switching/step.hpp"
#include "augur/testing/fault_outcome.hpp"
#include "augur/testing/faults.hpp"

namespace augur::testing {

/// What is decoded, and how hard the suite tries.
struct fault_options {
    decode::options chosen{};  ///< on_token is the suite's own; without text_of tokens have texts of the suite's
    std::vector<std::size_t> bursts{1, 3};  ///< calls in a row that throw
    std::size_t most_places = 2000;         ///< of more, every second throws, or every third, ...
    allocation_hook allocations{};          ///< without it memory does not fail
};

/// Letters, and parts of code points.
inline std::string fault_text_of(token t) {
    if (t % 4 == 1) return "\xE2\x82";
    if (t % 4 == 2) return "\xAC";
    return std::string(1, static_cast<char>('a' + t % 26));
}

/// What throws in a run: calls, or allocations.
struct disturbance {
    fault_plan calls{};
    std::size_t first_allocation = 0, allocations = 0;
};

struct fault_trial {
    fault_outcome outcome{};
    std::string trouble{};  ///< what went wrong on the way; empty where nothing did
    std::size_t calls = 0;  ///< places that there were
    std::size_t allocations = 0;
    std::size_t failures = 0;  ///< steps that threw
};

/// Tries things that may throw, and says what is wrong with what is heard.
class fault_listener {
 public:
    /// Without `strict` what is thrown may be mended in silence, or be heard in other words.
    fault_listener(const faults& by, std::string& trouble, bool strict = true)
        : faults_(&by), trouble_(&trouble), is_strict_(strict) {}

    /// Whether nothing was thrown.
    template <class Act>
    bool attempt(const Act& act) {
        static_cast<void>(faults_->take_first());
        std::size_t heard = faults::none().number;
        bool threw = true;
        try {
            act();
            threw = false;
        } catch (const injected_fault& thrown) {
            heard = thrown.number;
        } catch (const std::bad_alloc&) {
        } catch (const std::exception& other) {
            if (is_strict_ && trouble_->empty()) *trouble_ = std::string("threw: ") + other.what();
        }
        const injected_fault first = faults_->take_first();
        const bool any = first.number != faults::none().number;
        if (any && !threw && is_strict_) say(first, " was not heard");
        if (any && threw && first.place == "on_token" && heard != first.number) say(first, " was not heard first");
        return !threw;
    }

 private:
    void say(const injected_fault& of, const char* what) {
        if (trouble_->empty())
            *trouble_ = augur::detail::message("what ", of.place, " (call ", of.number, ") threw", what);
    }

    const faults* faults_;
    std::string* trouble_;
    bool is_strict_;
};

/// A step as the library makes it.
struct library_step {
    void operator()(const auto& scheme, auto& s, const decode::step_options& chosen, auto& watcher) const {
        decode::step(scheme, s, chosen, watcher);
    }
};

/// Decodes a prompt again and again, by `Step`.
template <class Scheme, class Step = library_step>
class fault_runs {
 public:
    using session_type = decode::session<Scheme, random::philox_chooser>;

    fault_runs(const Scheme& scheme, const decode::prompt_t<Scheme>& prompt, const faults& by,
               const fault_options& chosen, Step step = {})
        : scheme_(scheme), prompt_(prompt), faults_(by), options_(chosen), step_(std::move(step)) {
        if (has_text && !options_.chosen.stop.text_of) options_.chosen.stop.text_of = fault_text_of;
    }

    /// `cancelled`: before each round another is opened, and given up when its first work is done.
    fault_trial run(const disturbance& by, bool cancelled = false) const {
        fault_trial trial;
        reserve(trial.outcome);
        decode::step_options each{.log_probabilities = true, .timed = false};
        each.on_token = [&](const commit::committed_token& t) {
            trial.outcome.shown.push_back(t.id);
            trial.outcome.shown_text += t.text;
            faults_.call_back("on_token");
            return true;
        };
        watcher seen{trial.outcome.watched, faults_};
        commit::stop_conditions stops = options_.chosen.stop;
        if (has_text) {
            stops.text_of = [this, ask = options_.chosen.stop.text_of](token t) {
                return faults_.call("text_of", [&] { return ask(t); });
            };
        }
        const auto& chosen = options_.chosen;
        std::optional<session_type> s;
        const std::size_t most = by.calls.count + by.allocations + 2;
        fault_listener listener(faults_, trial.trouble);
        begin(by);
        const auto attempt = [&](const auto& act) {
            const bool sound = listener.attempt(act);
            if (!sound && ++trial.failures > most && trial.trouble.empty()) trial.trouble = "it does not recover";
            return sound;
        };
        while (!s && trial.trouble.empty()) {
            attempt([&] { s.emplace(scheme_, prompt_, chosen.sampling, stops, random::philox_chooser(chosen.seed)); });
        }
        while (s && s->finished == finish_reason::running && trial.trouble.empty()) {
            attempt([&] { step(*s, each, seen, cancelled); });
            record(trial.outcome, *s);
        }
        trial.calls = faults_.calls();
        trial.allocations = end();
        if (s) conclude(trial.outcome, *s);
        return trial;
    }

 private:
    static constexpr bool has_text = !has_codecs<Scheme>;  // else it is the codecs'

    struct watcher {
        std::vector<token>& tokens;
        const faults& by;
        void watch(const auto& view) {
            for (const commit::committed_token& t : view.committed) tokens.push_back(t.id);
            by.call_back("watcher");
        }
    };

    /// What the suite itself notes takes no memory while allocations are counted.
    void reserve(fault_outcome& outcome) const {
        const std::size_t most = 4 * options_.chosen.stop.max_tokens + 64;
        for (auto* each : {&outcome.shown, &outcome.recorded, &outcome.watched}) each->reserve(most);
        outcome.log_probabilities.reserve(most);
        outcome.shown_text.reserve(8 * most);
    }
    void begin(const disturbance& by) const {
        faults_.arm(by.calls);
        if (options_.allocations) options_.allocations.arm(by.first_allocation, by.allocations);
    }
    std::size_t end() const {
        faults_.disarm();
        return options_.allocations ? options_.allocations.disarm() : 0;
    }

    void step(session_type& s, const decode::step_options& each, watcher& seen, bool cancelled) const {
        if constexpr (!is_switching<Scheme>) {
            if (cancelled) {
                decode::open_round<Scheme, random::philox_chooser, watcher> given_up(scheme_, s, each, seen);
                if (given_up.done()) return;
                given_up.wanted()->run();
                static_cast<void>(faults_.take_first());
            }
        }
        step_(scheme_, s, each, seen);
    }

    static void record(fault_outcome& outcome, const session_type& s) {
        for (const commit::committed_token& t : s.last.committed) outcome.recorded.push_back(t.id);
        for (const double each : s.last.log_probabilities) outcome.log_probabilities.push_back(each);
    }

    const Scheme& scheme_;
    decode::prompt_t<Scheme> prompt_;
    faults faults_;
    fault_options options_;
    Step step_;
};

}  // namespace augur::testing
