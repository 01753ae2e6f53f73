#pragma once
// GGUF model files, versions 2 and 3, read in place, whole or split. See docs/io/gguf.md.

#include <augur/io/files/gguf_metadata.hpp>
#include <augur/io/files/gguf_split.hpp>
#include <augur/io/files/gguf_tensors.hpp>
#include <augur/io/files/mapped_file.hpp>
#include <augur/io/files/tensor_table.hpp>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace augur::io {

/// A parsed GGUF image; valid while the bytes are. The bytes are untrusted: every size, count and offset is checked
/// here once, nothing is copied, and memory is bounded by a small multiple of the bytes. Errors, each with the values:
/// see docs/io/gguf.md. Cost: one pass over the metadata and the tensor directory; tensor data is not touched.
class gguf_view {
 public:
    /// `origin` names the bytes in messages.
    explicit gguf_view(std::span<const std::byte> file, std::filesystem::path origin = "memory")
        : gguf_view(file, nullptr, std::move(origin)) {}

    bool contains(std::string_view key) const { return metadata_.contains(key); }

    /// T: bool, an integer, float, double or std::string; see gguf_metadata for what converts and for the errors.
    template <MetadataType T>
    T get(std::string_view key) const {
        return metadata_.get<T>(key);
    }
    template <MetadataType T>
    T get_or(std::string_view key, T fallback) const {
        return metadata_.get_or<T>(key, std::move(fallback));
    }
    template <MetadataType T>
    std::vector<T> array(std::string_view key) const {
        return metadata_.array<T>(key);
    }

    const gguf_metadata& metadata() const { return metadata_; }
    std::span<const tensor_view> tensors() const { return tensors_.tensors(); }
    const tensor_view* find(std::string_view name) const { return tensors_.find(name); }
    const tensor_view& tensor(std::string_view name) const { return tensors_.tensor(name); }
    const std::filesystem::path& path() const { return tensors_.path(); }
    /// Of the format: 2 or 3.
    std::uint32_t version() const { return version_; }

 private:
    friend class gguf_file;

    gguf_view() = default;
    gguf_view(mapped_file& file, std::filesystem::path origin) : gguf_view(file.bytes(), &file, std::move(origin)) {}

    /// The metadata of the first and the tensors of all, in their order. Errors: a tensor that is in two of them.
    gguf_view(std::vector<gguf_view> parts, std::filesystem::path origin)
        : version_(parts[0].version_), metadata_(std::move(parts[0].metadata_)) {
        std::vector<tensor_view> all;
        for (const gguf_view& part : parts) all.insert(all.end(), part.tensors().begin(), part.tensors().end());
        tensors_ = {std::move(all), std::move(origin)};
    }

    gguf_view(std::span<const std::byte> file, mapped_file* mapping, std::filesystem::path origin) {
        const auto name = origin.string();
        byte_reader in = mapping ? byte_reader(*mapping, name) : byte_reader(file, name);
        version_ = read_version(in);
        const auto tensor_count = in.read_count("the number of tensors", least_tensor_bytes);
        const auto key_count = in.read_count("the number of metadata keys", least_pair_bytes);
        metadata_ = gguf_metadata(in, file, key_count);
        const auto alignment = read_alignment(name);
        in.check_count(tensor_count, "the number of tensors", least_tensor_bytes);
        std::vector<gguf_tensor_entry> entries;
        for (std::uint64_t i = 0; i < tensor_count; ++i) entries.push_back(read_gguf_tensor(in));
        const auto start = checked_round_up(in.position(), alignment);
        const auto data = start && *start < file.size() ? file.subspan(static_cast<std::size_t>(*start))
                                                        : std::span<const std::byte>();
        auto placed = place_gguf_tensors(std::move(entries), data, alignment, name);
        for (auto& tensor : placed) tensor.file = mapping;
        tensors_ = {std::move(placed), std::move(origin)};
    }

    static constexpr std::uint64_t least_pair_bytes = 8 + 1 + 4 + 1;

    static std::uint32_t read_version(byte_reader& in) {
        const auto magic = in.take(4, "the magic number");
        const std::string_view found(reinterpret_cast<const char*>(magic.data()), magic.size());
        if (found != "GGUF") augur::detail::fail(in.origin(), ": not a GGUF file, it starts with ", quote(found));
        const auto version = in.read<std::uint32_t>("the version");
        if (version != 0 && (version & 0xffff) == 0) {
            augur::detail::fail(in.origin(), ": big-endian GGUF is not read (version field ", version, ")");
        }
        if (version != 2 && version != 3) {
            augur::detail::fail(in.origin(), ": GGUF version ", version, " is not read, only 2 and 3");
        }
        return version;
    }

    std::uint64_t read_alignment(std::string_view origin) const {
        constexpr std::string_view key = "general.alignment";
        const auto* value = metadata_.find(key);
        if (!value) return 32;
        if (value->is_array || value->type != gguf_type::u32) {
            augur::detail::fail(origin, ": ", key, " must be a u32, but is ", value->is_array ? "an array of " : "a ",
                                name_of(value->type));
        }
        const auto alignment = metadata_.get<std::uint32_t>(key);
        if (!std::has_single_bit(alignment) || alignment < 8) {
            augur::detail::fail(origin, ": ", key, " is ", alignment, ", not a power of two that is a multiple of 8");
        }
        return alignment;
    }

    std::uint32_t version_ = 0;
    gguf_metadata metadata_;
    tensor_table tensors_;
};

/// A GGUF file and its mapping: movable, everything it hands out is valid while it lives. Metadata are read when it is
/// opened; see mapped_file for what becomes of tensors when somebody shortens the file. Of a split model, any part
/// names all of them, which are read as one file: see docs/io/gguf.md for how they are found and what is refused.
class gguf_file : public gguf_view {
 public:
    explicit gguf_file(const std::filesystem::path& path) : gguf_view() {
        gguf_view opened = open(path);
        const auto split = gguf_split::find(opened);
        static_cast<gguf_view&>(*this) = split ? whole(path, *split) : std::move(opened);
    }
    gguf_file(gguf_file&&) noexcept = default;
    gguf_file& operator=(gguf_file&&) noexcept = default;

 private:
    gguf_view open(const std::filesystem::path& path) {
        mappings_.push_back(std::make_unique<mapped_file>(path));
        return gguf_view(*mappings_.back(), path);
    }

    gguf_view whole(const std::filesystem::path& path, const gguf_split& split) {
        mappings_.clear();
        const gguf_part_names names(path, split);
        for (std::uint64_t part = 0; part < split.count; ++part) names.check_is_there(part);
        std::vector<gguf_view> parts;
        for (std::uint64_t part = 0; part < split.count; ++part) {
            parts.push_back(open(names.path_of(part)));
            check_gguf_part(parts.back(), parts.front(), part, split);
        }
        check_gguf_tensor_count(parts, split);
        return gguf_view(std::move(parts), path);
    }

    std::vector<std::unique_ptr<mapped_file>> mappings_;
};

}  // namespace augur::io
