#include "text_report.hpp"

#include <algorithm>
#include <augur/io/text/utf8.hpp>
#include <cmath>
#include <cstdio>
#include <utility>

#include "message.hpp"
#include "models.hpp"

namespace augur::program {
namespace {

using json = nlohmann::ordered_json;

std::string fixed(double value, int digits, int width) {
    char text[64];
    std::snprintf(text, sizeof text, "%*.*f", width, digits, value);
    return text;
}

std::size_t letters(std::string_view text) {
    std::size_t count = 0;
    for (const char byte : text) count += (static_cast<unsigned char>(byte) & 0xc0) != 0x80;
    return count;
}

/// At most `width` code points, filled up to the right.
std::string column(std::string text, std::size_t width) {
    if (letters(text) > width) {
        std::size_t end = 0;
        for (std::size_t seen = 0; end < text.size(); ++end) {
            if ((static_cast<unsigned char>(text[end]) & 0xc0) != 0x80 && ++seen == width) break;
        }
        text = text.substr(0, end) + "\u2026";
    }
    return text + std::string(width - letters(text), ' ');
}

constexpr std::size_t token_width = 14, model_width = 30;

json json_number(double value) {
    return std::isfinite(value) ? json(value) : json(nullptr);
}

json pair_as_json(const text_report& report, std::size_t pair, json figures) {
    const auto [cheap, better] = model_pairs(report.names.size())[pair];
    json out = {{"draft", report.names[cheap]}, {"target", report.names[better]}};
    out.update(figures);
    return out;
}

json row_as_json(const text_report& report, const row_facts& row, std::size_t model, bool is_followed) {
    auto best = json::array();
    for (const auto& [id, probability] : row.best) {
        best.push_back({{"id", id}, {"probability", json_number(probability)}});
        if (report.words != nullptr) best.back()["text"] = io::repair_utf8(report.words->bytes_of(id, true));
    }
    return {{"model", report.names[model]},
            {"entropy_nats", json_number(row.entropy_nats)},
            {"next_probability", is_followed ? json_number(row.next_probability) : json(nullptr)},
            {"top", std::move(best)}};
}

json position_as_json(const text_report& report, const position_facts& at) {
    const bool is_followed = at.next != no_token;
    json out = {{"position", at.position}, {"id", is_followed ? json(at.next) : json(nullptr)}};
    if (report.words != nullptr && is_followed) out["text"] = io::repair_utf8(report.words->bytes_of(at.next, true));
    out["models"] = json::array();
    out["pairs"] = json::array();
    for (std::size_t i = 0; i < at.models.size(); ++i) {
        out["models"].push_back(row_as_json(report, at.models[i], i, is_followed));
    }
    for (std::size_t i = 0; i < at.pairs.size(); ++i) {
        const pair_facts& pair = at.pairs[i];
        out["pairs"].push_back(pair_as_json(report, i,
                                            {{"agree", pair.agree},
                                             {"acceptance", json_number(pair.acceptance)},
                                             {"total_variation", json_number(pair.total_variation)},
                                             {"kl_nats", json_number(pair.kl_nats)},
                                             {"reverse_kl_nats", json_number(pair.reverse_kl_nats)}}));
    }
    out["bin"] = at.bin;
    out["length"] = at.length;
    out["rolling_bits"] = json_number(at.rolling_bits);
    if (report.names.size() > 1) out["writer"] = at.writer == 0 ? report.names.front() : report.names.back();
    return out;
}

json means_as_json(const text_report& report, const fact_means& means) {
    json out = {{"positions", means.positions}, {"models", json::array()}, {"pairs", json::array()}};
    for (std::size_t i = 0; i < means.entropy_nats.size(); ++i) {
        out["models"].push_back({{"model", report.names[i]},
                                 {"entropy_nats", json_number(means.entropy_nats[i])},
                                 {"next_nats", means.followed > 0 ? json_number(means.next_nats[i]) : json(nullptr)}});
    }
    for (std::size_t i = 0; i < means.pairs.size(); ++i) {
        const auto& pair = means.pairs[i];
        out["pairs"].push_back(pair_as_json(report, i,
                                            {{"agreement", json_number(pair.agree)},
                                             {"acceptance", json_number(pair.acceptance)},
                                             {"total_variation", json_number(pair.total_variation)},
                                             {"kl_nats", json_number(pair.kl_nats)},
                                             {"reverse_kl_nats", json_number(pair.reverse_kl_nats)}}));
    }
    return out;
}

std::string share(double value) {
    return fixed(100 * value, 1, 6) + " %";
}

/// One line of means, of the columns that mean_titles names.
std::string mean_line(const std::string& name, const fact_means& means, const std::string& length) {
    std::string out = "  " + column(name, 16) + fixed(static_cast<double>(means.positions), 0, 9) + " " + length;
    for (const double nats : means.entropy_nats) out += fixed(nats, 3, 11);
    for (const auto& pair : means.pairs) {
        out += "  " + share(pair.agree) + " " + share(pair.acceptance) + fixed(pair.kl_nats, 3, 8);
    }
    return out + "\n";
}

std::string mean_titles(const text_report& report) {
    std::string names = std::string(34, ' '), titles = "  " + column("draft's entropy", 16) + "positions  length";
    if (report.names.size() == 1) titles = "  " + column("entropy, nats", 16) + "positions  length";
    for (const std::string& name : report.names) {
        names += std::string(11 - std::min<std::size_t>(11, name.size()), ' ') + name;
        titles += "    nats   ";
    }
    for (std::size_t i = 0; i < model_pairs(report.names.size()).size(); ++i) {
        names += "  " + column(report.pair_name(i), 25);
        titles += "     agree   accept      kl";
    }
    return names + "\n" + titles + "\n";
}

}  // namespace

void text_report::add(position_facts at, bool keep) {
    by_bin.resize(bin_lengths.size());
    all.add(at);
    by_bin[at.bin].add(at);
    if (keep) positions.push_back(std::move(at));
}

std::string text_report::token_text(token t) const {
    if (t == no_token) return "";
    if (words == nullptr) return std::to_string(t);
    std::string out;
    for (const char byte : io::repair_utf8(words->bytes_of(t, true))) {
        out += byte == '\n' ? "\\n" : byte == '\t' ? "\\t" : std::string(1, byte);
    }
    return "'" + one_line(out) + "'";
}

std::string text_report::pair_name(std::size_t pair) const {
    const auto [cheap, better] = model_pairs(names.size())[pair];
    return names[cheap] + " - " + names[better];
}

std::string table_head(const text_report& report) {
    std::string out;
    for (std::size_t i = 0; i < report.names.size(); ++i) {
        out += column(report.names[i], 12) + one_line(report.files[i]) + "\n";
    }
    std::string names = std::string(8 + token_width, ' '), titles = "     at " + column("next", token_width);
    for (const std::string& name : report.names) {
        names += column("  " + name, model_width);
        titles += column("    nats     p  top", model_width);
    }
    for (std::size_t i = 0; i < model_pairs(report.names.size()).size(); ++i) {
        names += column("  " + report.pair_name(i), 22);
        titles += column("  accept      kl", 22);
    }
    return out + "\n" + names + "   EAAD   EAD\n" + titles + " length  bits" +
           (report.names.size() > 1 ? "  writer\n" : "\n");
}

std::string table_line(const text_report& report, const position_facts& at) {
    std::string out =
        fixed(static_cast<double>(at.position), 0, 7) + " " + column(report.token_text(at.next), token_width);
    for (const row_facts& row : at.models) {
        std::string cell = fixed(row.entropy_nats, 3, 8);
        if (!row.best.empty()) {
            cell += fixed(row.best.front().second, 3, 6) + "  " + report.token_text(row.best.front().first);
        }
        out += column(cell, model_width);
    }
    for (const pair_facts& pair : at.pairs) {
        out += fixed(pair.acceptance, 3, 8) + fixed(pair.kl_nats, 3, 8) + (pair.agree ? " agree" : "      ");
    }
    out += fixed(static_cast<double>(at.length), 0, 7) + fixed(at.rolling_bits, 2, 6);
    if (at.models.size() > 1) out += "  " + (at.writer == 0 ? report.names.front() : report.names.back());
    return out + "\n";
}

std::string table_means(const text_report& report) {
    std::string out = "\n" + mean_titles(report);
    for (std::size_t i = 0; i < report.bin_lengths.size(); ++i) {
        const bool is_last = i == report.bin_edges_nats.size();
        const std::string name = is_last ? "above" : "below" + fixed(report.bin_edges_nats[i], 2, 6);
        const fact_means means = i < report.by_bin.size() ? report.by_bin[i].means() : fact_means{};
        out += mean_line(name, means, fixed(static_cast<double>(report.bin_lengths[i]), 2, 7));
    }
    const fact_means all = report.all.means();
    out += mean_line("all", all, fixed(all.length, 2, 7)) + "\n";
    for (std::size_t i = 0; all.followed > 0 && i < report.names.size(); ++i) {
        out += "  " + column(report.names[i], 16) + fixed(all.next_nats[i], 3, 9) +
               " nats a token of the text (perplexity " + fixed(std::exp(all.next_nats[i]), 2, 0) + ")\n";
    }
    const auto is_apart = [](const auto& pair) { return std::isinf(pair.kl_nats); };
    if (std::any_of(all.pairs.begin(), all.pairs.end(), is_apart)) {
        out +=
            "  kl is inf where a draft gives a token no probability at all, as one for a part of the vocabulary does\n";
    }
    if (report.names.size() > 1) {
        out += "  " + column("EAD", 16) + share(all.written_by_cheapest) + " written by the draft, threshold " +
               fixed(report.turns.thresholds_bits.front(), 2, 0) + " bits, window " +
               std::to_string(report.turns.window) + ", dwell " + std::to_string(report.turns.dwell) + "\n";
    }
    return out;
}

nlohmann::ordered_json as_json(const text_report& report) {
    json out = {{"models", json::array()},
                {"ids", report.ids},
                {"given", report.given},
                {"bins", {{"edges_nats", report.bin_edges_nats}, {"lengths", report.bin_lengths}}},
                {"turns",
                 {{"thresholds_bits", report.turns.thresholds_bits},
                  {"window", report.turns.window},
                  {"dwell", report.turns.dwell}}},
                {"positions", json::array()}};
    for (std::size_t i = 0; i < report.names.size(); ++i) {
        out["models"].push_back({{"model", report.names[i]}, {"file", report.files[i]}});
    }
    for (const position_facts& at : report.positions) out["positions"].push_back(position_as_json(report, at));
    const fact_means all = report.all.means();
    out["means"] = means_as_json(report, all);
    out["means"]["length"] = json_number(all.length);
    if (report.names.size() > 1) out["means"]["written_by_draft"] = json_number(all.written_by_cheapest);
    out["by_bin"] = json::array();
    for (std::size_t i = 0; i < report.by_bin.size(); ++i) {
        json means = means_as_json(report, report.by_bin[i].means());
        means["length"] = report.bin_lengths[i];
        means["below_nats"] = i < report.bin_edges_nats.size() ? json(report.bin_edges_nats[i]) : json(nullptr);
        out["by_bin"].push_back(std::move(means));
    }
    return out;
}

}  // namespace augur::program
