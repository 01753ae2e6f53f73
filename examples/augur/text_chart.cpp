// The chart of `augur entropy`: four panels, one below the other.

#include <algorithm>
#include <augur/io/text/markup.hpp>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <utility>

#include "message.hpp"
#include "text_report.hpp"

namespace augur::program {
namespace {

constexpr double plot_left = 64, right = 16, wide = 1040, high = 150, between = 58;

std::string number(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.1f", value);
    return text;
}

/// Text of a model or a file is data: no markup, and no character that XML forbids.
std::string escaped(const std::string& text) {
    return io::markup_of(one_line(text));
}

std::string styled() {
    return "<style>svg{background:#fff;font:12px system-ui,sans-serif}text{fill:#222}.axis{stroke:#999}"
           ".edge{stroke:#999;stroke-dasharray:4 4}path{fill:none;stroke-width:1.3}"
           ".c0{stroke:#0072b2}.c1{stroke:#d55e00}.c2{stroke:#009e73}"
           ".f0{fill:#0072b2}.f1{fill:#d55e00}.f2{fill:#009e73}.bar{fill:#999}.hit{fill:transparent}"
           ".hit:hover{fill:#8884}@media(prefers-color-scheme:dark){svg{background:#14171a}text{fill:#ddd}"
           ".c0{stroke:#56b4e9}.c1{stroke:#ff9a56}.c2{stroke:#2fd6a4}.f0{fill:#56b4e9}.f1{fill:#ff9a56}"
           ".f2{fill:#2fd6a4}.axis,.edge{stroke:#777}.bar{fill:#777}}</style>\n";
}

/// Where things are drawn: a panel's own heights run from 0 to `most`.
class panel {
 public:
    panel(double top, double most, std::size_t columns) : top_(top), most_(most > 0 ? most : 1), columns_(columns) {}

    double x(double column) const {
        return plot_left + wide * column / static_cast<double>(std::max<std::size_t>(1, columns_));
    }
    double y(double value) const { return top_ + high * (1 - std::min(1.0, std::max(0.0, value / most_))); }

    std::string frame(const std::string& title, const std::string& unit) const {
        std::string out = "<text x='" + number(plot_left) + "' y='" + number(top_ - 8) + "'>" + title + "</text>\n";
        for (const double value : {0.0, most_ / 2, most_}) {
            out += "<text x='" + number(plot_left - 6) + "' y='" + number(y(value) + 4) + "' text-anchor='end'>" +
                   number(value) + unit + "</text>";
        }
        return out + "<line class='axis' x1='" + number(plot_left) + "' y1='" + number(y(0)) + "' x2='" +
               number(plot_left + wide) + "' y2='" + number(y(0)) + "'/>\n";
    }

    /// Some positions by number, the first column being 1.
    std::string numbered(const std::string& name) const {
        std::string out;
        const std::size_t step = std::max<std::size_t>(1, columns_ / 8);
        for (std::size_t i = 0; 10 * i < 9 * columns_; i += step) {
            out += "<text x='" + number(x(static_cast<double>(i) + 0.5)) + "' y='" + number(y(0) + 16) +
                   "' text-anchor='middle'>" + std::to_string(i + 1) + "</text>";
        }
        return out + "<text x='" + number(plot_left + wide) + "' y='" + number(y(0) + 16) + "' text-anchor='end'>" +
               name + "</text>\n";
    }

    std::string across(double value) const {
        return "<line class='edge' x1='" + number(plot_left) + "' y1='" + number(y(value)) + "' x2='" +
               number(plot_left + wide) + "' y2='" + number(y(value)) + "'/>\n";
    }

    /// A line through the values; gaps where they are not finite.
    std::string curve(const std::string& style, std::size_t count,
                      const std::function<double(std::size_t)>& value) const {
        std::string out = "<path class='" + style + "' d='";
        bool down = false;
        for (std::size_t i = 0; i < count; ++i) {
            const double at = value(i);
            if (std::isfinite(at)) {
                out += (down ? "L" : "M") + number(x(static_cast<double>(i) + 0.5)) + " " + number(y(at));
            }
            down = std::isfinite(at);
        }
        return out + "'/>\n";
    }

    std::string bar(const std::string& style, double from, double to, double value, const std::string& title) const {
        return "<rect class='" + style + "' x='" + number(x(from)) + "' y='" + number(y(value)) + "' width='" +
               number(std::max(0.5, x(to) - x(from))) + "' height='" + number(y(0) - y(value)) + "'>" +
               (title.empty() ? "" : "<title>" + title + "</title>") + "</rect>\n";
    }

 private:
    double top_, most_;
    std::size_t columns_;
};

std::string legend(const std::vector<std::string>& names, double top) {
    std::string out;
    double x = plot_left + 420;
    for (std::size_t i = 0; i < names.size(); ++i) {
        out += "<rect class='f" + std::to_string(i) + "' x='" + number(x) + "' y='" + number(top - 17) +
               "' width='10' height='10'/><text x='" + number(x + 15) + "' y='" + number(top - 8) + "'>" +
               escaped(names[i]) + "</text>";
        x += 40 + 7 * static_cast<double>(names[i].size());
    }
    return out + "\n";
}

std::vector<std::string> pair_names(const text_report& report) {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < model_pairs(report.names.size()).size(); ++i) names.push_back(report.pair_name(i));
    return names;
}

std::string entropy_panel(const text_report& report, double top) {
    double most = 1;
    for (const auto& at : report.positions) {
        for (const auto& row : at.models)
            most = std::isfinite(row.entropy_nats) ? std::max(most, row.entropy_nats) : most;
    }
    const panel drawn(top, most, report.positions.size());
    std::string out =
        drawn.frame("entropy of the next token, nats; dashed: edges of EAAD's bins", "") + legend(report.names, top);
    for (const double edge : report.bin_edges_nats) {
        if (edge <= most) out += drawn.across(edge);
    }
    for (std::size_t model = report.names.size(); model-- > 0;) {
        out += drawn.curve("c" + std::to_string(model), report.positions.size(),
                           [&](std::size_t i) { return report.positions[i].models[model].entropy_nats; });
    }
    return out;
}

std::string acceptance_panel(const text_report& report, double top) {
    const panel drawn(top, 1, report.positions.size());
    std::string out = drawn.frame("expected acceptance, sum min(p, q)", "") + legend(pair_names(report), top);
    for (std::size_t pair = model_pairs(report.names.size()).size(); pair-- > 0;) {
        out += drawn.curve("c" + std::to_string(pair), report.positions.size(),
                           [&](std::size_t i) { return report.positions[i].pairs[pair].acceptance; });
    }
    return out;
}

/// The mean of EAD's window, and whose turn it is.
std::string turns_panel(const text_report& report, double top) {
    double most = 2 * report.turns.thresholds_bits.front();
    for (const auto& at : report.positions)
        most = std::isfinite(at.rolling_bits) ? std::max(most, at.rolling_bits) : most;
    const panel drawn(top, most, report.positions.size());
    std::string out =
        drawn.frame("EAD: mean entropy of the window, bits; dashed: threshold; bars: the model would write", "");
    for (std::size_t i = 0; i < report.positions.size(); ++i) {
        if (report.positions[i].writer == 0) continue;
        out += drawn.bar("bar", static_cast<double>(i), static_cast<double>(i) + 1, most / 20, "");
    }
    return out + drawn.across(report.turns.thresholds_bits.front()) +
           drawn.curve("c0", report.positions.size(), [&](std::size_t i) { return report.positions[i].rolling_bits; });
}

/// By bin: how many positions it has, and how often models agree there.
std::string bins_panel(const text_report& report, double top) {
    const std::size_t pairs = model_pairs(report.names.size()).size(), bins = report.bin_lengths.size();
    const panel drawn(top, 100, bins);
    std::string out = drawn.frame("by EAAD's bins, grey: share of positions; share of these that agree:", " %") +
                      legend(pair_names(report), top);
    const auto total = static_cast<double>(std::max<std::size_t>(1, report.positions.size()));
    for (std::size_t i = 0; i < bins; ++i) {
        const fact_means means = i < report.by_bin.size() ? report.by_bin[i].means() : fact_means{};
        const auto at = static_cast<double>(i);
        const double step = 0.8 / static_cast<double>(pairs + 1),
                     share = 100 * static_cast<double>(means.positions) / total;
        out += drawn.bar("bar", at + 0.1, at + 0.1 + step * 0.9, share, number(share) + " % of positions");
        for (std::size_t pair = 0; pair < means.pairs.size(); ++pair) {
            const double from = at + 0.1 + step * static_cast<double>(pair + 1), agree = 100 * means.pairs[pair].agree;
            out += drawn.bar("f" + std::to_string(pair), from, from + step * 0.9, agree,
                             escaped(report.pair_name(pair)) + ": " + number(agree) + " %");
        }
        const auto& edges = report.bin_edges_nats;
        const std::string range =
            i < edges.size() ? "below " + number(edges[i]) : "above " + number(edges.empty() ? 0 : edges.back());
        out += "<text x='" + number(drawn.x(at + 0.1)) + "' y='" + number(top + high + 16) + "'>" + range +
               " nats: length " + std::to_string(report.bin_lengths[i]) + "</text>\n";
    }
    return out;
}

/// What each position is, where the pointer rests on it.
std::string hover(const text_report& report, double top, double bottom) {
    std::string out;
    const panel drawn(top, 1, report.positions.size());
    for (std::size_t i = 0; i < report.positions.size(); ++i) {
        const position_facts& at = report.positions[i];
        const auto column = static_cast<double>(i);
        std::string title = std::to_string(at.position) + ": " + report.token_text(at.next);
        for (std::size_t model = 0; model < at.models.size(); ++model) {
            title += ", " + report.names[model] + " " + number(at.models[model].entropy_nats) + " nats";
        }
        out += "<rect class='hit' x='" + number(drawn.x(column)) + "' y='" + number(top) + "' width='" +
               number(drawn.x(column + 1) - drawn.x(column)) + "' height='" + number(bottom - top) + "'><title>" +
               escaped(title) + "</title></rect>\n";
    }
    return out;
}

}  // namespace

std::string as_chart(const text_report& report) {
    double top = 64;
    std::string drawn;
    const auto next = [&](const std::string& panel) {
        drawn += panel;
        top += high + between;
    };
    const double first = top;
    const auto numbered = [&] { return panel(top, 1, report.positions.size()).numbered("tokens before"); };
    next(entropy_panel(report, top) + numbered());
    if (report.names.size() > 1) {
        next(acceptance_panel(report, top) + numbered());
        next(turns_panel(report, top) + numbered());
    }
    drawn += hover(report, first, top - between);
    next(bins_panel(report, top));
    std::string files;
    for (std::size_t i = 0; i < report.names.size(); ++i) {
        files += (files.empty() ? "" : ", ") + report.names[i] + " " +
                 std::filesystem::path(report.files[i]).filename().string();
    }
    const std::string width = number(plot_left + wide + right), height = number(top);
    return "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 " + width + " " + height + "' width='" + width +
           "' height='" + height + "' role='img'>\n" + styled() + "<text x='" + number(plot_left) + "' y='24'>" +
           std::to_string(report.positions.size()) + " positions; " + escaped(files) + "</text>\n" + drawn + "</svg>\n";
}

}  // namespace augur::program
