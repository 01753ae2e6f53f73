#include "tuning.hpp"

#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <augur/io/quote.hpp>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include "calibration.hpp"

namespace augur::program {
namespace {

namespace fs = std::filesystem;
using json = nlohmann::ordered_json;
using lengths = std::vector<std::size_t>;

constexpr double thresholds[] = {0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8};  // of total variation

std::vector<json> lengths_of_sd() {
    std::vector<json> all;
    for (std::size_t length = 1; length <= 8; ++length) all.push_back({{"length", length}});
    return all;
}

/// The published edges, nearer and farther, with lengths from cautious to bold.
std::vector<json> bins_of_eaad() {
    std::vector<json> all;
    for (const double scale : {0.25, 0.5, 1.0, 2.0}) {
        const std::vector<double> edges{0.5 * scale, 1.5 * scale, 2.5 * scale};
        for (const lengths& each : {lengths{4, 3, 2, 1}, lengths{4, 3, 2, 0}, lengths{3, 2, 1, 0}, lengths{2, 2, 1, 0},
                                    lengths{6, 4, 2, 1}, lengths{6, 4, 2, 0}, lengths{8, 4, 1, 0}}) {
            all.push_back({{"bins", edges}, {"bin-lengths", each}});
        }
    }
    return all;
}

std::vector<json> settings_of_fsd() {
    std::vector<json> all;
    for (const double threshold : thresholds) {
        for (const std::size_t length : {1, 2, 3, 4, 6}) {
            all.push_back({{"length", length}, {"thresholds", {threshold}}});
        }
    }
    return all;
}

/// The qualifier's threshold is at most the target's, and it hands up at least as many tokens as it is handed.
std::vector<json> settings_of_psd(bool fuzzy_qualifier) {
    std::vector<json> all;
    for (const double last : thresholds) {
        for (const double first : thresholds) {
            if (first > last || (!fuzzy_qualifier && first != last)) continue;
            const auto both = fuzzy_qualifier ? std::vector{first, last} : std::vector{last};
            for (const std::size_t draft : {1, 2, 3, 5}) {
                for (const std::size_t qualifier : {1, 2, 4, 6, 10, 15}) {
                    if (draft <= qualifier) all.push_back({{"lengths", {draft, qualifier}}, {"thresholds", both}});
                }
            }
        }
    }
    return all;
}

std::vector<json> settings_of_ead() {
    std::vector<json> all;
    for (const double bits : {2.0, 1.0, 0.5, 0.25, 0.125, 0.0625}) {
        for (const std::size_t window : {1, 3, 5, 10}) {
            for (const std::size_t dwell : {1, 5, 10, 20}) {
                all.push_back({{"thresholds", {bits}}, {"window", window}, {"dwell", dwell}});
            }
        }
    }
    return all;
}

std::vector<json> space_of(const std::string& scheme) {
    if (scheme == "sd") return lengths_of_sd();
    if (scheme == "eaad") return bins_of_eaad();
    if (scheme == "fsd") return settings_of_fsd();
    if (scheme == "ead") return settings_of_ead();
    return settings_of_psd(scheme == "psd_f");
}

std::string key_of(const std::string& scheme, const std::string& settings) {
    return scheme + " " + settings;
}

}  // namespace

std::vector<json> candidates_of(const std::string& scheme, std::size_t most, std::uint64_t seed) {
    const json first = tunable_settings(resolve({.scheme = scheme}, {}, 0, {}));
    std::vector<json> all = space_of(scheme);
    std::erase(all, first);
    all = shuffled(std::move(all), seed);
    all.insert(all.begin(), first);
    if (all.size() > most) all.resize(most);
    return all;
}

journal::journal(const fs::path& folder, const std::string& name, const json& about) {
    fs::create_directories(folder);
    const fs::path own = folder / (name + ".jsonl");
    open(own);
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(folder)) {
        if (entry.path().extension() == ".jsonl") files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end());
    for (const fs::path& each : files) read(each, about);
    if (fs::file_size(own) == 0) write_line({{"augur.journal", 1}, {"about", about}});
}

void journal::open(const fs::path& path) {
    path_ = path.string();
    file_.reset(std::fopen(path_.c_str(), "a+b"));
    if (!file_) detail::fail("cannot write ", path_, ": ", std::strerror(errno));
    if (::flock(::fileno(file_.get()), LOCK_EX | LOCK_NB) != 0) {
        detail::fail(path_, " is being written by another process; give this one another --shard, or wait");
    }
    std::ifstream in(path, std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    const std::size_t end = text.str().rfind('\n');  // what follows was cut off when its process was killed
    fs::resize_file(path, end == std::string::npos ? 0 : end + 1);
}

void journal::read(const fs::path& path, const json& about) {
    std::ifstream in(path, std::ios::binary);
    std::size_t number = 0;
    for (std::string line; std::getline(in, line) && !in.eof();) {
        ++number;
        try {
            const json entry = json::parse(line);
            if (number == 1) {
                if (entry.at("about") == about) continue;
                detail::fail("it is about ", entry.at("about").dump(), ", not about ", about.dump(),
                             "; give another --work");
            }
            const key where{key_of(entry.at("scheme"), entry.at("settings").dump()), entry.at("prompt")};
            measured_[where] = {.tokens = entry.at("tokens"),
                                .seconds = entry.at("seconds"),
                                .plain_seconds = entry.at("plain_seconds"),
                                .divergence = entry.at("divergence")};
        } catch (const std::exception& problem) {
            detail::fail(path.string(), ", line ", number, ": ", problem.what());
        }
    }
}

const tune::sample* journal::find(const std::string& scheme, const std::string& settings, std::size_t prompt) const {
    const auto at = measured_.find({key_of(scheme, settings), prompt});
    return at == measured_.end() ? nullptr : &at->second;
}

void journal::add(const std::string& scheme, const std::string& settings, std::size_t prompt,
                  const tune::sample& measured) {
    write_line({{"scheme", scheme},
                {"settings", json::parse(settings)},
                {"prompt", prompt},
                {"tokens", measured.tokens},
                {"seconds", measured.seconds},
                {"plain_seconds", measured.plain_seconds},
                {"divergence", measured.divergence}});
    measured_[{key_of(scheme, settings), prompt}] = measured;
}

void journal::write_line(const json& line) {
    const std::string text = line.dump() + "\n";
    const bool written = std::fwrite(text.data(), 1, text.size(), file_.get()) == text.size() &&
                         std::fflush(file_.get()) == 0 && ::fsync(::fileno(file_.get())) == 0;
    if (!written) detail::fail("cannot write ", path_, ": ", std::strerror(errno));
}

}  // namespace augur::program
