// How many paths testing::enumerate takes in a second of processor time, on vocabularies of four tokens:
// `bench_enumerate`.

#include <augur/accept/rejection_sampling.hpp>
#include <augur/accept/walk.hpp>
#include <augur/testing/models.hpp>
#include <augur/testing/text_distribution_of.hpp>
#include <ctime>
#include <iomanip>
#include <iostream>
#include <string>
#include <vector>

using namespace augur;

/// Repeats an enumeration for a second.
template <class Enumerate>
void time_of(const std::string& what, const Enumerate& enumerated) {
    const std::clock_t start = std::clock();
    double seconds = 0;
    std::size_t paths = 0;
    std::size_t texts = 0;
    do {
        const testing::text_distribution law = enumerated();
        paths += law.paths;
        texts = law.probability.size();
        seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    } while (seconds < 1);
    const double rate = static_cast<double>(paths) / seconds / 1e6;
    std::cout << std::setw(44) << std::left << what << std::setw(8) << std::right << texts << " texts" << std::setw(10)
              << std::fixed << std::setprecision(2) << rate << " million paths/s\n";
}

int main() {
    const auto target = testing::hashed_model(4, 1);
    const auto drafter = testing::hashed_model(4, 2);
    const std::vector<token> prompt{0, 1};

    const auto row = distribution::weighted({1, 2, 3, 4});
    const auto other = distribution::weighted({4, 3, 2, 1});
    time_of("six draws", [&] {
        return testing::enumerate([&](testing::enumerating_chooser chooser) {
            std::vector<token> drawn;
            for (std::size_t i = 0; i < 6; ++i) drawn.push_back(static_cast<token>(chooser.choose(row, {i})));
            return drawn;
        });
    });
    time_of("six drafted tokens, each judged", [&] {
        return testing::enumerate([&](testing::enumerating_chooser chooser) {
            std::vector<token> kept;
            for (std::size_t i = 0; i < 6; ++i) {
                position_draws draws(chooser, i, 0);
                const token drafted = draft::sampled{}.pick(other, draws);
                const drafted_token<distribution> stated{drafted, &other};
                const token drawn = accept::accept_or_draw(accept::rejection_sampling{}, row, stated, draws);
                kept.push_back(drawn == no_token ? drafted : drawn);
            }
            return kept;
        });
    });
    decode::options chosen;
    chosen.stop.max_tokens = 4;
    time_of("four tokens, plain sampling, whole decodings",
            [&] { return testing::text_distribution_of(testing::plain_sampling(target), prompt, chosen); });
    const auto scheme = speculate(drafter, target, policy::fixed_length{2}, accept::rejection_sampling{});
    time_of("four tokens, drafting two, whole decodings",
            [&] { return testing::text_distribution_of(scheme, prompt, chosen); });
    const auto coupled = speculate(drafter, target, policy::fixed_length{2}, accept::coupled{});
    time_of("the same with shared noise", [&] { return testing::text_distribution_of(coupled, prompt, chosen); });
}
