#pragma once
// The findings of a law suite, independent of any test framework.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <ostream>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "augur/detail/stopwatch.hpp"
#include "augur/testing/choices.hpp"
#include "augur/types/error.hpp"
#include "augur/types/token.hpp"

namespace augur::testing {

/// How hard a suite tries.
struct effort {
    std::uint64_t seed = 1;      ///< of the random inputs; printed with every broken law
    std::size_t cases = 50;      ///< random inputs per law, at least
    std::size_t shrinks = 1000;  ///< attempts to make a failing input smaller
    double seconds = 0;  ///< goes on beyond `cases`, with the inputs that come next, until so much time has passed
    double shrink_seconds = 60;        ///< after so long a failing input is reported as small as it is
    std::ostream* progress = nullptr;  ///< where each law is named, with its cases, once it has been checked
    std::size_t widest = 140'000;      ///< tokens of the widest rows that are tried (wide_rows.hpp); 0: no wide ones
};

/// A law that does not hold, and the smallest input found that shows it.
struct violation {
    std::string law;
    std::string what;
};

/// Which laws were checked, which are broken, and which could not be checked and why; and what is no fault, but may be
/// a surprise. Prints them all.
struct report {
    std::string suite;
    std::vector<std::string> checked{};
    std::vector<violation> broken{};
    std::vector<violation> rounded{};  ///< laws that hold but for rounding beyond the tolerance
    double largest_error = 0;          ///< of numbers that differ by rounding alone, within the tolerance or not
    std::vector<violation> skipped{};
    std::vector<violation> notes{};

    /// Nothing is broken, and something was checked.
    bool kept() const { return kept_but_for_rounding() && rounded.empty(); }
    /// The same, whatever rounding has done.
    bool kept_but_for_rounding() const { return broken.empty() && !checked.empty(); }
    bool breaks(std::string_view law) const {
        return std::any_of(broken.begin(), broken.end(), [&](const violation& v) { return v.law == law; });
    }
    void note(std::string what, std::string why) { notes.push_back({std::move(what), std::move(why)}); }
    /// Once for each law.
    void skip(std::string law, std::string why) {
        const auto is_it = [&](const violation& v) { return v.law == law; };
        if (std::none_of(skipped.begin(), skipped.end(), is_it)) skipped.push_back({std::move(law), std::move(why)});
    }

    friend std::ostream& operator<<(std::ostream& out, const report& r) {
        out << r.suite << ": " << r.checked.size() << " laws checked, " << r.broken.size() << " broken";
        if (!r.rounded.empty()) out << ", " << r.rounded.size() << " kept but for rounding";
        if (r.largest_error > 0) out << ", largest rounding error " << r.largest_error;
        for (const violation& v : r.broken) out << "\n  broken: " << v.law << "\n    " << v.what;
        for (const violation& v : r.rounded) out << "\n  rounding only: " << v.law << "\n    " << v.what;
        for (const violation& v : r.skipped) out << "\n  not checked: " << v.law << " (" << v.what << ')';
        for (const violation& v : r.notes) out << "\n  note: " << v.law << " (" << v.what << ')';
        return out;
    }
};

/// "{1, 2, 3}".
template <class Numbers>
std::string describe(const Numbers& numbers) {
    std::ostringstream out;
    out << '{';
    for (std::size_t i = 0; i < numbers.size(); ++i) out << (i > 0 ? ", " : "") << numbers[i];
    out << '}';
    return out.str();
}

namespace detail {
/// What a law that throws makes of these numbers, in words.
template <class Law>
std::string input_of(const Law& law, const choices& from) {
    choices again(from.made());
    again.tolerate(from.tolerance());
    again.take_notes();
    try {
        law(again);
    } catch (const std::exception&) {
    }
    return again.notes().empty() ? "" : ", on " + again.notes();
}

/// What `law(choices&)` says is wrong with the input made from the choices; an exception counts as wrong.
template <class Law>
std::string verdict_of(const Law& law, choices& from) {
    try {
        return law(from);
    } catch (const std::exception& thrown) {
        return std::string("threw: ") + thrown.what() + input_of(law, from);
    }
}

/// A tolerance at which the law still finds fault with the input made of these numbers: of the fault's order.
template <class Law>
double tolerance_that_fails(const Law& law, const std::vector<std::size_t>& numbers) {
    for (const double tolerance : {1e-2, 1e-4, 1e-6, 1e-8, 1e-10}) {
        choices again(numbers);
        again.tolerate(tolerance);
        if (!verdict_of(law, again).empty()) return tolerance;
    }
    return choices(numbers).tolerance();
}
}  // namespace detail

namespace detail {
/// Whether the input made of these choices breaks the law. It is then shrunk, and reported as `label`.
template <class Law>
bool check_case(report& into, const std::string& name, const effort& tries, choices drawn, const std::string& label,
                const Law& law) {
    std::string what = verdict_of(law, drawn);
    if (what.empty()) return false;
    const double tolerance = tries.shrinks > 0 ? tolerance_that_fails(law, drawn.made()) : 0;
    const augur::detail::stopwatch watch;
    shrink(drawn.made(), tries.shrinks, [&](choices& from) {
        if (watch.seconds() > tries.shrink_seconds) return false;
        from.tolerate(tolerance);
        std::string smaller = verdict_of(law, from);
        if (smaller.empty()) return false;
        what = std::move(smaller);
        return true;
    });
    into.broken.push_back({name, augur::detail::message("seed ", tries.seed, ", ", label, ": ", what)});
    return true;
}
}  // namespace detail

/// Checks a law on random inputs. `law(choices&)` builds one, and returns what is wrong, empty where nothing is. The
/// first failing input is shrunk, and reported with the seed; what is found with a smaller one is of the same order, if
/// the law compares numbers to from.tolerance(). The inputs are those of a sequence that the seed fixes;
/// only where it ends depends on the clock, if `tries.seconds` says so.
template <class Law>
void check(report& into, std::string name, const effort& tries, const Law& law) {
    into.checked.push_back(name);
    const augur::detail::stopwatch watch(tries.seconds > 0);
    std::size_t i = 0;
    bool sound = true;
    for (; sound && (i < tries.cases || watch.seconds() < tries.seconds); ++i) {
        const std::string label = "case " + std::to_string(i);
        sound = !detail::check_case(into, name, tries, choices(tries.seed * 1'000'003 + i), label, law);
    }
    if (tries.progress == nullptr) return;
    *tries.progress << into.suite << ": " << name << ": " << i << " cases" << (sound ? "" : ", broken") << std::endl;
}

}  // namespace augur::testing
