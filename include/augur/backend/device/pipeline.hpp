#pragma once
// transform::pipeline for rows that lie in device memory: the same settings, order and outcome.

#include <thrust/copy.h>

#include <cmath>
#include <cstddef>
#include <functional>
#include <utility>

#include "augur/backend/device/distribution.hpp"
#include "augur/backend/device/edits.hpp"
#include "augur/backend/device/execution.hpp"
#include "augur/backend/device/row.hpp"
#include "augur/backend/device/selection.hpp"
#include "augur/transform/pipeline.hpp"
#include "augur/types/error.hpp"
#include "augur/types/prefix.hpp"

namespace augur::backend::device {

/// transform::mask for logits in device memory (keep_allowed, for example). The function itself runs on the host.
using mask = std::function<void(float* logits, std::size_t size, const prefix& before)>;

/// bias, penalties, mask, temperature, top-k, top-p, min-p, softmax. The weights are those of the host's pipeline bit
/// for bit where both use one arithmetic (docs/backend/device.md).
/// Checked at construction; applying it to rows of that size throws nothing of its own but what memory and launches
/// throw. Cost: a few passes per row; top-k and top-p sort the vocabulary. What crosses: the tokens of bias (once) and
/// of penalties, and a few numbers per row.
template <class Policy = default_policy>
class pipeline {
 public:
    using distribution_type = distribution<Policy>;

    pipeline(transform::settings chosen, std::size_t vocabulary_size, mask removes = {}, Policy on = {})
        : checked_(std::move(chosen), vocabulary_size),
          mask_(std::move(removes)),
          on_(on),
          bias_(upload(checked_.chosen().bias)) {
        if (checked_.chosen().mask) {
            augur::detail::fail(
                "settings.mask edits logits on the host, but these rows lie in device memory; give the "
                "pipeline a backend::device::mask instead");
        }
    }

    const transform::settings& chosen() const { return checked_.chosen(); }
    std::size_t vocabulary_size() const { return checked_.vocabulary_size(); }
    bool greedy() const { return checked_.greedy(); }

    /// The distribution of the token that follows `before`; empty where the host's is.
    void apply(row of, const prefix& before, distribution_type& out) const {
        scan_result seen = scan(on_, of);
        if (!seen.valid) return out.become_empty(of.size());
        if (!edits_logits()) {
            if (!seen.possible()) return out.become_empty(of.size());
            if (greedy()) return out.become_point(seen.first, of.size());
        }
        bool possible = true;
        out.refill(of.size(), [&](float* work) {
            const thrust::device_ptr<const float> first(of.logits);
            thrust::copy(on_, first, first + static_cast<std::ptrdiff_t>(of.size()), thrust::device_ptr<float>(work));
            if (edits_logits()) {
                edit(work, before);
                seen = scan(on_, {work, of.size()});
            }
            possible = seen.possible();
            if (possible && !greedy()) select(work, of.size(), seen.maximum);
        });
        if (!possible) return out.become_empty(of.size());
        if (greedy()) out.become_point(seen.first, of.size());
    }

    distribution_type operator()(row of, const prefix& before) const {
        distribution_type out(on_);
        apply(of, before, out);
        return out;
    }

 private:
    bool edits_logits() const { return chosen().bias.active() || chosen().penalties.active() || mask_; }

    void edit(float* work, const prefix& before) const {
        if (chosen().bias.active()) for_each(on_, bias_.size(), add_bias{address(bias_), bias_.size(), work});
        if (chosen().penalties.active()) {
            const auto seen = upload(before, vocabulary_size());
            for_each(on_, seen.size(), penalise{address(seen), chosen().penalties, work});
        }
        if (mask_) mask_(work, vocabulary_size(), before);
    }

    /// Logits become weights. No cut removes the maximum.
    void select(float* work, std::size_t size, float maximum) const {
        if (chosen().temperature.active()) {
            for_each(on_, size, sharpen{work, {.shift = maximum, .factor = 1 / chosen().temperature.value}});
            maximum = 0;
        }
        const std::size_t k = chosen().top_k.k;
        if (chosen().top_k.active() && k < size) {
            for_each(on_, size, remove_below{work, kth_largest(on_, {work, size}, k)});
        }
        if (chosen().top_p.active()) cut_to_nucleus(on_, work, size, maximum, static_cast<double>(chosen().top_p.p));
        if (chosen().min_p.active()) for_each(on_, size, remove_below{work, maximum + std::log(chosen().min_p.p)});
        for_each(on_, size, weigh{work, {.top = maximum}, work});
    }

    transform::pipeline checked_;
    mask mask_;
    Policy on_;
    memory<biased_token> bias_;
};

}  // namespace augur::backend::device
