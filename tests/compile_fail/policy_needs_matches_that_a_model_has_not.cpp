// A policy on match lengths needs a drafter that matches.
// expected-error {{this policy looks at how long the draft's matches are, but this drafter matches nothing}}
#include "augur/accept/exact.hpp"
#include "augur/scheme/speculator.hpp"
#include "augur/testing/models.hpp"

struct as_many_as_matched {
    static constexpr augur::signals_read reads{.required = augur::signals::match_length};
    std::size_t length(const augur::observation& seen) const { return seen.match_length; }
};

int main() {
    const auto target = augur::testing::hashed_model(8, 1);
    augur::speculate(target, target, as_many_as_matched{}, augur::accept::exact{});
}
