#pragma once
// Checks the parts of a GGUF model that is split into several files.

#include <algorithm>
#include <augur/io/files/gguf_metadata.hpp>
#include <augur/io/files/quote.hpp>
#include <augur/types/error.hpp>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace augur::io {

/// What every part holds: `split.no`, from 0, `split.count`, and `split.tensors.count`, that of all parts.
struct gguf_split {
    std::uint64_t part = 0, count = 0, tensors = 0;

    /// Nothing for a file that is whole: one without `split.count`, or with one of 0 or 1. Errors: a missing key, one
    /// that is no such number, a part beyond the count.
    template <class File>
    static std::optional<gguf_split> find(const File& file) {
        const auto count = file.template get_or<std::uint64_t>("split.count", 0);
        if (count <= 1) return std::nullopt;
        const gguf_split found{file.template get<std::uint64_t>("split.no"), count,
                               file.template get<std::uint64_t>("split.tensors.count")};
        if (count > most_parts || found.part >= count) {
            augur::detail::fail(file.path().string(), ": split.no is ", found.part, " and split.count ", count,
                                "; parts are numbered from 0, and there are at most ", most_parts);
        }
        return found;
    }

    /// What the format's u16 can count.
    static constexpr std::uint64_t most_parts = 65535;
};

/// The files of a split model, which lie beside each other and are distinguished by the end of their names:
/// NAME-00001-of-00003.gguf and so on, as llama.cpp's tools write them.
class gguf_part_names {
 public:
    /// From any part. Errors: a name that does not end so, or that says another part than its file.
    gguf_part_names(const std::filesystem::path& one, const gguf_split& split)
        : named_(one), split_(split), folder_(one.parent_path()) {
        const std::string name = one.filename().string(), end = end_of(split.part);
        if (!name.ends_with(end)) {
            augur::detail::fail(one.string(), ": this is part ", split.part + 1, " of the ", split.count,
                                " of a split model (split.no ", split.part, "), whose name must end in ", end,
                                " for the others to be found beside it");
        }
        stem_ = name.substr(0, name.size() - end.size());
    }

    std::filesystem::path path_of(std::uint64_t part) const { return folder_ / (stem_ + end_of(part)); }

    void check_is_there(std::uint64_t part) const {
        std::error_code unknown;  // then it cannot be opened either
        if (std::filesystem::exists(path_of(part), unknown)) return;
        augur::detail::fail(named_.string(), ": part ", part + 1, " of the ", split_.count,
                            " of this split model is missing: there is no ", path_of(part).string());
    }

 private:
    std::string end_of(std::uint64_t part) const {
        return "-" + five_digits(part + 1) + "-of-" + five_digits(split_.count) + ".gguf";
    }
    static std::string five_digits(std::uint64_t number) {
        const std::string digits = std::to_string(number);
        return std::string(5 - std::min<std::size_t>(digits.size(), 5), '0') + digits;
    }

    std::filesystem::path named_;
    gguf_split split_;
    std::filesystem::path folder_;
    std::string stem_;
};

/// Throws, naming the part and both values, unless `part` is this one of the model that `first` begins: it says so, and
/// its metadata, if it has more than that, are the first part's, as is the format's version. Files of two models that
/// differ in their numbers alone cannot be distinguished: most parts say no more of themselves.
template <class File>
void check_gguf_part(const File& part, const File& first, std::uint64_t number, const gguf_split& split) {
    const std::string origin = part.path().string();
    const auto same = [&](std::string_view key, std::uint64_t wanted) {
        const auto found = part.template get<std::uint64_t>(key);
        if (found == wanted) return;
        augur::detail::fail(origin, ": ", key, " is ", found, ", but as part ", number + 1, " of ", split.count,
                            " of one model it must be ", wanted);
    };
    same("split.no", number);
    same("split.count", split.count);
    same("split.tensors.count", split.tensors);
    if (part.version() != first.version()) {
        augur::detail::fail(origin, ": this is of GGUF version ", part.version(), ", but ", first.path().string(),
                            " of ", first.version(), "; parts of one model agree");
    }
    part.metadata().each([&](std::string_view key, const gguf_value& value) {
        if (key.starts_with("split.") || key == "general.alignment") return;
        const gguf_value* const of_first = first.metadata().find(key);
        const bool is_same =
            of_first != nullptr && of_first->type == value.type && of_first->is_array == value.is_array &&
            std::equal(value.bytes.begin(), value.bytes.end(), of_first->bytes.begin(), of_first->bytes.end());
        if (is_same) return;
        augur::detail::fail(origin, ": the metadata key ", quote(key), " is not what it is in ", first.path().string(),
                            "; parts of one model agree");
    });
}

/// Throws, with both numbers, unless the parts hold as many tensors as they say the model has.
template <class File>
void check_gguf_tensor_count(const std::vector<File>& parts, const gguf_split& split) {
    std::uint64_t found = 0;
    for (const File& part : parts) found += part.tensors().size();
    if (found == split.tensors) return;
    augur::detail::fail(parts.front().path().string(), ": split.tensors.count is ", split.tensors, ", but its ",
                        split.count, " parts hold ", found, " tensors");
}

}  // namespace augur::io
