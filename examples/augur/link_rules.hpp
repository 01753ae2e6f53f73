#pragma once
// Criteria of a cascade's links whose rule and divergence are known at run time: one type each, so that a cascade is
// compiled once for all of them.

#include <augur/accept/fuzzy.hpp>
#include <augur/accept/fuzzy_greedy.hpp>
#include <augur/accept/rejection_sampling.hpp>
#include <augur/accept/rejection_then_fuzzy.hpp>
#include <augur/measure/divergence.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace augur::program {

/// In the place of a divergence that is known at run time.
struct named_divergence {
    static constexpr std::string_view name = "as named";
};

template <template <class> class Rule, class... Others>
using of_any_divergence =
    std::variant<Others..., Rule<measure::total_variation>, Rule<measure::kl>, Rule<measure::reverse_kl>,
                 Rule<measure::jensen_shannon>, Rule<measure::hellinger>>;

/// `made.template operator()<D>()` for the divergence of this name; total variation where it is empty. Throws where it
/// is unknown.
auto with_divergence(const std::string& name, const auto& made) {
    if (name.empty() || name == measure::total_variation::name)
        return made.template operator()<measure::total_variation>();
    if (name == measure::kl::name) return made.template operator()<measure::kl>();
    if (name == measure::reverse_kl::name) return made.template operator()<measure::reverse_kl>();
    if (name == measure::jensen_shannon::name) return made.template operator()<measure::jensen_shannon>();
    if (name == measure::hellinger::name) return made.template operator()<measure::hellinger>();
    detail::fail("--divergence '", name, "' is unknown; valid are total_variation, kl, reverse_kl, jensen_shannon, ",
                 "hellinger");
}

/// What a rule promises, in words.
std::string promise_of(const auto& rule) {
    const auto promised = rule.promised();
    std::string divergence;
    const auto name = [&]<template <class> class G, class D>(const G<D>&) { divergence = D::name; };
    name(promised);
    return detail::message(decltype(promised)::name, ": ", divergence, " of at most ", promised.bound);
}

/// rejection_sampling, fuzzy or rejection_then_fuzzy, of any divergence. For chains. What it promises is of the last
/// link of a cascade that goes by the rows that tokens were drawn from.
class link_rule {
    using plain = accept::rejection_sampling;
    template <class Row, class DraftDistribution>
    using left_of = decltype(plain{}.after_rejection(std::declval<const Row&>(),
                                                     std::declval<const drafted_token<DraftDistribution>&>()));

 public:
    using guarantee = guarantee::bounded_divergence<named_divergence>;
    using token_selector = draft::sampled;

    /// Throws where the rule or the divergence is unknown, or the threshold none.
    link_rule(const std::string& rule, const std::string& divergence, double threshold)
        : rejects_first_(rule == "rejection_then_fuzzy"), chosen_(made(rule, divergence, threshold)) {}
    link_rule() : rejects_first_(false), chosen_(plain{}) {}

    template <class DraftDistribution>
    bool accepts(const auto& target, const drafted_token<DraftDistribution>& drafted, auto& draws) const {
        if (is_plain() || rejects_first_) {
            if (plain{}.accepts(target, drafted, draws)) return true;
            if (is_plain()) return false;
        }
        const auto near = [&](const auto& rule) {
            if constexpr (requires { rule.is_near(target, drafted); }) return rule.is_near(target, drafted);
            return false;
        };
        return std::visit(near, chosen_);
    }

    /// Where nothing was asked of chance before, nothing is taken away: the target's own weights, all scaled by a power
    /// of two.
    template <class Row, class DraftDistribution>
    auto after_rejection(const Row& target, const drafted_token<DraftDistribution>& drafted) const {
        if (is_plain() || rejects_first_) return plain{}.after_rejection(target, drafted);
        constexpr double beyond_any_draft = 0x1p300;
        return left_of<Row, DraftDistribution>(target, drafted, beyond_any_draft);
    }

    token draw(const auto& target, auto& draws) const { return plain{}.draw(target, draws); }

    template <class DraftDistribution>
    const distribution& drawn_from(const distribution& target, const drafted_token<DraftDistribution>& drafted,
                                   distribution& mixed) const {
        return std::visit(
            [&](const auto& rule) -> const distribution& { return rule.drawn_from(target, drafted, mixed); }, chosen_);
    }

    std::string promise() const {
        const auto said = [](const auto& rule) -> std::string {
            if constexpr (requires { rule.promised(); }) return promise_of(rule);
            return std::string(plain::guarantee::name);
        };
        return std::visit(said, chosen_);
    }

 private:
    using any = of_any_divergence<accept::fuzzy, plain>;

    static any made(const std::string& rule, const std::string& divergence, double threshold) {
        if (rule == "rejection_sampling") return plain{};
        if (rule != "fuzzy" && rule != "rejection_then_fuzzy") {
            detail::fail("--accept '", rule, "' is unknown for a link; valid are rejection_sampling, fuzzy, ",
                         "rejection_then_fuzzy");
        }
        return with_divergence(divergence, [&]<class D>() { return any(accept::fuzzy<D>(threshold)); });
    }
    bool is_plain() const { return std::holds_alternative<plain>(chosen_); }

    bool rejects_first_;
    any chosen_;
};

/// fuzzy_greedy of any divergence.
class greedy_link_rule {
    using any = of_any_divergence<accept::fuzzy_greedy>;

 public:
    using guarantee = guarantee::greedy_within<named_divergence>;
    using token_selector = draft::argmax_with_row;
    using draft_distribution = mode_of_row;

    greedy_link_rule(const std::string& divergence, double threshold)
        : chosen_(with_divergence(divergence, [&]<class D>() { return any(accept::fuzzy_greedy<D>(threshold)); })) {}

    void check(const transform::settings& chosen) const {
        std::visit([&](const auto& rule) { rule.check(chosen); }, chosen_);
    }
    template <DeterministicDistribution DraftDistribution>
    bool accepts(const distribution& target, const drafted_token<DraftDistribution>& drafted, auto& draws) const {
        return std::visit([&](const auto& rule) { return rule.accepts(target, drafted, draws); }, chosen_);
    }
    token draw(const distribution& target, auto& /*draws*/) const { return target.mode(); }
    template <DeterministicDistribution DraftDistribution>
    const distribution& drawn_from(const distribution& target, const drafted_token<DraftDistribution>& drafted,
                                   distribution& certain) const {
        const auto from = [&](const auto& rule) -> const distribution& {
            return rule.drawn_from(target, drafted, certain);
        };
        return std::visit(from, chosen_);
    }
    std::string promise() const {
        return std::visit([](const auto& rule) { return promise_of(rule); }, chosen_);
    }

 private:
    any chosen_;
};

}  // namespace augur::program
