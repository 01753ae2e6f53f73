#include "sampling_defaults.hpp"

#include <algorithm>
#include <array>
#include <augur/io/files/gguf.hpp>
#include <augur/io/files/json.hpp>
#include <augur/io/files/json_reader.hpp>
#include <augur/io/files/safetensors.hpp>
#include <cstdint>
#include <filesystem>
#include <utility>

#include "options.hpp"

namespace augur::program {
namespace {

namespace fs = std::filesystem;

constexpr float usual_temperature = 0.7f, usual_top_p = 0.9f;

sampling_defaults of_gguf(const std::string& path) {
    const io::gguf_file file(path);
    sampling_defaults found{.source = path};
    const auto number = [&](const char* key, std::optional<float>& into) {
        const std::string name = std::string("general.sampling.") + key;
        if (file.contains(name)) into = static_cast<float>(file.get<double>(name));
    };
    number("temp", found.temperature);
    number("top_p", found.top_p);
    number("min_p", found.min_p);
    number("penalty_repeat", found.repetition);
    const char* const top_k = "general.sampling.top_k";
    if (file.contains(top_k)) {  // llama.cpp: 0 and less are off
        found.top_k = static_cast<std::size_t>(std::max<std::int64_t>(0, file.get<std::int64_t>(top_k)));
    }
    return found;
}

sampling_defaults of_generation_config(const fs::path& path) {
    const auto root = io::read_json(path, most::line);
    const io::json_reader<> config(root, path.string());
    sampling_defaults found{.source = path.string()};
    found.temperature = config.optional<float>("temperature");
    found.top_p = config.optional<float>("top_p");
    found.min_p = config.optional<float>("min_p");
    found.top_k = config.optional<std::size_t>("top_k");
    found.repetition = config.optional<float>("repetition_penalty");
    if (const auto samples = config.optional<bool>("do_sample")) {
        if (!*samples) return {.temperature = 0.0f, .repetition = found.repetition, .source = found.source};
        if (!found.temperature) found.temperature = 1.0f;
    }
    return found;
}

void check_values(const sampling_defaults& found) {
    const auto check = [&](const char* what, transform::settings only) {
        of_option(detail::message(found.source, ": ", what),
                  [&] { static_cast<void>(transform::pipeline(std::move(only), 1)); });
    };
    if (found.temperature) check("temperature", {.temperature = {*found.temperature}});
    if (found.top_p) check("top_p", {.top_p = {*found.top_p}});
    if (found.min_p) check("min_p", {.min_p = {*found.min_p}});
    if (found.repetition) check("repetition penalty", {.penalties = {.repetition = *found.repetition}});
}

}  // namespace

sampling_defaults read_sampling_defaults(const std::string& model_path) {
    sampling_defaults found;
    if (!io::holds_safetensors(model_path)) {
        found = of_gguf(model_path);
    } else {
        std::error_code unknown;  // then opening the model says why
        const fs::path folder =
            fs::is_directory(model_path, unknown) ? fs::path(model_path) : fs::path(model_path).parent_path();
        const fs::path config = folder / "generation_config.json";
        if (fs::exists(config, unknown)) found = of_generation_config(config);
    }
    check_values(found);
    return found;
}

std::string take_sampling_defaults(transform::settings& into, const std::set<std::string>& given,
                                   const std::string& model_path) {
    if (given.contains("temperature") && into.temperature.value == 0) return "";
    sampling_defaults found = read_sampling_defaults(model_path);
    const bool is_said = found.say_how();
    if (!is_said) {
        found.temperature = usual_temperature;
        const auto is_given = [&](const char* option) { return given.contains(option); };
        if (std::ranges::none_of(std::array{"temperature", "top-k", "top-p", "min-p"}, is_given)) {
            found.top_p = usual_top_p;
        }
    }
    std::string taken;
    const auto take = [&](const char* option, const auto& value, auto& setting) {
        if (!value || given.contains(option)) return;
        setting = *value;
        taken += detail::message(taken.empty() ? "" : ", ", "--", option, " ", as_written(static_cast<float>(*value)));
    };
    take("temperature", found.temperature, into.temperature.value);
    take("top-k", found.top_k, into.top_k.k);
    take("top-p", found.top_p, into.top_p.p);
    take("min-p", found.min_p, into.min_p.p);
    take("repetition-penalty", found.repetition, into.penalties.repetition);
    if (taken.empty()) return "";
    return taken + (is_said ? ", as " + found.source + " asks for" : ", for the model's files do not say how") +
           "; --temperature 0 is greedy";
}

}  // namespace augur::program
