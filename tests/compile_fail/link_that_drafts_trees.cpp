// Inside a cascade a token is proposed with the row that it was drawn from, which a link knows for chains.
// expected-error {{inside a cascade a link judges chains, but this drafter branches}}
#include "augur/accept/rejection_sampling.hpp"
#include "augur/draft/no_draft.hpp"
#include "augur/scheme/stage.hpp"
#include "augur/testing/models.hpp"

struct two_guesses : augur::draft::no_draft {
    static constexpr bool branches = true;
};

using augur::testing::function_model;
template class augur::scheme::stage<two_guesses, function_model, augur::policy::fixed_length,
                                    augur::accept::rejection_sampling>;
