#pragma once
// Reads how rotary positions are scaled from a Hugging Face config.json.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "augur/io/files/json_reader.hpp"
#include "augur/io/files/quote.hpp"
#include "augur/llama/architectures.hpp"
#include "augur/llama/config.hpp"
#include "augur/llama/rotary.hpp"
#include "augur/types/error.hpp"

namespace augur::llama::detail {

using augur::detail::fail;

/// Of `rope_scaling` and `rope_parameters`.
inline constexpr std::string_view json_rotary_keys[] = {
    "rope_type",
    "type",
    "rope_theta",
    "factor",
    "beta_fast",
    "beta_slow",
    "mscale",
    "mscale_all_dim",
    "truncate",
    "attention_factor",
    "short_factor",
    "long_factor",
    "finetuned",
    "partial_rotary_factor",
    "low_freq_factor",
    "high_freq_factor",
    "original_max_position_embeddings",
};

/// The context before scaling, at least 2: beside the scaling, or beside all else; `fallback` where it is nowhere (0:
/// an error).
inline std::size_t original_context(const io::json_reader<>& in, const io::json_reader<>& scaling,
                                    std::size_t fallback) {
    const char* const key = "original_max_position_embeddings";
    const io::json_range<std::size_t> range{2, std::size_t{1} << 31};
    if (const auto found = scaling.optional<std::size_t>(key, range)) return *found;
    return fallback == 0 ? in.required<std::size_t>(key, range) : in.value_or<std::size_t>(key, fallback, range);
}

inline void read_json_llama3(config& c, const io::json_reader<>& scaling) {
    const llama3_scaling numbers{scaling.required<double>("factor"), scaling.required<double>("low_freq_factor"),
                                 scaling.required<double>("high_freq_factor"),
                                 scaling.required<double>("original_max_position_embeddings")};
    if (!(numbers.factor > 0) || !(numbers.low_frequency_factor < numbers.high_frequency_factor)) {
        fail(scaling.origin(), ": llama3 scaling needs factor > 0 and low_freq_factor < high_freq_factor, not ",
             numbers.factor, ", ", numbers.low_frequency_factor, " and ", numbers.high_frequency_factor);
    }
    if (!(numbers.original_context > 0)) {
        fail(scaling.origin(), ": original_max_position_embeddings is ", numbers.original_context, ", not above 0");
    }
    c.rotary_factors = rotary_factors(c, numbers);
}

inline void read_json_yarn(config& c, const io::json_reader<>& in, const io::json_reader<>& scaling) {
    const auto original = static_cast<double>(original_context(in, scaling, c.context));
    const yarn_scaling numbers{scaling.required<double>("factor"), original, scaling.value_or<double>("beta_fast", 32),
                               scaling.value_or<double>("beta_slow", 1), scaling.value_or<bool>("truncate", true)};
    check_yarn(numbers, c, scaling.origin());
    c.rotary_factors = rotary_factors(c, numbers);
    double magnitude = yarn_magnitude(numbers.factor);
    const auto one = scaling.value_or<double>("mscale", 0), all = scaling.value_or<double>("mscale_all_dim", 0);
    if (one != 0 && all != 0) magnitude = yarn_magnitude(numbers.factor, one) / yarn_magnitude(numbers.factor, all);
    c.rotary_scale = static_cast<float>(scaling.value_or<double>("attention_factor", magnitude));
}

inline void read_json_longrope(config& c, const io::json_reader<>& in, const io::json_reader<>& scaling) {
    const auto list = [&](const char* key) { return scaling.required<std::vector<float>>(key); };
    const std::size_t original = original_context(in, scaling, 0);
    c.rotary_factors = list("short_factor");
    c.long_rotary_factors = list("long_factor");
    const auto before = static_cast<double>(original);
    const double factor = scaling.value_or<double>("factor", static_cast<double>(c.context) / before);
    c.rotary_scale =
        static_cast<float>(scaling.value_or<double>("attention_factor", longrope_magnitude(factor, before)));
    c.short_context = std::min(original, c.context);
}

/// {rope_type or type, ...}. A factor needs a type: without one engines differ in what it means.
inline void read_json_rotary_scaling(config& c, const io::json_reader<>& in, const io::json_reader<>& scaling,
                                     const architecture& of) {
    for (const auto& [key, value] : scaling.value().items()) {
        if (of.has_temperature && (key == "llama_4_scaling_beta" || key == "max_position_embeddings")) continue;
        if (value.is_object()) fail(scaling.origin(), ": ", key, " is an object; layers of several kinds are not read");
        if (std::find(std::begin(json_rotary_keys), std::end(json_rotary_keys), key) == std::end(json_rotary_keys)) {
            fail(scaling.origin(), ": ", io::quote(key), " is not understood, and may change what the model computes");
        }
    }
    const auto* factor = scaling.find("factor");
    if (factor && !scaling.find("rope_type") && !scaling.find("type")) {
        fail(scaling.origin(), ": a factor of ", io::shown(*factor), " has no rope_type beside it");
    }
    if (of.has_temperature) {
        c.attention_temperature = scaling.value_or<float>("llama_4_scaling_beta", 0);
        if (c.attention_temperature != 0) c.temperature_context = original_context(in, scaling, 0);
    }
    const auto type = scaling.value_or<std::string>("rope_type", scaling.value_or<std::string>("type", "default"));
    if (type == "linear") {
        c.rotary_factors.assign(c.rotary_size / 2, scaling.required<float>("factor"));
    } else if (type == "llama3") {
        read_json_llama3(c, scaling);
    } else if (type == "yarn") {
        read_json_yarn(c, in, scaling);
    } else if (type == "longrope" || type == "su") {
        read_json_longrope(c, in, scaling);
    } else if (type == "dynamic") {  // what changes with the text's length begins beyond the context, which is refused
        const std::size_t original = original_context(in, scaling, c.context);
        if (original < c.context) {
            c.notes.push_back(augur::detail::message("the context is ", original, ", beyond which dynamic rotary ",
                                                     "scaling depends on the length of the text"));
            c.context = original;
        }
    } else if (type != "default") {
        fail(scaling.origin(), ": rope type ", io::quote(type),
             " is not supported; default, linear, dynamic, yarn, llama3 and longrope are");
    }
}

/// Files of two versions at once: of two objects that differ some engines take this one, others that.
inline void check_one_rotary_scaling(const io::json_reader<>& newer, const io::json_reader<>& older) {
    nlohmann::json objects[] = {newer.value(), older.value()};
    for (auto& each : objects) {
        each.erase("rope_theta");
        if (each.contains("type")) each["rope_type"] = std::exchange(each["type"], nullptr);
        each.erase("type");
    }
    if (objects[0] != objects[1]) {
        fail(newer.origin(), " is ", io::shown(newer.value()), ", but rope_scaling beside it is ",
             io::shown(older.value()));
    }
}

/// Which of a config.json's objects is about layers that turn as most do, and which about layers with a window.
struct json_rotary {
    std::optional<io::json_reader<>> main{}, local{};
};

/// `rope_scaling`, or `rope_parameters` in newer files, there perhaps one for each kind of layer.
inline json_rotary find_json_rotary(const io::json_reader<>& in, bool has_local) {
    const auto newer = in.object("rope_parameters"), older = in.object("rope_scaling");
    if (has_local && newer && newer->find("full_attention")) {
        for (const auto& [key, value] : newer->value().items()) {
            if (key != "full_attention" && key != "sliding_attention") {
                fail(newer->origin(), ": ", io::quote(key), " stands beside full_attention, and is not understood");
            }
        }
        return {newer->object("full_attention"), newer->object("sliding_attention")};
    }
    if (newer && older) check_one_rotary_scaling(*newer, *older);
    return {newer ? newer : older, std::nullopt};
}

}  // namespace augur::llama::detail
