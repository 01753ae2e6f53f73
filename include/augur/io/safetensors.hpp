#pragma once
// safetensors models: one file, or a folder as published on Hugging Face. See docs/io/safetensors.md.

#include <algorithm>
#include <augur/io/byte_reader.hpp>
#include <augur/io/json.hpp>
#include <augur/io/mapped_file.hpp>
#include <augur/io/safetensors_header.hpp>
#include <augur/io/tensor_table.hpp>
#include <filesystem>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace augur::io {

/// The type and place of one declared tensor, checked against the data section. Errors: a dtype other than F32, F16 and
/// BF16; whatever byte_count refuses; offsets that end before they begin or beyond the data, or that span another number
/// of bytes than the shape. A scalar (shape []) becomes shape {1}.
inline tensor_view place_safetensor(safetensors_entry entry, std::span<const std::byte> data, std::string_view origin) {
    const auto who = augur::detail::message(origin, ": tensor ", quote(entry.name));
    tensor_view tensor;
    if (entry.dtype == "F32") {
        tensor.type = tensor_type::f32;
    } else if (entry.dtype == "F16") {
        tensor.type = tensor_type::f16;
    } else if (entry.dtype == "BF16") {
        tensor.type = tensor_type::bf16;
    } else {
        augur::detail::fail(who, " has dtype ", quote(entry.dtype), ", not one of F32, F16 and BF16");
    }
    if (entry.shape.empty()) entry.shape.push_back(1);
    const auto size = byte_count(who, tensor.type, entry.shape);
    const auto begin = entry.offsets[0];
    const auto end = entry.offsets[1];
    if (end < begin || end > data.size()) {
        augur::detail::fail(who, " has data_offsets [", begin, ", ", end, "], not a range of the ", data.size(),
                            " bytes of data");
    }
    if (end - begin != size) {
        augur::detail::fail(who, " has ", end - begin, " bytes at data_offsets [", begin, ", ", end, "], but shape ",
                            shape_text(entry.shape), " of ", name_of(tensor.type), " takes ", size);
    }
    tensor.name = std::move(entry.name);
    tensor.shape = std::move(entry.shape);
    tensor.bytes = data.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(size));
    return tensor;
}

/// The tensors of one file's bytes, in the order of their data; views into `file`, at any alignment. The rules are those
/// of the format's reference implementation: a header of at most 100 MB, and tensors that cover the data exactly, without
/// holes or overlap. Duplicate names overlap or are found by tensor_table. Cost: one pass over the header, n log n
/// tensors.
inline std::vector<tensor_view> parse_safetensors(std::span<const std::byte> file, std::string_view origin) {
    constexpr std::uint64_t longest_header = 100'000'000;
    byte_reader in(file, origin);
    const auto length = in.read<std::uint64_t>("the length of the header");
    if (length > longest_header) {
        augur::detail::fail(origin, ": the header has ", length, " bytes, more than the format's ", longest_header);
    }
    auto entries = read_safetensors_header(in.take(length, "the header"), origin);
    const auto data = in.take(in.remaining(), "the data");
    std::vector<tensor_view> tensors;
    for (auto& entry : entries) tensors.push_back(place_safetensor(std::move(entry), data, origin));
    std::sort(tensors.begin(), tensors.end(),
              [](const tensor_view& a, const tensor_view& b) { return a.bytes.data() < b.bytes.data(); });
    const auto* end = data.data();
    for (const auto& tensor : tensors) {
        if (tensor.bytes.data() != end) {
            augur::detail::fail(origin, ": tensor ", quote(tensor.name), " begins at ",
                                tensor.bytes.data() - data.data(),
                                tensor.bytes.data() < end ? ", inside the one before it" : ", after a hole",
                                " (the data up to ", end - data.data(), " is taken)");
        }
        end += tensor.bytes.size();
    }
    if (end != data.data() + data.size()) {
        augur::detail::fail(origin, ": the tensors take ", end - data.data(), " of ", data.size(), " bytes of data");
    }
    return tensors;
}

/// A single .safetensors file, or a folder with config.json and either model.safetensors or
/// model.safetensors.index.json and the shards it names. Movable; what it hands out is valid while it lives.
/// Errors: those of parse_safetensors and parse_json; a missing file; an index without a weight_map of file names; a
/// shard that is not a plain file name in the folder; a tensor that is not in the shard the index names; one tensor name
/// in two shards. Cost: the headers; tensor data is not touched.
class safetensors_folder {
 public:
    explicit safetensors_folder(const std::filesystem::path& path) {
        std::error_code unknown;  // then the file cannot be opened either, and that error says why
        std::vector<tensor_view> tensors;
        if (!std::filesystem::is_directory(path, unknown)) {
            add(path, tensors);
        } else {
            config_ = read_json(path / "config.json", 1 << 20);
            if (!config_.is_object()) augur::detail::fail((path / "config.json").string(), " is not a JSON object");
            add_all(path, tensors);
        }
        tensors_ = {std::move(tensors), path};
    }

    safetensors_folder(safetensors_folder&&) noexcept = default;
    safetensors_folder& operator=(safetensors_folder&&) noexcept = default;

    /// The parsed config.json of a folder, {} for a single file.
    const nlohmann::json& config() const { return config_; }

    std::span<const tensor_view> tensors() const { return tensors_.tensors(); }
    const tensor_view* find(std::string_view name) const { return tensors_.find(name); }
    const tensor_view& tensor(std::string_view name) const { return tensors_.tensor(name); }
    const std::filesystem::path& path() const { return tensors_.path(); }

 private:
    void add(const std::filesystem::path& file, std::vector<tensor_view>& tensors) {
        mappings_.emplace_back(file);
        auto found = parse_safetensors(mappings_.back().bytes(), file.string());
        std::move(found.begin(), found.end(), std::back_inserter(tensors));
    }

    void add_all(const std::filesystem::path& folder, std::vector<tensor_view>& tensors) {
        const auto whole = folder / "model.safetensors";
        const auto index = folder / "model.safetensors.index.json";
        std::error_code unknown;
        if (std::filesystem::exists(whole, unknown)) return add(whole, tensors);
        if (!std::filesystem::exists(index, unknown)) {
            augur::detail::fail(folder.string(), " has neither model.safetensors nor model.safetensors.index.json");
        }
        for (const auto& [shard, names] : read_index(index)) {
            const auto before = tensors.size();
            add(folder / shard, tensors);
            std::set<std::string_view> held;
            for (const auto& tensor : std::span(tensors).subspan(before)) held.insert(tensor.name);
            for (const auto& name : names) {
                if (!held.contains(name)) {
                    augur::detail::fail((folder / shard).string(), ": the index places tensor ", quote(name),
                                        " here, but it is not among the ", held.size(), " tensors");
                }
            }
        }
    }

    /// The tensors that the index places in each shard.
    static std::map<std::string, std::vector<std::string>> read_index(const std::filesystem::path& path) {
        const auto index = read_json(path, 100'000'000);
        const auto place = index.find("weight_map");
        if (place == index.end() || !place->is_object()) augur::detail::fail(path.string(), ": no object weight_map");
        std::map<std::string, std::vector<std::string>> shards;
        for (const auto& [tensor, value] : place->items()) {
            if (!value.is_string())
                augur::detail::fail(path.string(), ": the shard of ", quote(tensor), " is no string");
            const auto& shard = value.get_ref<const std::string&>();
            const bool is_path = shard.find_first_of(std::string_view("/\\\0", 3)) != shard.npos;
            if (is_path || shard.empty() || shard == "." || shard == "..") {
                augur::detail::fail(path.string(), ": the shard ", quote(shard), " of ", quote(tensor),
                                    " is not a file name in this folder");
            }
            shards[shard].push_back(tensor);
        }
        return shards;
    }

    nlohmann::json config_ = nlohmann::json::object();
    std::vector<mapped_file> mappings_;
    tensor_table tensors_;
};

}  // namespace augur::io
