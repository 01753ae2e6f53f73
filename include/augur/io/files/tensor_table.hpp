#pragma once
// The tensors of one model, in file order, found by name.

#include <algorithm>
#include <augur/io/files/tensor.hpp>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace augur::io {

/// A tensor whose numbers this library does not read. Its place in the file was checked like that of any other.
struct unread_tensor {
    std::string name;
    std::string type;  ///< what the file calls it
    std::vector<std::uint64_t> shape{};
    std::span<const std::byte> bytes{};  ///< in the file, where whoever opened it shows them
};

/// Errors at construction: two tensors of one name. Cost: n log n once, log n per look-up.
class tensor_table {
 public:
    tensor_table() = default;
    tensor_table(std::vector<tensor_view> tensors, std::filesystem::path origin, std::vector<unread_tensor> unread = {})
        : tensors_(std::move(tensors)),
          unread_(std::move(unread)),
          by_name_(tensors_.size() + unread_.size()),
          origin_(std::move(origin)) {
        std::iota(by_name_.begin(), by_name_.end(), std::size_t{0});
        std::sort(by_name_.begin(), by_name_.end(),
                  [&](std::size_t a, std::size_t b) { return name_at(a) < name_at(b); });
        const auto twin = std::adjacent_find(by_name_.begin(), by_name_.end(),
                                             [&](std::size_t a, std::size_t b) { return name_at(a) == name_at(b); });
        if (twin != by_name_.end()) {
            augur::detail::fail(origin_.string(), ": more than one tensor is called ", quote(name_at(*twin)));
        }
    }

    std::span<const tensor_view> tensors() const { return tensors_; }
    std::span<const unread_tensor> unread() const { return unread_; }

    /// Null when there is no such tensor. Errors: an unread one, with its type; it is not absent, and must not be taken
    /// for it.
    const tensor_view* find(std::string_view name) const {
        const auto place = std::lower_bound(by_name_.begin(), by_name_.end(), name,
                                            [&](std::size_t i, std::string_view n) { return name_at(i) < n; });
        if (place == by_name_.end() || name_at(*place) != name) return nullptr;
        if (*place < tensors_.size()) return &tensors_[*place];
        augur::detail::fail(origin_.string(), ": tensor ", quote(name), " is stored as ",
                            unread_[*place - tensors_.size()].type, ", which is not read");
    }

    /// Null when there is no such tensor among the unread.
    const unread_tensor* find_unread(std::string_view name) const {
        const auto found =
            std::find_if(unread_.begin(), unread_.end(), [&](const auto& of) { return of.name == name; });
        return found == unread_.end() ? nullptr : &*found;
    }

    /// Errors: the missing name, and how many tensors there are; those of `find`.
    const tensor_view& tensor(std::string_view name) const {
        if (const auto* found = find(name)) return *found;
        augur::detail::fail(origin_.string(), ": none of its ", by_name_.size(), " tensors is called ", quote(name));
    }

    /// Where the tensors came from.
    const std::filesystem::path& path() const { return origin_; }

 private:
    /// Unread tensors are numbered after the others.
    std::string_view name_at(std::size_t i) const {
        return i < tensors_.size() ? tensors_[i].name : unread_[i - tensors_.size()].name;
    }

    std::vector<tensor_view> tensors_;
    std::vector<unread_tensor> unread_;
    std::vector<std::size_t> by_name_;
    std::filesystem::path origin_;
};

}  // namespace augur::io
