#pragma once
// The law suite of batches of which one sequence fails.

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "augur/decode/batch.hpp"
#include "augur/testing/fault_laws.hpp"
#include "augur/testing/fault_runs.hpp"

namespace augur::testing {

struct fault_batch_trial {
    std::vector<fault_outcome> outcomes{};
    std::string trouble{};
    std::size_t calls = 0;
    std::size_t allocations = 0;
};

/// Decodes several prompts by one batch, again and again. A text that has left it because something threw is added
/// again.
template <class Scheme>
class fault_batch_runs {
 public:
    using session_type = decode::session<Scheme, random::philox_chooser>;

    fault_batch_runs(const Scheme& scheme, std::span<const std::vector<token>> prompts, const faults& by,
                     const fault_options& chosen)
        : scheme_(scheme), prompts_(prompts), faults_(by), options_(chosen) {
        if (!options_.chosen.stop.text_of) options_.chosen.stop.text_of = fault_text_of;
    }

    fault_batch_trial run(const disturbance& by) const {
        fault_batch_trial trial;
        std::vector<std::unique_ptr<session_type>> sessions;
        for (std::size_t i = 0; i < prompts_.size(); ++i) sessions.push_back(begin(i, trial));
        decode::batch<Scheme, random::philox_chooser> together(scheme_, {.log_probabilities = true, .timed = false});
        std::vector<std::size_t> noted(sessions.size());
        fault_listener listener(faults_, trial.trouble, false);
        std::size_t failures = 0;
        const std::size_t most = by.calls.count + by.allocations + 2;
        faults_.arm(by.calls);
        if (options_.allocations) options_.allocations.arm(by.first_allocation, by.allocations);
        while (is_running(sessions) && failures <= most) {
            const bool sound = listener.attempt([&] {
                for (const auto& s : sessions) {
                    if (!together.contains(*s)) together.add(*s);
                }
                together.advance();
            });
            for (std::size_t i = 0; i < sessions.size(); ++i) {
                const std::size_t before = std::exchange(noted[i], sessions[i]->counts.rounds());
                if (noted[i] > before) note(trial.outcomes[i], *sessions[i]);
            }
            if (!sound) ++failures;
        }
        trial.calls = faults_.calls();
        faults_.disarm();
        if (options_.allocations) trial.allocations = options_.allocations.disarm();
        if (failures > most) trial.trouble = "it does not recover";
        for (std::size_t i = 0; i < sessions.size(); ++i) {
            conclude(trial.outcomes[i], *sessions[i]);
            trial.outcomes[i].shown = trial.outcomes[i].watched = trial.outcomes[i].tokens;  // there is no sink
        }
        return trial;
    }

 private:
    std::unique_ptr<session_type> begin(std::size_t i, fault_batch_trial& trial) const {
        auto& outcome = trial.outcomes.emplace_back();
        const std::size_t most = 4 * options_.chosen.stop.max_tokens + 64;
        outcome.recorded.reserve(most);
        outcome.log_probabilities.reserve(most);
        commit::stop_conditions stops = options_.chosen.stop;
        stops.text_of = [this](token t) {
            return faults_.call("text_of", [&] { return options_.chosen.stop.text_of(t); });
        };
        return std::make_unique<session_type>(scheme_, prompts_[i], options_.chosen.sampling, std::move(stops),
                                              random::philox_chooser(options_.chosen.seed + i));
    }
    static void note(fault_outcome& outcome, const session_type& s) {
        for (const commit::committed_token& t : s.last.committed) outcome.recorded.push_back(t.id);
        for (const double each : s.last.log_probabilities) outcome.log_probabilities.push_back(each);
    }
    static bool is_running(const std::vector<std::unique_ptr<session_type>>& sessions) {
        for (const auto& s : sessions) {
            if (s->finished == finish_reason::running) return true;
        }
        return false;
    }

    const Scheme& scheme_;
    std::span<const std::vector<token>> prompts_;
    faults faults_;
    fault_options options_;
};

/// fault_laws of several texts that one batch decodes, each with a seed of its own: whatever throws in one of them, or
/// in a run of several passes, all are what they are undisturbed.
template <class Scheme>
fault_report fault_laws_together(const Scheme& scheme, std::span<const std::vector<token>> prompts, const faults& by,
                                 const fault_options& chosen = {}) {
    fault_report report;
    report.suite = "fault_laws_together";
    const fault_batch_runs<Scheme> runs(scheme, prompts, by, chosen);
    const auto unequal = [](const fault_batch_trial& expected, const fault_batch_trial& got, agreement how) {
        std::string found = got.trouble;
        for (std::size_t i = 0; i < got.outcomes.size() && found.empty(); ++i) {
            found = difference(expected.outcomes[i], got.outcomes[i], how);
            if (!found.empty()) found = augur::detail::message("text ", i, ": ", found);
        }
        return found;
    };
    fault_parts::check_calls_and_memory(
        report, ", in a batch", chosen, [&](const disturbance& d) { return runs.run(d); }, unequal);
    report.note("tried", augur::detail::message(report.places, " places, ", report.runs, " decodings"));
    return report;
}

}  // namespace augur::testing
