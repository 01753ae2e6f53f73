// A pointer to logits does not say how many rows there are, and how long: augur::scores does.
// expected-error {{RowsAreNoPointer}}
#include "augur/model/concepts.hpp"

struct c_model {
    struct sequence_type {};
    std::size_t vocabulary_size() const;
    std::size_t context_length() const;
    sequence_type make_sequence() const;
    std::size_t length(const sequence_type&) const;
    const float* extend(sequence_type&, std::span<const augur::token>) const;
    void truncate(sequence_type&, std::size_t) const;
};

static_assert(augur::Model<c_model>);
