#pragma once
// Which schemes use an option, so that one which says nothing to the scheme is refused instead of ignored.

#include <span>
#include <string>
#include <string_view>

#include "scheme.hpp"

namespace augur::program {

/// An option without its dashes, and the schemes that use it or say themselves why they do not.
struct option_schemes {
    std::string_view option;
    std::span<const std::string_view> schemes;
};

/// Of every option that is for some schemes only and that nothing else refuses.
std::span<const option_schemes> all_option_schemes();

/// Whether an option of these, without its dashes, is one of the scheme's.
bool is_option_of(std::string_view option, const std::string& scheme);

/// Throws where an option that was given is none of the scheme's. `auto` may still become hybrid or lookup.
void check_given(const scheme_options& chosen, bool by_auto);

}  // namespace augur::program
