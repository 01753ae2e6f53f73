// Optional members of a policy that are written otherwise than they are called are refused, not passed over.
// expected-error {{a member learn that cannot be called as}}
// expected-error {{a member entropy_nats that cannot be called as static double}}
// expected-error {{a member looks_ahead, but none that can be called}}
// expected-error {{a member asked_once that is no static constexpr bool}}
// expected-error {{a member expected, expands or keeps, but not all three}}
#include "augur/accept/exact.hpp"
#include "augur/cascade/speculator.hpp"
#include "augur/testing/models.hpp"

struct changes_the_outcome : augur::policy::fixed_length {
    void learn(augur::outcome&) {}
};
struct measures_by_itself : augur::policy::fixed_length {
    double entropy_nats(augur::logit_row) const { return 0; }
};
struct measures_something_else : augur::policy::fixed_length {
    static double entropy_nats(const augur::distribution&) { return 0; }
};
struct each_its_own : augur::policy::fixed_length {
    bool asked_once = true;
};

struct looks_nowhere : augur::policy::fixed_length {
    std::size_t looks_ahead() const { return 2; }
};

struct keeps_alone : augur::policy::fixed_length {
    std::size_t keeps(const augur::observation&, std::span<const float> values) const { return values.size(); }
};

void composed(const auto& policy) {
    const auto target = augur::testing::hashed_model(8, 1);
    augur::speculate(augur::draft::no_draft{}, target, policy, augur::accept::exact{});
}

int main() {
    composed(changes_the_outcome{});
    composed(measures_by_itself{});
    composed(measures_something_else{});
    composed(each_its_own{});
    composed(looks_nowhere{});
    composed(keeps_alone{});
}
