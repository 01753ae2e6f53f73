// Sequences share a model, so that what changes belongs to them: a member that is not const is named.
// expected-error {{MembersAreConst}}
// expected-error {{truncate}}
#include "augur/model/concepts.hpp"

struct changing_model {
    struct sequence_type {};
    std::size_t vocabulary_size() const;
    std::size_t context_length() const;
    sequence_type make_sequence() const;
    std::size_t length(const sequence_type&) const;
    augur::scores extend(sequence_type&, std::span<const augur::token>) const;
    void truncate(sequence_type&, std::size_t);
};

static_assert(augur::Model<changing_model>);
