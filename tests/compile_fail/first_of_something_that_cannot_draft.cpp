// first_of takes what speculate takes, and says so.
// expected-error {{augur::draft::first_of: name drafters, models}}
#include "augur/draft/first_of.hpp"
#include "augur/draft/prompt_lookup.hpp"

int main() {
    augur::draft::first_of(augur::draft::prompt_lookup(2), 7);
}
