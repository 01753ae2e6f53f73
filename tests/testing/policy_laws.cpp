#include "augur/testing/policy_laws.hpp"

#include <augur/policy/cost_aware.hpp>
#include <augur/policy/entropy_bins.hpp>
#include <augur/policy/fixed_length.hpp>
#include <boost/test/unit_test.hpp>
#include <memory>

#include "every_law.hpp"

using namespace augur;
using testing::policy_laws;

BOOST_AUTO_TEST_SUITE(testing_policy_laws)

template <class Policy>
void keeps(const Policy& policy) {
    const auto r = policy_laws(policy);
    BOOST_TEST(r.kept(), r);
}

BOOST_AUTO_TEST_CASE(the_librarys_policies_keep_them) {
    for (std::size_t length : {0u, 1u, 3u}) keeps(policy::fixed_length{length});
    keeps(policy::entropy_bins{});
    keeps(policy::entropy_bins({0.7}, {2, 0}));
    keeps(policy::target_entropy_bins({0.4, 0.9}, {3, 2, 1}));
    keeps(policy::basic_entropy_bins<policy::entropy_of::draft, policy::entropy_form::offset>{});
    keeps(policy::cost_aware{});
    keeps(policy::cost_aware{{.max_length = 2, .memory = 0.5, .probe_after = 1}});
    keeps(policy::cost_aware{{.max_length = 2, .verify_seconds = {1, 1.05, 1.1}}});
}

/// Counts how often it is asked.
struct counts_questions {
    mutable std::size_t asked = 0;
    std::size_t length(const observation&) const { return asked++ % 3; }
};

/// The same, for all copies together.
struct counts_everybodys_questions {
    std::shared_ptr<std::size_t> asked = std::make_shared<std::size_t>(0);
    std::size_t length(const observation&) const { return (*asked)++ % 3; }
};

/// Has no answer to a NaN.
struct refuses_nan {
    std::size_t length(const observation& seen) const {
        if (seen.target_entropy_nats != seen.target_entropy_nats) throw std::domain_error("entropy is NaN");
        return 2;
    }
};

/// Learns into memory that all its copies share.
struct shares_memory {
    std::shared_ptr<std::size_t> accepted = std::make_shared<std::size_t>(0);
    std::size_t length(const observation&) const { return *accepted > 3 ? 4 : 1; }
    void learn(const outcome& happened) { *accepted += happened.accepted; }
};

/// Learns from a clock of its own.
struct looks_at_the_clock {
    std::size_t learned = 0;
    void learn(const outcome&) {
        static std::size_t ticks = 0;
        learned = ++ticks % 2;
    }
    std::size_t length(const observation&) const { return learned; }
};

BOOST_AUTO_TEST_CASE(every_law_is_broken_by_a_wrong_policy) {
    every_law::watch all;
    all.holds(policy_laws(policy::entropy_bins{}));
    all.breaks(policy_laws(counts_questions{}), "equal observations, equal lengths");
    all.breaks(policy_laws(refuses_nan{}), "every observation has an answer");
    all.breaks(policy_laws(shares_memory{}), "a copy learns apart");
    all.breaks(policy_laws(looks_at_the_clock{}), "equal pasts, equal lengths");
    all.breaks(policy_laws(counts_everybodys_questions{}), "the distribution is kept");
}

BOOST_AUTO_TEST_SUITE_END()
