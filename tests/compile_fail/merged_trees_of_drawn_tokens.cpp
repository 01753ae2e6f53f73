// Of two draws from different rows that are one node nobody could say what it was drawn from.
// expected-error {{augur::draft::merged: both drafters need the draft distribution point_mass}}
#include "augur/draft/draft_model.hpp"
#include "augur/draft/merged.hpp"
#include "augur/draft/prompt_lookup.hpp"
#include "augur/testing/models.hpp"

int main() {
    augur::draft::merged(augur::draft::draft_model(augur::testing::hashed_model(3, 1), augur::draft::sampled{}),
                         augur::draft::prompt_lookup());
}
