// Optional members of a drafter that are written otherwise than they are called are refused, not passed over.
// expected-error {{a member prepare that cannot be called as}}
// expected-error {{a member check that cannot be called as}}
// expected-error {{a member report, but not static constexpr}}
// expected-error {{a member shows_rows that is no static constexpr bool}}
// expected-error {{a member shows_matches that is no static constexpr bool}}
// expected-error {{a member branches that is no static constexpr bool}}
// expected-error {{a member fills_trees that is no static constexpr bool}}
// expected-error {{a member drafts_in_target that is no static constexpr bool}}
#include "augur/accept/exact.hpp"
#include "augur/scheme/speculator.hpp"
#include "augur/testing/models.hpp"

struct takes_tokens : augur::draft::no_draft {
    void prepare(state_type&, std::span<const augur::token>) const {}
};
struct changes_the_settings : augur::draft::no_draft {
    void check(augur::transform::settings&) const {}
};
struct says_not_how_many : augur::draft::no_draft {
    void report(const state_type&, std::span<augur::stage_statistics>) const {}
};
struct each_its_own : augur::draft::no_draft {
    bool shows_rows = true;
};
struct found_out_later : augur::draft::no_draft {
    static inline bool shows_matches = true;
};
struct perhaps_a_tree : augur::draft::no_draft {
    bool branches = false;
};
struct perhaps_as_planned : augur::draft::no_draft {
    bool fills_trees = false;
};

struct perhaps_in_the_target : augur::draft::no_draft {
    bool drafts_in_target = false;
};

void composed(const auto& drafter) {
    const auto target = augur::testing::hashed_model(8, 1);
    augur::speculate(drafter, target, augur::policy::fixed_length{}, augur::accept::exact{});
}

int main() {
    composed(takes_tokens{});
    composed(changes_the_settings{});
    composed(says_not_how_many{});
    composed(each_its_own{});
    composed(found_out_later{});
    composed(perhaps_a_tree{});
    composed(perhaps_as_planned{});
    composed(perhaps_in_the_target{});
}
