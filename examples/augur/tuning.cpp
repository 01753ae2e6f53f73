#include "tuning.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <augur/io/files/json_reader.hpp>
#include <cerrno>
#include <cstring>
#include <sstream>
#include <string_view>
#include <system_error>

#include "calibration.hpp"
#include "limits.hpp"

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
        for (const std::size_t length : {1u, 2u, 3u, 4u, 6u}) {
            all.push_back({{"length", length}, {"thresholds", {threshold}}});
        }
    }
    return all;
}

/// The qualifier's threshold is at most the target's, and it proposes at least as many tokens as it is given.
std::vector<json> settings_of_psd(bool fuzzy_qualifier) {
    std::vector<json> all;
    for (const double last : thresholds) {
        for (const double first : thresholds) {
            if (first > last || (!fuzzy_qualifier && first != last)) continue;
            const auto both = fuzzy_qualifier ? std::vector{first, last} : std::vector{last};
            for (const std::size_t draft : {1u, 2u, 3u, 5u}) {
                for (const std::size_t qualifier : {1u, 2u, 4u, 6u, 10u, 15u}) {
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
        for (const std::size_t window : {1u, 3u, 5u, 10u}) {
            for (const std::size_t dwell : {1u, 5u, 10u, 20u}) {
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

/// Of every journal.
constexpr std::string_view beginning = "{\"augur.journal\":1,";

[[noreturn]] void refuse_to_read(const std::string& path) {
    detail::fail(path, ", line 1: it is no journal of augur tune; move it, or give another --work");
}

std::string settings_in(const io::json_reader<json>& from) {
    const auto settings = from.object("settings");
    if (!settings) detail::fail(from.origin(), ": the key settings is missing");
    return from.find("settings")->dump();
}

tune::sample sample_in(const io::json_reader<json>& from) {
    tune::sample read{.tokens = from.required<std::size_t>("tokens", {0, most::tokens})};
    read.seconds = from.required<double>("seconds", {0, most::seconds});
    read.plain_seconds = from.required<double>("plain_seconds", {0, most::seconds});
    read.divergence = from.required<double>("divergence", {0, most::divergence * static_cast<double>(read.tokens)});
    if (!(read.speedup() <= most::speedup)) {
        detail::fail(from.origin(), ": plain_seconds are ", read.speedup(), " times seconds; they may be ",
                     most::speedup, " times as many");
    }
    return read;
}

/// Throws where a journal is about something else, with what differs.
void check_same(const json& stated, const json& about, const std::string& origin) {
    if (stated == about) return;
    const auto unlike = [](const json& of, const json& other) {
        json left = json::object();
        for (const auto& [name, value] : of.items()) {
            const auto found = other.find(name);
            if (found == other.end() || *found != value) left[name] = value;
        }
        return left;
    };
    const json theirs = unlike(stated, about), ours = unlike(about, stated);
    detail::fail(origin, ": it is about ", io::quote(theirs.dump(-1, ' ', true), 400), ", not about ", ours.dump(),
                 "; give another --work");
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

fs::path journal::file(const fs::path& folder, const std::string& name) {
    return folder / (name + ".jsonl");
}

journal::journal(const fs::path& folder, const std::string& name, const json& about, const fs::path& prompts)
    : path_(file(folder, name).string()) {
    fs::create_directories(folder);
    open();
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(folder)) {
        std::error_code absent;
        const bool is_journal = entry.path().extension() == ".jsonl" && !fs::equivalent(entry.path(), prompts, absent);
        if (is_journal) files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end());
    for (const fs::path& each : files) read(each, about);
    if (fs::file_size(path_) == 0) write_line({{"augur.journal", 1}, {"about", about}});
}

/// Neither waits for a pipe nor changes what is no journal.
void journal::open() {
    const int opened = ::open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0666);
    if (opened < 0) detail::fail("cannot write ", path_, ": ", std::strerror(errno));
    file_.reset(::fdopen(opened, "a"));
    if (!file_) detail::fail("cannot write ", path_, ": ", std::strerror(errno));
    if (::flock(opened, LOCK_EX | LOCK_NB) != 0) {
        detail::fail(path_, " is being written by another process; give this one another --shard, or wait");
    }
    cut_off_the_unfinished();
}

/// What follows the last line feed was being written when its process was killed.
void journal::cut_off_the_unfinished() const {
    const std::string text = io::read_text(path_, most::text_bytes);
    if (!text.starts_with(beginning.substr(0, text.size()))) refuse_to_read(path_);
    const std::size_t end = text.rfind('\n');
    fs::resize_file(path_, end == std::string::npos ? 0 : end + 1);
}

void journal::read(const fs::path& path, const json& about) {
    std::istringstream in(io::read_text(path, most::text_bytes));
    std::size_t number = 0;
    for (std::string line; std::getline(in, line) && !in.eof();) {
        const std::string origin = detail::message(path.string(), ", line ", ++number);
        if (number == 1 && !line.starts_with(beginning)) refuse_to_read(path.string());
        const json entry = io::parse_json<json>(line, origin, most::line);
        const io::json_reader<json> from(entry, origin);
        if (number > 1) {
            const key where{key_of(from.required<std::string>("scheme"), settings_in(from)),
                            from.required<std::size_t>("prompt", {0, most::tokens})};
            measured_[where] = sample_in(from);
            continue;
        }
        const auto stated = from.object("about");
        if (!stated) detail::fail(origin, ": the key about is missing");
        check_same(entry.at("about"), about, origin);
    }
}

const tune::sample* journal::find(const std::string& scheme, const json& settings, std::size_t prompt) const {
    const auto at = measured_.find({key_of(scheme, settings.dump()), prompt});
    return at == measured_.end() ? nullptr : &at->second;
}

void journal::add(const std::string& scheme, const json& settings, std::size_t prompt, const tune::sample& measured) {
    write_line({{"scheme", scheme},
                {"settings", settings},
                {"prompt", prompt},
                {"tokens", measured.tokens},
                {"seconds", measured.seconds},
                {"plain_seconds", measured.plain_seconds},
                {"divergence", measured.divergence}});
    measured_[{key_of(scheme, settings.dump()), prompt}] = measured;
}

void journal::write_line(const json& line) {
    const std::string text = line.dump() + "\n";
    const bool written = std::fwrite(text.data(), 1, text.size(), file_.get()) == text.size() &&
                         std::fflush(file_.get()) == 0 && ::fsync(::fileno(file_.get())) == 0;
    if (!written) detail::fail("cannot write ", path_, ": ", std::strerror(errno));
}

}  // namespace augur::program
