// A model whose extend returns nothing scores nothing, and the compiler says which requirement it misses.
// expected-error {{ExtendsSequences}}
#include "augur/model/concepts.hpp"

struct silent {
    struct sequence_type {};
    std::size_t vocabulary_size() const;
    std::size_t context_length() const;
    sequence_type make_sequence() const;
    std::size_t length(const sequence_type&) const;
    void extend(sequence_type&, std::span<const augur::token>) const;
    void truncate(sequence_type&, std::size_t) const;
};

static_assert(augur::Model<silent>);
