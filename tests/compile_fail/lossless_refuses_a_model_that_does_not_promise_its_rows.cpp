// A model that says nothing about its rows is within numerics: a forgotten line makes no promise. The advice names both
// ways on. expected-error {{lossless within numerics.*ask for generate<lossless_within_numerics>}}
// expected-error {{bitwise_rows = true}}
// expected-error {{silent}}
#include "augur/accept/coupled.hpp"
#include "augur/decode/generate.hpp"

struct silent {
    struct sequence_type {
        std::size_t tokens = 0;
    };
    std::size_t vocabulary_size() const { return 8; }
    std::size_t context_length() const { return 64; }
    sequence_type make_sequence() const { return {}; }
    std::size_t length(const sequence_type& s) const { return s.tokens; }
    augur::scores extend(sequence_type&, std::span<const augur::token>) const;
    void truncate(sequence_type& s, std::size_t length) const { s.tokens = length; }
};

int main() {
    const silent target;
    const augur::token prompt[] = {1};
    augur::decode::generate(augur::plain(target), prompt);
}
