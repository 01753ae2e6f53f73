#pragma once
// Tracks which tensors of a file were read: a file with unread tensors is refused.

#include <algorithm>
#include <augur/io/files/quote.hpp>
#include <augur/io/files/tensor.hpp>
#include <augur/types/error.hpp>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace augur::io {

/// A table of rotary frequencies that older files hold beside the parameters it is computed from. No engine reads it.
inline bool is_idle_tensor(std::string_view name) {
    return name.ends_with(".rotary_emb.inv_freq");
}

/// Of one file, by name. Whoever reads a model's tensors notes each that he reads or knows to belong to a part that is
/// not wanted, and asks in the end whether any is left.
class taken_tensors {
 public:
    void take(std::string_view name) {
        if (!names_.contains(name)) names_.emplace(name);
    }

    /// Errors: tensors that were not taken and are not idle: how many they are, and the first few by name. `File` has
    /// tensors() and perhaps unread(), as gguf_view and safetensors_folder do. Cost: n log n.
    template <class File>
    void check_none_left(const File& file) const {
        std::vector<std::string_view> left;
        const auto see = [&](const auto& tensors) {
            for (const auto& each : tensors) {
                if (!names_.contains(each.name) && !is_idle_tensor(each.name)) left.push_back(each.name);
            }
        };
        see(file.tensors());
        if constexpr (requires { file.unread(); }) see(file.unread());
        if (left.empty()) return;
        std::string named;
        for (std::size_t i = 0; i < std::min(left.size(), most_named); ++i) named += (i ? ", " : "") + quote(left[i]);
        augur::detail::fail(file.path().string(), ": ", left.size(), left.size() == 1 ? " tensor is" : " tensors are",
                            " not understood, and without ", left.size() == 1 ? "it" : "them",
                            " this would be another model: ", named, left.size() > most_named ? ", ..." : "");
    }

 private:
    static constexpr std::size_t most_named = 4;

    std::set<std::string, std::less<>> names_;
};

/// A file (gguf_view, safetensors_folder) that takes each tensor that is read from it. The original must outlive it.
template <class File>
class tracked_file {
 public:
    explicit tracked_file(const File& original) : original_(original) {}

    const File& original() const { return original_; }
    const std::filesystem::path& path() const { return original_.path(); }

    /// Null where there is none. Only the name, type and shape of what is returned may be used: it is not taken.
    const tensor_view* find(std::string_view name) const { return original_.find(name); }
    const tensor_view& tensor(std::string_view name) const {
        const tensor_view& found = original_.tensor(name);
        taken_.take(name);
        return found;
    }

    /// Takes a tensor that is not read, as it is of a part that nobody wants or was read elsewhere.
    void pass_over(std::string_view name) const { taken_.take(name); }

    /// Errors: those of taken_tensors::check_none_left.
    void check_all_read() const { taken_.check_none_left(original_); }

 private:
    const File& original_;
    mutable taken_tensors taken_;
};

}  // namespace augur::io
