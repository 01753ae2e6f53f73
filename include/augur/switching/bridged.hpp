#pragma once
// Entropy adaptive decoding with models of different vocabularies: they take turns and exchange text.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "augur/accept/coupled.hpp"
#include "augur/commit/stop_conditions.hpp"
#include "augur/decode/step.hpp"
#include "augur/measure/entropy.hpp"
#include "augur/model/distinct.hpp"
#include "augur/random/chooser.hpp"
#include "augur/switching/scheme.hpp"
#include "augur/switching/session.hpp"
#include "augur/switching/speaker.hpp"
#include "augur/types/distribution.hpp"
#include "augur/types/error.hpp"
#include "augur/types/guarantee.hpp"
#include "augur/types/statistics.hpp"

namespace augur::switching {

/// One model writes each token, in its own vocabulary, from its own row, through its own transform and with the
/// position's noise; a policy looks at the entropy of the row, in bits and before any transform, and says who writes
/// the next. A model whose turn comes reads what the others wrote, in tokens of its own, in the pass that makes its
/// first row. Immutable; sessions hold all state.
/// Whole code points: a switch waits while the text ends inside what can still become a code point, but not once bytes
/// that came meanwhile show that others are no UTF-8; the policy counts as if it had taken place. One that cannot take
/// place, by the codec or the context, is dropped and counted, and the policy told as if it had been undone.
/// Effect on the distribution: each token is the writing model's; next to the last model's text nothing is promised.
/// Cost: one pass of the writing model per token; O(vocabulary) for the entropy; at a switch the codec's.
/// Source: Simonds 2025, "Entropy Adaptive Decoding", algorithm 1, and section 3.1 for models of different
/// architectures.
template <switching::SwitchingPolicy Policy, class... Speakers>
class bridged_scheme {
    static_assert(sizeof...(Speakers) >= 2, "augur::switched: name two speakers or more, then the policy");

 public:
    using policy_type = Policy;
    using openings_type = std::array<switching::opening, sizeof...(Speakers)>;
    using voices_type = std::tuple<switching::voice<Speakers>...>;
    using guarantee = guarantee::none;

    bridged_scheme(std::tuple<Speakers...> speakers, Policy policy)
        : speakers_(std::make_shared<const std::tuple<Speakers...>>(std::move(speakers))), policy_(std::move(policy)) {
        if (policy_.models() != sizeof...(Speakers)) {
            augur::detail::fail("switched: the policy chooses between ", policy_.models(), " models, but ",
                                sizeof...(Speakers), " are given");
        }
        std::apply(
            [](const auto&... each) {
                const void* const seen[] = {std::addressof(each.model())...};
                augur::detail::check_distinct("switched", seen);
            },
            *speakers_);
    }

    const Policy& policy() const { return policy_; }

    /// Throws for a prompt that its model cannot continue, and for settings that do not fit its vocabulary.
    voices_type make_voices(const openings_type& from) const {
        return [&]<std::size_t... I>(std::index_sequence<I...>) {
            return voices_type(switching::voice<Speakers>(std::get<I>(*speakers_), from[I])...);
        }
        (std::index_sequence_for<Speakers...>());
    }

 private:
    std::shared_ptr<const std::tuple<Speakers...>> speakers_;  // voices refer to them, wherever the scheme is moved
    Policy policy_;
};

struct bridged_options {
    std::uint64_t seed = 0;
    std::size_t max_tokens = 128;  ///< whoever writes them
    std::size_t first = 0;         ///< the model that begins; 0 is the cheapest
};

/// A token of the text, in the vocabulary of the model that wrote it.
struct bridged_token {
    std::size_t model = 0;
    token id = no_token;
    std::string bytes{};  ///< none for an end token
    friend bool operator==(const bridged_token&, const bridged_token&) = default;
};

struct bridge_statistics {
    std::vector<model_statistics> models;  ///< cheapest first
    std::size_t switches = 0;              ///< that took place
    std::size_t waited = 0;                ///< tokens after which a switch had to wait for the end of a code point
    std::size_t lost = 0;                  ///< switches dropped: the codec did not give the text back
    std::size_t full = 0;                  ///< switches dropped: the text did not fit the context
};

/// One decoding by models that hand each other text. Members are open to inspection between steps; steps alone change
/// them. The scheme must outlive it, and may be moved.
template <class Scheme, Chooser C = random::philox_chooser>
struct bridged_session {
    using voices_type = typename Scheme::voices_type;
    static constexpr std::size_t models = std::tuple_size_v<voices_type>;

    bridged_session(const Scheme& scheme, const typename Scheme::openings_type& from, const bridged_options& chosen,
                    C with)
        : voices(scheme.make_voices(from)),
          policy(scheme.policy()),
          next_policy(scheme.policy()),
          writer(chosen.first),
          wanted(chosen.first),
          max_tokens(chosen.max_tokens),
          chooser(std::move(with)) {
        if (writer >= models) {
            augur::detail::fail("switched: model ", writer, " is to start, but there are ", models, ", from 0 on");
        }
        start = from[writer].prompt.size();
        counts.models.resize(models);
        if (max_tokens == 0) finished = finish_reason::max_tokens;
    }

    voices_type voices;
    typename Scheme::policy_type policy;
    typename Scheme::policy_type next_policy;  ///< storage
    std::size_t writer;                        ///< whose turn it is
    std::size_t wanted;  ///< whose turn the policy wants it to be; another one's where the switch has to wait
    std::size_t max_tokens;
    std::size_t start = 0;  ///< the position of the first token
    C chooser;
    std::string text{};             ///< what was generated, in bytes
    switching::code_points ends{};  ///< of the text
    std::vector<bridged_token> written{};
    bridge_statistics counts{};
    finish_reason finished = finish_reason::running;
    std::string fault{};        ///< for invalid_logits: which value, where
    bool turn_is_open = false;  ///< what follows the last token threw: the next step begins with it
    bool may_switch = false;    ///< then: the text is not inside a code point
    distribution row{};         ///< storage

    /// use(voice of model i).
    template <class Use>
    void with_voice(std::size_t i, const Use& use) {
        [&]<std::size_t... I>(std::index_sequence<I...>) {
            (void)((I == i && (use(std::get<I>(voices)), true)) || ...);
        }
        (std::make_index_sequence<models>());
    }
};

namespace bridged {

/// The writer writes a token, with the noise of its place among all that were written, and the policy is told. What is
/// thrown changes nothing.
template <class Session>
void write(Session& s, auto& voice) {
    model_statistics counted = s.counts.models[s.writer];
    const auto rows = decode::detail::rows_of(voice.cache, counted, voice.own, {});
    const std::size_t position = s.start + s.written.size();
    voice.transform.apply(rows[0], voice.own, s.row);
    if (s.row.empty()) {
        s.fault =
            decode::detail::describe_fault(rows[0], position, decode::detail::model_name(s.writer, Session::models));
        s.finished = finish_reason::invalid_logits;
        s.counts.models[s.writer] = counted;
        return;
    }
    position_draws draws(s.chooser, position, 0);
    const token drawn = accept::coupled{}.draw(s.row, draws);
    s.next_policy = s.policy;
    const std::size_t wanted = s.next_policy.next_model(s.wanted, measure::entropy_bits(rows[0]));
    const bool ends = voice.who->ends(drawn);
    if (s.written.size() == s.written.capacity()) s.written.reserve(2 * s.written.size() + 16);
    std::string bytes = voice.write(drawn, s.text);
    s.written.push_back({s.writer, drawn, std::move(bytes)});
    ++counted.written;
    s.counts.models[s.writer] = counted;
    if (s.written.size() >= s.max_tokens) s.finished = finish_reason::max_tokens;
    if (ends) s.finished = finish_reason::stop_token;
    s.wanted = wanted;
    std::swap(s.policy, s.next_policy);
}

/// The model whose turn it shall be reads the text, and the turn is its own; or the wish is dropped.
template <class Session>
void hand_over(Session& s) {
    switching::handover outcome = switching::handover::taken;
    s.with_voice(s.wanted, [&](auto& voice) { outcome = voice.take_over(s.text); });
    if (outcome == switching::handover::lost) ++s.counts.lost;
    if (outcome == switching::handover::full) ++s.counts.full;
    if (outcome != switching::handover::taken) {
        s.wanted = s.writer;
        return;
    }
    ++s.counts.switches;
    s.writer = s.wanted;
}

/// What follows a token: the turn changes, or has to wait. Where it throws it can be repeated.
template <class Session>
void end_turn(Session& s) {
    if (s.wanted != s.writer) {
        if (s.may_switch) {
            hand_over(s);
        } else {
            ++s.counts.waited;
        }
    }
    s.with_voice(s.writer, [&](const auto& voice) {
        if (voice.full()) s.finished = finish_reason::context;
    });
    s.turn_is_open = false;
}

}  // namespace bridged

/// The writer of a session that is running writes one token, unless its row cannot be drawn from; then the turn may
/// change. What is thrown passes through, and the step can be repeated: nothing is written then; or the token is, and
/// the turn, in which the codec threw or memory failed, changes first of all in the next step.
template <class Scheme, Chooser C>
void step(bridged_session<Scheme, C>& s) {
    if (s.turn_is_open) bridged::end_turn(s);
    if (s.finished != finish_reason::running) return;
    const bool waiting = s.wanted != s.writer;
    s.with_voice(s.writer, [&](auto& voice) { bridged::write(s, voice); });
    const bool broken = s.ends.find_broken(s.text);
    if (s.finished != finish_reason::running) return;
    s.turn_is_open = true;
    s.may_switch = !s.ends.open() || (waiting && broken);
    bridged::end_turn(s);
}

/// A finished decoding.
template <class Policy>
struct bridged_generation {
    std::string bytes{};  ///< the text, byte for byte; UTF-8 where the models wrote that
    std::vector<bridged_token> tokens{};
    finish_reason finish = finish_reason::running;
    std::string detail{};  ///< which logit was invalid
    bridge_statistics counts{};
    Policy policy;  ///< as the run left it
    std::uint64_t seed = 0;
};

/// Decodes until something ends it. Each speaker has an opening of its own, in the order of the scheme. Throws
/// augur::error for openings or options that cannot be decoded with, before anything is computed.
template <class Scheme>
auto bridged_generate(const Scheme& scheme, const typename Scheme::openings_type& from,
                      const bridged_options& chosen = {}) {
    bridged_session<Scheme> s(scheme, from, chosen, random::philox_chooser(chosen.seed));
    while (s.finished == finish_reason::running) step(s);
    return bridged_generation<typename Scheme::policy_type>{
        std::move(s.text),   std::move(s.written), s.finished, std::move(s.fault),
        std::move(s.counts), std::move(s.policy),  chosen.seed};
}

}  // namespace augur::switching

namespace augur {

/// switched(cheapest, ..., best, policy), each a spoken(model, codec, end tokens).
template <class... SpeakersThenPolicy>
requires(sizeof...(SpeakersThenPolicy) >= 3 &&
         switching::begins_with_a_speaker<SpeakersThenPolicy...>) auto switched(SpeakersThenPolicy... arguments) {
    std::tuple all(std::move(arguments)...);
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
        return switching::bridged_scheme(std::tuple(std::get<I>(std::move(all))...),
                                         std::get<sizeof...(I)>(std::move(all)));
    }
    (std::make_index_sequence<sizeof...(SpeakersThenPolicy) - 1>());
}

}  // namespace augur
