#pragma once
// Small random folders of safetensors with an EAGLE layer as it is published, and targets for them.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "augur/types/token.hpp"
#include "io/files.hpp"
#include "llama/dense_case.hpp"

namespace augur::testing {

/// A folder in the making; change it before it is written. The numbers are those of make_dense.py's `weights`.
struct random_folder {
    nlohmann::json config;
    std::map<std::string, std::vector<std::uint64_t>> shapes;
    std::map<std::string, std::vector<std::int64_t>> integers;  ///< tensors of I64
    std::map<std::string, std::vector<std::uint8_t>> marks;     ///< tensors of BOOL

    /// config.json and model.safetensors; returns the folder.
    std::filesystem::path write(const std::filesystem::path& folder) const {
        std::filesystem::create_directories(folder);
        nlohmann::json header;
        byte_writer data;
        const auto add = [&](const std::string& name, const char* dtype, const std::vector<std::uint64_t>& shape,
                             const auto& values) {
            const std::uint64_t start = data.size();
            data.raw_bytes(std::as_bytes(std::span(values)));
            header[name] = {{"dtype", dtype}, {"shape", shape}, {"data_offsets", {start, data.size()}}};
        };
        for (const auto& [name, shape] : shapes) add(name, "F32", shape, numbers(name, shape));
        for (const auto& [name, values] : integers) add(name, "I64", {values.size()}, values);
        for (const auto& [name, values] : marks) add(name, "BOOL", {values.size()}, values);
        byte_writer out;
        out.string(header.dump()).raw_bytes(data.bytes());
        write_file(folder / "config.json", config.dump());
        write_file(folder / "model.safetensors", out.bytes());
        return folder;
    }

    static std::vector<float> numbers(const std::string& name, const std::vector<std::uint64_t>& shape) {
        std::uint64_t count = 1;
        for (const auto each : shape) count *= each;
        std::vector<float> out;
        for (std::uint64_t i = 0; i < count; ++i) {
            const float value = dense_number(name, i) * (name.find("embed_tokens") != name.npos ? 0.5f : 0.25f);
            out.push_back(name.find("norm") != name.npos ? 1 + value : value);
        }
        return out;
    }

    /// The tokens of the target that a layer's head has, ascending, as d2t and t2d.
    void prune(const std::vector<token>& ids, std::size_t vocabulary) {
        auto& offsets = integers["d2t"] = {};
        auto& mask = marks["t2d"] = std::vector<std::uint8_t>(vocabulary);
        for (std::size_t i = 0; i < ids.size(); ++i) {
            offsets.push_back(ids[i] - static_cast<std::int64_t>(i));
            mask[static_cast<std::size_t>(ids[i])] = 1;
        }
    }
};

/// A case of tests/data/llama/eagle3, by its name.
struct eagle3_case {
    explicit eagle3_case(const std::string& name) {
        std::ifstream file(std::filesystem::path(AUGUR_TEST_DATA) / "llama" / "eagle3" / (name + ".json"));
        const auto read = nlohmann::json::parse(file);
        target.config = read["target"]["config"];
        const auto layers = target.config["num_hidden_layers"].get<std::size_t>();
        for (const auto& [of, shape] : read["target"]["shapes"].items()) {
            const std::string first = "model.layers.0.";
            const bool is_of_layer = of.starts_with(first);
            for (std::size_t i = 0; i < (is_of_layer ? layers : 1); ++i) {
                const auto full =
                    is_of_layer ? "model.layers." + std::to_string(i) + "." + of.substr(first.size()) : of;
                target.shapes[full] = shape.get<std::vector<std::uint64_t>>();
            }
        }
        layer.config = read["layer"]["config"];
        for (const auto& [of, shape] : read["layer"]["shapes"].items()) {
            layer.shapes[of] = shape.get<std::vector<std::uint64_t>>();
        }
        const auto offsets = read["d2t"].get<std::vector<std::int64_t>>();
        for (std::size_t i = 0; i < offsets.size(); ++i) {
            head.push_back(static_cast<token>(offsets[i] + static_cast<std::int64_t>(i)));
        }
        if (!head.empty()) layer.prune(head, target.config["vocab_size"].get<std::size_t>());
        ids = read["ids"].get<std::vector<token>>();
        for (const auto& [at, row] : read["rows"].items()) rows[at] = row.get<std::vector<float>>();
        for (const auto& [after, drafted] : read["drafts"].items()) {
            drafts[std::stoul(after)] = drafted.get<std::vector<token>>();
        }
    }

    random_folder target, layer;
    std::vector<token> head, ids;                    ///< the tokens that the head has; none: all
    std::map<std::string, std::vector<float>> rows;  ///< "n.d": after n tokens of the text and d drafted ones
    std::map<std::size_t, std::vector<token>> drafts;
};

}  // namespace augur::testing
