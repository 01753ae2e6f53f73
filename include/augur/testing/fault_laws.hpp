#pragma once
// The law suite of schemes whose parts throw.

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "augur/testing/fault_runs.hpp"
#include "augur/testing/promise.hpp"
#include "augur/testing/report.hpp"

namespace augur::testing {

/// What was found, and how much was tried.
struct fault_report : report {
    std::size_t places = 0;  ///< calls and allocations that were made to throw
    std::size_t runs = 0;    ///< whole decodings
};

namespace fault_parts {

/// Which of so many places throw, in all runs of a law.
inline std::size_t stride_of(std::size_t places, std::size_t most) {
    return std::max<std::size_t>(1, (places + most - 1) / std::max<std::size_t>(most, 1));
}

inline std::string described(const disturbance& by) {
    if (by.allocations > 0) {
        return augur::detail::message("allocation ", by.first_allocation, " (", by.allocations, " in a row)");
    }
    return augur::detail::message("call ", by.calls.first, " (", by.calls.count, " in a row, ",
                                  by.calls.after ? "after" : "before", " they act)");
}

/// Runs what `trial(disturbance)` runs with each disturbance, and notes the first that is not as the undisturbed one.
/// `judged(undisturbed, disturbed)` says what is wrong.
template <class Trial, class Judged>
void check_all(fault_report& into, const std::string& law, std::size_t places, const fault_options& chosen,
               const Trial& trial, const Judged& judged, const auto& disturbance_at) {
    into.checked.push_back(law);
    const std::size_t stride = stride_of(places, chosen.most_places);
    std::string found = places == 0 || chosen.bursts.empty() ? "nothing was made to throw" : "";
    for (const std::size_t burst : chosen.bursts) {
        for (std::size_t i = 0; i < places && found.empty(); i += stride) {
            const disturbance by = disturbance_at(i, burst);
            ++into.runs;
            if (burst == chosen.bursts.front()) ++into.places;
            found = judged(trial(by));
            if (!found.empty()) found = described(by) + ": " + found;
        }
    }
    if (!found.empty()) into.broken.push_back({law, found});
}

/// The laws of calls and allocations, where `run(disturbance)` runs a decoding and `unequal(undisturbed, disturbed,
/// agreement)` says what is wrong. Returns the undisturbed run.
template <class Run, class Unequal>
auto check_calls_and_memory(fault_report& into, const std::string& where, const fault_options& chosen, const Run& run,
                            const Unequal& unequal) {
    auto sound = run(disturbance{});
    ++into.runs;
    into.checked.push_back("an undisturbed run is sound" + where);
    if (const std::string itself = unequal(sound, sound, agreement::all); !itself.empty()) {
        into.broken.push_back({into.checked.back(), itself});
        return sound;
    }
    const auto strict = [&](const auto& got) { return unequal(sound, got, agreement::all); };
    for (const bool after : {false, true}) {
        const std::string law = after ? "a call that throws after it acted can be repeated"
                                      : "a call that throws before it acts can be repeated";
        check_all(into, law + where, sound.calls, chosen, run, strict, [&](std::size_t i, std::size_t burst) {
            return disturbance{.calls = {.first = i, .count = burst, .after = after}};
        });
    }
    const std::string memory = "where memory fails the text can go on" + where;
    if (!chosen.allocations) {
        into.skip(memory, "no hook for allocations was given");
    } else {
        check_all(into, memory, sound.allocations, chosen, run, strict, [](std::size_t i, std::size_t burst) {
            return disturbance{.first_allocation = i, .allocations = burst};
        });
    }
    return sound;
}

/// Those of on_token and watchers, too.
template <class Run, class Unequal>
void check_each(fault_report& into, const std::string& where, const fault_options& chosen, bool same_text,
                const Run& run, const Unequal& unequal) {
    const auto sound = check_calls_and_memory(into, where, chosen, run, unequal);
    const auto told = run(disturbance{.calls = {.callers = true}});
    const agreement how = same_text ? agreement::text : agreement::none;
    const std::string law = "what on_token and watchers throw is heard, and the text goes on" + where;
    check_all(
        into, law, told.calls, chosen, run, [&](const auto& got) { return unequal(sound, got, how); },
        [](std::size_t i, std::size_t burst) {
            return disturbance{.calls = {.first = i, .count = burst, .callers = true}};
        });
}

}  // namespace fault_parts

/// Decodes a prompt by a scheme, of whose models (failing(model, by)) and other parts (by.call) each call throws in
/// turn, before and after it acted, once and in bursts; so does each allocation, where there is a hook; and on_token
/// and a watcher. Whoever decodes calls step again. Tokens, text, what on_token and watchers were shown, finish, log
/// probabilities, counts, what the policy has learned and caches are compared with those of an undisturbed run; once by
/// steps, and once by rounds that are opened, given up and opened again. Where a sink throws blocks are cut: then the
/// text is compared, if the scheme promises one, and the rest for itself. `step(scheme, session, step_options,
/// watcher)` may be one of your own in place of decode::step. Cost: a decoding for each place and burst, twice; keep
/// max_tokens small.
template <class Scheme, class Step = library_step>
fault_report fault_laws(const Scheme& scheme, const decode::prompt_t<Scheme>& prompt, const faults& by,
                        const fault_options& chosen = {}, const Step& step = {}) {
    fault_report report;
    report.suite = "fault_laws";
    const fault_runs<Scheme, Step> runs(scheme, prompt, by, chosen, step);
    const auto unequal = [](const fault_trial& expected, const fault_trial& got, agreement how) {
        return got.trouble.empty() ? difference(expected.outcome, got.outcome, how) : got.trouble;
    };
    constexpr bool same_text = promises_text<guarantee_of<Scheme>> || is_switching<Scheme>;
    fault_parts::check_each(
        report, "", chosen, same_text, [&](const disturbance& d) { return runs.run(d); }, unequal);
    if constexpr (!is_switching<Scheme> && std::is_same_v<Step, library_step>) {
        fault_parts::check_each(
            report, ", in rounds that were given up before", chosen, same_text,
            [&](const disturbance& d) { return runs.run(d, true); }, unequal);
    }
    report.note("tried", augur::detail::message(report.places, " places, ", report.runs, " decodings"));
    return report;
}

}  // namespace augur::testing
