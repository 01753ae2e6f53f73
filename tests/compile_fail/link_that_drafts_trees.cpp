// Inside a cascade a link of whole chains cannot judge a drafter that branches.
// expected-error {{this drafter branches under this policy \(its proposals are trees\), but this criterion}}
#include "augur/accept/block.hpp"
#include "augur/draft/no_draft.hpp"
#include "augur/scheme/stage.hpp"
#include "augur/testing/models.hpp"

struct two_guesses : augur::draft::no_draft {
    static constexpr bool branches = true;
};

using augur::testing::function_model;
template class augur::scheme::stage<two_guesses, function_model, augur::policy::fixed_length, augur::accept::block>;
