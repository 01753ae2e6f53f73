#include "message.hpp"

#include <augur/io/text/utf8.hpp>
#include <cstdio>

namespace augur::program {
namespace {

bool is_control(std::string_view letter) {
    const auto first = static_cast<unsigned char>(letter[0]);
    const auto second = static_cast<unsigned char>(letter.size() == 2 ? letter[1] : 0xff);
    return first < 0x20 || first == 0x7f || (first == 0xc2 && second < 0xa0);
}

}  // namespace

std::string one_line(std::string_view text, std::size_t most) {
    constexpr std::string_view digits = "0123456789abcdef";
    const std::size_t size = text.size();
    std::string out;
    while (!text.empty()) {
        if (out.size() >= most) return out + "... (" + std::to_string(size) + " bytes)";
        const io::utf8_start start = io::first_code_point(text);
        const std::string_view letter = text.substr(0, start.length);
        if (letter == "\n") {
            out += ' ';
        } else if (start.state == io::utf8_state::complete && !is_control(letter)) {
            out += letter;
        } else {
            for (const char byte : letter) {
                const auto code = static_cast<unsigned char>(byte);
                out += {'\\', 'x', digits[code >> 4], digits[code & 15]};
            }
        }
        text.remove_prefix(start.length);
    }
    return out;
}

void tell_line(std::string_view kind, std::string_view message) {
    const std::string line = "augur: " + std::string(kind) + ": " + one_line(message) + "\n";
    std::fputs(line.c_str(), stderr);  // where standard error is closed or full nobody can be told
}

std::string json_line(const nlohmann::ordered_json& object) {
    const std::string text = object.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
    std::string out;
    out.reserve(text.size() + 1);
    for (std::size_t i = 0; i < text.size(); ++i) {  // C0 is escaped already; outside strings there is only ASCII
        const bool c1 = text[i] == '\xc2' && static_cast<unsigned char>(text[i + 1]) < 0xa0;
        if (!c1 && text[i] != '\x7f') {
            out += text[i];
            continue;
        }
        char escape[8];
        std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned char>(c1 ? text[++i] : text[i]));
        out += escape;
    }
    return out + "\n";
}

}  // namespace augur::program
