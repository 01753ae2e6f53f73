#include "growth_state.hpp"

#include <algorithm>
#include <augur/io/files/json.hpp>
#include <augur/io/files/json_reader.hpp>
#include <augur/io/files/sealed_json.hpp>
#include <augur/tree/paths.hpp>
#include <cstdint>
#include <utility>

#include "limits.hpp"
#include "output_file.hpp"

namespace augur::program {
namespace {

using json = nlohmann::ordered_json;
using state_reader = io::json_reader<json>;
using io::json_range;

constexpr json_range<double> any_figure{0, 1e9};
constexpr json_range<std::uint64_t> any_count{0, std::uint64_t{1} << 50};

json as_json(const tree::growth& of) {
    return {{"depth", of.depth},
            {"order", of.order},
            {"lengths", of.lengths},
            {"rounds", of.part.rounds},
            {"committed", of.part.committed},
            {"gained", of.part.gained},
            {"parts", of.parts},
            {"done", of.done}};
}

json as_json(const tree::measured_tree& of) {
    return {{"paths", tree::paths_of(of.shape)},
            {"accepted_length", of.accepted_length},
            {"scored_length", of.scored_length},
            {"tokens_per_second", of.tokens_per_second}};
}

std::vector<tree::path> paths_in(const state_reader& from, const char* key) {
    std::vector<tree::path> all;
    for (const json& each : from.required_array(key)) {
        all.push_back(io::json_value<tree::path>(each, from.origin() + ": " + key, {0, topology::most_nodes}));
    }
    return all;
}

/// Every beginning of the nodes is a tree, and no deeper than it may be.
void check_order(const tree::growth& read, std::size_t nodes, const std::string& origin) {
    if (read.order.size() > nodes || read.lengths.size() != read.order.size()) {
        detail::fail(origin, ": it has ", read.order.size(), " nodes of ", nodes, ", and ", read.lengths.size(),
                     " lengths");
    }
    for (std::size_t size = 1; size <= read.order.size(); ++size) {
        try {
            static_cast<void>(read.shape(size));
        } catch (const error& problem) {
            detail::fail(origin, ": order: ", problem.what());
        }
    }
    if (read.shape(read.order.size()).depth() > read.depth) {
        detail::fail(origin, ": its tree is ", read.shape(read.order.size()).depth(), " deep, but depth is ",
                     read.depth);
    }
}

tree::growth growth_of(const json& value, std::string origin, std::size_t depth, const growth_request& asked) {
    const state_reader from(value, std::move(origin));
    tree::growth read{.depth = from.required<std::size_t>("depth", {depth, depth}),
                      .order = paths_in(from, "order"),
                      .lengths = from.required<std::vector<double>>("lengths", {{0, 1e9}}),
                      .part = {from.required<std::uint64_t>("rounds", any_count),
                               from.required<std::uint64_t>("committed", any_count),
                               from.required<std::vector<std::uint64_t>>("gained", {{0, any_count.most}})},
                      .parts = from.required<std::size_t>("parts", {0, asked.parts}),
                      .done = from.required<bool>("done")};
    check_order(read, asked.nodes, from.origin());
    for (const std::uint64_t gained : read.part.gained) {
        if (gained <= read.part.rounds) continue;
        detail::fail(from.origin(), ": gained has ", gained, ", of ", read.part.rounds, " rounds");
    }
    return read;
}

tree::measured_tree measured_of(const json& value, std::string origin, const growth_request& asked) {
    const state_reader from(value, std::move(origin));
    tree::measured_tree read{
        topology::of_paths(paths_in(from, "paths")), from.required<double>("accepted_length", any_figure),
        from.required<double>("scored_length", any_figure), from.required<double>("tokens_per_second", any_figure)};
    const std::size_t deepest = *std::max_element(asked.depths.begin(), asked.depths.end());
    if (read.shape.size() > asked.nodes || read.shape.depth() > deepest) {
        detail::fail(from.origin(), ": it has ", read.shape.size(), " nodes of ", asked.nodes, " and is ",
                     read.shape.depth(), " deep, of ", deepest);
    }
    return read;
}

growth_state state_of(const state_reader& from, const growth_request& asked) {
    const auto about = from.object("about");
    if (!about) detail::fail(from.origin(), ": the key about is missing");
    io::check_about(about->value(), asked.about, from.origin());
    growth_state found;
    const json& growths = from.required_array("growths");
    if (growths.size() != asked.depths.size()) {
        detail::fail(from.origin(), ": it has ", growths.size(), " growths, but there are ", asked.depths.size(),
                     " depths");
    }
    for (std::size_t i = 0; i < asked.depths.size(); ++i) {
        found.growths.push_back(
            growth_of(growths[i], detail::message(from.origin(), ", growth ", i), asked.depths[i], asked));
    }
    for (const json& each : from.required_array("measured")) {
        found.measured.push_back(
            measured_of(each, detail::message(from.origin(), ", tree ", found.measured.size()), asked));
    }
    const auto deepest = static_cast<double>(*std::max_element(asked.depths.begin(), asked.depths.end()));
    found.candidates = from.required<std::vector<double>>("candidates", {{0, deepest}});  // of sums of path values
    const auto speeds = from.required<std::vector<double>>("swept", {{0, 1e9}});
    if (speeds.size() > found.candidates.size()) {
        detail::fail(from.origin(), ": swept has ", speeds.size(), " speeds, of ", found.candidates.size(),
                     " thresholds");
    }
    for (std::size_t i = 0; i < speeds.size(); ++i) found.swept.push_back({found.candidates[i], speeds[i]});
    return found;
}

}  // namespace

json growth_as_json(const growth_state& found) {
    json content = {{"growths", json::array()}, {"measured", json::array()}};
    for (const auto& each : found.growths) content["growths"].push_back(as_json(each));
    for (const auto& each : found.measured) content["measured"].push_back(as_json(each));
    content["candidates"] = found.candidates;
    content["swept"] = json::array();
    for (const auto& each : found.swept) content["swept"].push_back(each.tokens_per_second);
    return content;
}

void write_growth_state(const std::string& path, const growth_state& found, const growth_request& asked) {
    json content = {{"augur.growth", 2}, {"about", asked.about}};
    content.update(growth_as_json(found));
    output_file out(path);
    out.write(io::sealed(std::move(content)));
    out.commit();
}

growth_state read_growth_state(const std::string& path, const growth_request& asked) {
    try {
        const json content = io::unsealed(io::read_json<json>(path, most::calibration), "augur.growth", 2, path);
        const state_reader from(content, path);
        return state_of(from, asked);
    } catch (const error& problem) {
        const std::string what = problem.what();
        detail::fail("--state ", what.starts_with(path) ? what : path + ": " + what);
    }
}

}  // namespace augur::program
