#pragma once
// Criteria and drafters that look right and are not, for the tests of the law suites.

#include <algorithm>
#include <augur/accept/block.hpp>
#include <augur/accept/coupled.hpp>
#include <augur/accept/rejection_sampling.hpp>
#include <augur/draft/draft_model.hpp>
#include <augur/testing/models.hpp>
#include <augur/testing/next_weight.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace wrong {

using augur::distribution;
using augur::drafted_token;
using augur::token;

/// Forgets that the token was rejected: corrects from the target, not from the residual.
struct no_residual : augur::accept::rejection_sampling {
    const auto& after_rejection(const auto& target, const auto& /*drafted*/) const { return target; }
};

/// Counts its own calls.
struct remembers : augur::accept::rejection_sampling {
    mutable int calls = 0;
    bool accepts(const auto& target, const auto& drafted, auto& draws) const {
        if (target.probability(drafted.id) > 0 && calls++ % 3 == 2) return true;
        return rejection_sampling::accepts(target, drafted, draws);
    }
};

/// Accepts when two coins come true, each with the square root of the right probability, and asks for both under one
/// name: in production they are one number, and a token is accepted with the square root.
struct two_coins : augur::accept::rejection_sampling {
    bool accepts(const auto& target, const auto& drafted, auto& draws) const {
        const double ratio = target.probability(drafted.id) / drafted.probability(drafted.id);
        const double each = std::sqrt(std::min(1.0, ratio));
        const bool first = draws.flip(each, augur::purpose::accept);
        return draws.flip(each, augur::purpose::accept) && first;
    }
};

/// Draws its token by a coin and, where that fails, again under the same name.
struct draws_again : augur::draft::sampled {
    augur::token pick(const distribution& row, auto& draws) const {
        const token first = sampled::pick(row, draws);
        return row.probability(first) < 0.5 ? sampled::pick(row, draws) : first;
    }
};

/// Draws with noise of its own where plain sampling shares the position's: right law, another text.
struct own_noise : augur::accept::coupled {
    bool accepts(const auto& target, const auto& drafted, auto& draws) const {
        return draws.flip(target.probability(drafted.id), augur::purpose::accept);
    }
    auto after_rejection(const auto& target, const auto& drafted) const {
        return augur::accept::residual(target, drafted_token<augur::point_mass>{drafted.id});
    }
    token draw(const auto& target, auto& draws) const {
        return static_cast<token>(draws.choose(target, augur::purpose::correction));
    }
};

/// Criteria that are wrong far out only: each keeps every law in rows of up to forty tokens.
namespace far_out {

using augur::distribution;
using augur::accept::rejection_sampling;

/// Ids cut to what a narrower type holds. Signed ones, which would be negative, are taken for 0.
using cut = token (*)(token);
inline token to_byte(token t) {
    return static_cast<std::uint8_t>(t);
}
inline token to_16_bits(token t) {
    return static_cast<std::uint16_t>(t);
}
inline token to_signed_byte(token t) {
    return std::max<token>(0, static_cast<std::int8_t>(t));
}
inline token to_signed_16_bits(token t) {
    return std::max<token>(0, static_cast<std::int16_t>(t));
}

/// Accepts tokens by 5 % too often, where a condition says so.
struct too_often : rejection_sampling {
    bool (*where)(std::size_t id, std::size_t vocabulary);

    explicit too_often(bool (*wrong_where)(std::size_t id, std::size_t vocabulary)) : where(wrong_where) {}
    bool accepts(const auto& target, const auto& drafted, auto& draws) const {
        const double ratio = target.probability(drafted.id) / drafted.probability(drafted.id);
        const bool wrong = where(static_cast<std::size_t>(drafted.id), target.size());
        return ratio > 0 && draws.flip(std::min(1.0, (wrong ? 1.05 : 1) * ratio), augur::purpose::accept);
    }
};
template <std::size_t N>
bool from_token(std::size_t id, std::size_t) {
    return id >= N;
}
template <std::size_t N>
bool at_token(std::size_t id, std::size_t) {
    return id == N;
}
inline bool at_the_last(std::size_t id, std::size_t vocabulary) {
    return vocabulary > 40 && id + 1 == vocabulary;
}
inline bool low_in_wide_rows(std::size_t id, std::size_t vocabulary) {
    return vocabulary > 65'536 && id < 40;
}

/// Looks the target's probability up under a cut id.
struct looks_up_cut : rejection_sampling {
    cut to;

    explicit looks_up_cut(cut narrower) : to(narrower) {}
    bool accepts(const auto& target, const auto& drafted, auto& draws) const {
        const double ratio = target.probability(to(drafted.id)) / drafted.probability(drafted.id);
        return target.probability(drafted.id) > 0 && draws.flip(std::min(1.0, ratio), augur::purpose::accept);
    }
};

/// Draws the token that follows a whole draft, or none, with a cut id; corrections are right.
struct cuts_the_bonus : rejection_sampling {
    cut to;

    explicit cuts_the_bonus(cut narrower) : to(narrower) {}
    using rejection_sampling::draw;
    token draw(const distribution& target, auto& draws) const { return to(rejection_sampling::draw(target, draws)); }
};

/// What of a residual of so many tokens is kept: token i, of which so many with weight come before.
using keeps = bool (*)(std::size_t i, std::size_t size, std::size_t before);
/// The tail of a vector is forgotten, in rows that are longer than those of other laws.
template <std::size_t Lanes>
bool all_but_the_tail(std::size_t i, std::size_t size, std::size_t) {
    return size <= 64 || i < size / Lanes * Lanes;
}
inline bool all_but_the_last(std::size_t i, std::size_t size, std::size_t) {
    return size <= 40 || i + 1 < size;
}
inline bool a_short_list(std::size_t, std::size_t, std::size_t before) {
    return before < 32;
}

/// Draws from the residual that is kept, unless nothing is.
struct forgets : rejection_sampling {
    keeps kept;

    explicit forgets(keeps some) : kept(some) {}
    using rejection_sampling::draw;
    template <class DraftDistribution, class Row>
    token draw(const augur::accept::residual_weights<DraftDistribution, Row>& left, auto& draws) const {
        std::vector<float> weights(left.size());
        std::size_t before = 0;
        double total = 0;
        for (std::size_t i = augur::testing::next_weight(left, 0); i < left.size();
             i = augur::testing::next_weight(left, i + 1)) {
            if (kept(i, left.size(), before++)) total += weights[i] = static_cast<float>(left[i]);
        }
        if (!(total > 0) || left.size() <= 64) return rejection_sampling::draw(left, draws);
        return static_cast<token>(draws.choose(distribution::weighted(std::move(weights)), augur::purpose::correction));
    }
};

/// Judges siblings after a rejection against what is left without a token of a cut id.
struct cuts_the_rejected : rejection_sampling {
    cut to;

    explicit cuts_the_rejected(cut narrower) : to(narrower) {}
    using rejection_sampling::after_rejection;
    template <class DraftDistribution, class Row>
    auto after_rejection(const augur::accept::residual_weights<DraftDistribution, Row>& left,
                         drafted_token<DraftDistribution> drafted, augur::accept::residual_storage& workspace) const {
        drafted.id = to(drafted.id);
        return augur::accept::residual(left, drafted, workspace);
    }
};

/// Compares tokens as narrower numbers, and takes the drafted one.
template <class Criterion>
struct compares_cut : Criterion {
    cut to;

    explicit compares_cut(cut narrower) : to(narrower) {}
    bool accepts(const auto& target, const auto& drafted, auto& draws) const {
        token wanted = target.mode();
        if constexpr (std::is_same_v<Criterion, augur::accept::coupled>) {
            wanted = static_cast<token>(draws.exponential_race_once(target));
        }
        return to(wanted) == to(drafted.id);
    }
};

/// Looks up whole blocks under cut ids.
struct block_of_cut_ids : augur::accept::block {
    cut to;

    explicit block_of_cut_ids(cut narrower) : to(narrower) {}
    template <augur::ChainProposal Proposal, class Draws>
    augur::verdict judge_block(std::span<const distribution> targets, const Proposal& proposed,
                               const Draws& draws) const {
        augur::verdict decided = block::judge_block(targets, proposed, draws);
        if (decided.next != augur::no_token) decided.next = to(decided.next);
        return decided;
    }
};

}  // namespace far_out

}  // namespace wrong
