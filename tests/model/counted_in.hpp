#pragma once
// A model that counts in another integer than std::size_t, as engines do.

#include <augur/testing/models.hpp>
#include <utility>

template <class Integer>
struct counted_in : augur::testing::function_model {
    explicit counted_in(function_model of) : function_model(std::move(of)) {}
    Integer vocabulary_size() const { return static_cast<Integer>(function_model::vocabulary_size()); }
    Integer context_length() const { return static_cast<Integer>(function_model::context_length()); }
    Integer length(const sequence_type& s) const { return static_cast<Integer>(function_model::length(s)); }
};
