// Your engine, decoded by every scheme in augur.
//
// An engine becomes a Model by naming its cache (sequence_type) and answering six questions. This one is a toy, a table of
// which letter follows which, but the wrapper around a real engine is the same: `extend` is its forward pass, `truncate`
// its cache rewind. Rows must not depend on how many are computed together; an engine that cannot promise that says
// `static constexpr bool bitwise_rows = false`, and its guarantees become "within numerics".

#include <augur/augur.hpp>
#include <iostream>
#include <string>
#include <vector>

struct letter_engine {
    using sequence_type = std::string;  // what the engine calls a key-value cache

    std::size_t vocabulary_size() const { return 128; }
    std::size_t context_length() const { return 256; }
    sequence_type make_sequence() const { return {}; }
    std::size_t length(const sequence_type& sequence) const { return sequence.size(); }

    augur::scores extend(sequence_type& sequence, std::span<const augur::token> tokens) const {
        logits.assign(tokens.size() * 128, -10.0f);
        for (std::size_t i = 0; i < tokens.size(); ++i) {
            sequence.push_back(static_cast<char>(tokens[i]));
            const std::size_t at = song.find(sequence.back(), sequence.size() % song.size());
            logits[i * 128 + static_cast<unsigned char>(song[at == std::string::npos ? 0 : (at + 1) % song.size()])] =
                0;
        }
        return {logits.data(), tokens.size(), 128};
    }
    void truncate(sequence_type& sequence, std::size_t length) const { sequence.resize(length); }

    std::string song = "row, row, row your boat, gently down the stream. ";
    mutable std::vector<float> logits;
};

static_assert(augur::Model<letter_engine>);

int main() {
    const letter_engine engine;
    const std::vector<augur::token> prompt{'r', 'o', 'w', ',', ' '};
    augur::decode::options chosen;
    chosen.sampling.temperature.value = 0;
    chosen.stop.max_tokens = 90;
    chosen.stop.text_of = [](augur::token t) { return std::string(1, static_cast<char>(t)); };

    const auto plain = augur::decode::generate(augur::plain(engine), prompt, chosen);
    const auto scheme =
        augur::speculate(augur::draft::prompt_lookup{}, engine, augur::policy::fixed_length{6}, augur::accept::exact{});
    const auto ahead = augur::decode::generate(scheme, prompt, chosen);

    std::cout << ahead.text << '\n'
              << ahead.counts.rounds() << " passes instead of " << plain.counts.rounds() << ", text "
              << (ahead.text == plain.text ? "identical" : "different") << '\n';
    return ahead.text == plain.text && ahead.counts.rounds() < plain.counts.rounds() ? 0 : 1;
}
