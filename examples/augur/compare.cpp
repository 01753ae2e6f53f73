#include "compare.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace augur::program {
namespace {

/// The two-sided 95 % point of Student's distribution, by degrees of freedom from 1 on.
constexpr std::array<double, 29> students_t = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
                                               2.201,  2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
                                               2.080,  2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045};

double geometric_mean(const std::vector<double>& of) {
    if (of.empty()) return 0;
    double sum = 0;
    for (const double each : of) sum += std::log(each);
    return std::exp(sum / static_cast<double>(of.size()));
}

}  // namespace

void paired_speeds::add(double scheme, double plain, double seconds) {
    scheme_.push_back(scheme);
    plain_.push_back(plain);
    seconds_ += seconds;
}

double paired_speeds::scheme() const {
    return geometric_mean(scheme_);
}

double paired_speeds::plain() const {
    return geometric_mean(plain_);
}

double paired_speeds::ratio() const {
    return pairs() == 0 ? 0 : scheme() / plain();
}

std::optional<paired_speeds::interval> paired_speeds::confidence() const {
    if (pairs() < 2) return std::nullopt;
    const double mean = std::log(ratio()), count = static_cast<double>(pairs());
    double squares = 0;
    for (std::size_t i = 0; i < pairs(); ++i) {
        const double off = std::log(scheme_[i] / plain_[i]) - mean;
        squares += off * off;
    }
    const double t = students_t[std::min(pairs() - 2, students_t.size() - 1)];
    const double half = t * std::sqrt(squares / (count - 1) / count);
    return interval{std::exp(mean - half), std::exp(mean + half)};
}

bool paired_speeds::known() const {
    const auto found = confidence();
    return found && pairs() >= limits_.least_pairs && found->high <= ratio() * (1 + limits_.margin);
}

bool paired_speeds::wants_more() const {
    return !known() && pairs() < limits_.pairs && seconds_ < limits_.seconds;
}

nlohmann::ordered_json paired_speeds::as_json() const {
    const auto found = confidence();
    return {{"pairs", pairs()},
            {"rates", scheme_},
            {"plain_rates", plain_},
            {"confidence", 0.95},
            {"low", found ? nlohmann::ordered_json(found->low) : nullptr},
            {"high", found ? nlohmann::ordered_json(found->high) : nullptr},
            {"margin", limits_.margin},
            {"known", known()},
            {"seconds", seconds_}};
}

std::string paired_speeds::text() const {
    const auto found = confidence();
    char out[256];
    if (!found) {
        std::snprintf(out, sizeof out, "%.2f times plain decoding's, from one pair of runs: not known to %.0f %%",
                      ratio(), 100 * limits_.margin);
        return out;
    }
    int length = std::snprintf(out, sizeof out,
                               "%.2f times plain decoding's (%.2f to %.2f with 95 %% confidence, %zu pairs of runs",
                               ratio(), found->low, found->high, pairs());
    if (known()) return std::string(out, static_cast<std::size_t>(length)) + ")";
    std::snprintf(out + length, sizeof out - static_cast<std::size_t>(length), " in %.0f s): not known to %.0f %%",
                  seconds_, 100 * limits_.margin);
    return out;
}

}  // namespace augur::program
