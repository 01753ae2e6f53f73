#pragma once
// One of two policies, chosen at run time: one type, so that each scheme is compiled once for both.

#include <augur/policy/learned_state.hpp>
#include <optional>
#include <ostream>
#include <utility>
#include <variant>

namespace augur::program {

/// What the user named, or what pays. A base: how they are asked differs.
template <class Named, class Paying>
class planned {
 public:
    explicit planned(Named chosen) : chosen_(std::move(chosen)) {}
    explicit planned(Paying chosen) : chosen_(std::move(chosen)) {}

    /// Nothing where nothing is learned.
    std::optional<policy::learned_state> learned() const {
        const auto* const learns = std::get_if<Paying>(&chosen_);
        return learns == nullptr ? std::nullopt : std::optional(learns->learned());
    }
    friend std::ostream& operator<<(std::ostream& out, const planned& any) {
        std::visit([&](const auto& policy) { out << policy; }, any.chosen_);
        return out;
    }

 protected:
    const std::variant<Named, Paying>& chosen() const { return chosen_; }
    Paying* paying() { return std::get_if<Paying>(&chosen_); }

 private:
    std::variant<Named, Paying> chosen_;
};

}  // namespace augur::program
