// Schemes of any number of models, all behind any_model: instantiated once for each number.

#include <array>
#include <augur/policy/fixed_length.hpp>
#include <augur/scheme/cascade.hpp>
#include <augur/switching/step.hpp>
#include <optional>
#include <tuple>
#include <utility>

#include "bridge.hpp"
#include "link_rules.hpp"
#include "lossy_rules.hpp"
#include "run_scheme.hpp"

namespace augur::program {
namespace {

template <std::size_t... I>
run_result cascade_of(const scheme_options& resolved, const std::vector<model::any_model>& models,
                      const run_request& request, std::index_sequence<I...>) {
    const std::vector<link_choice> links = links_of(resolved);
    const auto link = [&](std::size_t i) {
        return scheme::model_link{policy::fixed_length{resolved.lengths.at(i)},
                                  link_rule(links.at(i).rule, resolved.divergence, links.at(i).threshold)};
    };
    // model, link, model, link, ..., model
    const auto parts = std::tuple_cat(std::forward_as_tuple(models[I], link(I))..., std::tie(models[sizeof...(I)]));
    return std::apply([&](const auto&... each) { return run_scheme(cascaded(each...), request); }, parts);
}

template <std::size_t... I>
run_result turns_of_many(const scheme_options& resolved, const std::vector<model::any_model>& models,
                         const run_request& request, std::index_sequence<I...>) {
    const switching::switching_options options{.draft_length = resolved.length.value_or(0)};
    return run_scheme(switched(models[I]..., turns_of(resolved)).with(options), request);
}

template <std::size_t... I>
run_result bridged_turns_of(const scheme_options& resolved, const std::vector<model::any_model>& models,
                            const run_request& request, std::index_sequence<I...>) {
    const std::vector<bridged_side>& sides = *request.bridge;
    const auto scheme = switched(spoken(models[I], sides[I].codec, sides[I].end_tokens)..., turns_of(resolved));
    const std::array<switching::opening, sizeof...(I)> openings{switching::opening{.prompt = sides[I].prompt}...};
    const decode::options& chosen = request.options;
    std::optional<decode::session<std::remove_const_t<decltype(scheme)>>> s;
    const detail::stopwatch since;
    const bool has_read = unless_interrupted(
        [&] { s.emplace(scheme, openings, chosen.sampling, chosen.stop, random::philox_chooser(chosen.seed)); });
    if (has_read) return run_text(scheme, *s, request);
    statistics so_far;
    so_far.seconds.prefill = since.seconds();
    return cancelled_at_prompt(so_far);
}

/// `run(std::index_sequence)` of as many numbers as there are draft models.
template <std::size_t Least = 1>
run_result for_number(std::size_t drafts, const auto& run) {
    if constexpr (Least <= most_draft_models) {
        if (drafts == Least) return run(std::make_index_sequence<Least>());
        return for_number<Least + 1>(drafts, run);
    }
    detail::fail("there are ", drafts, " draft models; the most is ", most_draft_models);
}

}  // namespace

run_result run_cascade(const scheme_options& resolved, const std::vector<model::any_model>& models,
                       const run_request& request) {
    return for_number(models.size() - 1, [&](auto numbers) { return cascade_of(resolved, models, request, numbers); });
}

run_result run_many_turns(const scheme_options& resolved, const std::vector<model::any_model>& models,
                          const run_request& request) {
    return for_number(
        models.size() - 1, [&]<std::size_t... I>(std::index_sequence<I...>) {
            return turns_of_many(resolved, models, request, std::make_index_sequence<sizeof...(I) + 1>());
        });
}

run_result run_bridged_turns(const scheme_options& resolved, const std::vector<model::any_model>& models,
                             const run_request& request) {
    return for_number(
        models.size() - 1, [&]<std::size_t... I>(std::index_sequence<I...>) {
            return bridged_turns_of(resolved, models, request, std::make_index_sequence<sizeof...(I) + 1>());
        });
}

}  // namespace augur::program
