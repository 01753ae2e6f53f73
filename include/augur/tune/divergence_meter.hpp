#pragma once
// Measures how far a lossy scheme's texts are from the target's distribution. See docs/tune/divergence_meter.md.

#include <cstddef>
#include <utility>

#include "augur/measure/divergence.hpp"
#include "augur/scheme/stage.hpp"
#include "augur/transform/pipeline.hpp"
#include "augur/types/distribution.hpp"
#include "augur/types/prefix.hpp"
#include "augur/types/proposal.hpp"

namespace augur::tune {

/// A watcher: adds up the divergence D between the target's row and the one that each position's token is in effect
/// drawn from, as `Criterion` says (drawn_from). Over the tokens of a text: the mean distance of its distribution from
/// the target's, for the prefixes that were met. Chains alone. One decoding at a time.
/// Cost: a transform per committed token, and a pass over both rows per drafted one of these.
template <class Criterion, measure::Divergence D = measure::total_variation>
class divergence_meter {
 public:
    /// The criterion of the last link, the settings of the decoding, the target's vocabulary.
    divergence_meter(Criterion criterion, transform::settings sampling, std::size_t vocabulary_size)
        : criterion_(std::move(criterion)), transform_(std::move(sampling), vocabulary_size) {}

    void watch(const auto& view) {
        require_chain(view.proposed);
        prefix before = text_before(view);
        for (std::size_t i = 0; i < view.committed.size(); ++i) {
            if (i < view.proposed.size()) add(view.rows[i], view.proposed[i], before);
            before.push(view.committed[i].id);
        }
    }

    /// Positions of the text for which something had been drafted.
    std::size_t judged() const { return judged_; }
    /// Summed over these; where nothing was drafted the target draws, at distance 0.
    double divergence() const { return divergence_; }

 private:
    static prefix text_before(const auto& view) {
        const auto all = view.prefix.tokens();
        prefix before(all.first(view.prefix.prompt_length()));
        for (token t : all.first(view.length_before).subspan(view.prefix.prompt_length())) before.push(t);
        return before;
    }

    void add(logit_row row, const auto& drafted, const prefix& before) {
        transform_.apply(row, before, target_);
        if (target_.empty()) return;
        ++judged_;
        const distribution& from = criterion_.drawn_from(target_, drafted, mixed_);
        if (&from != &target_) divergence_ += measure::divergence<D>(target_, from);
    }

    Criterion criterion_;
    transform::pipeline transform_;
    distribution target_, mixed_;  // storage
    std::size_t judged_ = 0;
    double divergence_ = 0;
};

}  // namespace augur::tune
