// Rounds judged on a GPU, and what the host says of them.
#include <augur/accept/coupled.hpp>
#include <augur/accept/exact.hpp>
#include <augur/accept/fuzzy.hpp>
#include <augur/accept/multipath_block.hpp>
#include <augur/accept/rejection_sampling.hpp>
#include <augur/accept/traversal.hpp>
#include <augur/accept/typical.hpp>
#include <augur/backend/device/cuda_system.hpp>
#include <boost/test/unit_test.hpp>
#include <vector>

#include "backend/device/random_rounds.hpp"
#include "backend/device/random_trees.hpp"

BOOST_AUTO_TEST_SUITE(gpu_rounds)

namespace {

const std::vector<augur::backend::device::cuda_system> gpu(1);

}  // namespace

/// By arithmetic that IEEE 754 fixes, under settings of every kind but a mask: the same verdicts.
BOOST_AUTO_TEST_CASE(verdicts_are_the_hosts) {
    rounds::check_parity(gpu, augur::accept::exact{}, {0});
    rounds::check_parity(gpu, augur::accept::rejection_sampling{}, rounds::sampled);
    rounds::check_parity(gpu, rounds::likely_enough{}, rounds::sampled);
}

/// By logarithms, which may differ in the last place: the same verdicts as far as rounds like these tell.
BOOST_AUTO_TEST_CASE(races_and_divergences_are_the_hosts) {
    rounds::check_parity(gpu, augur::accept::coupled{}, rounds::sampled);
    rounds::check_parity(gpu, augur::accept::fuzzy<augur::measure::jensen_shannon>{0.1}, rounds::sampled);
}

/// The same of trees.
BOOST_AUTO_TEST_CASE(verdicts_on_trees_are_the_hosts) {
    trees::check_trees(gpu, augur::accept::exact{}, {0});
    trees::check_trees(gpu, augur::accept::rejection_sampling{}, rounds::sampled);
    trees::check_trees(gpu, augur::accept::traversal{}, rounds::sampled);
    trees::check_trees(gpu, augur::accept::multipath_block{}, rounds::sampled);
}

BOOST_AUTO_TEST_CASE(races_and_thresholds_on_trees_are_the_hosts) {
    trees::check_trees(gpu, augur::accept::coupled{}, rounds::sampled);
    trees::check_trees(gpu, augur::accept::typical{}, rounds::sampled);
    trees::check_trees(gpu, augur::accept::fuzzy<augur::measure::jensen_shannon>{0.1}, rounds::sampled);
}

BOOST_AUTO_TEST_SUITE_END()
