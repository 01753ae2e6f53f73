#pragma once
// Reads safetensors models: one file, or a folder as published on Hugging Face. See docs/io/safetensors.md.

#include <algorithm>
#include <augur/io/files/byte_reader.hpp>
#include <augur/io/files/json.hpp>
#include <augur/io/files/mapped_file.hpp>
#include <augur/io/files/safetensors_dtype.hpp>
#include <augur/io/files/safetensors_header.hpp>
#include <augur/io/files/tensor_table.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace augur::io {

/// A declared tensor and its bytes.
struct placed_safetensor {
    safetensors_entry entry;
    safetensors_dtype dtype;
    std::span<const std::byte> bytes;
};

/// Gives one declared tensor its bytes in the data section. Errors: a dtype that the format does not define; whatever
/// byte_count refuses; offsets that end before they begin or beyond the data, or that span another number of bytes than
/// the shape. A scalar (shape []) becomes shape {1}.
inline placed_safetensor place_safetensor(safetensors_entry entry, std::span<const std::byte> data,
                                          std::string_view origin) {
    const auto who = augur::detail::message(origin, ": tensor ", quote(entry.name));
    const auto dtype = find_safetensors_dtype(entry.dtype);
    if (!dtype) augur::detail::fail(who, " has dtype ", quote(entry.dtype), ", which the format does not define");
    if (entry.shape.empty()) entry.shape.push_back(1);
    const auto size = byte_count(who, *dtype, entry.shape);
    const auto begin = entry.offsets[0];
    const auto end = entry.offsets[1];
    if (end < begin || end > data.size()) {
        augur::detail::fail(who, " has data_offsets [", begin, ", ", end, "], not a range of the ", data.size(),
                            " bytes of data");
    }
    if (end - begin != size) {
        augur::detail::fail(who, " has ", end - begin, " bytes at data_offsets [", begin, ", ", end, "], but shape ",
                            shape_text(entry.shape), " of ", dtype->name, " takes ", size);
    }
    const auto bytes = data.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(size));
    return {std::move(entry), *dtype, bytes};
}

/// Errors unless the tensors, which are in the order of their bytes, cover the data exactly: no hole, no overlap.
inline void check_coverage(std::span<const placed_safetensor> tensors, std::span<const std::byte> data,
                           std::string_view origin) {
    const auto* end = data.data();
    for (const auto& tensor : tensors) {
        if (tensor.bytes.data() != end) {
            augur::detail::fail(origin, ": tensor ", quote(tensor.entry.name), " begins at ",
                                tensor.bytes.data() - data.data(),
                                tensor.bytes.data() < end ? ", inside the one before it" : ", after a hole",
                                " (the data up to ", end - data.data(), " is taken)");
        }
        end += tensor.bytes.size();
    }
    if (end != data.data() + data.size()) {
        augur::detail::fail(origin, ": the tensors take ", end - data.data(), " of ", data.size(), " bytes of data");
    }
}

/// What a file holds, in the order of its data.
struct safetensors_contents {
    std::vector<tensor_view> tensors;   ///< F32, F16 and BF16: views into the file, at any alignment
    std::vector<unread_tensor> unread;  ///< of the format's other dtypes
};

/// The tensors of one file's bytes. The rules are those of the format's reference implementation: a header of at most
/// 100 MB, and tensors of any of its dtypes that cover the data exactly, without holes or overlap. Duplicate names
/// overlap or are found by tensor_table. Cost: one pass over the header, n log n tensors.
inline safetensors_contents parse_safetensors(byte_reader in) {
    constexpr std::uint64_t longest_header = 100'000'000;
    const std::string_view origin = in.origin();
    const auto length = in.read<std::uint64_t>("the length of the header");
    if (length > longest_header) {
        augur::detail::fail(origin, ": the header has ", length, " bytes, more than the format's ", longest_header);
    }
    auto entries = read_safetensors_header(in.take(length, "the header"), origin);
    const auto data = in.rest();
    std::vector<placed_safetensor> placed;
    for (auto& entry : entries) placed.push_back(place_safetensor(std::move(entry), data, origin));
    std::sort(placed.begin(), placed.end(),
              [](const placed_safetensor& a, const placed_safetensor& b) { return a.bytes.data() < b.bytes.data(); });
    check_coverage(placed, data, origin);
    safetensors_contents out;
    for (auto& [entry, dtype, bytes] : placed) {
        if (dtype.type) {
            out.tensors.push_back({std::move(entry.name), *dtype.type, std::move(entry.shape), bytes, nullptr});
        } else {
            out.unread.push_back({std::move(entry.name), std::move(entry.dtype), std::move(entry.shape), bytes});
        }
    }
    return out;
}
inline safetensors_contents parse_safetensors(std::span<const std::byte> file, std::string_view origin) {
    return parse_safetensors(byte_reader(file, origin));
}

/// Whether the path is one that safetensors_folder opens rather than gguf_file; a missing file is an error of either.
inline bool holds_safetensors(const std::filesystem::path& path) {
    std::error_code unknown;
    return std::filesystem::is_directory(path, unknown) || path.extension() == ".safetensors";
}

/// A single .safetensors file, with the config.json beside it if there is one; or a folder with config.json and either
/// model.safetensors or model.safetensors.index.json and the shards it names. Movable; what it hands out is valid while
/// it lives. Errors: those of parse_safetensors and parse_json; a missing file; an index without a weight_map of file
/// names; a shard that is not a plain file name in the folder; a tensor that is not in the shard the index names; one
/// tensor name in two shards. Cost: the headers; tensor data is not touched.
class safetensors_folder {
 public:
    explicit safetensors_folder(const std::filesystem::path& path) {
        std::error_code unknown;  // then the file cannot be opened either, and that error says why
        const bool folder = std::filesystem::is_directory(path, unknown);
        config_path_ = (folder ? path : path.parent_path()) / "config.json";
        if (folder || std::filesystem::exists(config_path_, unknown)) {
            config_ = read_json(config_path_);
            if (!config_.is_object()) augur::detail::fail(config_path_.string(), " is not a JSON object");
        }
        auto contents = folder ? open_all(path) : open(path);
        tensors_ = {std::move(contents.tensors), path, std::move(contents.unread)};
    }

    safetensors_folder(safetensors_folder&&) noexcept = default;
    safetensors_folder& operator=(safetensors_folder&&) noexcept = default;

    /// The parsed config.json, an object. Errors: a single file without one beside it; the message says where one was
    /// looked for.
    const nlohmann::json& config() const {
        if (config_.is_null()) {
            augur::detail::fail(path().string(), ": no configuration, there is no ", config_path_.string());
        }
        return config_;
    }
    const std::filesystem::path& config_path() const { return config_path_; }

    /// Those of dtype F32, F16 and BF16.
    std::span<const tensor_view> tensors() const { return tensors_.tensors(); }
    /// Those of the format's other dtypes, whose numbers are not read.
    std::span<const unread_tensor> unread() const { return tensors_.unread(); }
    /// Null when there is no such tensor. Errors: an unread one; it is not absent.
    const tensor_view* find(std::string_view name) const { return tensors_.find(name); }
    /// Errors: no such tensor, or an unread one; the message names it and its dtype.
    const tensor_view& tensor(std::string_view name) const { return tensors_.tensor(name); }

    /// Whether there is a tensor of this name, unread ones included.
    bool has(std::string_view name) const {
        return tensors_.find_unread(name) != nullptr || tensors_.find(name) != nullptr;
    }
    /// The numbers of a tensor of one dimension of I64, I32, U8 or BOOL (0 and 1). Errors: no such tensor, of another
    /// dtype or shape; the message names it.
    std::vector<std::int64_t> integers(std::string_view name) const {
        const unread_tensor* const of = tensors_.find_unread(name);
        if (of == nullptr) {
            const tensor_view& floats = tensors_.tensor(name);
            augur::detail::fail(path().string(), ": tensor ", quote(name), " is of ", name_of(floats.type),
                                ", but whole numbers are wanted");
        }
        if (of->shape.size() != 1) {
            augur::detail::fail(path().string(), ": tensor ", quote(name), " has the shape ", shape_text(of->shape),
                                ", but a list is wanted");
        }
        if (of->type == "I64") return integers_of<std::int64_t>(of->bytes);
        if (of->type == "I32") return integers_of<std::int32_t>(of->bytes);
        if (of->type == "U8" || of->type == "BOOL") return integers_of<std::uint8_t>(of->bytes);
        augur::detail::fail(path().string(), ": tensor ", quote(name), " is stored as ", of->type,
                            ", but I64, I32, U8 and BOOL are read as whole numbers");
    }

    const std::filesystem::path& path() const { return tensors_.path(); }

 private:
    template <class T>
    static std::vector<std::int64_t> integers_of(std::span<const std::byte> bytes) {
        std::vector<std::int64_t> out(bytes.size() / sizeof(T));
        for (std::size_t i = 0; i < out.size(); ++i) {
            T value;
            std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
            out[i] = value;
        }
        return out;
    }

    safetensors_contents open(const std::filesystem::path& file) {
        auto& mapping = *mappings_.emplace_back(std::make_unique<mapped_file>(file));
        const auto origin = file.string();
        auto contents = parse_safetensors(byte_reader(mapping, origin));
        for (auto& tensor : contents.tensors) tensor.file = &mapping;
        return contents;
    }

    safetensors_contents open_all(const std::filesystem::path& folder) {
        const auto whole = folder / "model.safetensors";
        const auto index = folder / "model.safetensors.index.json";
        std::error_code unknown;
        if (std::filesystem::exists(whole, unknown)) return open(whole);
        if (!std::filesystem::exists(index, unknown)) {
            augur::detail::fail(folder.string(), " has neither model.safetensors nor model.safetensors.index.json");
        }
        safetensors_contents all;
        for (const auto& [shard, names] : read_index(index)) {
            auto found = open(folder / shard);
            check_shard(found, names, (folder / shard).string());
            std::move(found.tensors.begin(), found.tensors.end(), std::back_inserter(all.tensors));
            std::move(found.unread.begin(), found.unread.end(), std::back_inserter(all.unread));
        }
        return all;
    }

    /// Errors unless the shard holds every tensor that the index places in it.
    static void check_shard(const safetensors_contents& shard, std::span<const std::string> names,
                            std::string_view origin) {
        std::set<std::string_view> held;
        for (const auto& tensor : shard.tensors) held.insert(tensor.name);
        for (const auto& tensor : shard.unread) held.insert(tensor.name);
        for (const auto& name : names) {
            if (!held.contains(name)) {
                augur::detail::fail(origin, ": the index places tensor ", quote(name),
                                    " here, but it is not among the ", held.size(), " tensors");
            }
        }
    }

    /// The tensors that the index places in each shard.
    static std::map<std::string, std::vector<std::string>> read_index(const std::filesystem::path& path) {
        const auto index = read_json(path, {.bytes = 100'000'000});
        const auto place = index.find("weight_map");
        if (place == index.end() || !place->is_object()) augur::detail::fail(path.string(), ": no object weight_map");
        std::map<std::string, std::vector<std::string>> shards;
        for (const auto& [tensor, value] : place->items()) {
            if (!value.is_string())
                augur::detail::fail(path.string(), ": the shard of ", quote(tensor), " is no string");
            const auto& shard = value.get_ref<const std::string&>();
            const bool is_path = shard.find_first_of("/\\") != shard.npos;
            if (is_path || shard.empty() || shard == "." || shard == ".." || !is_printable(shard)) {
                augur::detail::fail(path.string(), ": the shard ", quote(shard), " of ", quote(tensor),
                                    " is not a file name in this folder");
            }
            shards[shard].push_back(tensor);
        }
        return shards;
    }

    std::filesystem::path config_path_;
    nlohmann::json config_;  ///< null where there is none
    std::vector<std::unique_ptr<mapped_file>> mappings_;
    tensor_table tensors_;
};

}  // namespace augur::io
