#pragma once
// Regular expressions over UTF-8 with Unicode classes and look-ahead, by PCRE2.

#ifndef PCRE2_CODE_UNIT_WIDTH
#define PCRE2_CODE_UNIT_WIDTH 8
#endif
#include <pcre2.h>

#include <array>
#include <augur/io/files/quote.hpp>
#include <augur/types/error.hpp>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>

namespace augur::io {

namespace detail {

inline std::string pcre2_message(int code) {
    std::array<PCRE2_UCHAR8, 256> text{};
    pcre2_get_error_message_8(code, text.data(), text.size());
    return reinterpret_cast<const char*>(text.data());
}

struct pcre2_release {
    void operator()(pcre2_code_8* code) const { pcre2_code_free_8(code); }
    void operator()(pcre2_match_data_8* data) const { pcre2_match_data_free_8(data); }
    void operator()(pcre2_match_context_8* context) const { pcre2_match_context_free_8(context); }
};

template <class T>
using pcre2_owner = std::unique_ptr<T, pcre2_release>;

}  // namespace detail

/// A compiled pattern (just in time where PCRE2 can). Immutable, so copies share it and threads may match with it at
/// the same time.
class regex {
 public:
    /// The error for a pattern that does not compile names it, the position and PCRE2's reason.
    explicit regex(std::string_view pattern) {
        int code = 0;
        PCRE2_SIZE position = 0;
        auto* compiled = pcre2_compile_8(reinterpret_cast<PCRE2_SPTR8>(pattern.data()), pattern.size(),
                                         PCRE2_UTF | PCRE2_UCP, &code, &position, nullptr);
        if (compiled == nullptr) {
            augur::detail::fail("the pattern ", quote(pattern), " does not compile: ", detail::pcre2_message(code),
                                " at offset ", position);
        }
        code_ = {compiled, detail::pcre2_release{}};
        // Fails only where PCRE2 was built without it; matching is then interpreted, with the same results.
        static_cast<void>(pcre2_jit_compile_8(compiled, PCRE2_JIT_COMPLETE));
    }

    /// Calls on_match(begin, end) for every match that is not empty, from left to right. The text must be UTF-8.
    template <class OnMatch>
    void for_each_match(std::string_view text, OnMatch&& on_match) const {
        const detail::pcre2_owner<pcre2_match_data_8> data(pcre2_match_data_create_8(1, nullptr));
        const detail::pcre2_owner<pcre2_match_context_8> context(pcre2_match_context_create_8(nullptr));
        if (!data || !context) throw std::bad_alloc();
        pcre2_set_match_limit_8(context.get(), std::numeric_limits<std::uint32_t>::max());
        for (PCRE2_SIZE offset = 0; offset < text.size();) {
            if (!match(text, offset, data.get(), context.get())) return;
            const auto* bounds = pcre2_get_ovector_pointer_8(data.get());
            if (bounds[1] > bounds[0]) on_match(bounds[0], bounds[1]);
            offset = bounds[1] > offset ? bounds[1] : offset + 1;
            while (offset < text.size() && (static_cast<unsigned char>(text[offset]) & 0xC0) == 0x80) ++offset;
        }
    }

 private:
    bool match(std::string_view text, PCRE2_SIZE offset, pcre2_match_data_8* data,
               pcre2_match_context_8* context) const {
        const auto run = [&](std::uint32_t options) {
            return pcre2_match_8(code_.get(), reinterpret_cast<PCRE2_SPTR8>(text.data()), text.size(), offset,
                                 PCRE2_NO_UTF_CHECK | options, data, context);
        };
        int result = run(0);
        if (result == PCRE2_ERROR_JIT_STACKLIMIT) result = run(PCRE2_NO_JIT);
        if (result == PCRE2_ERROR_NOMATCH) return false;
        if (result < 0) {
            augur::detail::fail("matching failed at offset ", offset, " of ", text.size(), ": ",
                                detail::pcre2_message(result));
        }
        return true;
    }

    std::shared_ptr<pcre2_code_8> code_;
};

}  // namespace augur::io
