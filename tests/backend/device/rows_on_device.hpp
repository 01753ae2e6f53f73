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
#include "augur/model/hosted_sequence.hpp"
#include "augur/random/chooser.hpp"
#include "augur/testing/models.hpp"
#include "augur/testing/refined_models.hpp"
#include "augur/transform/pipeline.hpp"
#include "augur/types/scores.hpp"

namespace rows_on_device {

namespace device = augur::backend::device;
using augur::token;

/// Copies count together.
class model {
 public:
    static constexpr bool bitwise_rows = true;
    static constexpr augur::pass_features passes = augur::pass_features::trees | augur::pass_features::states;
    using source = augur::testing::pass_mock<passes>;
    struct sequence_type {
        augur::sequence_t<source> own;
        std::vector<float> rows;
        std::size_t count = 0;
        std::vector<const float*> places{};
    };
    using pass_type = augur::pass<sequence_type>;

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
    augur::scattered_scores run(std::span<const pass_type> asked) const {
        run_there(asked.front());
        sequence_type& s = *asked.front().sequence;
        s.places.clear();
        if (s.count == 0) return {s.places.data(), 0, vocabulary_size()};
        const augur::scores here = rows(s);
        for (std::size_t i = 0; i < here.size(); ++i) s.places.push_back(here[i].data());
        return {s.places.data(), s.places.size(), vocabulary_size()};
    }
    void keep(sequence_type& s, std::span<const std::size_t> path) const { of_.keep(s.own, path); }
    std::size_t hidden_size() const { return of_.hidden_size(); }
    augur::scores hidden(const sequence_type& s) const { return of_.hidden(s.own); }

    device::emulated_system system() const { return on_; }
    void extend_there(sequence_type& s, std::span<const token> tokens, std::size_t last) const {
        run_there({.sequence = &s, .tokens = tokens, .rows = last});
    }
    void run_there(const pass_type& asked) const {
        sequence_type& s = *asked.sequence;
        const auto own = augur::model::asked_of(s.own, asked);
        s.count = of_.run(std::span(&own, 1)).size();
        s.rows = s.own.rows;
    }
    const float* logits(const sequence_type& s) const { return s.rows.data(); }
    augur::scores rows(const sequence_type& s) const {
        ++*brought_;
        return {s.rows.data(), s.count, vocabulary_size()};
    }
    template <device::DeviceCriterion Criterion>
    auto make_device_verifier(const Criterion& criterion, const augur::transform::settings& chosen,
                              const augur::random::philox_chooser& by) const {
        return device::device_verifier<model, Criterion>(*this, criterion, chosen, by);
    }

    /// How often rows were brought to the host.
    std::size_t brought() const { return *brought_; }

 private:
    source of_;
    device::emulated_system on_;
    std::shared_ptr<std::size_t> brought_;
};

/// The same without trees.
class chain_model {
 public:
    using sequence_type = model::sequence_type;

    explicit chain_model(augur::testing::function_model of) : of_(std::move(of)) {}

    std::size_t vocabulary_size() const { return of_.vocabulary_size(); }
    std::size_t context_length() const { return of_.context_length(); }
    sequence_type make_sequence() const { return of_.make_sequence(); }
    std::size_t length(const sequence_type& s) const { return of_.length(s); }
    void truncate(sequence_type& s, std::size_t length) const { of_.truncate(s, length); }
    augur::scores extend(sequence_type& s, std::span<const token> tokens) const { return of_.extend(s, tokens); }
    device::emulated_system system() const { return of_.system(); }
    void extend_there(sequence_type& s, std::span<const token> tokens, std::size_t last) const {
        of_.extend_there(s, tokens, last);
    }
    const float* logits(const sequence_type& s) const { return of_.logits(s); }
    augur::scores rows(const sequence_type& s) const { return of_.rows(s); }
    template <device::DeviceCriterion Criterion>
    auto make_device_verifier(const Criterion& criterion, const augur::transform::settings& chosen,
                              const augur::random::philox_chooser& by) const {
        return device::device_verifier<chain_model, Criterion>(*this, criterion, chosen, by);
    }
    std::size_t brought() const { return of_.brought(); }

 private:
    model of_;
};

}  // namespace rows_on_device
