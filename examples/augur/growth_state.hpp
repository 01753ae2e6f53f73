#pragma once
// What `augur grow` has found so far, as a file from which the same command goes on.

#include <augur/tree/bank.hpp>
#include <augur/tree/frontier.hpp>
#include <augur/tree/growth.hpp>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace augur::program {

struct growth_state {
    std::vector<tree::growth> growths;  ///< one for each depth
    std::vector<tree::measured_tree> measured;
    std::vector<double> candidates;  ///< thresholds
    std::vector<tree::swept_threshold> swept;
};

/// What a state was made with, and how much of it there can be.
struct growth_request {
    nlohmann::ordered_json about;  ///< names and values
    std::vector<std::size_t> depths;
    std::size_t nodes = 0, parts = 0;
};

/// What was found, by the keys of its members.
nlohmann::ordered_json growth_as_json(const growth_state& found);

/// Replaces the file.
void write_growth_state(const std::string& path, const growth_state& found, const growth_request& asked);

/// Throws augur::error, naming the file and the values, where it is damaged, was made with anything else, or holds what
/// no such command finds.
growth_state read_growth_state(const std::string& path, const growth_request& asked);

}  // namespace augur::program
