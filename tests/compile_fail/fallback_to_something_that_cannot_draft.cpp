// fallback takes what speculate takes, and says so.
// expected-error {{augur::draft::fallback: name drafters, models}}
#include "augur/draft/fallback.hpp"
#include "augur/draft/prompt_lookup.hpp"

int main() {
    augur::draft::fallback(augur::draft::prompt_lookup(2), 7);
}
