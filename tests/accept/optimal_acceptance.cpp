// How often any rule could accept one of several candidates, by linear programming, and how near to that the library's
// rules come.

#include <algorithm>
#include <augur/accept/coupled.hpp>
#include <augur/accept/multipath_block.hpp>
#include <augur/accept/rejection_sampling.hpp>
#include <augur/accept/traversal.hpp>
#include <augur/testing/choices.hpp>
#include <augur/testing/random_inputs.hpp>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstddef>
#include <map>
#include <set>
#include <vector>

#include "accept/bush.hpp"
#include "sanitized.hpp"

using namespace augur;
using testing::expected_accepted;
using testing::tree_round;

BOOST_AUTO_TEST_SUITE(accept_optimal_acceptance)

/// The largest sum of x >= 0 with A x <= b, for b >= 0: the simplex algorithm with Bland's rule, in a dense tableau.
class largest_sum {
 public:
    largest_sum(const std::vector<std::vector<double>>& a, const std::vector<double>& b)
        : rows_(a), bounds_(b), gains_(a.front().size(), 1.0) {
        for (std::size_t row = 0; row < rows_.size(); ++row) {
            rows_[row].resize(gains_.size() + rows_.size(), 0.0);
            rows_[row][gains_.size() + row] = 1;
            basis_.push_back(gains_.size() + row);
        }
        gains_.resize(rows_.front().size(), 0.0);
        while (improve()) {
        }
    }
    double value() const { return value_; }

 private:
    bool improve() {
        std::size_t enters = 0;
        while (enters < gains_.size() && !(gains_[enters] > tiny)) ++enters;
        if (enters == gains_.size()) return false;
        std::size_t leaves = rows_.size();
        for (std::size_t row = 0; row < rows_.size(); ++row) {
            if (!(rows_[row][enters] > tiny)) continue;
            const double room = bounds_[row] / rows_[row][enters];
            const double least = leaves < rows_.size() ? bounds_[leaves] / rows_[leaves][enters] : INFINITY;
            if (room < least || (room == least && basis_[row] < basis_[leaves])) leaves = row;
        }
        BOOST_REQUIRE(leaves < rows_.size());  // else it is unbounded
        pivot(leaves, enters);
        return true;
    }
    void pivot(std::size_t leaves, std::size_t enters) {
        const double by = rows_[leaves][enters];
        for (double& entry : rows_[leaves]) entry /= by;
        bounds_[leaves] /= by;
        for (std::size_t row = 0; row < rows_.size(); ++row) {
            if (row != leaves) bounds_[row] -= subtract(rows_[row], leaves, enters) * bounds_[leaves];
        }
        value_ += subtract(gains_, leaves, enters) * bounds_[leaves];
        basis_[leaves] = enters;
    }
    /// Clears the entry of a row by a multiple of another; returns the multiple.
    double subtract(std::vector<double>& row, std::size_t of, std::size_t entry) const {
        const double multiple = row[entry];
        for (std::size_t i = 0; i < row.size(); ++i) row[i] -= multiple * rows_[of][i];
        return multiple;
    }

    static constexpr double tiny = 1e-13;
    std::vector<std::vector<double>> rows_;
    std::vector<double> bounds_;
    std::vector<double> gains_;
    std::vector<std::size_t> basis_;
    double value_ = 0;
};

using candidates = std::map<std::set<token>, double>;

/// The law of which tokens are among so many draws.
candidates drawn(const std::vector<double>& draft, std::size_t draws, bool replacement) {
    candidates found{{{}, 1.0}};
    for (; draws > 0; --draws) {
        candidates next;
        for (const auto& [set, probability] : found) {
            double left = 0;
            for (token t = 0; t < 3; ++t)
                left += replacement || !set.contains(t) ? draft[static_cast<std::size_t>(t)] : 0;
            if (!(left > 0)) next[set] += probability;  // nothing more to draw
            for (token t = 0; left > 0 && t < 3; ++t) {
                if (!replacement && set.contains(t)) continue;
                std::set<token> more = set;
                more.insert(t);
                next[more] += probability * draft[static_cast<std::size_t>(t)] / left;
            }
        }
        found = next;
    }
    return found;
}

/// Of all couplings of the candidates with a token of the target, the largest probability that the token is one of
/// them.
double optimum(const std::vector<double>& target, const candidates& offered) {
    std::vector<std::vector<double>> a;
    std::vector<double> b;
    std::size_t pairs = 0;
    for (const auto& [set, probability] : offered) pairs += set.size();
    for (const double probability : target) {
        a.emplace_back(pairs, 0.0);
        b.push_back(probability);
    }
    std::size_t pair = 0;
    for (const auto& [set, probability] : offered) {
        a.emplace_back(pairs, 0.0);
        b.push_back(probability);
        for (const token t : set) a[static_cast<std::size_t>(t)][pair] = a.back()[pair] = 1, ++pair;
    }
    return largest_sum(a, b).value();
}

/// The same by duality, as a cut: the least of target(H) + 1 - P(all candidates are in H).
double least_cut(const std::vector<double>& target, const candidates& offered) {
    double least = 1;
    for (unsigned bits = 0; bits < 8; ++bits) {
        double cut = 1;
        for (std::size_t t = 0; t < 3; ++t) cut += (bits >> t & 1) != 0 ? target[t] : 0;
        for (const auto& [set, probability] : offered) {
            const bool inside = std::all_of(set.begin(), set.end(), [&](token t) { return (bits >> t & 1) != 0; });
            cut -= inside ? probability : 0;
        }
        least = std::min(least, cut);
    }
    return least;
}

std::vector<double> normalised(const std::vector<double>& weights) {
    const auto row = distribution::weighted({weights.begin(), weights.end()});
    return {row.probability(0), row.probability(1), row.probability(2)};
}

/// One row, after whatever token.
testing::function_model always(const std::vector<double>& row) {
    return testing::markov_model({row, row, row});
}

/// A position with so many candidates.
struct contest {
    tree_round round;
    double most;

    contest(const std::vector<double>& wanted, const std::vector<double>& guessed, std::size_t draws, bool replacement)
        : round{always(wanted), always(guessed), topology(std::vector<std::int32_t>(draws, after_prefix)),
                replacement} {
        const candidates offered = drawn(normalised(guessed), draws, replacement);
        most = optimum(normalised(wanted), offered);
        BOOST_TEST(std::abs(most - least_cut(normalised(wanted), offered)) < 1e-12);
    }

    template <class Criterion>
    double share(const Criterion& criterion) const {
        const double got = expected_accepted(criterion, draft::sampled{}, round);
        BOOST_TEST(got < most + 1e-6);  // rows of logits are rounded to float
        return most > 0 ? got / most : 1;
    }
};

BOOST_AUTO_TEST_CASE(the_program_solves_what_is_known) {
    // One candidate: what the rows have in common. Both tokens that are possible: one of them is the target's.
    const std::vector<double> target{0.5, 0.3, 0.2}, draft{0.2, 0.2, 0.6};
    BOOST_TEST(std::abs(optimum(target, drawn(draft, 1, true)) - 0.6) < 1e-12);
    BOOST_TEST(std::abs(optimum({0.5, 0.5, 0}, drawn({0.5, 0.5, 0}, 2, false)) - 1) < 1e-12);
    // Two draws are both token 2 with 0.36, of which 0.2 are of use.
    BOOST_TEST(std::abs(optimum(target, drawn(draft, 2, true)) - 0.84) < 1e-12);
}

struct shares {
    double least = 1, mean = 0;
    void add(double share, double of) {
        least = std::min(least, share);
        mean += share / of;
    }
};

/// Over random rows, zeros and ties among them, what rules reach of the optimum.
struct standings {
    shares rejection, traversal, multipath, coupled, best;

    standings(std::size_t draws, bool replacement) {
        constexpr std::size_t cases = 200;
        for (std::uint64_t seed = 0; seed < cases; ++seed) {
            testing::choices from(seed);
            const auto wanted = testing::random_weights(from, 3), guessed = testing::random_weights(from, 3);
            const contest here(wanted, guessed, draws, replacement);
            const double one = here.share(accept::traversal{});
            const double other = replacement ? here.share(accept::multipath_block{}) : 0;
            rejection.add(here.share(accept::rejection_sampling{}), cases);
            traversal.add(one, cases);
            multipath.add(other, cases);
            coupled.add(here.share(accept::coupled{}), cases);
            best.add(std::max(one, other), cases);
        }
        BOOST_TEST_MESSAGE(draws << " draws: of the optimum on average " << traversal.mean << " by traversal, "
                                 << multipath.mean << " by multipath_block, " << coupled.mean << " by coupled, "
                                 << best.mean << " by the better of two");
    }
};

BOOST_AUTO_TEST_CASE(no_rule_exceeds_the_optimum_of_independent_candidates_and_the_best_approaches_it,
                     *boost::unit_test::enable_if<!testing::sanitized>()) {
    const standings two(2, true), three(3, true);
    BOOST_TEST(two.best.mean > 0.985);
    BOOST_TEST(two.best.least > 0.88);
    BOOST_TEST(three.best.mean > 0.975);
    BOOST_TEST(three.best.least > 0.83);
    // Neither of the two is the better one always: traversal has the higher floor, multipath_block the tighter fit for
    // two.
    BOOST_TEST(two.traversal.mean > 0.96);
    BOOST_TEST(two.multipath.mean > two.traversal.mean);
    BOOST_TEST(three.traversal.mean > 0.95);
    BOOST_TEST(three.multipath.least < three.traversal.least);
    BOOST_TEST(two.coupled.mean < 0.8);
}

BOOST_AUTO_TEST_CASE(nor_that_of_candidates_without_replacement) {
    const standings two(2, false), three(3, false);
    BOOST_TEST(two.traversal.mean > 0.95);
    BOOST_TEST(two.traversal.mean > two.coupled.mean + 0.05);
    BOOST_TEST(three.traversal.least == 1, boost::test_tools::tolerance(1e-6));  // all three tokens are offered
}

BOOST_AUTO_TEST_SUITE_END()
