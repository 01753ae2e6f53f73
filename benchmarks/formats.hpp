#pragma once
// Formats of weights by their names, for benchmarks' options.

#include <augur/llama/weights.hpp>
#include <augur/types/error.hpp>
#include <string>

inline augur::llama::weight_format format_named(const std::string& name) {
    for (const auto format : augur::llama::all_weight_formats) {
        if (augur::llama::name_of(format) == name) return format;
    }
    augur::detail::fail("there are no weights called ", name);
}
