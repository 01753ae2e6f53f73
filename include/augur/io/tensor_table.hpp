#pragma once
// The tensors of one model, in file order, found by name.

#include <algorithm>
#include <augur/io/tensor.hpp>
#include <cstddef>
#include <filesystem>
#include <numeric>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace augur::io {

/// Errors at construction: two tensors of one name. Cost: n log n once, log n per look-up.
class tensor_table {
 public:
    tensor_table() = default;
    tensor_table(std::vector<tensor_view> tensors, std::filesystem::path origin)
        : tensors_(std::move(tensors)), by_name_(tensors_.size()), origin_(std::move(origin)) {
        std::iota(by_name_.begin(), by_name_.end(), std::size_t{0});
        std::sort(by_name_.begin(), by_name_.end(),
                  [&](std::size_t a, std::size_t b) { return tensors_[a].name < tensors_[b].name; });
        const auto twin = std::adjacent_find(by_name_.begin(), by_name_.end(), [&](std::size_t a, std::size_t b) {
            return tensors_[a].name == tensors_[b].name;
        });
        if (twin != by_name_.end()) {
            augur::detail::fail(origin_.string(), ": more than one tensor is called ", quote(tensors_[*twin].name));
        }
    }

    std::span<const tensor_view> tensors() const { return tensors_; }

    /// Null when there is no such tensor.
    const tensor_view* find(std::string_view name) const {
        const auto place = std::lower_bound(by_name_.begin(), by_name_.end(), name,
                                            [&](std::size_t i, std::string_view n) { return tensors_[i].name < n; });
        return place != by_name_.end() && tensors_[*place].name == name ? &tensors_[*place] : nullptr;
    }

    /// Errors: the missing name, and how many tensors there are.
    const tensor_view& tensor(std::string_view name) const {
        if (const auto* found = find(name)) return *found;
        augur::detail::fail(origin_.string(), ": none of its ", tensors_.size(), " tensors is called ", quote(name));
    }

    /// Where the tensors came from.
    const std::filesystem::path& path() const { return origin_; }

 private:
    std::vector<tensor_view> tensors_;
    std::vector<std::size_t> by_name_;
    std::filesystem::path origin_;
};

}  // namespace augur::io
