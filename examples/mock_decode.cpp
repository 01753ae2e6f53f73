// Watching a scheme round by round, with models that have no weights.
//
// Mocks answer from a script, so what a scheme does is known beforehand and can be written down: one line a round,
// which is also how augur tests itself.

#include <augur/augur.hpp>
#include <augur/testing/models.hpp>
#include <augur/testing/trace.hpp>
#include <iostream>
#include <string>
#include <vector>

int main() {
    const std::vector<augur::token> story{1, 2, 3, 4, 5, 6, 7, 1, 2, 3, 4, 5};
    auto misremembered = story;
    misremembered[3] = 0;
    const auto target = augur::testing::scripted_model(8, story);
    const auto drafter = augur::testing::scripted_model(8, misremembered);
    const auto scheme = augur::speculate(drafter, target, augur::policy::fixed_length{4}, augur::accept::exact{});

    const std::vector<augur::token> prompt{1};
    augur::decode::session session(scheme, prompt, {.temperature = {0}}, {.max_tokens = 11},
                                   augur::random::philox_chooser(0));
    std::vector<std::string> rounds;
    while (session.finished == augur::finish_reason::running) {
        rounds.push_back(augur::testing::trace(augur::decode::step(scheme, session)));
        std::cout << rounds.back() << '\n';
    }
    const std::vector<std::string> expected{
        "draft 4 | verify 5 | accept 2 | correct 4 | commit 3",
        "draft 4 | verify 5 | accept 4 | bonus 2 | commit 5",
        "draft 2 | verify 3 | accept 2 | bonus 5 | commit 3",
    };
    return rounds == expected ? 0 : 1;
}
