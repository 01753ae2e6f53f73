#include "kept_state.hpp"

#include <augur/backend/host/instruction_set.hpp>
#include <augur/io/files/policy_state.hpp>
#include <augur/io/files/regular_file.hpp>
#include <filesystem>
#include <system_error>
#include <utility>

#include "calibration.hpp"
#include "limits.hpp"
#include "output_file.hpp"

namespace augur::program {

nlohmann::ordered_json state_about(const loaded_scheme& scheme, const target_model& target, const std::string& device) {
    if (scheme.rows_to_measure() == 0) {
        detail::fail(
            "--state keeps what a scheme learns that drafts what pays (lookup, forced, suffix, hybrid, eagle, mtp, "
            "hydra, medusa, or --tree auto, without --length), but this one is ",
            io::quote(scheme.scheme().scheme));
    }
    nlohmann::ordered_json about = {{"scheme", scheme.scheme().scheme}};
    about.update(target.identity(scheme.files(), {}));
    about.erase("temperature");  // figures follow it
    about["instructions"] = backend::host::name_of(backend::host::resolve(backend::host::instruction_set::automatic));
    about["device"] = device;
    return about;
}

void read_state(const std::string& path, loaded_scheme& into, nlohmann::ordered_json about) {
    std::error_code unknown;  // then reading it says why
    if (!std::filesystem::exists(path, unknown) && !unknown) return into.recall({.about = std::move(about)});
    try {
        const std::string text = io::read_text(path, most::calibration.bytes);
        into.recall(io::parse_policy_state(text, about, path, most::calibration));
    } catch (const error& problem) {
        const std::string what = problem.what();
        detail::fail("--state ", what.starts_with(path) ? what : path + ": " + what);
    }
}

void write_state(const std::string& path, const loaded_scheme& scheme) {
    if (scheme.learned().policies.empty()) return;
    output_file out(path);
    out.write(scheme.learned().text());
    out.commit();
}

}  // namespace augur::program
