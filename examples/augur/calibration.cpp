#include "calibration.hpp"

#include <algorithm>
#include <augur/io/files/fingerprint.hpp>
#include <augur/io/files/json_reader.hpp>
#include <augur/io/files/quote.hpp>
#include <filesystem>
#include <fstream>
#include <string_view>

namespace augur::program {
namespace {

using json = nlohmann::ordered_json;

constexpr int calibration_version = 1;

/// Tells a damaged file, not a forged one.
std::string checksum(std::string_view text) {
    io::fnv_hash hash;
    hash.add(text);
    return hash.text();
}

std::string processor() {
    std::ifstream info("/proc/cpuinfo");
    for (std::string line; std::getline(info, line);) {
        const std::size_t colon = line.find(": ");
        if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
    }
    return "unknown";
}

json as_json(const calibration_entry& entry) {
    return {{"scheme", entry.scheme},         {"task", entry.task},
            {"settings", entry.settings},     {"speedup", entry.speedup},
            {"divergence", entry.divergence}, {"prompts", entry.prompts},
            {"tokens", entry.tokens},         {"front", entry.front}};
}

json document_in(const std::string& path) {
    try {
        return io::read_json<json>(path, most::calibration);
    } catch (const error& problem) {
        detail::fail("cannot read the calibration: ", problem.what());
    }
}

const json& array_of(const io::json_reader<json>& from, const char* key) {
    const json* found = from.array(key);
    if (found == nullptr) detail::fail(from.origin(), ": the key ", key, " is missing");
    return *found;
}

/// Settings that the scheme can be composed with.
json settings_of(const io::json_reader<json>& from, const std::string& scheme) {
    const json* found = from.find("settings");
    if (found == nullptr) detail::fail(from.origin(), ": the key settings is missing");
    const auto& known = tunable_schemes();
    if (std::find(known.begin(), known.end(), scheme) == known.end()) {
        detail::fail(from.origin(), ": scheme ", io::quote(scheme), " has nothing to tune");
    }
    const scheme_options chosen = with_settings({.scheme = scheme}, *found, from.origin());
    try {
        static_cast<void>(resolve(chosen, {}, 0, {}));
    } catch (const error& problem) {
        detail::fail(from.origin(), ": ", problem.what());
    }
    return *found;
}

/// A setting of a front, and what it was measured to be.
void check_figures(const io::json_reader<json>& of, const std::string& scheme) {
    static_cast<void>(of.required<double>("speedup", {0, most::speedup}));
    static_cast<void>(of.required<double>("divergence", {0, most::divergence}));
    static_cast<void>(settings_of(of, scheme));
}

calibration_entry entry_of(const json& from, const std::string& origin) {
    const io::json_reader<json> entry(from, origin);
    calibration_entry read;
    read.scheme = entry.required<std::string>("scheme");
    read.task = entry.required<std::string>("task");
    check_figures(entry, read.scheme);
    read.settings = settings_of(entry, read.scheme);
    read.speedup = entry.required<double>("speedup");
    read.divergence = entry.required<double>("divergence");
    read.prompts = entry.required<std::size_t>("prompts", {0, most::tokens});
    read.tokens = entry.required<std::size_t>("tokens", {0, most::tokens});
    read.front = array_of(entry, "front");
    for (std::size_t i = 0; i < read.front.size(); ++i) {
        check_figures({read.front[i], detail::message(origin, ", front ", i)}, read.scheme);
    }
    return read;
}

}  // namespace

const std::vector<std::string>& tunable_schemes() {
    static const std::vector<std::string> all = {"sd", "eaad", "fsd", "psd_a", "psd_f", "ead"};
    return all;
}

json tunable_settings(const scheme_options& chosen) {
    const std::string& scheme = chosen.scheme;
    json settings;
    if (scheme == "sd" || scheme == "fsd") settings["length"] = chosen.length.value();
    if (scheme == "eaad") settings = {{"bins", chosen.bin_edges_nats}, {"bin-lengths", chosen.bin_lengths}};
    if (scheme.starts_with("psd")) settings["lengths"] = chosen.lengths;
    if (is_lossy(scheme)) settings["thresholds"] = chosen.thresholds;
    if (scheme == "ead") {
        settings["window"] = chosen.window;
        settings["dwell"] = chosen.dwell;
    }
    return settings;
}

scheme_options with_settings(scheme_options chosen, const json& settings, const std::string& origin,
                             const std::set<std::string>& given) {
    const io::json_reader<json> from(settings, origin);
    const io::json_range<std::size_t> length{0, most::length};
    const io::json_range<double> threshold{0, most::threshold};
    const auto take = [&]<class T>(const std::string& name, auto& into, const io::json_range<T>& range) {
        T value = from.required<T>(name, range);
        if (!given.contains(name)) into = std::move(value);
    };
    for (const auto& [name, _] : settings.items()) {
        if (name == "length") {
            take(name, chosen.length, length);
        } else if (name == "bins") {
            take(name, chosen.bin_edges_nats, io::json_range<std::vector<double>>{threshold});
        } else if (name == "bin-lengths") {
            take(name, chosen.bin_lengths, io::json_range<std::vector<std::size_t>>{length});
        } else if (name == "lengths") {
            take(name, chosen.lengths, io::json_range<std::vector<std::size_t>>{length});
        } else if (name == "thresholds") {
            take(name, chosen.thresholds, io::json_range<std::vector<double>>{threshold});
        } else if (name == "window") {
            take(name, chosen.window, io::json_range<std::size_t>{0, most::window});
        } else if (name == "dwell") {
            take(name, chosen.dwell, io::json_range<std::size_t>{0, most::dwell});
        } else {
            detail::fail(origin, ": setting ", io::quote(name), " is unknown to this version");
        }
    }
    return chosen;
}

json identity_of(const std::string& target, std::size_t threads, const checkpoint_files& drafters,
                 const model_options& options, const transform::settings& sampling) {
    json identity = {{"target", target}};
    for (const auto& [kind, path] : drafters) identity[kind] = io::fingerprint(std::filesystem::path(path));
    identity["processor"] = processor();
    identity["threads"] = threads;
    identity["weights"] = options.weights;
    if (options.cache != model_options().cache) identity["cache"] = options.cache;
    identity["temperature"] = sampling.temperature.value;
    return identity;
}

const calibration_entry* calibration::find(const std::string& scheme, const std::string& task) const {
    const auto at = std::find_if(entries.begin(), entries.end(), [&](const calibration_entry& entry) {
        return entry.scheme == scheme && entry.task == task;
    });
    return at == entries.end() ? nullptr : &*at;
}

const calibration_entry* calibration::fastest_lossless(const std::string& task, const std::string& origin) const {
    const calibration_entry* best = nullptr;
    bool is_known = false;
    for (const calibration_entry& entry : entries) {
        if (entry.task != task) continue;
        is_known = true;
        if (is_lossy(entry.scheme) || !(entry.speedup > 1)) continue;
        if (best == nullptr || entry.speedup > best->speedup) best = &entry;
    }
    if (!is_known) detail::fail("calibration ", origin, " holds nothing about task ", io::quote(task));
    return best;
}

std::string calibration::text() const {
    json content = {{"augur.calibration", calibration_version}, {"identity", identity}, {"entries", json::array()}};
    for (const calibration_entry& entry : entries) content["entries"].push_back(as_json(entry));
    const std::string sum = checksum(content.dump());
    content["checksum"] = sum;
    return content.dump(1) + "\n";
}

calibration calibration_of(const json& content, const std::string& origin) {
    const io::json_reader<json> from(content, origin);
    if (!from.object("identity")) detail::fail(origin, ": the key identity is missing");
    calibration read{.identity = content.at("identity"), .entries = {}};
    const json& entries = array_of(from, "entries");
    for (std::size_t i = 0; i < entries.size(); ++i) {
        read.entries.push_back(entry_of(entries[i], detail::message(origin, ", entry ", i)));
    }
    return read;
}

calibration read_calibration(const std::string& path) {
    json content = document_in(path);
    const io::json_reader<json> from(content, path);
    const auto stated_version = from.required<int>("augur.calibration");
    if (stated_version != calibration_version) {
        detail::fail(path, ": its version is ", stated_version, "; this program knows ", calibration_version);
    }
    const auto stated = from.required<std::string>("checksum");
    content.erase("checksum");
    if (checksum(content.dump()) != stated) detail::fail(path, ": its checksum is not that of its content");
    return calibration_of(content, path);
}

std::vector<std::string> compare_identity(const calibration& read, const json& here, const std::string& path) {
    const auto shown = [](const json& of, const char* key) {
        if (!of.contains(key)) return std::string("none");
        return of[key].is_number() ? of[key].dump() : io::shown(of[key]);
    };
    const auto differs = [&](const char* key) {
        return read.identity.contains(key) != here.contains(key) ||
               (here.contains(key) && read.identity[key] != here[key]);
    };
    for (const char* model : {"target", "draft", "qualifier"}) {
        if (!here.contains(model) || !differs(model)) continue;
        detail::fail("calibration ", path, " was made with the ", model, " ", shown(read.identity, model),
                     ", but this one is ", shown(here, model));
    }
    std::vector<std::string> different;
    for (const char* key : {"engine", "gpu_layers", "rpc", "processor", "threads", "weights", "cache", "temperature"}) {
        if (!differs(key)) continue;
        different.push_back(std::string(key) + " was " + shown(read.identity, key) + " and is " + shown(here, key));
    }
    return different;
}

}  // namespace augur::program
