#pragma once
// The logits pipeline: turns a row of logits into the distribution that is sampled, the same for every model.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "augur/detail/largest.hpp"
#include "augur/detail/listed.hpp"
#include "augur/detail/row_scan.hpp"
#include "augur/detail/selection.hpp"
#include "augur/transform/bias.hpp"
#include "augur/transform/min_p.hpp"
#include "augur/transform/penalties.hpp"
#include "augur/transform/temperature.hpp"
#include "augur/transform/top_k.hpp"
#include "augur/transform/top_p.hpp"
#include "augur/types/distribution.hpp"
#include "augur/types/error.hpp"
#include "augur/types/prefix.hpp"
#include "augur/types/scores.hpp"

namespace augur::transform {

/// Removes tokens (sets logits to -infinity) by what stands before the position: a grammar, for example. It is asked
/// anew at every position, drafted ones included, and must depend on its arguments only. What it throws passes through.
using mask = std::function<void(std::span<float> logits, const prefix& before)>;

/// Sampling settings. The defaults change nothing: plain softmax.
struct settings {
    transform::bias bias{};
    transform::penalties penalties{};
    transform::mask mask{};
    transform::temperature temperature{};
    transform::top_k top_k{};
    transform::top_p top_p{};
    transform::min_p min_p{};
};

/// bias, penalties, mask, temperature, top-k, top-p, min-p, softmax: transformers' order (docs/transform/pipeline.md).
/// Checked against the vocabulary at construction; applying it to rows of that size throws nothing of its own. The
/// transforms' outcome, bit for bit, in fewer passes: one scan for the largest logit; without a cut one more to weigh
/// all; with top-k or min-p a look at the few chunks that hold what stays; with top-p alone a pass for the mass. Of a
/// row that names the tokens that are possible these passes are over those.
class pipeline {
 public:
    using distribution_type = distribution;

    pipeline(settings chosen, std::size_t vocabulary_size)
        : settings_(std::move(chosen)), vocabulary_size_(vocabulary_size) {
        if (vocabulary_size == 0) augur::detail::fail("the vocabulary size is 0; there is nothing to draw from");
        settings_.bias.check(vocabulary_size);
        settings_.penalties.check(vocabulary_size);
        settings_.temperature.check(vocabulary_size);
        settings_.top_k.check(vocabulary_size);
        settings_.top_p.check(vocabulary_size);
        settings_.min_p.check(vocabulary_size);
    }

    const settings& chosen() const { return settings_; }
    std::size_t vocabulary_size() const { return vocabulary_size_; }
    bool greedy() const { return settings_.temperature.value == 0; }

    /// The distribution of the token that follows `before`. A row holding NaN or +infinity, or nothing finite after the
    /// transforms, gives an empty distribution: nothing can be drawn from it.
    void apply(logit_row row, const prefix& before, distribution& out) const {
        row = with_short_list(row);
        if (edits_logits()) {
            if (!scan(row).valid) return out.become_empty(row.size());
            const std::span<float> work = out.lend(row.size());
            std::copy(row.begin(), row.end(), work.begin());
            edit(work, before);
            row = {work.data(), work.size(), possible_when_edited(row)};
        }
        if (!greedy() && cuts(row.size())) return cut(row, out);
        const augur::detail::row_scan seen = scan(row);
        if (!seen.possible()) return out.become_empty(row.size());
        if (greedy()) return out.become_point(static_cast<token>(seen.first), row.size());
        const augur::detail::sharpening by = sharpening_below(seen.largest);
        if (row.possible().empty() || edits_logits()) {  // edited, the row lies where its weights are to be
            return out.refill(row.size(), [&](std::span<float> work) { by.weigh(row, work.data()); });
        }
        out.refill_listed(row.size(), row.possible(), [&](float* weights, std::span<const token> some) {
            const augur::detail::listed_chunk logits(row, some);
            by.weigh({logits.values, logits.up_to(8)}, weights);
        });
    }

    /// The tokens of the `count` largest logits after bias, penalties and mask, the largest first, of equals the lowest
    /// id: what a greedy draft guesses first, second, third, at any temperature. Fewer where fewer are possible; none
    /// in an invalid row. Returns these logits, which are the row's or lie in `work`. Cost: one look at the row, and
    /// `count` steps for each logit that is larger than all before it.
    logit_row rank(logit_row row, const prefix& before, std::size_t count, std::vector<token>& out,
                   std::vector<float>& work) const {
        out.clear();
        if (count == 0) return row;
        row = with_short_list(row);
        if (edits_logits()) {
            if (!scan(row).valid) return row;
            work.assign(row.begin(), row.end());
            edit(work, before);
            row = {work.data(), work.size(), possible_when_edited(row)};
        }
        if (!augur::detail::largest_of(row, count, out, row.possible())) out.clear();
        return row;
    }

    distribution operator()(logit_row row, const prefix& before) const {
        distribution out;
        apply(row, before, out);
        return out;
    }

 private:
    static logit_row with_short_list(logit_row row) {
        return {row.data(), row.size(), augur::detail::if_short(row.possible(), row.size())};
    }
    static augur::detail::row_scan scan(logit_row row) {
        return row.possible().empty() ? augur::detail::scan_row(row) : augur::detail::scan_listed(row, row.possible());
    }

    bool edits_logits() const { return settings_.bias.active() || settings_.penalties.active() || settings_.mask; }

    void edit(std::span<float> work, const prefix& before) const {
        if (settings_.bias.active()) settings_.bias(work, before);
        if (settings_.penalties.active()) settings_.penalties(work, before);
        if (settings_.mask) settings_.mask(work, before);
    }

    /// Neither a bias nor penalties make more of -infinity; of a mask nobody knows what it does.
    std::span<const token> possible_when_edited(logit_row row) const {
        return settings_.mask || !settings_.penalties.keep_impossible() ? std::span<const token>() : row.possible();
    }

    augur::detail::sharpening sharpening_below(float largest) const {
        return augur::detail::sharpening::at(settings_.temperature.value, largest);
    }

    bool cuts_to_k(std::size_t size) const { return settings_.top_k.active() && settings_.top_k.k < size; }
    bool cuts(std::size_t size) const {
        return cuts_to_k(size) || settings_.top_p.active() || settings_.min_p.active();
    }

    /// Temperature, top-k, top-p, min-p and softmax: what these transforms do one after the other, done to few tokens.
    void cut(logit_row row, distribution& out) const {
        out.refill_few(row.size(), [&](augur::detail::selection& some) {
            const augur::detail::row_extent seen = some.scan(row, row.possible());
            if (seen.possible()) select(some, sharpening_below(seen.largest), row.size());
            if (!row.possible().empty()) some.put_back(row.possible());
        });
    }

    void select(augur::detail::selection& some, const augur::detail::sharpening& by, std::size_t size) const {
        const float least = std::log(settings_.min_p.p);  // above the largest that is left
        if (cuts_to_k(size)) {
            some.keep_largest(settings_.top_k.k, by);
            if (settings_.top_p.active()) some.cut_to_share(static_cast<double>(settings_.top_p.p));
        } else if (settings_.top_p.active()) {
            some.keep_mass(static_cast<double>(settings_.top_p.p), by);
        } else {
            return some.keep_from(by.top + least, by);
        }
        if (settings_.min_p.active()) some.drop_below(some.largest_kept() + least);
    }

    settings settings_;
    std::size_t vocabulary_size_;
};

}  // namespace augur::transform
