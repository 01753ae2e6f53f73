#include "html_report.hpp"

#include <string_view>

#include "message.hpp"

namespace augur::program {
namespace {

constexpr std::string_view page_style =
#include "page/style.css.inc"
    ;

constexpr std::string_view page_script =
#include "page/script.inc"
    ;

/// Of the whole script; tests/program/report.py says what it must be.
constexpr std::string_view page_script_hash =
#include "page/script_hash.inc"
    ;

constexpr std::string_view page_body =
#include "page/body.html.inc"
    ;

/// JSON that an HTML parser takes for text, wherever it stands: outside strings it has none of these characters.
std::string as_data(const std::string& text) {
    std::string out;
    out.reserve(text.size() + text.size() / 16);
    for (std::size_t i = 0; i < text.size(); ++i) {
        const std::string_view rest = std::string_view(text).substr(i, 3);
        if (text[i] == '<') {
            out += "\\u003c";
        } else if (text[i] == '>') {
            out += "\\u003e";
        } else if (text[i] == '&') {
            out += "\\u0026";
        } else if (rest == "\u2028" || rest == "\u2029") {
            out += rest == "\u2028" ? "\\u2028" : "\\u2029";
            i += 2;
        } else {
            out += text[i];
        }
    }
    return out;
}

}  // namespace

std::string page_of(const nlohmann::ordered_json& record) {
    std::string out;
    const auto add = [&out](std::string_view text) { out.append(text); };
    add("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    add("<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
        "script-src 'sha256-");
    add(page_script_hash);
    add("'; base-uri 'none'; form-action 'none'\">\n");
    add("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    add("<meta name=\"color-scheme\" content=\"light dark\">\n<title>augur: a run</title>\n<style>");
    add(page_style);
    add("</style>\n</head>\n<body>");
    add(page_body);
    add("<script type=\"application/json\" id=\"record\">");
    add(as_data(json_line(record)));
    add("</script>\n<script>");
    add(page_script);
    add("</script>\n</body>\n</html>\n");
    return out;
}

}  // namespace augur::program
