// A number of a cache is no sequence: nobody would own the cache, and two copies would be one.
// expected-error {{SequenceIsAnObject}}
#include "augur/model/concepts.hpp"

struct numbering_model {
    using sequence_type = int;
    std::size_t vocabulary_size() const;
    std::size_t context_length() const;
    sequence_type make_sequence() const;
    std::size_t length(const sequence_type&) const;
    augur::scores extend(sequence_type&, std::span<const augur::token>) const;
    void truncate(sequence_type&, std::size_t) const;
};

static_assert(augur::Model<numbering_model>);
