#pragma once
// What a test does less of where each access is checked: the same checks, on fewer inputs.

#if defined(__SANITIZE_ADDRESS__)
#define AUGUR_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define AUGUR_SANITIZED 1
#endif
#endif

namespace augur::testing {

#if defined(AUGUR_SANITIZED)
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif

/// `all`, or `fewer` in a sanitized build.
template <class T>
constexpr T unless_sanitized(T all, T fewer) {
    return sanitized ? fewer : all;
}

}  // namespace augur::testing
