#pragma once
// Growing trees by several processes: each scores every step on its prompts, and they read each other's counts.

#include <augur/tree/growth.hpp>
#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "growth_state.hpp"
#include "shard.hpp"

namespace augur::program {

/// Of one depth's tree, what the prompts of one shard counted.
struct shard_growth {
    std::vector<tree::tally> steps{};  ///< of each node, in order
    tree::tally next{};                ///< of the node after these, so far
    std::size_t parts = 0;             ///< of the shard's prompts that it has

    friend bool operator==(const shard_growth&, const shard_growth&) = default;
};

/// What one process of several has found.
struct shard_record {
    shard_of shard;
    std::vector<shard_growth> growths{};  ///< one for each depth
};

/// The file of a shard beside a state.
std::string shard_path(const std::string& state, const shard_of& shard);

/// Replaces the file.
void write_shard(const std::string& path, const shard_record& found, const growth_request& asked);

/// Throws augur::error, naming the file and the values, where it is damaged, was made with anything else than `asked`,
/// or holds what no such process counts. `flag` opens the message.
shard_record read_shard(const std::string& flag, const std::string& path, const growth_request& asked);

/// The growths that all shards together make: those of one process on all prompts, bit for bit, for counts are whole
/// numbers. Throws, naming the shards, unless each is there once and has every step.
std::vector<tree::growth> merged_growths(const std::vector<std::string>& paths, const growth_request& asked);

/// One process of several.
class growing_shard {
 public:
    using score = std::function<tree::tally(const tree::augmentations&, std::size_t part)>;

    /// Goes on from its file, where there is one. `parts`: of its prompts. `seconds`: how long it waits for the others
    /// at each step.
    growing_shard(std::string state, shard_of own, growth_request asked, std::size_t parts, double seconds);

    /// Grows every depth's tree with the others. Throws where one of them does not come in time, or interrupted.
    void run(const score& scored, const std::function<void(const tree::growth&)>& grown);

 private:
    tree::tally own_tally(std::size_t depth, std::size_t step, const tree::augmentations& trees, const score& scored);
    tree::tally awaited(std::size_t shard, std::size_t depth, std::size_t step);
    shard_record read(const shard_of& shard) const;
    void save() const { write_shard(shard_path(state_, found_.shard), found_, asked_); }

    std::string state_;
    growth_request asked_;
    std::size_t parts_;
    double seconds_;
    shard_record found_;
    std::map<std::size_t, shard_record> others_{};  ///< as they were read last
};

}  // namespace augur::program
