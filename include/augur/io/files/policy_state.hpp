#pragma once
// Saves and loads what policies learned, for the next process. See docs/io/policy_state.md.

#include <augur/io/files/json.hpp>
#include <augur/io/files/sealed_json.hpp>
#include <augur/policy/learned_state.hpp>
#include <augur/types/error.hpp>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace augur::io {

struct policy_state {
    nlohmann::ordered_json about = nlohmann::ordered_json::object();  ///< for whom, where: names and values
    std::uint64_t texts = 0;                                          ///< that were learned from
    std::vector<double> verify_seconds{};                     ///< of passes over 1, 2, ... rows, as last estimated
    std::map<std::string, policy::learned_state> policies{};  ///< by a name of the caller's

    /// Equal states, equal texts; numbers as they are, bit for bit.
    std::string text() const;
};

namespace detail {

using ordered = nlohmann::ordered_json;

inline ordered as_json(const std::vector<policy::timed>& all) {
    ordered out = ordered::array();
    for (const auto& each : all) out.push_back({each.mean, each.weight});
    return out;
}

inline ordered as_json(const policy::learned_state& known) {
    ordered groups = ordered::array();
    for (const auto& group : known.accepted) {
        std::size_t used = group.size();
        while (used > 0 && group[used - 1] == policy::counted{}) --used;
        ordered positions = ordered::array();
        for (std::size_t i = 0; i < used; ++i) positions.push_back({group[i].accepted, group[i].judged});
        groups.push_back(std::move(positions));
    }
    return {{"passes", as_json(known.passes)},
            {"drafting", as_json(known.drafting)},
            {"accepted", std::move(groups)},
            {"looks", known.looks}};
}

/// Two numbers for each element.
template <class Pair>
std::vector<Pair> pairs_of(const ordered& from, const std::string& origin) {
    if (!from.is_array()) augur::detail::fail(origin, " must be an array, but is ", shown(from));
    std::vector<Pair> all;
    for (const auto& each : from) {
        const auto numbers =
            json_value<std::vector<double>>(each, augur::detail::message(origin, "[", all.size(), "]"));
        if (numbers.size() != 2) {
            augur::detail::fail(origin, "[", all.size(), "] has ", numbers.size(), " numbers; it must have 2");
        }
        all.push_back({numbers[0], numbers[1]});
    }
    return all;
}

inline policy::learned_state learned_state_of(const ordered& value, const std::string& origin) {
    const json_reader from(value, origin);
    policy::learned_state known;
    known.passes = pairs_of<policy::timed>(from.required_array("passes"), origin + ": passes");
    known.drafting = pairs_of<policy::timed>(from.required_array("drafting"), origin + ": drafting");
    for (const auto& group : from.required_array("accepted")) {
        known.accepted.push_back(pairs_of<policy::counted>(
            group, augur::detail::message(origin, ": accepted[", known.accepted.size(), "]")));
    }
    known.looks = from.required<std::vector<double>>("looks");
    return known;
}

}  // namespace detail

inline std::string policy_state::text() const {
    nlohmann::ordered_json content = {{"augur.state", 3},
                                      {"about", about},
                                      {"texts", texts},
                                      {"verify_seconds", verify_seconds},
                                      {"policies", nlohmann::ordered_json::object()}};
    for (const auto& [name, known] : policies) content["policies"][name] = detail::as_json(known);
    return sealed(std::move(content));
}

/// Throws, naming `origin` and the values, where the text is no such file, was damaged, was made with anything else
/// than `here`, or holds seconds that cannot be. What a policy cannot have learned is refused by its constructor.
inline policy_state parse_policy_state(std::string_view text, const nlohmann::ordered_json& here,
                                       const std::string& origin, const json_limits& limits = {}) {
    const auto content = unsealed(parse_json<nlohmann::ordered_json>(text, origin, limits), "augur.state", 3, origin);
    const json_reader from(content, origin);
    const auto about = from.object("about");
    const auto policies = from.object("policies");
    if (!about || !policies) {
        augur::detail::fail(origin, ": the key ", about ? "policies" : "about", " is missing");
    }
    check_about(about->value(), here, origin);
    policy_state read{.about = about->value(),
                      .texts = from.required<std::uint64_t>("texts", {0, std::uint64_t{1} << 50}),
                      .verify_seconds = from.required<std::vector<double>>("verify_seconds", {{1e-9, 1e4}})};
    for (const auto& [name, value] : policies->value().items()) {
        read.policies[name] = detail::learned_state_of(value, origin + ": " + quote(name));
    }
    return read;
}

}  // namespace augur::io
