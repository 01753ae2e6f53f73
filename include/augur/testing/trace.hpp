#pragma once
// Prints what a round did as one line, for tests to compare.

#include <sstream>
#include <string>

#include "augur/decode/step.hpp"

namespace augur::testing {

/// "draft 4 | verify 5 | accept 2 | correct 7 | commit 3": tokens drafted, rows scored, tokens accepted, the token that
/// followed (correct, bonus or plain; `none` when the row was invalid), tokens committed.
template <class Proposal>
std::string trace(const decode::round_record<Proposal>& record) {
    std::ostringstream line;
    line << "draft " << record.proposed.size() << " | verify " << record.proposed.size() + 1 << " | accept "
         << record.decided.accepted << " | ";
    if (record.decided.invalid_row()) {
        line << "none";
    } else {
        const origin from = record.decided.next_origin();
        line << (from == origin::correction ? "correct" : name_of(from)) << ' ' << record.decided.next;
    }
    line << " | commit " << record.committed.size();
    return line.str();
}

}  // namespace augur::testing
