#pragma once
// A small random decoder of one architecture as tests/data/llama/dense has it: files of both kinds, made anew.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "augur/types/token.hpp"
#include "io/files.hpp"
#include "io/gguf_writer.hpp"

namespace augur::testing {

/// Number `index` of a tensor: uniform in [-1, 1), 24 bits, from a hash of its name and its place. As make_dense.py has
/// it.
inline float dense_number(std::string_view name, std::uint64_t index) {
    std::uint64_t hash = 0xcbf29ce484222325;
    for (const char each : name) hash = (hash ^ static_cast<unsigned char>(each)) * 0x100000001b3;
    std::uint64_t x = hash + index * 0x9e3779b97f4a7c15;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    x ^= x >> 31;
    return static_cast<float>(static_cast<double>(x >> 40) / 8388608.0 - 1);
}

/// One case, by its name. Throws where its file is no such case.
class dense_case {
 public:
    explicit dense_case(const std::filesystem::path& path) {
        std::ifstream file(path);
        const auto read = nlohmann::json::parse(file);
        config = read["config"];
        family = read["family"];
        has_gguf = read["has_gguf"];
        keys = read["keys"];
        ids = read["ids"].get<std::vector<token>>();
        context_length = read["context_length"];
        is_permuted = read["is_permuted"];
        for (const auto& [row, logits] : read["rows"].items()) rows[std::stoul(row)] = logits.get<std::vector<float>>();
        for (const auto& [name, numbers] : read["factors"].items()) factors[name] = numbers.get<std::vector<float>>();
        const auto layers = config["num_hidden_layers"].get<std::size_t>();
        for (std::size_t layer = 0; layer < layers; ++layer) {
            for (const auto& [name, shape] : read["shapes"].items()) {
                shapes[of_layer(name, layer)] = shape.get<std::vector<std::uint64_t>>();
            }
            for (const auto& [name, source] : read["gguf"].items()) {
                stored[of_layer(name, layer)] = {of_layer(source[0], layer), source[1] == "shifted"};
            }
        }
    }

    /// config.json and model.safetensors.
    void write_folder(const std::filesystem::path& folder) const {
        write_file(folder / "config.json", config.dump());
        std::vector<std::string> all;
        for (const auto& [name, shape] : shapes) all.push_back(name);
        write_safetensors(folder / "model.safetensors", all);
    }
    /// The same in two shards.
    void write_shards(const std::filesystem::path& folder) const {
        write_file(folder / "config.json", config.dump());
        const std::string files[] = {"model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"};
        std::array<std::vector<std::string>, 2> parts;
        nlohmann::json map;
        for (const auto& [name, shape] : shapes) {
            map[name] = files[map.size() % 2];
            parts[(map.size() - 1) % 2].push_back(name);
        }
        for (const std::size_t i : {0u, 1u}) write_safetensors(folder / files[i], parts[i]);
        write_file(folder / "model.safetensors.index.json", nlohmann::json{{"weight_map", map}}.dump());
    }

    std::filesystem::path write_gguf(const std::filesystem::path& path) const {
        gguf_writer out;
        out.set("general.architecture", family);
        out.set("tokenizer.ggml.model", std::string("no_vocab"));
        for (const auto& [key, value] : keys.items()) {
            if (value.is_string()) {
                out.set(key, value.get<std::string>());
            } else if (value.is_number_float()) {
                out.set(key, value.get<float>());
            } else {
                out.set(key, value.get<std::uint32_t>());
            }
        }
        for (const auto& [name, source] : stored) {
            auto values = numbers(source.first);
            if (is_permuted) values = permuted(source.first, values);
            if (source.second) {
                for (float& each : values) each = 1 + each;
            }
            out.tensor(name, shapes.at(source.first), values);
        }
        for (const auto& [name, values] : factors) out.tensor(name, {values.size()}, values);
        return out.write(path);
    }

    nlohmann::json config, keys;
    std::string family;
    bool is_permuted = false, has_gguf = true;
    std::size_t context_length = 0;
    std::vector<token> ids;
    std::map<std::size_t, std::vector<float>> rows;
    std::map<std::string, std::vector<float>> factors;
    std::map<std::string, std::vector<std::uint64_t>> shapes;    ///< in safetensors
    std::map<std::string, std::pair<std::string, bool>> stored;  ///< in GGUF: of which, and whether it is 1 more

 private:
    static std::string of_layer(std::string name, std::size_t layer) {
        for (const std::string_view first : {".0.", "blk.0."}) {
            const auto at = name.find(first);
            if (at != std::string::npos) name.replace(name.find('0', at), 1, std::to_string(layer));
        }
        return name;
    }

    std::vector<float> numbers(const std::string& name) const {
        const auto has = [&](const char* part) { return name.find(part) != std::string::npos; };
        const bool is_gemma = family.starts_with("gemma");
        std::uint64_t count = 1;
        for (const auto each : shapes.at(name)) count *= each;
        std::vector<float> out;
        for (std::uint64_t i = 0; i < count; ++i) {
            const float value = dense_number(name, i) * (has("embed_tokens") ? 0.5f : 0.25f);
            out.push_back(has("norm") && !is_gemma ? 1 + value : value);
        }
        return out;
    }

    /// Rows of queries and keys with the components of rotary pairs next to each other.
    std::vector<float> permuted(const std::string& name, const std::vector<float>& values) const {
        const bool is_query = name.find(".q_proj") != std::string::npos;
        if (!is_query && name.find(".k_proj") == std::string::npos) return values;
        const auto heads = config[is_query ? "num_attention_heads" : "num_key_value_heads"].get<std::size_t>();
        const std::size_t all = shapes.at(name)[0], size = all / heads, columns = values.size() / all;
        std::vector<float> out;
        for (std::size_t row = 0; row < all; ++row) {
            const std::size_t in_head = row % size, source = row - in_head + in_head % 2 * (size / 2) + in_head / 2;
            const auto from = values.begin() + static_cast<std::ptrdiff_t>(source * columns);
            out.insert(out.end(), from, from + static_cast<std::ptrdiff_t>(columns));
        }
        return out;
    }

    void write_safetensors(const std::filesystem::path& path, const std::vector<std::string>& names) const {
        nlohmann::json header;
        byte_writer data;
        for (const std::string& name : names) {
            const auto values = numbers(name);
            const std::uint64_t start = data.size();
            data.raw_bytes(std::as_bytes(std::span(values)));
            header[name] = {{"dtype", "F32"}, {"shape", shapes.at(name)}, {"data_offsets", {start, data.size()}}};
        }
        byte_writer out;
        out.string(header.dump()).raw_bytes(data.bytes());
        write_file(path, out.bytes());
    }
};

/// All cases, by name.
inline std::vector<std::string> dense_cases() {
    std::vector<std::string> out;
    for (const auto& each : std::filesystem::directory_iterator(AUGUR_TEST_DATA "/llama/dense")) {
        out.push_back(each.path().stem().string());
    }
    std::sort(out.begin(), out.end());
    return out;
}
inline dense_case read_dense_case(const std::string& name) {
    return dense_case(std::filesystem::path(AUGUR_TEST_DATA) / "llama" / "dense" / (name + ".json"));
}

}  // namespace augur::testing
