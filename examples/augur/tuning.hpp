#pragma once
// What `augur tune` searches, and where it keeps what it has measured.

#include <augur/tune/search.hpp>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "scheme.hpp"

namespace augur::program {

/// In another order, the same for the same seed on every machine.
template <class T>
std::vector<T> shuffled(std::vector<T> all, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    for (std::size_t i = all.size(); i > 1; --i) std::swap(all[i - 1], all[random() % i]);
    return all;
}

/// The settings of a scheme that are tried: all, or a random `most` of them, the same for the same seed; what it starts
/// with is the first.
std::vector<nlohmann::ordered_json> candidates_of(const std::string& scheme, std::size_t most, std::uint64_t seed);

/// Measurements that outlive the process. Every process writes a file of its own in a folder and reads all that are
/// there, those named *.jsonl; each line is complete JSON, written through to the disk before the next run begins.
class journal {
 public:
    /// Throws where another process writes this file, and where the folder holds measurements about something else,
    /// figures that cannot be, or a *.jsonl that is no journal, unless it is `prompts`. Such a file is not changed.
    journal(const std::filesystem::path& folder, const std::string& name, const nlohmann::ordered_json& about,
            const std::filesystem::path& prompts);

    static std::filesystem::path file(const std::filesystem::path& folder, const std::string& name);

    /// nullptr if it was not measured.
    const tune::sample* find(const std::string& scheme, const nlohmann::ordered_json& settings,
                             std::size_t prompt) const;
    void add(const std::string& scheme, const nlohmann::ordered_json& settings, std::size_t prompt,
             const tune::sample& measured);

 private:
    using key = std::pair<std::string, std::size_t>;
    struct closing {
        void operator()(std::FILE* file) const { std::fclose(file); }
    };

    void open();
    void cut_off_the_unfinished() const;
    void read(const std::filesystem::path& path, const nlohmann::ordered_json& about);
    void write_line(const nlohmann::ordered_json& line);

    std::map<key, tune::sample> measured_;
    std::string path_;
    std::unique_ptr<std::FILE, closing> file_;
};

}  // namespace augur::program
