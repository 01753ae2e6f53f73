// A sequence that refers to its engine can be constructed from another, but not assigned: sessions move theirs.
// expected-error {{SequenceCanBeMoved}}
#include "augur/model/concepts.hpp"

struct bound_model {
    struct sequence_type {
        const bound_model& owner;
    };
    std::size_t vocabulary_size() const;
    std::size_t context_length() const;
    sequence_type make_sequence() const;
    std::size_t length(const sequence_type&) const;
    augur::scores extend(sequence_type&, std::span<const augur::token>) const;
    void truncate(sequence_type&, std::size_t) const;
};

static_assert(augur::Model<bound_model>);
