// A member vocabulary_fingerprint that is written otherwise than it is called is refused, not passed over.
// expected-error {{a member vocabulary_fingerprint that cannot be called as std::string vocabulary_fingerprint}}
#include "augur/accept/exact.hpp"
#include "augur/scheme/speculator.hpp"
#include "augur/testing/models.hpp"

using model = augur::testing::function_model;

struct changes_to_say : model {
    std::string vocabulary_fingerprint() { return "a"; }
};
struct says_a_number : model {
    std::size_t vocabulary_fingerprint() const { return 1; }
};
struct wants_to_know_more : model {
    std::string vocabulary_fingerprint(int) const { return "a"; }
};
struct only_holds_it : model {
    std::string vocabulary_fingerprint = "a";
};

void composed(const auto& target) {
    const auto draft = augur::testing::hashed_model(8, 2);
    augur::speculate(draft, target, augur::policy::fixed_length{}, augur::accept::exact{});
}

int main() {
    const auto of = augur::testing::hashed_model(8, 1);
    composed(changes_to_say{of});
    composed(says_a_number{of});
    composed(wants_to_know_more{of});
    composed(only_holds_it{of});
}
