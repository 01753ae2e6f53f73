#pragma once
// A record as a page of HTML: one file, which asks for no other and runs no script but its own.

#include <nlohmann/json.hpp>
#include <string>

namespace augur::program {

/// The page. Whatever strings the record holds, they are data in it: JSON whose every < is written as an escape.
std::string page_of(const nlohmann::ordered_json& record);

}  // namespace augur::program
