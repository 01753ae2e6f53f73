#pragma once
// The keys and values of a GGUF file.

#include <algorithm>
#include <augur/io/files/gguf_value.hpp>
#include <filesystem>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace augur::io {

/// Views into the file's bytes, valid while they are; values are decoded (and copied) when asked for.
/// Cost: opening takes n log n in the number of keys plus a step per string; a look-up log n.
class gguf_metadata {
 public:
    gguf_metadata() = default;

    /// Reads `count` pairs from `in`, which reads `file` from its start. Errors: whatever does not fit the bytes, an
    /// empty or duplicate key, an unknown type.
    gguf_metadata(byte_reader& in, std::span<const std::byte> file, std::uint64_t count) : origin_(in.origin()) {
        for (std::uint64_t i = 0; i < count; ++i) {
            const auto key = in.read_string("a metadata key");
            if (key.empty()) augur::detail::fail(in.origin(), ": metadata key ", i, " of ", count, " is empty");
            entries_.push_back({key, read_gguf_value(in, file)});
        }
        std::sort(entries_.begin(), entries_.end(), [](const entry& a, const entry& b) { return a.key < b.key; });
        const auto twin = std::adjacent_find(entries_.begin(), entries_.end(),
                                             [](const entry& a, const entry& b) { return a.key == b.key; });
        if (twin != entries_.end()) augur::detail::fail(in.origin(), ": duplicate metadata key ", quote(twin->key));
    }

    bool contains(std::string_view key) const { return find(key) != nullptr; }

    /// use(key, value) for each, in the order of keys.
    template <class Use>
    void each(const Use& use) const {
        for (const entry& e : entries_) use(e.key, e.value);
    }

    /// Null when there is no such key.
    const gguf_value* find(std::string_view key) const {
        const auto place = std::lower_bound(entries_.begin(), entries_.end(), key,
                                            [](const entry& a, std::string_view k) { return a.key < k; });
        return place != entries_.end() && place->key == key ? &place->value : nullptr;
    }

    /// Errors: no such key; a value that is not a T (file, key, wanted and found type, and the value).
    template <MetadataType T>
    T get(std::string_view key) const {
        const auto& value = at(key);
        if (value.is_array) refuse<T>(key, "one ", "an array of ", name_of(value.type));
        byte_reader in(value.bytes, origin_);
        return decode<T>(in, key, value);
    }

    /// `fallback` only when the key is absent.
    template <MetadataType T>
    T get_or(std::string_view key, T fallback) const {
        return contains(key) ? get<T>(key) : fallback;
    }

    /// All elements of an array; the same errors as get. Memory: proportional to the array's bytes in the file.
    template <MetadataType T>
    std::vector<T> array(std::string_view key) const {
        const auto& value = at(key);
        if (!value.is_array) refuse<T>(key, "an array of ", "one ", name_of(value.type));
        if (value.type == gguf_type::array) refuse<T>(key, "an array of ", "an array of arrays", "");
        byte_reader in(value.bytes, origin_);
        std::vector<T> out;
        out.reserve(static_cast<std::size_t>(value.count));
        for (std::uint64_t i = 0; i < value.count; ++i) out.push_back(decode<T>(in, key, value));
        return out;
    }

 private:
    struct entry {
        std::string_view key;
        gguf_value value;
    };

    const gguf_value& at(std::string_view key) const {
        if (const auto* found = find(key)) return *found;
        augur::detail::fail(origin_, ": no metadata key ", quote(key));
    }

    template <class T>
    T decode(byte_reader& in, std::string_view key, const gguf_value& value) const {
        return read_scalar(in, value.type, [&]<class From>(From from) -> T {
            if (auto converted = convert_value<T>(from)) return *std::move(converted);
            if constexpr (std::same_as<From, std::string_view>) {
                refuse<T>(key, "", "the string ", quote(from));
            } else {
                refuse<T>(key, "", name_of(value.type), augur::detail::message(" ", +from));
            }
        });
    }

    template <class T>
    [[noreturn]] void refuse(std::string_view key, std::string_view wanted, std::string_view found,
                             std::string_view detail) const {
        augur::detail::fail(origin_, ": metadata key ", quote(key), " was wanted as ", wanted, wanted_name<T>(),
                            ", but is ", found, detail);
    }

    template <class T>
    static std::string wanted_name() {
        if constexpr (std::same_as<T, bool>)
            return "bool";
        else if constexpr (std::same_as<T, std::string>)
            return "string";
        else if constexpr (std::floating_point<T>)
            return "f" + std::to_string(8 * sizeof(T));
        else
            return (std::is_signed_v<T> ? "i" : "u") + std::to_string(8 * sizeof(T));
    }

    std::vector<entry> entries_;
    std::string origin_;
};

}  // namespace augur::io
