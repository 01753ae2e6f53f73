#pragma once
// What a scheme learned of costs and acceptance, from one run of the program to the next.

#include <nlohmann/json.hpp>
#include <string>

#include "loaded_scheme.hpp"
#include "target.hpp"

namespace augur::program {

/// For whom and where a loaded scheme learns: fingerprints, scheme, engine, processor, instruction set, threads,
/// weights, shapes and device. Throws where it learns nothing.
nlohmann::ordered_json state_about(const loaded_scheme& scheme, const target_model& target, const std::string& device);

/// Has the scheme begin with what the file holds; without a file it begins with nothing. Throws, naming the file and
/// the values, where it is damaged, was made for others or elsewhere, or holds what cannot be.
void read_state(const std::string& path, loaded_scheme& into, nlohmann::ordered_json about);

/// Replaces the file by what the scheme has learned, if that is anything.
void write_state(const std::string& path, const loaded_scheme& scheme);

}  // namespace augur::program
