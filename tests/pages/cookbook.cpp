// What the blocks of docs/cookbook.md need around them.
#include <augur/augur.hpp>
#include <augur/testing.hpp>
#include <iostream>
#include <vector>

using namespace augur;

int main() {
    const auto target = testing::hashed_model(8, 1), medium = testing::hashed_model(8, 2),
               small = testing::hashed_model(8, 3);
    const std::vector<token> prompt{0, 1};
    decode::options greedy;
    greedy.sampling.temperature.value = 0;
    const auto expected = decode::generate(plain(target), prompt, greedy).tokens;
    bool holds = true;
    const auto same = [&](const auto& scheme) {
        holds = holds && decode::generate(scheme, prompt, greedy).tokens == expected;
    };
    // block 1
    same(lookup);
    // block 2
    same(by_entropy);
    // block 3
    holds = holds && repeatable.tokens == decode::generate(plain(target), prompt, seeded).tokens;
    // block 4
    same(bounded);
    // block 5
    same(several);
    // block 6
    holds = holds && lossless_text.counts.stages.size() == 2;
    // block 7
    holds = holds && near_text.tokens.size() == 128;
    // block 8
    same(branching);
    std::cout << (holds ? "what docs/cookbook.md says holds\n" : "docs/cookbook.md says what does not hold\n");
    return holds ? 0 : 1;
}
