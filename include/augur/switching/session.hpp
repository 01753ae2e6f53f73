#pragma once
// A session of models that take turns: its text is a prefix that all of them share; or bytes, and a prefix for each.

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "augur/commit/stop_conditions.hpp"
#include "augur/decode/resume.hpp"
#include "augur/decode/session.hpp"
#include "augur/detail/stopwatch.hpp"
#include "augur/model/cached_sequence.hpp"
#include "augur/random/chooser.hpp"
#include "augur/switching/scheme.hpp"
#include "augur/switching/speaker.hpp"
#include "augur/transform/pipeline.hpp"
#include "augur/types/distribution.hpp"
#include "augur/types/error.hpp"
#include "augur/types/prefix.hpp"
#include "augur/types/proposal.hpp"
#include "augur/types/round_view.hpp"
#include "augur/types/statistics.hpp"
#include "augur/types/token.hpp"

namespace augur::switching {

/// A model's side of a text that is written in the tokens of all: what a voice is of one that is handed over.
template <Model M>
struct reader {
    prefix& own;  ///< the one of all
    const transform::pipeline& transform;
    model::cached_sequence<M>& cache;
};

/// A text in a vocabulary that the models share. A turn changes at once, and the model whose turn comes has the text.
template <class... Speakers>
struct shared_text {
    using caches_type = std::tuple<model::cached_sequence<typename Speakers::model_type>...>;
    using added_type = std::span<const token>;

    shared_text(const auto& scheme, std::span<const token> prompt, transform::settings sampling)
        : committed(checked_prompt(prompt, scheme.vocabulary_size(), scheme.context_length())),
          transform(std::move(sampling), scheme.vocabulary_size()),
          caches(scheme.make_caches()) {}

    prefix committed;
    transform::pipeline transform;
    caches_type caches;

    /// use(side of model i).
    template <class Use>
    void with_voice(std::size_t i, const Use& use) {
        [&]<std::size_t... I>(std::index_sequence<I...>) {
            const auto with = [&](auto side) { use(side); };
            ((I == i ? with(reader<typename Speakers::model_type>{committed, transform, std::get<I>(caches)}) : void()),
             ...);
        }
        (std::index_sequence_for<Speakers...>());
    }

    static commit::stop_watcher make_stops(const auto& scheme, commit::stop_conditions conditions, std::size_t) {
        return {std::move(conditions), scheme.vocabulary_size(), scheme.context_length()};
    }
    static void write(const auto&, std::span<const commit::committed_token>, bool) {}
    static bool may_switch() { return true; }
    static handover take_over(std::size_t, commit::stop_watcher&) { return handover::taken; }
    static bool full(std::size_t) { return false; }  // the stop conditions know the context

    /// The next text of a session begins: decode::resume.
    void begin(const auto& scheme, auto& s, added_type added, commit::stop_conditions conditions) {
        decode::detail::begin_text(s, added, std::move(conditions), scheme.vocabulary_size(), scheme.context_length());
    }
};

/// A text that models of different vocabularies hand over in bytes: each reads what others wrote in tokens of its own.
template <class... Speakers>
struct handed_text {
    static constexpr std::size_t models = sizeof...(Speakers);
    using openings_type = std::array<opening, models>;
    using added_type = std::array<std::vector<token>, models>;

    handed_text(const auto& scheme, const openings_type& from, const transform::settings& sampling)
        : voices(voices_of(scheme, from, sampling, std::index_sequence_for<Speakers...>())),
          committed(from[scheme.options().first].prompt) {}

    std::tuple<voice<Speakers>...> voices;
    prefix committed;         ///< each token in its writer's vocabulary, after the prompt of the first writer
    std::string text{};       ///< what was generated, in bytes
    code_points ends{};       ///< of the text
    bool is_settled = false;  ///< a turn may change: the text is not inside a code point, or shown to be no UTF-8

    /// use(voice of model i).
    template <class Use>
    void with_voice(std::size_t i, const Use& use) {
        [&]<std::size_t... I>(std::index_sequence<I...>) {
            ((I == i ? void(use(std::get<I>(voices))) : void()), ...);
        }
        (std::index_sequence_for<Speakers...>());
    }

    /// Each speaker's own tokens end the text and have bytes; `writer` is to write.
    static commit::stop_watcher make_stops(const auto& scheme, commit::stop_conditions conditions, std::size_t writer) {
        std::vector<commit::vocabulary> each;
        const auto add = [&](const auto& who) {
            each.push_back({who.end_tokens(), [who = &who](token t) { return who->bytes_of(t); }});
        };
        std::apply([&](const auto&... all) { (add(all), ...); }, scheme.speakers());
        commit::stop_watcher stops(std::move(conditions), std::move(each));
        stops.write_in(writer);
        return stops;
    }

    /// The writer's voice takes a block of one token; a switch may have been `waiting` for it. What is thrown changes
    /// nothing.
    void write(auto& writer, std::span<const commit::committed_token> block, bool waiting) {
        for (const commit::committed_token& t : block) writer.write(t.id, text);
        const bool broken = ends.find_broken(text);
        is_settled = !ends.open() || (waiting && broken);
    }
    bool may_switch() const { return is_settled; }

    handover take_over(std::size_t i, commit::stop_watcher& stops) {
        handover outcome = handover::taken;
        with_voice(i, [&](auto& voice) { outcome = voice.take_over(text); });
        if (outcome == handover::taken) stops.write_in(i);
        return outcome;
    }
    /// Whether the context of model i has no room for a token.
    bool full(std::size_t i) {
        bool is_full = false;
        with_voice(i, [&](const auto& voice) { is_full = voice.full(); });
        return is_full;
    }

    /// The next text of a session begins: decode::resume. Each model has read all of the text, then its added tokens.
    void begin(const auto& scheme, auto& s, const added_type& added, commit::stop_conditions conditions) {
        std::array<prefix, models> longer;
        for (std::size_t i = 0; i < models; ++i) {
            with_voice(i, [&](const auto& voice) { longer[i] = continued(voice, i, added[i]); });
        }
        std::vector<token> all(committed.tokens().begin(), committed.tokens().end());
        all.insert(all.end(), added[s.wanted].begin(), added[s.wanted].end());
        prefix written(all);
        commit::stop_watcher stops = make_stops(scheme, std::move(conditions), s.wanted);
        for (std::size_t i = 0; i < models; ++i) {  // from here on nothing fails
            with_voice(i, [&](auto& voice) { voice.begin(std::move(longer[i])); });
        }
        text.clear();
        ends = {};
        decode::detail::begin_text(s, std::move(written), std::move(stops));
    }

 private:
    template <std::size_t... I>
    static auto voices_of(const auto& scheme, const openings_type& from, const transform::settings& sampling,
                          std::index_sequence<I...>) {
        return std::tuple<voice<Speakers>...>(voice<Speakers>(std::get<I>(scheme.speakers()), from[I], sampling)...);
    }

    prefix continued(const auto& voice, std::size_t i, std::span<const token> added) const {
        const auto unheard = voice.unheard(text);
        if (!unheard) {
            detail::fail("model ", i, " cannot continue the text: its codec does not give back the ",
                         text.size() - voice.heard, " bytes that it has not read");
        }
        std::vector<token> all(voice.own.tokens().begin(), voice.own.tokens().end());
        all.insert(all.end(), unheard->begin(), unheard->end());
        all.insert(all.end(), added.begin(), added.end());
        return prefix(checked_prompt(all, voice.who->model().vocabulary_size(), voice.who->model().context_length()));
    }
};

/// With codecs or without.
template <class... Speakers>
using text_by_turns =
    std::conditional_t<(Speakers::has_codec && ...), handed_text<Speakers...>, shared_text<Speakers...>>;

}  // namespace augur::switching

namespace augur::decode {

/// One decoding by models that take turns. Members as in every session, and those of its text; `writer` is the model
/// whose turn it is.
template <switching::SwitchingPolicy Policy, class... Speakers, Chooser C>
struct session<switching::switching_scheme<Policy, Speakers...>, C> : switching::text_by_turns<Speakers...> {
    using scheme_type = switching::switching_scheme<Policy, Speakers...>;
    using text_type = switching::text_by_turns<Speakers...>;
    static constexpr std::size_t models = sizeof...(Speakers);

    session(const scheme_type& scheme, const typename scheme_type::prompt_type& prompt, transform::settings sampling,
            commit::stop_conditions conditions, C with)
        : text_type(scheme, prompt, std::move(sampling)),
          policy(scheme.policy()),
          next_policy(scheme.policy()),
          writer(scheme.options().first),
          wanted(writer),
          stops(this->make_stops(scheme, std::move(conditions), writer)),
          chooser(std::move(with)) {
        const std::size_t budget = stops.budget(0, this->committed.size());
        const std::size_t most = std::min(budget, most_reserved);
        this->committed.reserve(this->committed.size() + most);
        writers.reserve(most);
        counts.models.resize(models);
        if (budget == 0) finished = finish_reason::max_tokens;
        const augur::detail::stopwatch watch;
        for (std::size_t i = 0; i < models; ++i) {
            this->with_voice(i, [&](auto& voice) { voice.cache.reserve(voice.own.size() + most); });
            if (i == writer || scheme.options().keep_warm) fill(i);
        }
        counts.seconds.prefill = watch.seconds();
    }

    Policy policy;
    Policy next_policy;                  ///< storage: what the policy will be if the whole block is committed
    std::size_t writer;                  ///< whose turn it is
    std::size_t wanted;                  ///< whose turn the policy wants it to be; another one's where a switch waits
    std::vector<std::size_t> writers{};  ///< of each generated token, the model
    commit::stop_watcher stops;
    C chooser;
    statistics counts;
    finish_reason finished = finish_reason::running;
    std::string fault;
    bool turn_is_open = false;  ///< what follows the last round threw: the next step begins with it
    round_record<proposal<point_mass>> last;
    distribution row;                             ///< from here on storage
    std::vector<double> entropies_bits;           ///< of the rows of a block
    std::vector<model_statistics> models_before;  ///< the counts, when the round began

    /// Lets model i read all but the last token of its side.
    void fill(std::size_t i) {
        this->with_voice(i, [&](auto& voice) {
            const auto all = voice.own.tokens().first(voice.own.size() - 1);
            voice.cache.rewind(all);
            if (voice.cache.tokens().size() == all.size()) return;
            const augur::detail::stopwatch watch;
            const std::size_t missing = all.size() - voice.cache.tokens().size();
            voice.cache.fill(all);
            counts.models[i].caught_up += missing;
            ++counts.models[i].passes;
            counts.models[i].seconds += watch.seconds();
        });
    }
};

}  // namespace augur::decode
