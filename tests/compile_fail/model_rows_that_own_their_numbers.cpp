// A row that is made when it is looked at would be gone before it is read: rows are views or references.
// expected-error {{LogitRows}}
// expected-error {{LastingRow}}
#include <vector>

#include "augur/model/concepts.hpp"

struct widened_rows {
    std::vector<std::vector<short>> halves;
    std::size_t size() const { return halves.size(); }
    std::vector<float> operator[](std::size_t i) const { return {halves[i].begin(), halves[i].end()}; }
};

struct half_model {
    struct sequence_type {};
    std::size_t vocabulary_size() const;
    std::size_t context_length() const;
    sequence_type make_sequence() const;
    std::size_t length(const sequence_type&) const;
    widened_rows extend(sequence_type&, std::span<const augur::token>) const;
    void truncate(sequence_type&, std::size_t) const;
};

static_assert(augur::LogitRows<augur::scores> && augur::LogitRows<std::vector<std::vector<float>>>);
static_assert(augur::LogitRows<std::vector<std::span<const float>>>);
static_assert(augur::LogitRows<widened_rows>);
static_assert(augur::Model<half_model>);
