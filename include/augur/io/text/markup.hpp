#pragma once
// Text as it stands in XML and HTML.

#include <string>
#include <string_view>

namespace augur::io {

/// The characters that markup is made of, as references: & < > ' ". All others stay as they are.
inline std::string markup_of(std::string_view text) {
    std::string out;
    for (const char letter : text) {
        switch (letter) {
            case '&':
                out += "&amp;";
                break;
            case '<':
                out += "&lt;";
                break;
            case '>':
                out += "&gt;";
                break;
            case '\'':
                out += "&#39;";
                break;
            case '"':
                out += "&#34;";
                break;
            default:
                out += letter;
        }
    }
    return out;
}

}  // namespace augur::io
