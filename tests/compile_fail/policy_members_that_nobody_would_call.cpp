// Optional members of a policy that are written otherwise than they are called are refused, not passed over.
// expected-error {{a member learn that cannot be called as}}
// expected-error {{a member reads that is no static constexpr augur::signals_read}}
// expected-error {{a member plans that is no static constexpr augur::draft_shape}}
#include "augur/accept/exact.hpp"
#include "augur/scheme/speculator.hpp"
#include "augur/testing/models.hpp"

struct changes_the_outcome : augur::policy::fixed_length {
    void learn(augur::outcome&) {}
};
struct reads_a_signal : augur::policy::fixed_length {
    static constexpr augur::signals reads = augur::signals::draft_entropy;
};
struct reads_its_own : augur::policy::fixed_length {
    augur::signals_read reads;
};
struct plans_in_words : augur::policy::fixed_length {
    static constexpr const char* plans = "trees";
};

void composed(const auto& policy) {
    const auto target = augur::testing::hashed_model(8, 1);
    augur::speculate(augur::draft::no_draft{}, target, policy, augur::accept::exact{});
}

int main() {
    composed(changes_the_outcome{});
    composed(reads_a_signal{});
    composed(reads_its_own{});
    composed(plans_in_words{});
}
