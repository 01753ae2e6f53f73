#pragma once
// A mock whose rows lie where the host does not look: it counts who brings them.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "augur/backend/device/device_verifier.hpp"
#include "augur/backend/device/system.hpp"
#include "augur/model/concepts.hpp"
#include "augur/random/chooser.hpp"
#include "augur/testing/models.hpp"
#include "augur/transform/pipeline.hpp"
#include "augur/types/scores.hpp"

namespace rows_on_device {

namespace device = augur::backend::device;
using augur::token;

/// Copies count together. Its hidden states are zeros.
class model {
 public:
    static constexpr bool bitwise_rows = true;
    struct sequence_type {
        augur::sequence_t<augur::testing::function_model> own;
        std::vector<float> rows;
        std::size_t count = 0;
    };

    explicit model(augur::testing::function_model of, device::emulated_system on = {})
        : of_(std::move(of)), on_(on), brought_(std::make_shared<std::size_t>(0)) {}

    std::size_t vocabulary_size() const { return of_.vocabulary_size(); }
    std::size_t context_length() const { return of_.context_length(); }
    sequence_type make_sequence() const { return {of_.make_sequence(), {}, 0}; }
    std::size_t length(const sequence_type& s) const { return of_.length(s.own); }
    void truncate(sequence_type& s, std::size_t length) const { of_.truncate(s.own, length); }
    augur::scores extend(sequence_type& s, std::span<const token> tokens, std::size_t last) const {
        extend_there(s, tokens, last);
        return last == 0 ? augur::scores(nullptr, 0, vocabulary_size()) : rows(s);
    }
    augur::scores extend(sequence_type& s, std::span<const token> tokens) const {
        return extend(s, tokens, tokens.size());
    }
    std::size_t hidden_size() const { return 1; }
    augur::scores hidden(const sequence_type& s) const {
        static const std::vector<float> zeros(4096);
        return {zeros.data(), s.count, 1};
    }

    device::emulated_system system() const { return on_; }
    void extend_there(sequence_type& s, std::span<const token> tokens, std::size_t last) const {
        const auto rows = of_.extend(s.own, tokens);
        s.count = last;
        s.rows.clear();
        for (std::size_t i = tokens.size() - last; i < tokens.size(); ++i) {
            s.rows.insert(s.rows.end(), rows[i].begin(), rows[i].end());
        }
    }
    const float* logits(const sequence_type& s) const { return s.rows.data(); }
    augur::scores rows(const sequence_type& s) const {
        ++*brought_;
        return {s.rows.data(), s.count, vocabulary_size()};
    }
    template <device::KernelCriterion Criterion>
    auto make_device_verifier(const Criterion& criterion, const augur::transform::settings& chosen,
                              const augur::random::philox_chooser& by) const {
        return device::device_verifier<model, Criterion>(*this, criterion, chosen, by);
    }

    /// How often rows were brought to the host.
    std::size_t brought() const { return *brought_; }

 private:
    augur::testing::function_model of_;
    device::emulated_system on_;
    std::shared_ptr<std::size_t> brought_;
};

}  // namespace rows_on_device
