#include "growth_shards.hpp"

#include <algorithm>
#include <augur/detail/stopwatch.hpp>
#include <augur/io/files/json.hpp>
#include <augur/io/files/json_reader.hpp>
#include <augur/io/files/sealed_json.hpp>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <thread>

#include "limits.hpp"
#include "message.hpp"
#include "output_file.hpp"
#include "terminal.hpp"

namespace augur::program {
namespace {

namespace fs = std::filesystem;
using json = nlohmann::ordered_json;
using shard_reader = io::json_reader<json>;

constexpr const char* shard_kind = "augur.growth_shard";
constexpr int shard_version = 1;

json as_json(const tree::tally& of) {
    return {{"rounds", of.rounds}, {"committed", of.committed}, {"gained", of.gained}};
}

tree::tally tally_of(const json& value, std::string origin) {
    const shard_reader from(value, std::move(origin));
    constexpr io::json_range<std::uint64_t> any{0, std::uint64_t{1} << 50};
    tree::tally read{from.required<std::uint64_t>("rounds", any), from.required<std::uint64_t>("committed", any),
                     from.required<std::vector<std::uint64_t>>("gained", {{0, any.most}})};
    for (const std::uint64_t gained : read.gained) {
        if (gained > read.rounds) detail::fail(from.origin(), ": gained has ", gained, ", of ", read.rounds, " rounds");
    }
    return read;
}

shard_growth shard_growth_of(const json& value, std::string origin, std::size_t depth, const growth_request& asked) {
    const shard_reader from(value, std::move(origin));
    from.required<std::size_t>("depth", {depth, depth});
    shard_growth read;
    for (const json& each : from.required_array("steps")) {
        read.steps.push_back(tally_of(each, detail::message(from.origin(), ", step ", read.steps.size())));
    }
    if (read.steps.size() > asked.nodes) {
        detail::fail(from.origin(), ": it has ", read.steps.size(), " steps, of ", asked.nodes, " nodes");
    }
    const auto next = from.object("next");
    if (!next) detail::fail(from.origin(), ": the key next is missing");
    read.next = tally_of(next->value(), from.origin() + ", next");
    read.parts = from.required<std::size_t>("parts", {0, asked.parts});
    return read;
}

shard_record record_of(const shard_reader& from, const growth_request& asked) {
    const auto about = from.object("about");
    if (!about) detail::fail(from.origin(), ": the key about is missing");
    io::check_about(about->value(), asked.about, from.origin());
    shard_record read;
    read.shard.count = from.required<std::size_t>("shards", {2, most::tokens});
    read.shard.index = from.required<std::size_t>("shard", {1, read.shard.count}) - 1;
    const json& growths = from.required_array("growths");
    if (growths.size() != asked.depths.size()) {
        detail::fail(from.origin(), ": it has ", growths.size(), " growths, but there are ", asked.depths.size(),
                     " depths");
    }
    for (std::size_t i = 0; i < asked.depths.size(); ++i) {
        read.growths.push_back(
            shard_growth_of(growths[i], detail::message(from.origin(), ", growth ", i), asked.depths[i], asked));
    }
    return read;
}

/// One of a shard's that scored these trees.
const tree::tally& checked(const tree::tally& of, const tree::augmentations& trees, const std::string& whose,
                           std::size_t step) {
    if (of.gained.size() == trees.added.size()) return of;
    detail::fail(whose, ": step ", step, " counts ", of.gained.size(), " nodes that could be added, but there are ",
                 trees.added.size(), "; it scored other trees");
}

}  // namespace

std::string shard_path(const std::string& state, const shard_of& shard) {
    return state + "." + shard.name();
}

void write_shard(const std::string& path, const shard_record& found, const growth_request& asked) {
    json content = {{shard_kind, shard_version},
                    {"about", asked.about},
                    {"shard", found.shard.index + 1},
                    {"shards", found.shard.count},
                    {"growths", json::array()}};
    for (std::size_t i = 0; i < found.growths.size(); ++i) {
        const shard_growth& of = found.growths[i];
        json steps = json::array();
        for (const tree::tally& each : of.steps) steps.push_back(as_json(each));
        content["growths"].push_back(
            {{"depth", asked.depths[i]}, {"steps", std::move(steps)}, {"next", as_json(of.next)}, {"parts", of.parts}});
    }
    output_file out(path);
    out.write(io::sealed(std::move(content)));
    out.commit();
}

shard_record read_shard(const std::string& flag, const std::string& path, const growth_request& asked) {
    try {
        const json content = io::unsealed(io::read_json<json>(path, most::growth), shard_kind, shard_version, path);
        return record_of(shard_reader(content, path), asked);
    } catch (const error& problem) {
        const std::string what = problem.what();
        detail::fail(flag, " ", what.starts_with(path) ? what : path + ": " + what);
    }
}

std::vector<tree::growth> merged_growths(const std::vector<std::string>& paths, const growth_request& asked) {
    std::map<std::size_t, std::pair<std::string, shard_record>> shards;
    std::size_t count = 0;
    for (const std::string& path : paths) {
        shard_record read = read_shard("--merge", path, asked);
        if (count != 0 && read.shard.count != count) {
            detail::fail("--merge ", path, ": it is one of ", read.shard.count, " shards, but ", paths.front(),
                         " is one of ", count);
        }
        count = read.shard.count;
        const std::size_t place = read.shard.index;
        const auto [at, is_new] = shards.try_emplace(place, path, std::move(read));
        if (!is_new) {
            detail::fail("--merge: ", at->second.first, " and ", path, " are both shard ", place + 1, " of ", count);
        }
    }
    for (std::size_t i = 0; i < count; ++i) {
        if (!shards.contains(i)) {
            detail::fail("--merge: of ", count, " shards there are ", shards.size(), ", and shard ", i + 1,
                         " is missing");
        }
    }
    std::vector<tree::growth> growths;
    for (std::size_t depth = 0; depth < asked.depths.size(); ++depth) {
        tree::growth of{.depth = asked.depths[depth], .order = {}, .lengths = {}};
        std::size_t step = 0;
        const auto scored = [&](const tree::augmentations& trees, std::size_t shard) -> const tree::tally& {
            const auto& [path, found] = shards.at(shard);
            const auto& steps = found.growths[depth].steps;
            if (step < steps.size()) return checked(steps[step], trees, "--merge " + path, step);
            detail::fail("--merge ", path, ": of the tree of depth ", of.depth, " it has ", steps.size(),
                         " steps, and step ", step, " is needed: let its process end first");
        };
        tree::grow(of, asked.nodes, count, scored,
                   [&](const tree::growth& state) { step += state.parts == 0 ? 1 : 0; });
        growths.push_back(std::move(of));
    }
    return growths;
}

growing_shard::growing_shard(std::string state, shard_of own, growth_request asked, std::size_t parts, double seconds)
    : state_(std::move(state)), asked_(std::move(asked)), parts_(parts), seconds_(seconds), found_{own} {
    const std::string path = shard_path(state_, own);
    if (fs::exists(path)) {
        found_ = read(own);
        return;
    }
    found_.growths.resize(asked_.depths.size());
    save();
}

shard_record growing_shard::read(const shard_of& shard) const {
    const std::string path = shard_path(state_, shard);
    shard_record found = read_shard("--shard", path, asked_);
    if (found.shard.index == shard.index && found.shard.count == shard.count) return found;
    detail::fail("--shard ", path, ": it is of shard ", found.shard.index + 1, " of ", found.shard.count,
                 ", but should be of ", shard.index + 1, " of ", shard.count);
}

void growing_shard::run(const score& scored, const std::function<void(const tree::growth&)>& grown) {
    for (std::size_t depth = 0; depth < asked_.depths.size(); ++depth) {
        tree::growth of{.depth = asked_.depths[depth], .order = {}, .lengths = {}};
        std::size_t step = 0;
        const auto counted = [&](const tree::augmentations& trees, std::size_t shard) {
            const tree::tally own = own_tally(depth, step, trees, scored);  // first, so that no one waits for it
            if (shard == found_.shard.index) return own;
            return checked(awaited(shard, depth, step), trees, shard_path(state_, {shard, found_.shard.count}), step);
        };
        tree::grow(of, asked_.nodes, found_.shard.count, counted, [&](const tree::growth& state) {
            if (state.parts != 0) return;
            ++step;
            grown(state);
        });
    }
}

tree::tally growing_shard::own_tally(std::size_t depth, std::size_t step, const tree::augmentations& trees,
                                     const score& scored) {
    shard_growth& own = found_.growths[depth];
    if (step < own.steps.size()) {
        return checked(own.steps[step], trees, shard_path(state_, found_.shard), step);
    }
    while (own.parts < parts_) {
        own.next.add(scored(trees, own.parts));
        if (++own.parts < parts_) save();
    }
    own.next.gained.resize(trees.added.size());
    own.steps.push_back(std::exchange(own.next, {}));
    own.parts = 0;
    save();
    return own.steps.back();
}

tree::tally growing_shard::awaited(std::size_t shard, std::size_t depth, std::size_t step) {
    const std::string path = shard_path(state_, {shard, found_.shard.count});
    const auto known = [&]() -> const tree::tally* {
        const auto of = others_.find(shard);
        if (of == others_.end() || step >= of->second.growths[depth].steps.size()) return nullptr;
        return &of->second.growths[depth].steps[step];
    };
    if (known() != nullptr) return *known();
    const detail::stopwatch since;
    for (auto pause = std::chrono::milliseconds(20);; pause = std::min(2 * pause, std::chrono::milliseconds(500))) {
        interruption::check();
        if (fs::exists(path)) others_[shard] = read({shard, found_.shard.count});
        if (known() != nullptr) return *known();
        if (since.seconds() >= seconds_) {
            detail::fail("waited ", seconds_, " seconds for shard ", shard + 1, " of ", found_.shard.count, " at step ",
                         step, " of the tree of depth ", asked_.depths[depth],
                         "; what this one found is kept, and the same command goes on");
        }
        std::this_thread::sleep_for(pause);
    }
}

}  // namespace augur::program
