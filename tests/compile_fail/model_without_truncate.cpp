// A model that cannot take tokens back is no Model, and the compiler says which requirement it misses.
// expected-error {{TruncatesSequences}}
#include "augur/model/concepts.hpp"

struct forgetless {
    struct sequence_type {};
    std::size_t vocabulary_size() const;
    std::size_t context_length() const;
    sequence_type make_sequence() const;
    std::size_t length(const sequence_type&) const;
    augur::scores extend(sequence_type&, std::span<const augur::token>) const;
};

static_assert(augur::Model<forgetless>);
