#pragma once
// What `augur entropy` found in a text: as lines, as JSON, as a chart.

#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "known_words.hpp"
#include "text_facts.hpp"

namespace augur::program {

/// Cheapest model first; the last is the target.
struct text_report {
    std::vector<std::string> names;  ///< target, or draft and target, or draft, qualifier and target
    std::vector<std::string> files;
    std::vector<double> bin_edges_nats;
    std::vector<std::size_t> bin_lengths;
    switching::rolling_entropy_options turns;
    std::size_t given = 0;  ///< tokens of the text; those after it were continued
    std::vector<token> ids{};
    std::vector<position_facts> positions{};  ///< where they are asked for
    fact_sums all{};
    std::vector<fact_sums> by_bin{};
    const known_words* words = nullptr;

    /// Adds up, and keeps the position if it is to be kept.
    void add(position_facts at, bool keep);
    /// The text of a token, in quotes that no line break leaves; its number without a tokenizer, "" for none.
    std::string token_text(token t) const;
    std::string pair_name(std::size_t pair) const;
};

/// The lines above the positions, of one position, and the means below them.
std::string table_head(const text_report& report);
std::string table_line(const text_report& report, const position_facts& at);
std::string table_means(const text_report& report);

nlohmann::ordered_json as_json(const text_report& report);

/// A whole SVG that needs nothing else, and has its own colours for dark surroundings.
std::string as_chart(const text_report& report);

}  // namespace augur::program
