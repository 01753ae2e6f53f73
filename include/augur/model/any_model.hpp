#pragma once
// A type-erased model, whose engine is chosen at run time.

#include <concepts>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "augur/detail/owned_or_borrowed.hpp"
#include "augur/model/check_passes.hpp"
#include "augur/model/concepts.hpp"
#include "augur/model/device_verifier.hpp"
#include "augur/model/engine_traits.hpp"
#include "augur/model/hosted_sequence.hpp"
#include "augur/model/limits.hpp"
#include "augur/model/same_vocabulary.hpp"
#include "augur/random/chooser.hpp"
#include "augur/transform/pipeline.hpp"
#include "augur/types/error.hpp"
#include "augur/types/prefix.hpp"
#include "augur/types/scores.hpp"
#include "augur/types/token.hpp"
#include "augur/types/verdict.hpp"

namespace augur::model {

/// A model behind virtual functions, so that schemes are compiled once for several engines. It promises of its rows
/// what T says, shows hidden states if T says so, and runs parts of its layers: engines must have all of it, and those
/// with layers run batches. An engine's device verifiers for these criteria are kept, so that its rows need not
/// come to the host. Passes go through together; trees, states and batches that the engine does not run by itself are
/// made of what it has (model::run). Models: ScoresLastRows, TreeModel, BatchModel; PrefillsStates with hidden states;
/// SplitModel and LayerInputModel with layers, layer_input_size() being 0 where the engine shows none; VerifiesOnDevice
/// for the criteria. Cost: a virtual call per run, an allocation per sequence and per device verifier.
template <engine_traits T, class... Criteria>
class erased_model {
    template <class Source>
    using held_type = typename augur::detail::owned_or_borrowed<Source>::type;
    static constexpr bool runs_layers = includes(T, engine_traits::layers);
    static constexpr bool shows_states = includes(T, engine_traits::hidden_states) || runs_layers;

    struct device_verifier_base;
    struct sequence_base {
        virtual ~sequence_base() = default;
        virtual std::size_t memory_bytes() const = 0;
    };
    using any_criterion = std::variant<std::monostate, Criteria...>;

 public:
    static constexpr bool bitwise_rows = includes(T, engine_traits::bitwise_rows);
    static constexpr pass_features passes = pass_features::trees | pass_features::batches |
                                            (shows_states ? pass_features::states : pass_features::none) |
                                            (runs_layers ? pass_features::layers : pass_features::none);

    /// Belongs to the model that made it.
    class sequence_type {
     public:
        /// Of the engine's own sequence, where it says.
        std::size_t memory_bytes() const { return held_->memory_bytes(); }

     private:
        friend class erased_model;

        explicit sequence_type(std::unique_ptr<sequence_base> held) : held_(std::move(held)) {}

        std::unique_ptr<sequence_base> held_;
    };

    /// The engine's own, or none.
    class device_verifier_type {
     public:
        explicit operator bool() const { return held_ != nullptr; }
        bool takes_trees() const { return held_->takes_trees(); }
        void judge(const pass<sequence_type>& asked, const prefix& before, const judged_proposal& proposed,
                   std::size_t round, verdict& out) {
            held_->judge(*asked.sequence->held_, asked, before, proposed, round, out);
        }
        scores rows(const sequence_type& s) { return held_->rows(*s.held_); }
        double entropy_nats(const sequence_type& s, std::size_t row) { return held_->entropy_nats(*s.held_, row); }

     private:
        friend class erased_model;

        explicit device_verifier_type(std::unique_ptr<device_verifier_base> held) : held_(std::move(held)) {}

        std::unique_ptr<device_verifier_base> held_;
    };

    /// Owns a model that is given away; refers to one that is not.
    template <class Source>
    requires(
        !std::same_as<held_type<Source>, erased_model> && Erasable<held_type<Source>, T> &&
        std::constructible_from<augur::detail::owned_or_borrowed<Source>, Source>) explicit erased_model(Source&& of)
        : held_(std::make_unique<holder<Source>>(std::forward<Source>(of))) {
        static_assert(
            has_bitwise_rows<held_type<Source>> || !bitwise_rows,
            "augur::model::erased_model: this model does not promise that its rows are the same however many are "
            "computed together; if they are, it says `static constexpr bool bitwise_rows = true`; any_model holds it "
            "as it is");
    }

    /// Another that refers to this one.
    erased_model lent() const { return erased_model(lending(), std::make_unique<holder<const erased_model&>>(*this)); }

    std::size_t vocabulary_size() const { return held_->vocabulary_size(); }
    std::string vocabulary_fingerprint() const { return held_->vocabulary_fingerprint(); }
    std::size_t context_length() const { return held_->context_length(); }
    /// The engine's; of its trees only where it runs any.
    pass_limits limits() const { return held_->limits(); }
    std::size_t hidden_size() const requires shows_states { return held_->hidden_size(); }
    std::size_t layer_count() const requires runs_layers { return held_->layer_count(); }
    std::size_t waiting(const sequence_type& s) const requires runs_layers { return held_->waiting(*s.held_); }

    std::size_t layer_input_size() const requires runs_layers { return held_->layer_input(nullptr).size; }
    logit_row layer_input(const sequence_type& s) const requires runs_layers {
        return held_->layer_input(s.held_.get()).shown;
    }

    sequence_type make_sequence() const { return sequence_type(held_->make_sequence()); }
    std::size_t length(const sequence_type& s) const { return held_->length(*s.held_); }
    scattered_scores run(std::span<const pass<sequence_type>> asked) const {
        check_passes(asked, held_->layer_count());
        return held_->run(asked);
    }
    scattered_scores extend(sequence_type& s, std::span<const token> tokens, std::size_t last) const {
        const pass<sequence_type> one{.sequence = &s, .tokens = tokens, .rows = last};
        return run(std::span(&one, 1));
    }
    scattered_scores extend(sequence_type& s, std::span<const token> tokens) const {
        return extend(s, tokens, tokens.size());
    }
    /// On an engine without trees it extends the sequence.
    void keep(sequence_type& s, std::span<const std::size_t> path) const { held_->keep(*s.held_, path); }
    void truncate(sequence_type& s, std::size_t length) const { held_->truncate(*s.held_, length); }
    scores hidden(const sequence_type& s) const requires shows_states { return held_->hidden(*s.held_); }

    /// See augur::VerifiesOnDevice.
    template <class Criterion>
    requires(std::same_as<Criterion, Criteria> || ...) device_verifier_type
        make_device_verifier(const Criterion& criterion, const transform::settings& chosen,
                             const random::philox_chooser& by)
    const { return device_verifier_type(held_->make_device_verifier(criterion, chosen, by)); }

 private:
    struct device_verifier_base {
        virtual ~device_verifier_base() = default;
        virtual bool takes_trees() const = 0;
        virtual void judge(sequence_base& s, const pass<sequence_type>& asked, const prefix& before,
                           const judged_proposal& proposed, std::size_t round, verdict& out) = 0;
        virtual scores rows(const sequence_base& s) = 0;
        virtual double entropy_nats(const sequence_base& s, std::size_t row) = 0;
    };
    struct shown_input {
        std::size_t size = 0;
        logit_row shown{};  ///< of a sequence
    };
    struct model_base {
        virtual ~model_base() = default;
        virtual std::size_t vocabulary_size() const = 0;
        virtual std::string vocabulary_fingerprint() const = 0;
        virtual std::size_t context_length() const = 0;
        virtual pass_limits limits() const = 0;
        virtual std::size_t hidden_size() const = 0;
        virtual std::size_t layer_count() const = 0;  ///< 0 where parts of them are not run
        virtual std::size_t waiting(const sequence_base& s) const = 0;
        virtual shown_input layer_input(const sequence_base* s) const = 0;
        virtual std::unique_ptr<sequence_base> make_sequence() const = 0;
        virtual std::size_t length(const sequence_base& s) const = 0;
        virtual scattered_scores run(std::span<const pass<sequence_type>> asked) const = 0;
        virtual void keep(sequence_base& s, std::span<const std::size_t> path) const = 0;
        virtual void truncate(sequence_base& s, std::size_t length) const = 0;
        virtual scores hidden(const sequence_base& s) const = 0;
        virtual std::unique_ptr<device_verifier_base> make_device_verifier(const any_criterion& criterion,
                                                                           const transform::settings& chosen,
                                                                           const random::philox_chooser& by) const = 0;
    };

    template <class M>
    struct held_sequence final : sequence_base {
        hosted_sequence<M> own;
        const M* owner;

        explicit held_sequence(const M& of) : own(of), owner(&of) {}
        std::size_t memory_bytes() const override {
            if constexpr (requires { own.sequence.memory_bytes(); }) return own.sequence.memory_bytes();
            return 0;
        }
    };

    template <class M, class R>
    struct own_device_verifier final : device_verifier_base {
        R own;
        const M* owner;

        own_device_verifier(R verifier, const M& of) : own(std::move(verifier)), owner(&of) {}
        bool takes_trees() const override { return (!shows_states || PrefillsStates<M>)&&own.takes_trees(); }
        void judge(sequence_base& s, const pass<sequence_type>& asked, const prefix& before,
                   const judged_proposal& proposed, std::size_t round, verdict& out) override {
            hosted_sequence<M>& there = hosted(s, *owner);
            there.states.clear();
            own.judge(asked_of(there.sequence, asked), before, proposed, round, out);
            there.tree_waits = !asked.parents.empty();  // in the model, as it takes_trees()
        }
        scores rows(const sequence_base& s) override { return own.rows(own_of(s, *owner)); }
        double entropy_nats(const sequence_base& s, std::size_t row) override {
            return own.entropy_nats(own_of(s, *owner), row);
        }
    };

    template <class M, class Criterion>
    static std::unique_ptr<device_verifier_base> device_verifier_of(const M& model, const Criterion& criterion,
                                                                    const transform::settings& chosen,
                                                                    const random::philox_chooser& by) {
        if constexpr (VerifiesOnDevice<M, Criterion>) {
            auto verifier = model.make_device_verifier(criterion, chosen, by);
            if (verifier)
                return std::make_unique<own_device_verifier<M, decltype(verifier)>>(std::move(verifier), model);
        }
        return nullptr;
    }

    template <class M>
    static const hosted_sequence<M>& hosted(const sequence_base& s, const M& owner) {
        const auto* const found = dynamic_cast<const held_sequence<M>*>(&s);
        if (found == nullptr || found->owner != &owner) augur::detail::fail("any_model: a sequence of another model");
        return found->own;
    }
    template <class M>
    static hosted_sequence<M>& hosted(sequence_base& s, const M& owner) {
        return const_cast<hosted_sequence<M>&>(hosted(std::as_const(s), owner));
    }
    template <class M>
    static sequence_t<M>& own_of(sequence_base& s, const M& owner) {
        return hosted(s, owner).sequence;
    }
    template <class M>
    static const sequence_t<M>& own_of(const sequence_base& s, const M& owner) {
        return hosted(s, owner).sequence;
    }

    template <class Source>
    struct holder final : model_base {
        using M = held_type<Source>;
        augur::detail::owned_or_borrowed<Source> held;

        explicit holder(Source&& of) : held(std::forward<Source>(of)) {}
        std::size_t vocabulary_size() const override { return static_cast<std::size_t>(own().vocabulary_size()); }
        std::string vocabulary_fingerprint() const override { return augur::detail::vocabulary_fingerprint_of(own()); }
        std::size_t context_length() const override { return static_cast<std::size_t>(own().context_length()); }
        pass_limits limits() const override {
            pass_limits all = limits_of(own());
            if (!supports(own(), pass_features::trees)) all.most_tree_nodes = all.most_leaves = no_limit;
            all.features = passes;
            return all;
        }
        std::size_t hidden_size() const override {
            if constexpr (shows_states) return own().hidden_size();
            return 0;
        }
        std::size_t layer_count() const override {
            if constexpr (runs_layers) return own().layer_count();
            return 0;
        }
        std::size_t waiting(const sequence_base& s) const override {
            if constexpr (runs_layers) return own().waiting(of(s));
            return 0;
        }
        shown_input layer_input(const sequence_base* s) const override {
            if constexpr (LayerInputModel<M>)
                return {own().layer_input_size(), s == nullptr ? logit_row() : own().layer_input(of(*s))};
            return {};
        }
        std::unique_ptr<sequence_base> make_sequence() const override {
            return std::make_unique<held_sequence<M>>(own());
        }
        std::size_t length(const sequence_base& s) const override {
            return static_cast<std::size_t>(own().length(of(s)));
        }
        scattered_scores run(std::span<const pass<sequence_type>> asked) const override {
            return run_hosted(own(), asked, [this](const sequence_type& s) { return &hosted(*s.held_, own()); });
        }
        void keep(sequence_base& s, std::span<const std::size_t> path) const override {
            keep_hosted(own(), hosted(s, own()), path);
        }
        void truncate(sequence_base& s, std::size_t length) const override { own().truncate(of(s), length); }
        scores hidden(const sequence_base& s) const override {
            if constexpr (shows_states) {
                const std::vector<float>& of_tree = hosted(s, own()).states;
                const std::size_t size = hidden_size();
                if (!of_tree.empty()) return {of_tree.data(), of_tree.size() / size, size};
                return own().hidden(of(s));
            }
            return {};
        }
        std::unique_ptr<device_verifier_base> make_device_verifier(const any_criterion& criterion,
                                                                   const transform::settings& chosen,
                                                                   const random::philox_chooser& by) const override {
            return std::visit([&](const auto& of) { return device_verifier_of(own(), of, chosen, by); }, criterion);
        }

     private:
        const M& own() const { return held.get(); }
        const sequence_t<M>& of(const sequence_base& s) const { return own_of(s, own()); }
        sequence_t<M>& of(sequence_base& s) const { return own_of(s, own()); }
    };

    struct lending {};
    erased_model(lending, std::unique_ptr<model_base> held) : held_(std::move(held)) {}

    std::unique_ptr<model_base> held_;
};

/// Holds any model, and promises nothing of its rows.
using any_model = erased_model<engine_traits::none>;
/// Holds models with bitwise rows and hidden states.
template <class... Criteria>
using basic_any_model = erased_model<engine_traits::both, Criteria...>;
/// Holds models that run parts of their layers, too, as the bundled ones do.
template <class... Criteria>
using split_any_model = erased_model<engine_traits::all, Criteria...>;

}  // namespace augur::model
