// Your engine, decoded by every scheme in augur.
//
// An engine becomes a Model by naming its cache (sequence_type) and answering six questions. This one is a toy, a
// table of which letter follows which, but the wrapper around a real engine is the same: `extend` is its forward pass,
// `truncate` its cache rewind. Whatever changes belongs to the sequence, so that one engine serves many texts. It owns
// a cache that the engine opens and closes: a std::unique_ptr, which can be moved, and owns nothing once it was moved
// from. An engine whose rows do not depend on how many are computed together says so; one that says nothing gets its
// guarantees "within numerics". Whether it keeps the laws, `model_laws` finds out.

#include <augur/augur.hpp>
#include <augur/testing/model_laws.hpp>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

// What an engine with a C interface looks like: caches by their handles, and a count of those that are open.
struct letter_cache {
    std::string text;
    std::vector<float> logits;  // of its last pass
};
inline int open_caches = 0;
letter_cache* open_cache() {
    ++open_caches;
    return new letter_cache;
}
void close_cache(letter_cache* cache) {
    --open_caches;
    delete cache;
}

class letter_engine {
 public:
    struct closes {
        void operator()(letter_cache* cache) const { close_cache(cache); }
    };
    using sequence_type = std::unique_ptr<letter_cache, closes>;
    static constexpr bool bitwise_rows = true;

    std::size_t vocabulary_size() const { return 128; }
    std::size_t context_length() const { return 256; }
    sequence_type make_sequence() const { return sequence_type(open_cache()); }
    std::size_t length(const sequence_type& sequence) const { return sequence->text.size(); }

    augur::scores extend(sequence_type& sequence, std::span<const augur::token> tokens) const {
        augur::model::check_room(length(sequence), tokens.size(), context_length());
        for (const augur::token t : tokens) {
            if (t < 0 || t >= 128) augur::fail("token ", t, " is no letter; there are ", vocabulary_size());
        }
        letter_cache& cache = *sequence;
        cache.logits.assign(tokens.size() * vocabulary_size(), -10.0f);
        for (std::size_t i = 0; i < tokens.size(); ++i) {
            cache.text.push_back(static_cast<char>(tokens[i]));
            cache.logits[i * vocabulary_size() + letter_after(cache.text)] = 0;
        }
        return {cache.logits.data(), tokens.size(), vocabulary_size()};
    }
    void truncate(sequence_type& sequence, std::size_t length) const {
        augur::model::check_cut(sequence->text.size(), length);
        sequence->text.resize(length);
    }

 private:
    static std::size_t letter_after(const std::string& text) {
        static const std::string song = "row, row, row your boat, gently down the stream. ";
        const std::size_t at = song.find(text.back(), text.size() % song.size());
        return static_cast<unsigned char>(song[at == std::string::npos ? 0 : (at + 1) % song.size()]);
    }
};

static_assert(augur::Model<letter_engine>);

int main() {
    const letter_engine engine;
    const augur::testing::report laws = augur::testing::model_laws(engine);
    std::cout << laws << '\n';

    const std::vector<augur::token> prompt{'r', 'o', 'w', ',', ' '};
    augur::decode::options chosen = augur::decode::greedy();
    chosen.stop.max_tokens = 90;
    chosen.stop.text_of = [](augur::token t) { return std::string(1, static_cast<char>(t)); };

    const auto plain = augur::decode::generate(augur::plain(engine), prompt, chosen);
    const auto scheme =
        augur::speculate(augur::draft::prompt_lookup{}, engine, augur::policy::fixed_length{6}, augur::accept::exact{});
    const auto ahead = augur::decode::generate(scheme, prompt, chosen);

    std::cout << ahead.text() << '\n'
              << ahead.counts.rounds() << " passes instead of " << plain.counts.rounds() << ", text "
              << (ahead.text() == plain.text() ? "identical" : "different") << '\n';
    return laws.kept() && open_caches == 0 && ahead.text() == plain.text() &&
                   ahead.counts.rounds() < plain.counts.rounds()
               ? 0
               : 1;
}
