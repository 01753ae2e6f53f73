// What the blocks of README.md need around them.
#include <augur/accept/rejection_sampling.hpp>
#include <iostream>
#include <vector>

using namespace augur;

/// Lossless, so that the distance has to be rounding.
struct your_rule : accept::rejection_sampling {};

int main() {
    const auto target = testing::hashed_model(4, 1), draft = testing::hashed_model(4, 2);
    const std::vector<token> prompt{0, 1};
    bool holds = true;
    {
        // block 1
        holds = holds && result.tokens.size() == 128 && same.tokens == decode::generate(plain(target), prompt).tokens;
    }
    decode::options options;
    options.stop.max_tokens = 3;
    {
        // block 2
        holds = holds && plain.probability.size() == 64 && testing::total_variation(plain, yours) < 1e-12;
    }
    std::cout << (holds ? "what README.md says holds\n" : "README.md says what does not hold\n");
    return holds ? 0 : 1;
}
