#pragma once
// The pre-tokenizer: splits text into the words inside which tokens are merged.

#include <augur/io/text/regex.hpp>
#include <augur/io/text/split_rules.hpp>
#include <augur/io/text/unicode_classes.hpp>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace augur::io {

namespace detail {

/// Spells `\s` and `\S` out as the code points with Unicode's White_Space property. PCRE2's own `\s` also takes
/// U+180E, which lost that property in Unicode 6.3.
inline std::string expand_whitespace(std::string_view pattern) {
    constexpr std::string_view members =
        R"(\t-\r\x20\x{85}\x{A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000})";
    std::string out;
    bool in_class = false;
    for (std::size_t i = 0; i < pattern.size(); ++i) {
        if (pattern[i] == '\\' && i + 1 < pattern.size()) {
            const char kind = pattern[++i];
            if (kind == 's' && in_class) {
                out += members;
            } else if (kind == 's' || kind == 'S') {
                out.append(kind == 's' ? "[" : "[^").append(members).append("]");
            } else {
                out.append({'\\', kind});
            }
            continue;
        }
        if (pattern[i] == '[') in_class = true;
        if (pattern[i] == ']') in_class = false;
        out += pattern[i];
    }
    return out;
}

}  // namespace detail

/// Cuts text by one of the known rules. What is a letter or a number is said by unicode_classes.hpp, not by PCRE2,
/// which sees stand-ins of the text's characters. Immutable: threads may share it. Cost: linear in the text.
class pre_tokenizer {
 public:
    explicit pre_tokenizer(const split_rules& rules) {
        for (const auto pattern : rules.patterns) {
            if (!pattern.empty()) patterns_.emplace_back(detail::expand_whitespace(pattern));
        }
    }

    /// The words, in order; put together they are the text, which must be UTF-8. The views point into it.
    std::vector<std::string_view> split(std::string_view text) const {
        const std::string stand_ins = with_stand_ins(text);
        const std::string_view seen = stand_ins.empty() ? text : stand_ins;
        std::vector<std::string_view> words;
        if (!text.empty()) words.push_back(seen);
        for (const auto& pattern : patterns_) {
            std::vector<std::string_view> finer;
            for (const auto word : words) cut(pattern, word, finer);
            words = std::move(finer);
        }
        for (auto& word : words) word = text.substr(static_cast<std::size_t>(word.data() - seen.data()), word.size());
        return words;
    }

 private:
    static void cut(const regex& pattern, std::string_view word, std::vector<std::string_view>& pieces) {
        std::size_t done = 0;
        const auto take = [&](std::size_t end) {
            if (end > done) pieces.push_back(word.substr(done, end - done));
            done = end;
        };
        pattern.for_each_match(word, [&](std::size_t begin, std::size_t end) {
            take(begin);
            take(end);
        });
        take(word.size());
    }

    std::vector<regex> patterns_;
};

}  // namespace augur::io
