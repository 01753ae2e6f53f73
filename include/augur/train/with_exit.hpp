#pragma once
// The common base of heads that train an exit_head and parameters of their own.

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "augur/train/exit_head.hpp"
#include "augur/train/head_options.hpp"
#include "augur/train/matrix.hpp"
#include "augur/train/weight_matrix.hpp"
#include "augur/types/error.hpp"
#include "augur/types/token.hpp"

namespace augur::train {

/// An exit_head, and one array of all learned parameters, of which the exit's come first. A base of heads that make the
/// exit's states themselves, from what `Options` says beside head_options.
template <WeightMatrix Base, class Options>
class with_exit {
 public:
    using scalar = typename Base::scalar;
    using parameter_vector = vector<scalar>;
    using batch_type = columns<scalar>;
    using options_type = Options;
    using exit_type = exit_head<Base>;
    static constexpr bool learns = true;

    std::size_t layer() const { return exit_.layer(); }
    std::size_t vocabulary_size() const { return exit_.vocabulary_size(); }
    const std::string& vocabulary_fingerprint() const { return exit_.vocabulary_fingerprint(); }
    std::size_t context_size() const { return 0; }
    std::size_t classes() const { return exit_.classes(); }
    std::span<const token> tokens() const { return exit_.tokens(); }
    std::span<const token> possible() const { return exit_.possible(); }
    const Options& options() const { return options_; }
    const parameter_vector& values() const { return values_; }
    /// Of the exit: its matrix, and where its numbers lie, which is where they lie among all.
    const Base& weight_matrix() const { return exit_.weight_matrix(); }
    const head_layout& layout() const { return exit_.layout(); }
    double alpha() const { return exit_.alpha(); }

 protected:
    with_exit(Base base, const head_place& place, const Options& chosen)
        : options_(chosen), exit_(std::move(base), place, of_exit(chosen)) {}

    const exit_type& exit() const { return exit_; }
    std::size_t exit_parameters() const { return static_cast<std::size_t>(exit_.values().size()); }
    /// Appends `more` parameters after the exit's, and returns all.
    parameter_vector& begin_values(std::size_t more) {
        values_.resize(detail::index(exit_parameters() + more));
        values_.head(exit_.values().size()) = exit_.values();
        return values_;
    }
    template <std::size_t... Sizes>
    static std::array<head_block, (Sizes + ...)> joined(const std::array<head_block, Sizes>&... blocks) {
        std::array<head_block, (Sizes + ...)> all{};
        auto to = all.begin();
        ((to = std::copy(blocks.begin(), blocks.end(), to)), ...);
        return all;
    }
    void assign_parameters(const parameter_vector& values, std::string_view who) {
        if (values.size() != values_.size()) {
            detail::fail(who, ": it has ", values_.size(), " parameters, not ", values.size());
        }
        values_ = values;
        exit_.assign(values.head(exit_.values().size()));
    }
    void swap_parameters(with_exit& other, std::string_view who) {
        if (other.values_.size() != values_.size()) {
            detail::fail(who, ": cannot swap heads with ", values_.size(), " and ", other.values_.size(),
                         " parameters");
        }
        exit_.swap(other.exit_);
        values_.swap(other.values_);
    }
    void exit_row(const columns<scalar>& state, std::span<float> out) const {
        const vector<float> column = state.col(0).template cast<float>();
        exit_.row({column.data(), exit_.hidden_size()}, out);
    }

 private:
    static head_options of_exit(head_options chosen) {
        chosen.layer_rank = 0;
        return chosen;
    }

    Options options_;
    exit_type exit_;
    parameter_vector values_;
};

}  // namespace augur::train
