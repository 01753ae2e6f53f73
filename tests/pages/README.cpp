// What the blocks of README.md need around them.
#include <augur/accept/rejection_sampling.hpp>
#include <iostream>
#include <vector>

using namespace augur;

/// Lossless, so that the distance has to be rounding.
struct your_rule : accept::rejection_sampling {};

const auto large = testing::hashed_model(4, 1), small = testing::hashed_model(4, 2);

bool an_engine() {
    const std::vector<token> prompt{0, 1};
    // block 1
    return result.tokens.size() == 128;
}

// block 2

int main() {
    const std::vector<token> prompt{0, 1};
    const auto yours = speculate(small, large, your_policy{}, accept::coupled{});
    bool holds = decode::generate(yours, prompt).tokens == decode::generate(plain(large), prompt).tokens;
    const auto certain = testing::hashed_model(4, 1, 200);  // so that every path is more likely than not
    const auto drafted = decode::generate(speculate(certain, certain, your_policy{}, accept::coupled{}), prompt);
    holds = holds && drafted.counts.accepted_length() > 5;
    decode::options options;
    options.stop.max_tokens = 3;
    {
        // block 3
        holds = holds && exact.probability.size() == 64 && testing::total_variation(exact, mine) < 1e-12;
    }
    holds = holds && an_engine();
    std::cout << (holds ? "what README.md says holds\n" : "README.md says what does not hold\n");
    return holds ? 0 : 1;
}
