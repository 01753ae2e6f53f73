#pragma once
// What a round costs after texts of several lengths, on models whose passes cost next to nothing.

#include <algorithm>
#include <augur/augur.hpp>
#include <augur/detail/stopwatch.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iostream>
#include <list>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace augur::bench {

/// A model that looks its rows up by the last two tokens. A pass costs O(its tokens), whatever the text's length.
class table_model {
 public:
    using sequence_type = std::vector<token>;
    static constexpr bool bitwise_rows = true;
    static constexpr std::size_t vocabulary = 512;

    explicit table_model(std::uint32_t seed) : rows_(kinds * vocabulary) {
        std::mt19937 random(seed);
        for (float& logit : rows_) logit = static_cast<float>(random() % 1000) / 200;
    }

    static std::size_t vocabulary_size() { return vocabulary; }
    static std::size_t context_length() { return std::size_t{1} << 22; }
    static sequence_type make_sequence() { return {}; }
    static std::size_t length(const sequence_type& sequence) { return sequence.size(); }
    static void truncate(sequence_type& sequence, std::size_t length) { sequence.resize(length); }
    std::vector<logit_row> extend(sequence_type& sequence, std::span<const token> tokens) const {
        return extend(sequence, tokens, tokens.size());
    }
    std::vector<logit_row> extend(sequence_type& sequence, std::span<const token> tokens, std::size_t last) const {
        sequence.insert(sequence.end(), tokens.begin(), tokens.end());
        std::vector<logit_row> rows;
        for (std::size_t end = sequence.size() - last; end < sequence.size(); ++end) {
            rows.emplace_back(row(end > 0 ? sequence[end - 1] : 0, sequence[end]));
        }
        return rows;
    }
    logit_row row(token before, token t) const {
        const auto hash = (static_cast<std::uint32_t>(before) * 31 + static_cast<std::uint32_t>(t)) * 2654435761U;
        return {rows_.data() + (hash >> 24) % kinds * vocabulary, vocabulary};
    }

 private:
    static constexpr std::size_t kinds = 256;
    std::vector<float> rows_;
};
static_assert(ScoresLastRows<table_model>);

/// Mostly the model's best tokens, so that n-grams come again. All texts end alike, so that they go on alike.
inline std::vector<token> text_of(const table_model& model, std::size_t length) {
    std::vector<token> text{1, 2};
    std::mt19937 random(7);
    while (text.size() < length) {
        const logit_row row = model.row(text[text.size() - 2], text.back());
        const auto best = static_cast<token>(std::max_element(row.begin(), row.end()) - row.begin());
        text.push_back(random() % 4 == 0 ? static_cast<token>(random() % table_model::vocabulary) : best);
    }
    const std::vector<token> end{1, 2, 3, 4, 1, 2, 3, 4, 1, 2};
    text.resize(length - end.size());
    text.insert(text.end(), end.begin(), end.end());
    return text;
}

/// One decoding that goes on after a text; `block(n)` is the time of a round, in microseconds, over the next n.
struct decoding {
    std::string scheme;
    std::size_t length;
    std::function<double(std::size_t)> block;
    std::vector<double> microseconds{};
};

template <class Scheme>
decoding decode_after(std::string name, std::size_t length, Scheme scheme, std::span<const token> text,
                      const decode::options& chosen) {
    const auto held = std::make_shared<Scheme>(std::move(scheme));
    const auto s = std::make_shared<decode::session<Scheme>>(*held, text, chosen.sampling, chosen.stop,
                                                             random::philox_chooser(chosen.seed));
    return {std::move(name), length, [held, s](std::size_t rounds) {
                const detail::stopwatch watch;
                for (std::size_t i = 0; i < rounds; ++i) decode::step(*held, *s);
                return watch.seconds() * 1e6 / static_cast<double>(rounds);
            }};
}

/// Four sessions side by side; a round is one turn of all.
template <class Scheme>
decoding decode_together(std::string name, std::size_t length, Scheme scheme, std::span<const token> text,
                         const decode::options& chosen) {
    using session = decode::session<Scheme>;
    const auto held = std::make_shared<Scheme>(std::move(scheme));
    const auto together = std::make_shared<decode::batch<Scheme>>(*held);
    const auto sessions = std::make_shared<std::list<session>>();
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
        together->add(sessions->emplace_back(*held, text, chosen.sampling, chosen.stop, random::philox_chooser(seed)));
    }
    return {std::move(name), length, [held, sessions, together](std::size_t turns) {
                const detail::stopwatch watch;
                std::size_t passes = 0;
                while (passes < turns * 5) passes += together->advance();  // four drafts' passes and the target's
                return watch.seconds() * 1e6 / static_cast<double>(turns);
            }};
}

/// An n-gram memory that learns from the text as it is written.
inline decoding decode_learning(std::string name, std::size_t length, const table_model& target,
                                std::span<const token> text, const decode::options& chosen) {
    const auto memory = std::make_shared<draft::ngram_memory>(
        draft::ngram_orders{.shortest = 1, .longest = 4, .vocabulary_size = table_model::vocabulary});
    auto learner = speculate(draft::learned_ngrams(*memory), target, policy::fixed_length{4}, accept::exact{});
    using scheme = decltype(learner);
    const auto held = std::make_shared<scheme>(std::move(learner));
    const auto s = std::make_shared<decode::session<scheme>>(*held, text, chosen.sampling, chosen.stop,
                                                             random::philox_chooser(chosen.seed));
    const auto watcher = std::make_shared<draft::ngram_watcher>(*memory);
    return {std::move(name), length, [memory, held, s, watcher](std::size_t rounds) {
                const detail::stopwatch watch;
                for (std::size_t i = 0; i < rounds; ++i) decode::step(*held, *s, {}, *watcher);
                return watch.seconds() * 1e6 / static_cast<double>(rounds);
            }};
}

/// Text of several tokens, as a codec's would be.
inline decode::options with_text(decode::options chosen) {
    chosen.stop.text_of = [](token t) { return "word" + std::to_string(t) + " "; };
    chosen.stop.stop_strings = {"word1 word1 word1 ", std::string(1 << 16, 'w'), "\n\n"};
    return chosen;
}

/// Every scheme after one text.
inline std::vector<decoding> decodings(const table_model& target, const table_model& medium, const table_model& small,
                                       std::size_t length) {
    const std::vector<token> text = text_of(target, length);
    decode::options greedy, sampled, penalised;
    greedy.stop.max_tokens = sampled.stop.max_tokens = std::size_t{1} << 21;
    greedy.sampling.temperature.value = 0;
    penalised = greedy;
    penalised.sampling.penalties = {.repetition = 1.1f, .frequency = 0.01f};
    const auto add = [&](auto name, auto scheme, const decode::options& chosen) {
        return decode_after(name, length, std::move(scheme), text, chosen);
    };
    using policy::fixed_length;
    const switching::rolling_entropy turns({.thresholds_bits = {8.95}});
    std::vector<decoding> all;
    all.push_back(add("plain", plain(target), greedy));
    all.push_back(add("plain, text and stop strings", plain(target), with_text(greedy)));
    all.push_back(add("plain, penalties", plain(target), penalised));
    all.push_back(add("draft model, 4", speculate(small, target, fixed_length{4}, accept::exact{}), greedy));
    all.push_back(add("draft model, 4, rejection sampling",
                      speculate(small, target, fixed_length{4}, accept::rejection_sampling{}), sampled));
    all.push_back(add("cascade of three",
                      cascaded(small, scheme::model_link{fixed_length{2}, accept::exact{}}, medium,
                               scheme::model_link{fixed_length{4}, accept::exact{}}, target),
                      greedy));
    all.push_back(
        add("lookup, 4", speculate(draft::prompt_lookup(2, 8), target, fixed_length{4}, accept::exact{}), greedy));
    all.push_back(add("lookup, as it pays",
                      speculate(draft::prompt_lookup(2, 8), target, policy::cost_aware{}, accept::exact{}), greedy));
    all.push_back(add(
        "lookup tree",
        speculate(draft::prompt_lookup(2, 8, draft::trie_limits{}), target, fixed_length{4}, accept::exact{}), greedy));
    all.push_back(decode_learning("n-gram memory, 4, and its watcher", length, target, text, greedy));
    all.push_back(decode_together("batch of four, draft model, 4", length,
                                  speculate(small, target, fixed_length{4}, accept::exact{}), text, greedy));
    all.push_back(add("EAD", switched(small, target, turns), sampled));
    return all;
}

inline double median(std::vector<double> of) {
    std::nth_element(of.begin(), of.begin() + static_cast<std::ptrdiff_t>(of.size() / 2), of.end());
    return of[of.size() / 2];
}

/// Blocks of rounds, the lengths in turns. One line of JSON for each scheme and length: the median of the blocks.
inline void measure_lengths(std::span<const std::size_t> lengths, std::size_t blocks, std::size_t rounds) {
    const table_model target(1), medium(1), small(2);
    std::vector<std::vector<decoding>> all;
    for (const std::size_t length : lengths) all.push_back(decodings(target, medium, small, length));
    for (std::size_t scheme = 0; scheme < all.front().size(); ++scheme) {
        for (std::size_t block = 0; block < blocks; ++block) {
            for (auto& of : all) of[scheme].microseconds.push_back(of[scheme].block(rounds));
        }
        const double first = median(all.front()[scheme].microseconds);
        for (const auto& of : all) {
            const double each = median(of[scheme].microseconds);
            std::cout << nlohmann::ordered_json{{"scheme", of[scheme].scheme},
                                                {"tokens", of[scheme].length},
                                                {"round_microseconds", each},
                                                {"times_the_shortest", each / first}}
                      << std::endl;
        }
    }
}

}  // namespace augur::bench
