#pragma once
// Stop strings that name control tokens: these write no text, so they are matched by id.

#include <augur/commit/stop_conditions.hpp>
#include <augur/io/files/quote.hpp>
#include <augur/io/text/tokenizer.hpp>
#include <augur/types/error.hpp>
#include <augur/types/token.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace augur::io {

/// The marks (commit::stop_conditions) for those of the stop strings that are the name of one control or unknown token,
/// such as <|im_end|>. The strings remain stop strings: ordinary tokens can spell a name as well. Errors: a name beside
/// other text, of which neither the token nor the text alone says when to stop; a string that is not UTF-8.
inline std::vector<commit::stop_mark> stop_marks_of(const tokenizer& words, std::span<const std::string> strings) {
    std::vector<commit::stop_mark> marks;
    for (const std::string& stop : strings) {
        check_utf8(stop, "the stop string");
        words.for_each_special(stop, [&](token id) {
            if (!words.is_control(id)) return;  // it writes its text
            const std::string name = words.bytes_of(id, true);
            if (name != stop) {
                augur::detail::fail("the stop string ", quote(stop), " holds ", quote(name), " (token ", id,
                                    "), which writes no text, beside other text; it can be a stop string alone");
            }
            marks.push_back({id, name});
        });
    }
    return marks;
}

}  // namespace augur::io
