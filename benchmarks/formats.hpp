#pragma once
// Formats and instruction sets by their names, for benchmarks' options.

#include <augur/llama/weights.hpp>
#include <augur/types/error.hpp>
#include <string>

/// The one of `all` that is called so.
auto named(const std::string& text, const auto& all) {
    std::string valid;
    for (const auto each : all) {
        if (text == name_of(each)) return each;
        valid += (valid.empty() ? "" : ", ") + std::string(name_of(each));
    }
    augur::detail::fail(text, " is not one of ", valid);
}

inline augur::llama::weight_format format_named(const std::string& name) {
    return named(name, augur::llama::all_weight_formats);
}
