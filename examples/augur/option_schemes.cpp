#include "option_schemes.hpp"

#include <algorithm>
#include <array>
#include <augur/io/files/quote.hpp>

namespace augur::program {
namespace {

using scheme_name = std::string_view;

constexpr std::array<scheme_name, 20> drafting_a_number = {
    "lookup",     "forced",
    "suffix",     "hybrid",
    "merged",     "sd",
    "eaad",       "eaad_as_published",
    "hysteresis", "medusa",
    "hydra",
    "entmtp",  // which says that its bank has the lengths; merged, that its trees have them
    "eagle",      "mtp",
    "kangaroo",   "dvi",
    "fsd",        "fsd_as_published",
    "ead",        "auto"};
constexpr std::array<scheme_name, 2> with_bins = {"eaad", "eaad_as_published"};
constexpr std::array<scheme_name, 5> looking_up = {"lookup", "forced", "hybrid", "merged", "auto"};
constexpr std::array<scheme_name, 12> with_thresholds = {
    "fsd", "fsd_as_published", "psd_a",  "psd_a_as_published", "psd_f", "psd_f_as_published", "cascade",
    "ead", "hysteresis",       "entmtp", "kangaroo",           "dvi"};
constexpr std::array<scheme_name, 5> with_lengths = {"psd_a", "psd_a_as_published", "psd_f", "psd_f_as_published",
                                                     "cascade"};
constexpr std::array<scheme_name, 7> with_divergence = {"fsd",   "fsd_as_published",   "psd_a",  "psd_a_as_published",
                                                        "psd_f", "psd_f_as_published", "cascade"};
constexpr std::array<scheme_name, 2> with_signal = {"eaad", "hysteresis"};
constexpr std::array<scheme_name, 1> by_turns = {"ead"};

constexpr std::array<option_schemes, 13> option_table = {{
    {"length", drafting_a_number},
    {"max-k", with_bins},
    {"bins", with_bins},
    {"bin-lengths", with_bins},
    {"learn-bins", with_bins},  // eaad_as_published says that its bins are fixed
    {"lookup-min", looking_up},
    {"lookup-max", looking_up},
    {"thresholds", with_thresholds},
    {"lengths", with_lengths},
    {"divergence", with_divergence},
    {"signal", with_signal},
    {"window", by_turns},
    {"dwell", by_turns},
}};

bool is_among(std::span<const scheme_name> schemes, const std::string& scheme) {
    return std::find(schemes.begin(), schemes.end(), scheme) != schemes.end();
}

/// "fsd, ead and dvi use it".
std::string who_uses(std::span<const scheme_name> schemes) {
    std::string out;
    const auto count = static_cast<std::size_t>(std::find(schemes.begin(), schemes.end(), "auto") - schemes.begin());
    for (std::size_t i = 0; i < count; ++i) {
        if (i > 0) out += i + 1 == count ? " and " : ", ";
        out += schemes[i];
    }
    return out + (count == 1 ? " uses it" : " use it");
}

}  // namespace

std::span<const option_schemes> all_option_schemes() {
    return option_table;
}

bool is_option_of(std::string_view option, const std::string& scheme) {
    const auto at = std::find_if(option_table.begin(), option_table.end(),
                                 [&](const option_schemes& each) { return each.option == option; });
    return at != option_table.end() && is_among(at->schemes, scheme);
}

void check_given(const scheme_options& chosen, bool by_auto) {
    for (const auto& [option, schemes] : option_table) {
        const auto given = chosen.given.find(std::string(option));
        if (given == chosen.given.end() || is_among(schemes, chosen.scheme)) continue;
        const std::string& value = given->second;
        detail::fail("--", option, value.empty() ? " is given" : " is " + value, ", but the scheme is ",
                     io::quote(chosen.scheme), by_auto && chosen.scheme != "auto" ? ", chosen by auto; " : "; ",
                     who_uses(schemes));
    }
}

}  // namespace augur::program
