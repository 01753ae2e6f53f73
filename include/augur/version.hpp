#pragma once
// The version of augur: that of the project in CMakeLists.txt.

#include <string_view>

namespace augur {

inline constexpr std::string_view version = "0.1.0";

}  // namespace augur
