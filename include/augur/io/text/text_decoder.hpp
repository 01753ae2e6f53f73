#pragma once
// Detokenizes one token at a time, for streaming.

#include <augur/io/text/tokenizer.hpp>
#include <augur/io/text/utf8.hpp>
#include <augur/types/token.hpp>
#include <string>
#include <utility>

namespace augur::io {

/// Turns tokens into text as they come, and hands out whole code points only: bytes of a code point that later tokens
/// complete are held back (at most three). All pushes and the flush together are exactly decode() of the same tokens
/// with the same options. Cost: linear in the bytes. The tokenizer must outlive it.
class text_decoder {
 public:
    explicit text_decoder(const tokenizer& tokens, decode_options options = {}) : tokens_(&tokens), options_(options) {}

    /// What can be shown now that this token is there; bytes that can no longer become UTF-8 show as U+FFFD.
    std::string push(token id) {
        held_ += tokens_->decode_bytes({&id, 1}, options_);
        if (!tokens_->begins_after(id)) options_.continues = true;
        return take(false);
    }

    /// What is still held back, as U+FFFD, because nothing will complete it. Afterwards nothing is held.
    std::string flush() { return take(true); }

 private:
    std::string take(bool at_end) {
        std::size_t done = 0;
        while (done < held_.size()) {
            const auto start = first_code_point(std::string_view(held_).substr(done));
            if (start.state == utf8_state::incomplete && !at_end) break;
            done += start.length;
        }
        const std::string out = repair_utf8(std::string_view(held_).substr(0, done));
        held_.erase(0, done);
        return out;
    }

    const tokenizer* tokens_;
    decode_options options_;
    std::string held_;
};

}  // namespace augur::io
