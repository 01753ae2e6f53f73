#pragma once
// The ChecksSettings concept: parts of a scheme that refuse sampling settings.

#include <concepts>

namespace augur {

namespace transform {
struct settings;  // transform/pipeline.hpp
}  // namespace transform

/// `check(const transform::settings&) const`, throwing where what is promised cannot be kept. Criteria and drafters can
/// have one.
template <class C>
concept ChecksSettings = requires(const C& part, const transform::settings& chosen) {
    { part.check(chosen) } -> std::same_as<void>;
};

}  // namespace augur
