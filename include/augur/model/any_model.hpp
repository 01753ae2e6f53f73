#pragma once
// A model whose engine is chosen while the program runs.

#include <concepts>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <variant>

#include "augur/detail/value_or_reference.hpp"
#include "augur/model/concepts.hpp"
#include "augur/model/device_verifier.hpp"
#include "augur/random/chooser.hpp"
#include "augur/transform/pipeline.hpp"
#include "augur/types/error.hpp"
#include "augur/types/prefix.hpp"
#include "augur/types/scores.hpp"
#include "augur/types/token.hpp"
#include "augur/types/verdict.hpp"

namespace augur::model {

/// What any_model can hold: a model that shows its hidden states, with rows in memory that the host reads.
template <class M>
concept Erasable = ScoresLastRows<M> && PrefillsStates<M> && std::movable<M> &&
    requires(const M& model, sequence_t<M>& sequence, std::span<const token> tokens) {
    { model.extend(sequence, tokens, std::size_t{}) } -> std::convertible_to<scores>;
    { model.extend_states(sequence, tokens) } -> std::convertible_to<scores>;
    { model.hidden(sequence) } -> std::convertible_to<scores>;
};

/// A model behind virtual functions, so that schemes are compiled once for several engines. Refinements
/// beyond hidden states are lost, and with them whether rows are bitwise: `M` must promise that. An engine's device verifiers for
/// these criteria are kept, so that its rows need not come to the host.
/// Models: ScoresLastRows, PrefillsStates; VerifiesOnDevice for the criteria. Cost: a virtual call per pass, an allocation per
/// sequence and per device verifier.
template <class... Criteria>
class basic_any_model {
    template <class Source>
    using held_type = typename augur::detail::value_or_reference<Source>::type;

    struct sequence_base {
        virtual ~sequence_base() = default;
        virtual std::size_t memory_bytes() const = 0;
    };
    struct device_verifier_base {
        virtual ~device_verifier_base() = default;
        virtual void prepare(const prefix& before, std::size_t drafted) = 0;
        virtual verdict judge(sequence_base& s, std::span<const token> missing, const prefix& speculative,
                              std::size_t drafted, std::size_t round) = 0;
        virtual scores rows(const sequence_base& s) = 0;
        virtual double entropy_nats(const sequence_base& s, std::size_t row) = 0;
    };
    using any_criterion = std::variant<std::monostate, Criteria...>;

 public:
    static constexpr bool bitwise_rows = true;

    /// Belongs to the model that made it.
    class sequence_type {
     public:
        /// Of the engine's own sequence, where it says.
        std::size_t memory_bytes() const { return held_->memory_bytes(); }

     private:
        friend class basic_any_model;

        explicit sequence_type(std::unique_ptr<sequence_base> held) : held_(std::move(held)) {}

        std::unique_ptr<sequence_base> held_;
    };

    /// The engine's own, or none.
    class device_verifier_type {
     public:
        explicit operator bool() const { return held_ != nullptr; }
        void prepare(const prefix& before, std::size_t drafted) { held_->prepare(before, drafted); }
        verdict judge(sequence_type& s, std::span<const token> missing, const prefix& speculative, std::size_t drafted,
                      std::size_t round) {
            return held_->judge(*s.held_, missing, speculative, drafted, round);
        }
        scores rows(const sequence_type& s) { return held_->rows(*s.held_); }
        double entropy_nats(const sequence_type& s, std::size_t row) { return held_->entropy_nats(*s.held_, row); }

     private:
        friend class basic_any_model;

        explicit device_verifier_type(std::unique_ptr<device_verifier_base> held) : held_(std::move(held)) {}

        std::unique_ptr<device_verifier_base> held_;
    };

    /// Owns a model that is given away; refers to one that is not.
    template <class Source>
    requires(!std::same_as<held_type<Source>, basic_any_model> &&
             Erasable<held_type<Source>>) explicit basic_any_model(Source&& of)
        : held_(std::make_unique<holder<Source>>(std::forward<Source>(of))) {
        static_assert(
            has_bitwise_rows<held_type<Source>>,
            "augur::model::any_model: this model does not promise that its rows are the same however many are "
            "computed together; if they are, it says `static constexpr bool bitwise_rows = true`");
    }

    std::size_t vocabulary_size() const { return held_->vocabulary_size(); }
    std::size_t context_length() const { return held_->context_length(); }
    std::size_t hidden_size() const { return held_->hidden_size(); }

    sequence_type make_sequence() const { return sequence_type(held_->make_sequence()); }
    std::size_t length(const sequence_type& s) const { return held_->length(*s.held_); }
    scores extend(sequence_type& s, std::span<const token> tokens, std::size_t last) const {
        return held_->extend(*s.held_, tokens, last);
    }
    scores extend(sequence_type& s, std::span<const token> tokens) const { return extend(s, tokens, tokens.size()); }
    scores extend_states(sequence_type& s, std::span<const token> tokens) const {
        return held_->extend_states(*s.held_, tokens);
    }
    void truncate(sequence_type& s, std::size_t length) const { held_->truncate(*s.held_, length); }
    scores hidden(const sequence_type& s) const { return held_->hidden(*s.held_); }

    /// See augur::VerifiesOnDevice.
    template <class Criterion>
    requires(std::same_as<Criterion, Criteria> || ...) device_verifier_type
        make_device_verifier(const Criterion& criterion, const transform::settings& chosen,
                             const random::philox_chooser& by)
    const { return device_verifier_type(held_->make_device_verifier(criterion, chosen, by)); }

 private:
    struct model_base {
        virtual ~model_base() = default;
        virtual std::size_t vocabulary_size() const = 0;
        virtual std::size_t context_length() const = 0;
        virtual std::size_t hidden_size() const = 0;
        virtual std::unique_ptr<sequence_base> make_sequence() const = 0;
        virtual std::size_t length(const sequence_base& s) const = 0;
        virtual scores extend(sequence_base& s, std::span<const token> tokens, std::size_t last) const = 0;
        virtual scores extend_states(sequence_base& s, std::span<const token> tokens) const = 0;
        virtual void truncate(sequence_base& s, std::size_t length) const = 0;
        virtual scores hidden(const sequence_base& s) const = 0;
        virtual std::unique_ptr<device_verifier_base> make_device_verifier(const any_criterion& criterion,
                                                                           const transform::settings& chosen,
                                                                           const random::philox_chooser& by) const = 0;
    };

    template <class M>
    struct held_sequence final : sequence_base {
        sequence_t<M> own;
        const M* owner;

        explicit held_sequence(const M& of) : own(of.make_sequence()), owner(&of) {}
        std::size_t memory_bytes() const override {
            if constexpr (requires { own.memory_bytes(); }) return own.memory_bytes();
            return 0;
        }
    };

    template <class M, class R>
    struct own_device_verifier final : device_verifier_base {
        R own;
        const M* owner;

        own_device_verifier(R made, const M& of) : own(std::move(made)), owner(&of) {}
        void prepare(const prefix& before, std::size_t drafted) override { own.prepare(before, drafted); }
        verdict judge(sequence_base& s, std::span<const token> missing, const prefix& speculative, std::size_t drafted,
                      std::size_t round) override {
            return own.judge(own_of(s, *owner), missing, speculative, drafted, round);
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
            auto made = model.make_device_verifier(criterion, chosen, by);
            if (made) return std::make_unique<own_device_verifier<M, decltype(made)>>(std::move(made), model);
        }
        return nullptr;
    }

    template <class M>
    static const sequence_t<M>& own_of(const sequence_base& s, const M& owner) {
        const auto* const found = dynamic_cast<const held_sequence<M>*>(&s);
        if (found == nullptr || found->owner != &owner) augur::detail::fail("any_model: a sequence of another model");
        return found->own;
    }
    template <class M>
    static sequence_t<M>& own_of(sequence_base& s, const M& owner) {
        return const_cast<sequence_t<M>&>(own_of(std::as_const(s), owner));
    }

    template <class Source>
    struct holder final : model_base {
        using M = held_type<Source>;
        augur::detail::value_or_reference<Source> held;

        explicit holder(Source&& of) : held(std::forward<Source>(of)) {}
        std::size_t vocabulary_size() const override { return own().vocabulary_size(); }
        std::size_t context_length() const override { return own().context_length(); }
        std::size_t hidden_size() const override { return own().hidden_size(); }
        std::unique_ptr<sequence_base> make_sequence() const override {
            return std::make_unique<held_sequence<M>>(own());
        }
        std::size_t length(const sequence_base& s) const override { return own().length(of(s)); }
        scores extend(sequence_base& s, std::span<const token> tokens, std::size_t last) const override {
            return own().extend(of(s), tokens, last);
        }
        scores extend_states(sequence_base& s, std::span<const token> tokens) const override {
            return own().extend_states(of(s), tokens);
        }
        void truncate(sequence_base& s, std::size_t length) const override { own().truncate(of(s), length); }
        scores hidden(const sequence_base& s) const override { return own().hidden(of(s)); }
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

    std::unique_ptr<model_base> held_;
};

using any_model = basic_any_model<>;

static_assert(ScoresLastRows<any_model> && PrefillsStates<any_model>);

}  // namespace augur::model
