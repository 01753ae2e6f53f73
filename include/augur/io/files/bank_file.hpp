#pragma once
// Reads and writes a bank of draft trees as JSON: its purpose, its trees and its thresholds. See docs/tree/bank.md.

#include <augur/io/files/fingerprint.hpp>
#include <augur/io/files/json.hpp>
#include <augur/io/files/json_reader.hpp>
#include <augur/tree/bank.hpp>
#include <augur/tree/paths.hpp>
#include <augur/types/error.hpp>
#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace augur::io {

/// Whom the trees are for: a bank that was grown for others is refused.
struct bank_identity {
    std::string target{};  ///< the model's fingerprint
    std::string heads{};   ///< that of the file that drafts, be it heads, a layer or a model
    std::size_t vocabulary_size = 0;
    std::size_t head_count = 0;  ///< nodes on the longest path that it can draft: 256 where it has no heads to count

    friend bool operator==(const bank_identity&, const bank_identity&) = default;
};

struct bank_file {
    bank_identity identity;
    std::string task = "all";
    tree::bank trees;
    std::size_t conservative = 0;  ///< places in the bank; the same as aggressive: nothing to switch between
    std::size_t aggressive = 0;
    double threshold = 0;                    ///< of the feature; 0 never switches: one tree is the best
    std::size_t depth = 1;                   ///< heads on the greedy chain
    std::string feature = "path_value_sum";  ///< what the threshold is of: this, or the product, path_value

    friend bool operator==(const bank_file& a, const bank_file& b) { return a.text() == b.text(); }

    /// Equal banks, equal texts; numbers as they are, bit for bit.
    std::string text() const {
        auto content = body();
        content["checksum"] = checksum_of(content);
        return content.dump(1) + "\n";
    }

    static std::string checksum_of(const nlohmann::ordered_json& content) {
        fnv_hash hash;
        hash.add(std::string_view(content.dump()));
        return hash.text();
    }

 private:
    nlohmann::ordered_json body() const {
        nlohmann::ordered_json all = {{"augur.bank", 1},
                                      {"target", identity.target},
                                      {"heads", identity.heads},
                                      {"vocabulary_size", identity.vocabulary_size},
                                      {"head_count", identity.head_count},
                                      {"task", task},
                                      {"feature", feature},
                                      {"depth", depth},
                                      {"threshold", threshold},
                                      {"conservative", conservative},
                                      {"aggressive", aggressive},
                                      {"trees", nlohmann::ordered_json::array()}};
        for (std::size_t i = 0; i < trees.size(); ++i) {
            const tree::measured_tree& each = trees[i];
            all["trees"].push_back({{"paths", tree::paths_of(each.shape)},
                                    {"accepted_length", each.accepted_length},
                                    {"scored_length", each.scored_length},
                                    {"tokens_per_second", each.tokens_per_second}});
        }
        return all;
    }
};

namespace detail {

inline topology tree_of(const json_reader<nlohmann::ordered_json>& from) {
    std::vector<tree::path> all;
    for (const auto& each : from.required_array("paths")) {
        all.push_back(json_value<tree::path>(each, from.origin() + ": paths", {0, topology::most_nodes}));
    }
    return topology::of_paths(std::move(all));
}

inline tree::bank trees_of(const json_reader<nlohmann::ordered_json>& from, std::size_t head_count) {
    const json_range<double> figure{0, 1e9};
    std::vector<tree::measured_tree> trees;
    for (const auto& each : from.required_array("trees")) {
        const json_reader own(each, augur::detail::message(from.origin(), ", tree ", trees.size()));
        trees.push_back({tree_of(own), own.required<double>("accepted_length", figure),
                         own.required<double>("scored_length", figure),
                         own.required<double>("tokens_per_second", figure)});
        if (trees.back().shape.depth() > head_count) {
            augur::detail::fail(own.origin(), ": it is ", trees.back().shape.depth(), " deep, but there are ",
                                head_count, " heads");
        }
    }
    return tree::bank(std::move(trees));
}

}  // namespace detail

/// Throws, naming `origin` and the values, where the text is no bank or was damaged.
inline bank_file parse_bank(std::string_view text, const std::string& origin, const json_limits& limits = {}) {
    auto content = parse_json<nlohmann::ordered_json>(text, origin, limits);
    const json_reader from(content, origin);
    if (const auto version = from.required<int>("augur.bank"); version != 1) {
        augur::detail::fail(origin, ": its version is ", version, "; this program knows 1");
    }
    const auto stated = from.required<std::string>("checksum");
    content.erase("checksum");
    if (const auto found = bank_file::checksum_of(content); found != stated) {
        augur::detail::fail(origin, ": it is damaged: its checksum is ", quote(stated), ", but that of its content is ",
                            found);
    }
    try {
        const json_range<std::size_t> any{};
        const auto heads = from.required<std::size_t>("head_count", any);
        bank_file read{{from.required<std::string>("target"), from.required<std::string>("heads"),
                        from.required<std::size_t>("vocabulary_size", any), heads},
                       from.required<std::string>("task"),
                       detail::trees_of(from, heads)};
        read.feature = from.required<std::string>("feature");
        const bool is_sum = read.feature == "path_value_sum";
        if (!is_sum && read.feature != "path_value") {
            augur::detail::fail("feature ", quote(read.feature),
                                " is unknown; path_value_sum and path_value are known");
        }
        const json_range<std::size_t> place{0, read.trees.size() - 1};
        read.conservative = from.required<std::size_t>("conservative", place);
        read.aggressive = from.required<std::size_t>("aggressive", place);
        if (read.conservative > read.aggressive) {
            augur::detail::fail("conservative is ", read.conservative, ", but aggressive is ", read.aggressive);
        }
        read.depth = from.required<std::size_t>("depth", {1, heads});
        const double most = is_sum ? static_cast<double>(read.depth) : 1;
        read.threshold = from.required<double>("threshold", {0, most});
        return read;
    } catch (const error& problem) {
        const std::string what = problem.what();
        augur::detail::fail(what.starts_with(origin) ? what : origin + ": " + what);
    }
}

/// Throws, with both values, where the bank was grown for another model, other heads, another vocabulary or head count.
inline void check_bank(const bank_file& read, const bank_identity& here, const std::string& origin) {
    const auto differ = [&](const char* what, const auto& there, const auto& own) {
        if (there != own)
            augur::detail::fail(origin, ": it was grown for ", what, " ", there, ", but here it is ", own);
    };
    differ("a vocabulary of", read.identity.vocabulary_size, here.vocabulary_size);
    differ("a head count of", read.identity.head_count, here.head_count);
    differ("the model", quote(read.identity.target), quote(here.target));
    differ("the heads", quote(read.identity.heads), quote(here.heads));
}

}  // namespace augur::io
