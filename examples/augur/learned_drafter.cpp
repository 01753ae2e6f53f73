#include "learned_drafter.hpp"

#include <augur/accept/coupled.hpp>
#include <augur/accept/exact.hpp>
#include <augur/accept/rejection_sampling.hpp>
#include <augur/draft/ngram_memory.hpp>
#include <augur/draft/suffix_lookup.hpp>
#include <augur/io/files/quote.hpp>
#include <augur/policy/fixed_length.hpp>
#include <type_traits>
#include <utility>

#include "run_scheme.hpp"

namespace augur::program {
namespace {

/// As text demands that must be plain decoding's.
run_result run_lossless(const run_request& request, const auto& compose) {
    return request.options.sampling.temperature.value == 0 ? compose(accept::exact{}) : compose(accept::coupled{});
}

/// What has a trainer.
template <class Learned>
class trained_drafter : public learned_drafter {
 public:
    explicit trained_drafter(const auto&... from) : learned_(from...) {}

    void restore(const std::string& adapter) override { learned_.restore(adapter); }
    void save(const std::string& adapter) override { learned_.save(adapter); }
    void restore_replay(const std::string& path) override {
        learned_.online().restore_replay(path, learned_.identity());
    }
    void save_replay(const std::string& path) override {
        removed_on_signals seen;
        learned_.online().save_replay(path, learned_.identity(), &seen);
    }
    train::diagnostics report() const override { return learned_.online().report(); }
    void catch_up() override {
        if (learned_.online().options().idle) learned_.online().catch_up(&interruption::pressed);
    }

 protected:
    mutable Learned learned_;
};

/// Its rounds are shown to its trainer (watcher_of).
template <class Learned>
class shown_drafter final : public trained_drafter<Learned> {
 public:
    using trained_drafter<Learned>::trained_drafter;

    std::size_t exit_layer() const override { return drafts_in_model ? this->learned_.identity().layer : 0; }

 private:
    static constexpr bool drafts_in_model = std::is_same_v<Learned, learned_exit> ||
                                            std::is_same_v<Learned, learned_exit_layer> ||
                                            std::is_same_v<Learned, learned_attending>;

    run_result decode_text(const engine& target, const run_request& request, const draft_bounds& bounds,
                           slow_watcher verifier) override {
        auto learns = watcher_of(this->learned_);
        const auto& drafter = this->learned_.drafts();
        const auto compose = [&](auto criterion) {
            const auto run_by = [&](const auto& until) {
                return run_scheme(speculate(drafter, target, until, criterion), request, learns, verifier);
            };
            if (!bounds.threshold) return run_by(this->as_pays(bounds));
            return run_by(policy::confidence_stop({.threshold = *bounds.threshold, .max_tokens = bounds.most}));
        };
        if constexpr (drafts_in_model) {
            if (bounds.drawn) return compose(accept::rejection_sampling{});
        }
        return run_lossless(request, compose);
    }
};

using exit_drafter = shown_drafter<learned_exit>;
using exit_layer_drafter = shown_drafter<learned_exit_layer>;
using attending_drafter = shown_drafter<learned_attending>;
using heads_drafter = shown_drafter<learned_heads>;
using eagle_drafter = shown_drafter<learned_eagle>;

/// N-grams' majority, in fixed memory.
struct counted_ngrams {
    draft::ngram_memory memory;
    explicit counted_ngrams(std::size_t vocabulary)
        : memory({.shortest = 1, .longest = 4, .vocabulary_size = vocabulary}) {}
    auto drafter() const { return draft::learned_ngrams(memory); }
    auto watcher() { return draft::ngram_watcher(memory); }
    std::size_t samples() const { return memory.size(); }
};

/// Suffixes of all texts, and how often they occurred.
struct counted_suffixes {
    draft::suffix_memory memory;
    explicit counted_suffixes(std::size_t vocabulary) : memory(vocabulary) {}
    auto drafter() const { return draft::suffix_lookup(memory); }
    auto watcher() { return draft::suffix_watcher(memory); }
    std::size_t samples() const { return memory.tokens(); }
};

/// Learns by counting, and keeps nothing between runs.
template <class Counted>
class counting_drafter final : public learned_drafter {
 public:
    explicit counting_drafter(const llama::host_model& target) : counted_(target.vocabulary_size()) {}

    void restore(const std::string&) override {}
    void save(const std::string&) override {}
    void restore_replay(const std::string&) override {}
    void save_replay(const std::string&) override {}
    void catch_up() override {}
    train::diagnostics report() const override {
        train::diagnostics total;
        total.samples = counted_.samples();
        total.tokens = tokens_;
        return total;
    }

 private:
    run_result decode_text(const engine& target, const run_request& request, const draft_bounds& bounds,
                           slow_watcher verifier) override {
        auto learns = counted_.watcher();
        if constexpr (requires { learns.read(request.prompt); }) learns.read(request.prompt);
        run_result result = run_lossless(request, [&](auto criterion) {
            const auto run_by = [&](const auto& until) {
                return run_scheme(speculate(counted_.drafter(), target, until, criterion), request, learns, verifier);
            };
            if (!bounds.threshold) return run_by(as_pays(bounds));
            return run_by(policy::fixed_length{bounds.most});
        });
        tokens_ += result.ids.size();
        return result;
    }

    Counted counted_;
    std::size_t tokens_ = 0;
};

}  // namespace

std::unique_ptr<learned_drafter> make_learned(const llama::host_model& target, const learning_options& chosen,
                                              const llama::load_options& options) {
    const bool has_heads = chosen.scheme == "medusa" || chosen.scheme == "hydra";
    if (!chosen.heads.empty() && !has_heads && chosen.scheme != "eagle") {
        detail::fail("--heads is ", chosen.heads, ", but the scheme is ", io::quote(chosen.scheme),
                     "; medusa, hydra and eagle start from a file");
    }
    if (chosen.exit_layer != 0 && chosen.scheme != "dvi") {
        detail::fail("--exit-layer is ", chosen.exit_layer, ", but the scheme is ", io::quote(chosen.scheme),
                     "; only dvi drafts with the model's first layers");
    }
    if (chosen.head.layer_rank != 0 && chosen.scheme != "dvi") {
        detail::fail("--layer-rank is ", chosen.head.layer_rank, ", but the scheme is ", io::quote(chosen.scheme),
                     "; only dvi drafts with the model's first layers");
    }
    if (chosen.attention_rank != 0 && (chosen.scheme != "dvi" || chosen.head.layer_rank == 0)) {
        detail::fail("--attention-rank is ", chosen.attention_rank, ", but the scheme is ", io::quote(chosen.scheme),
                     " and --layer-rank is ", chosen.head.layer_rank,
                     "; only dvi drafts with such a layer, all of whose", " projections learn then");
    }
    if (chosen.attention_rank != 0) return std::make_unique<attending_drafter>(target, chosen);
    if (chosen.scheme == "dvi" && chosen.head.layer_rank != 0) {
        return std::make_unique<exit_layer_drafter>(target, chosen);
    }
    if (chosen.scheme == "dvi") return std::make_unique<exit_drafter>(target, chosen);
    if (has_heads) return std::make_unique<heads_drafter>(target, chosen, options);
    if (chosen.scheme == "eagle") return std::make_unique<eagle_drafter>(target, chosen, options);
    if (chosen.scheme == "ngram") return std::make_unique<counting_drafter<counted_ngrams>>(target);
    if (chosen.scheme == "suffix") return std::make_unique<counting_drafter<counted_suffixes>>(target);
    detail::fail("--scheme is ", io::quote(chosen.scheme), "; valid are dvi, medusa, hydra, eagle, ngram, suffix");
}

}  // namespace augur::program
