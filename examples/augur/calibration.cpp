#include "calibration.hpp"

#include <algorithm>
#include <augur/io/fingerprint.hpp>
#include <augur/io/quote.hpp>
#include <fstream>
#include <sstream>
#include <string_view>

namespace augur::program {
namespace {

using json = nlohmann::ordered_json;

constexpr int version = 1;

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

calibration_entry entry_of(const json& from) {
    calibration_entry entry;
    entry.scheme = from.at("scheme");
    entry.task = from.at("task");
    entry.settings = from.at("settings");
    entry.speedup = from.at("speedup");
    entry.divergence = from.at("divergence");
    entry.prompts = from.at("prompts");
    entry.tokens = from.at("tokens");
    entry.front = from.at("front");
    static_cast<void>(with_settings({}, entry.settings));
    return entry;
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

scheme_options with_settings(scheme_options chosen, const json& settings, const std::set<std::string>& given) {
    for (const auto& [name, value] : settings.items()) {
        if (given.contains(name)) continue;
        if (name == "length") {
            chosen.length = value.get<std::size_t>();
        } else if (name == "bins") {
            chosen.bin_edges_nats = value.get<std::vector<double>>();
        } else if (name == "bin-lengths") {
            chosen.bin_lengths = value.get<std::vector<std::size_t>>();
        } else if (name == "lengths") {
            chosen.lengths = value.get<std::vector<std::size_t>>();
        } else if (name == "thresholds") {
            chosen.thresholds = value.get<std::vector<double>>();
        } else if (name == "window") {
            chosen.window = value.get<std::size_t>();
        } else if (name == "dwell") {
            chosen.dwell = value.get<std::size_t>();
        } else {
            detail::fail("setting ", io::quote(name), " is unknown to this version");
        }
    }
    return chosen;
}

json identity_of(const llama::host_model& target, const member_files& drafters, const model_options& options,
                 const transform::settings& sampling) {
    json identity = {{"target", target.fingerprint()}};
    for (const auto& [kind, path] : drafters) identity[kind] = fingerprint_of(path);
    identity["processor"] = processor();
    identity["threads"] = target.threads();
    identity["weights"] = options.weights;
    identity["temperature"] = sampling.temperature.value;
    return identity;
}

const calibration_entry* calibration::find(const std::string& scheme, const std::string& task) const {
    const auto at = std::find_if(entries.begin(), entries.end(), [&](const calibration_entry& entry) {
        return entry.scheme == scheme && entry.task == task;
    });
    return at == entries.end() ? nullptr : &*at;
}

std::string calibration::text() const {
    json content = {{"augur.calibration", version}, {"identity", identity}, {"entries", json::array()}};
    for (const calibration_entry& entry : entries) content["entries"].push_back(as_json(entry));
    const std::string sum = checksum(content.dump());
    content["checksum"] = sum;
    return content.dump(1) + "\n";
}

calibration read_calibration(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    if (!file) detail::fail("cannot read the calibration ", path);
    text << file.rdbuf();
    try {
        json content = json::parse(text.str());
        if (content.at("augur.calibration") != version) {
            detail::fail("its version is ", content.at("augur.calibration").dump(), "; this program knows ", version);
        }
        const std::string stated = content.at("checksum");
        content.erase("checksum");
        if (checksum(content.dump()) != stated) detail::fail("its checksum is not that of its content");
        calibration read{.identity = content.at("identity"), .entries = {}};
        for (const json& entry : content.at("entries")) read.entries.push_back(entry_of(entry));
        return read;
    } catch (const std::exception& problem) {
        detail::fail("calibration ", path, " cannot be used: ", problem.what());
    }
}

std::vector<std::string> compare_identity(const calibration& read, const json& here, const std::string& path) {
    const auto shown = [](const json& of, const char* key) { return of.contains(key) ? of[key].dump() : "none"; };
    for (const char* model : {"target", "draft", "qualifier"}) {
        if (!here.contains(model) || shown(read.identity, model) == shown(here, model)) continue;
        detail::fail("calibration ", path, " was made with the ", model, " ", shown(read.identity, model),
                     ", but this one is ", shown(here, model));
    }
    std::vector<std::string> different;
    for (const char* key : {"processor", "threads", "weights", "temperature"}) {
        if (shown(read.identity, key) == shown(here, key)) continue;
        different.push_back(std::string(key) + " was " + shown(read.identity, key) + " and is " + shown(here, key));
    }
    return different;
}

}  // namespace augur::program
