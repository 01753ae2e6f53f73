#pragma once
// What `augur tune` found out about schemes, for one model on one machine, as a file.

#include <cstddef>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "draft_checkpoints.hpp"
#include "models.hpp"
#include "scheme.hpp"

namespace augur::program {

/// The settings of a scheme that can be tuned, by their names in calibration files.
nlohmann::ordered_json tunable_settings(const scheme_options& chosen);

/// The same with these settings, but for those that are `given`. Throws, opening with `origin`, where one is unknown,
/// of another kind or beyond the limits of flags.
scheme_options with_settings(scheme_options chosen, const nlohmann::ordered_json& settings, const std::string& origin,
                             const std::set<std::string>& given = {});

/// Schemes that can be tuned.
const std::vector<std::string>& tunable_schemes();

/// What figures hold for: the target and its drafters (fingerprints), and where and how they were measured, on the
/// bundled engine.
nlohmann::ordered_json identity_of(const std::string& target, std::size_t threads, const checkpoint_files& drafters,
                                   const model_options& options, const transform::settings& sampling);

/// The best of a scheme's settings on prompts of one task, and the whole front.
struct calibration_entry {
    std::string scheme, task;
    nlohmann::ordered_json settings;
    double speedup = 0;     ///< over plain decoding
    double divergence = 0;  ///< total variation per token from the target's distribution
    std::size_t prompts = 0, tokens = 0;
    nlohmann::ordered_json front = nlohmann::ordered_json::array();  ///< the same figures for other settings
};

struct calibration {
    nlohmann::ordered_json identity;
    std::vector<calibration_entry> entries;

    /// nullptr if there is none.
    const calibration_entry* find(const std::string& scheme, const std::string& task) const;
    /// Of the entries for this task that are lossless and were faster than plain decoding, the fastest; nullptr if
    /// there is none. Throws where nothing is known about the task.
    const calibration_entry* fastest_lossless(const std::string& task, const std::string& origin) const;
    /// JSON with a checksum.
    std::string text() const;
};

/// What a document holds that is a calibration, version and checksum aside; `origin` opens messages.
calibration calibration_of(const nlohmann::ordered_json& content, const std::string& origin);

/// Throws where the file cannot be read, is damaged, is none, or holds settings or figures that cannot be.
calibration read_calibration(const std::string& path);

/// Throws unless the models are those that were measured. Of what else differs it returns a line each.
std::vector<std::string> compare_identity(const calibration& read, const nlohmann::ordered_json& here,
                                          const std::string& path);

}  // namespace augur::program
