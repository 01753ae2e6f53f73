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
        const std::size_t layers = read["are_alike"] ? config["num_hidden_layers"].get<std::size_t>() : 1;
        for (std::size_t layer = 0; layer < layers; ++layer) {
            for (const auto& [name, shape] : read["shapes"].items()) {
                shapes[of_layer(name, layer)] = shape.get<std::vector<std::uint64_t>>();
            }
            for (const auto& [name, source] : read["gguf"].items()) {
                stored[of_layer(name, layer)] = {of_layer(source[0], layer), source[1].get<std::string>()};
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
            } else if (value.is_boolean()) {
                out.set(key, value.get<bool>());
            } else if (value.is_array()) {
                out.set(key, value.get<std::vector<bool>>());
            } else {
                out.set(key, value.get<std::uint32_t>());
            }
        }
        for (const auto& [name, source] : stored) {
            if (name.find("_exps") != std::string::npos) {
                write_experts(out, name, source.first, source.second);
                continue;
            }
            auto values = numbers(source.first);
            if (is_permuted) values = permuted(source.first, values);
            if (source.second == "shifted") {
                for (float& each : values) each = 1 + each;
            }
            const bool is_flat = source.second == "flat";
            out.tensor(name, is_flat ? std::vector<std::uint64_t>{values.size()} : shapes.at(source.first), values);
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
    std::map<std::string, std::vector<std::uint64_t>> shapes;           ///< in safetensors
    std::map<std::string, std::pair<std::string, std::string>> stored;  ///< in GGUF: of which, and how

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
            out.push_back(has("norm") && !is_gemma && !name.ends_with(".bias") ? 1 + value : value);
        }
        return out;
    }

    static bool is_bytes(const std::string& name) { return name.ends_with("_blocks") || name.ends_with("_scales"); }
    /// As make_dense.py has them.
    std::vector<std::byte> bytes(const std::string& name) const {
        const bool is_scale = name.ends_with("_scales");
        std::uint64_t count = 1;
        for (const auto each : shapes.at(name)) count *= each;
        std::vector<std::byte> out;
        for (std::uint64_t i = 0; i < count; ++i) {
            const float from_0 = (dense_number(name, i) + 1) * (is_scale ? 1.0f : 128.0f);
            out.push_back(static_cast<std::byte>(static_cast<unsigned>(from_0) + (is_scale ? 122 : 0)));
        }
        return out;
    }

    /// Experts as GGUF stacks them: of matrices apart, or of a joined tensor the gates or what they gate.
    void write_experts(gguf_writer& out, const std::string& name, const std::string& from,
                       const std::string& how) const {
        const bool is_gate = how.ends_with(" gate"), is_up = how.ends_with(" up"), is_half = is_gate || is_up;
        if (how.starts_with("blocks")) return write_blocks(out, name, from, is_half, is_up);
        if (how == "stack") {
            std::vector<float> all;
            std::uint64_t experts = 0;
            for (std::string one;
                 shapes.contains(one = std::string(from).replace(from.find('*'), 1, std::to_string(experts)));
                 ++experts) {
                const auto values = numbers(one);
                all.insert(all.end(), values.begin(), values.end());
            }
            const auto& shape = shapes.at(std::string(from).replace(from.find('*'), 1, "0"));
            out.tensor(name, {experts, shape[0], shape[1]}, all);
            return;
        }
        const auto& shape = shapes.at(from);
        const bool turns = how.starts_with("alternating"), alternates = turns || how.starts_with("bias");
        const std::uint64_t columns = turns ? shape[1] : shape.size() == 3 ? shape[2] : 1, all = shape[turns ? 2 : 1];
        const std::uint64_t count = is_half ? all / 2 : all;
        const auto values = numbers(from);
        std::vector<float> taken;
        for (std::uint64_t expert = 0; expert < shape[0]; ++expert) {
            for (std::uint64_t i = 0; i < count; ++i) {
                const std::uint64_t row = !is_half ? i : alternates ? 2 * i + is_up : is_up * count + i;
                for (std::uint64_t k = 0; k < columns; ++k) {
                    taken.push_back(values[expert * all * columns + (turns ? k * all + row : row * columns + k)]);
                }
            }
        }
        std::vector<std::uint64_t> taken_shape{shape[0], count};
        if (shape.size() == 3) taken_shape.push_back(columns);
        out.tensor(name, taken_shape, taken);
    }
    void write_blocks(gguf_writer& out, const std::string& name, const std::string& from, bool is_half,
                      std::size_t first) const {
        const auto& shape = shapes.at(from);  // experts, rows, blocks, 16
        const auto pairs = bytes(from), scales = bytes(std::string(from).replace(from.find("_blocks"), 7, "_scales"));
        const std::size_t step = is_half ? 2 : 1;
        std::vector<std::byte> all;
        for (std::size_t row = first; row < shape[0] * shape[1]; row += step) {
            for (std::size_t block = row * shape[2]; block < (row + 1) * shape[2]; ++block) {
                all.push_back(scales[block]);
                for (std::size_t j = 0; j < 16; ++j) {
                    const auto at = [&](std::size_t k) {
                        return pairs[block * 16 + k / 2] >> (k % 2 == 0 ? 0 : 4) & std::byte{15};
                    };
                    all.push_back(at(j) | at(j + 16) << 4);
                }
            }
        }
        out.tensor(name, {shape[0], shape[1] / step, shape[2] * 32}, 39, all);
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
            const std::uint64_t start = data.size();
            if (is_bytes(name)) {
                data.raw_bytes(bytes(name));
            } else {
                const auto values = numbers(name);
                data.raw_bytes(std::as_bytes(std::span(values)));
            }
            header[name] = {{"dtype", is_bytes(name) ? "U8" : "F32"},
                            {"shape", shapes.at(name)},
                            {"data_offsets", {start, data.size()}}};
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
