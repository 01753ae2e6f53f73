#include "slow_verifier.hpp"

#include <algorithm>
#include <augur/io/files/quote.hpp>
#include <augur/measure/entropy.hpp>
#include <augur/train/checkpoint.hpp>
#include <augur/types/error.hpp>
#include <cmath>
#include <filesystem>
#include <span>
#include <utility>

#include "learning.hpp"
#include "options.hpp"

namespace augur::program {
namespace {

std::string name_of(train::slow_target target) {
    return target == train::slow_target::soft ? "soft" : "committed";
}

/// A head on the model's last states, which the model has normalised.
slow_verifier::head_type head_of(const llama::host_model& model, std::size_t rank) {
    const llama::weights& own = model.parameters();
    return {train::packed_weight_matrix(own.output(), model.pool()),
            {.layer = model.layer_count(), .vocabulary_size = model.vocabulary_size(), .tokens = own.head_tokens},
            {.norm = train::norm_kind::none, .scale = train::scale_kind::none, .rank = rank}};
}

/// As the file has it, where there is one.
slow_verifier::head_type head_of(const llama::host_model& model, const slow_verifier_options& chosen,
                                 const train::state_identity& identity) {
    slow_verifier::head_type head = head_of(model, chosen.rank);
    if (chosen.file.empty() || !std::filesystem::exists(chosen.file)) return head;
    const auto kept = train::checkpoint_file::load<float>(chosen.file, identity);
    kept.check(head, chosen.file);
    head.assign(kept.values);
    return head;
}

/// Of each token but a text's first, by the row after those before it.
slow_verifier::text_score score_of(const auto& model, const std::vector<std::vector<token>>& texts) {
    slow_verifier::text_score found;
    double nats = 0;
    std::size_t chosen = 0;
    for (const std::vector<token>& text : texts) {
        if (text.size() < 2) continue;
        auto sequence = model.make_sequence();
        const scores rows = model.extend(sequence, std::span(text).first(text.size() - 1));
        for (std::size_t i = 0; i < rows.size(); ++i) {
            const token next = text[i + 1];
            const double logarithm = measure::log_probability(rows[i], next);
            if (!std::isfinite(logarithm)) detail::fail("--score: the row before token ", next, " says nothing of it");
            nats -= logarithm;
            const auto largest = std::max_element(rows[i].begin(), rows[i].end()) - rows[i].begin();
            chosen += static_cast<token>(largest) == next ? 1U : 0U;
            ++found.tokens;
        }
    }
    if (found.tokens == 0) detail::fail("--score: no text has two tokens, so that there is none to score");
    found.perplexity = std::exp(nats / static_cast<double>(found.tokens));
    found.first_choice = static_cast<double>(chosen) / static_cast<double>(found.tokens);
    return found;
}

/// A period that is shorter than the least that is learned from needs no more than its half.
train::slow_options updates_of(const slow_verifier_options& chosen) {
    train::slow_options updates = chosen.updates;
    updates.target = chosen.target.value_or(updates.target);
    updates.least = std::clamp<std::size_t>(updates.period / 2, 1, updates.least);
    return updates;
}

}  // namespace

void check(const slow_verifier_options& chosen, const std::string& scheme) {
    if (!chosen.target) {
        if (chosen.named.empty()) return;
        detail::fail(chosen.named, " is given, but --slow-updates is none; the verifier does not learn");
    }
    const std::string flag = "--slow-updates";
    if (scheme != "dvi") {
        detail::fail(flag, " is ", name_of(*chosen.target), ", but the scheme is ", io::quote(scheme),
                     "; only dvi's verifier learns");
    }
    const train::slow_options& of = chosen.updates;
    const auto at_least_1 = [](const char* option, std::size_t value) {
        if (value == 0) detail::fail(option, " is 0; it must be at least 1");
    };
    at_least_1("--slow-rank", chosen.rank);
    at_least_1("--slow-period", of.period);
    at_least_1("--slow-steps", of.updates);
    of_option("--slow-rate", [&] { of.steps.check(); });
    if (!(of.beta >= 0 && std::isfinite(of.beta))) detail::fail("--slow-beta is ", of.beta, "; it must be 0 or more");
    if (!(of.most_kl >= 0)) detail::fail("--slow-kl is ", of.most_kl, "; it must be 0 or more");
    if (!(of.most_perplexity >= 1)) {
        detail::fail("--slow-perplexity is ", of.most_perplexity, "; it must be 1 or more");
    }
}

slow_verifier::slow_verifier(const llama::host_model& model, const slow_verifier_options& chosen)
    : identity_{model.fingerprint(), model.layer_count(), model.hidden_size(), model.vocabulary_size()},
      head_(of_option("--slow-rank and --verifier", [&] { return head_of(model, chosen, identity_); })),
      frozen_(head_of(model, chosen.rank).values()),
      updated_(model, head_),
      target_(std::as_const(updated_)),
      slow_(head_, frozen_, updates_of(chosen)),
      model_(model) {}

void slow_verifier::score_on(std::vector<std::vector<token>> texts) {
    texts_ = std::move(texts);
    models_ = score_of(model_, texts_);
    own_ = score_of(updated_, texts_);
}

std::string slow_verifier::between_texts() {
    const std::size_t before = slow_.report().periods;
    const bool kept = slow_.between_texts();
    const train::slow_report now = slow_.report();
    if (now.periods == before) return {};
    if (kept && !texts_.empty()) own_ = score_of(updated_, texts_);
    return detail::message("the verifier's period ", now.periods, " is ", kept ? "kept" : "undone", ": ", now.kl,
                           " nats from the model, perplexity ", now.perplexity, " against ", now.frozen_perplexity,
                           " of the model");
}

void slow_verifier::save(const std::string& path) const {
    const train::vector<float> none = train::vector<float>::Zero(head_.values().size());
    const train::checkpoint<float> kept{.options = head_.options(),
                                        .tokens = {head_.tokens().begin(), head_.tokens().end()},
                                        .values = head_.values(),
                                        .first = none,
                                        .second = none};
    removed_on_signals seen;
    train::checkpoint_file::save(kept, path, identity_, &seen);
}

nlohmann::ordered_json slow_verifier::settings() const {
    const train::slow_options& of = slow_.options();
    return {{"target", name_of(of.target)},
            {"rank", head_.options().rank},
            {"beta", of.beta},
            {"rate", of.steps.rate},
            {"period", of.period},
            {"steps", of.updates},
            {"most_kl", of.most_kl},
            {"most_perplexity", of.most_perplexity}};
}

nlohmann::ordered_json slow_verifier::report() const {
    const train::slow_report now = slow_.report();
    nlohmann::ordered_json all = {{"is_the_model", head_.values() == frozen_},
                                  {"periods", now.periods},
                                  {"kept", now.kept},
                                  {"rolled_back", now.rolled_back},
                                  {"dropped", now.dropped},
                                  {"samples", now.samples},
                                  {"held_back", now.held_back},
                                  {"cross_entropy", now.cross_entropy},
                                  {"kl_of_old", now.to_old},
                                  {"kl_of_model", now.kl},
                                  {"perplexity", now.perplexity},
                                  {"model_perplexity", now.frozen_perplexity}};
    if (texts_.empty()) return all;
    all["score"] = {{"tokens", own_.tokens},
                    {"perplexity", own_.perplexity},
                    {"model_perplexity", models_.perplexity},
                    {"first_choice", own_.first_choice},
                    {"model_first_choice", models_.first_choice}};
    return all;
}

}  // namespace augur::program
