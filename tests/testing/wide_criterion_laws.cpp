// Criteria that are wrong far out only, each of which the suite for narrow rows lets pass (known bug 78).

#include "augur/testing/wide_criterion_laws.hpp"

#include <algorithm>
#include <augur/accept/block.hpp>
#include <augur/accept/coupled.hpp>
#include <augur/accept/exact.hpp>
#include <augur/accept/fuzzy.hpp>
#include <augur/accept/multipath_block.hpp>
#include <augur/accept/rejection_sampling.hpp>
#include <augur/accept/traversal.hpp>
#include <augur/accept/typical.hpp>
#include <augur/testing/criterion_laws.hpp>
#include <boost/test/unit_test.hpp>
#include <cstddef>
#include <string>

#include "sanitized.hpp"
#include "wrong_criteria.hpp"

using namespace augur;
using testing::criterion_laws;

BOOST_AUTO_TEST_SUITE(testing_wide_criterion_laws)

namespace far_out = wrong::far_out;
constexpr std::size_t cases = testing::unless_sanitized<std::size_t>(40, 3);

/// By wide rows, and by no other; what is said names a vocabulary and `token`.
template <class Criterion>
void only_far_out(const Criterion& criterion, const std::string& vocabulary, const std::string& token = "") {
    const auto narrow = criterion_laws(criterion, {.cases = cases, .widest = 0});
    BOOST_TEST(narrow.kept(), narrow);
    const auto r = criterion_laws(criterion, {.cases = 1, .shrinks = 8});
    BOOST_TEST_REQUIRE(!r.broken.empty(), r);
    for (const testing::violation& each : r.broken) {
        BOOST_TEST(each.law.find("in wide rows") != std::string::npos, r);
    }
    const std::string& what = r.broken.front().what;
    BOOST_TEST(what.find("in a vocabulary of " + vocabulary + ", ") != std::string::npos, r);
    if (!token.empty()) BOOST_TEST(what.find(", token " + token + " after {") != std::string::npos, r);
}

BOOST_AUTO_TEST_CASE(tokens_accepted_too_often_from_a_number_on_are_named) {
    using namespace far_out;
    only_far_out(too_often(from_token<40>), "100");
    only_far_out(too_often(from_token<64>), "100");
    only_far_out(too_often(from_token<128>), "300");
    only_far_out(too_often(from_token<256>), "300");
    only_far_out(too_often(from_token<32'768>), "33000");
    only_far_out(too_often(from_token<65'536>), "140000");
}

BOOST_AUTO_TEST_CASE(one_token_accepted_too_often_is_named) {
    using namespace far_out;
    only_far_out(too_often(at_token<40>), "100");
    only_far_out(too_often(at_token<63>), "100");
    only_far_out(too_often(at_token<127>), "300");
    only_far_out(too_often(at_token<255>), "300");
    only_far_out(too_often(at_token<32'767>), "33000");
    only_far_out(too_often(at_token<65'535>), "140000");
    only_far_out(too_often(at_token<139'999>), "140000");
    only_far_out(too_often(at_the_last), "100");
    only_far_out(too_often(low_in_wide_rows), "140000");
}

BOOST_AUTO_TEST_CASE(ids_that_are_cut_are_found) {
    using namespace far_out;
    only_far_out(looks_up_cut(to_byte), "300");
    only_far_out(looks_up_cut(to_signed_byte), "300");
    only_far_out(looks_up_cut(to_16_bits), "140000");
    only_far_out(looks_up_cut(to_signed_16_bits), "33000");
    only_far_out(cuts_the_bonus(to_byte), "300");
    only_far_out(cuts_the_bonus(to_signed_byte), "300");
    only_far_out(cuts_the_bonus(to_16_bits), "140000");
    only_far_out(cuts_the_bonus(to_signed_16_bits), "33000");
    only_far_out(cuts_the_rejected(to_byte), "300");
    only_far_out(cuts_the_rejected(to_16_bits), "140000");
    only_far_out(block_of_cut_ids(to_byte), "300");
    only_far_out(block_of_cut_ids(to_16_bits), "140000");
    only_far_out(compares_cut<accept::coupled>(to_byte), "300");
    only_far_out(compares_cut<accept::coupled>(to_16_bits), "140000");
    only_far_out(compares_cut<accept::exact>(to_byte), "300");
    only_far_out(compares_cut<accept::exact>(to_16_bits), "140000");
}

BOOST_AUTO_TEST_CASE(what_a_residual_forgets_is_found) {
    using namespace far_out;
    only_far_out(forgets(all_but_the_tail<8>), "100");
    only_far_out(forgets(all_but_the_tail<16>), "100");
    only_far_out(forgets(all_but_the_tail<64>), "100");
    only_far_out(forgets(all_but_the_last), "100");
    only_far_out(forgets(a_short_list), "100");
}

/// Promises no equality, and takes drafted tokens that the target excludes.
template <std::size_t From>
struct takes_impossible_ones : accept::fuzzy<measure::total_variation> {
    takes_impossible_ones() : fuzzy(0.3) {}
    using fuzzy::accepts;
    template <class DraftDistribution>
    bool accepts(const auto& target, const drafted_token<DraftDistribution>& drafted, auto& draws) const {
        return drafted.id >= static_cast<token>(From) || fuzzy::accepts(target, drafted, draws);
    }
};

BOOST_AUTO_TEST_CASE(impossible_tokens_far_out_are_named) {
    const auto r = criterion_laws(takes_impossible_ones<32'768>{}, {.cases = 20, .widest = 33'000});
    BOOST_TEST(r.breaks("never an impossible token in wide rows (drawn drafts)"), r);
    BOOST_TEST(r.breaks("never an impossible token in wide rows (point masses)"), r);
    for (const testing::violation& each : r.broken) {
        BOOST_TEST(each.what.find("in a vocabulary of 33000, gives token 32") != std::string::npos, r);
    }
}

BOOST_AUTO_TEST_CASE(a_bound_on_the_width_is_kept) {
    const far_out::looks_up_cut wrong(far_out::to_16_bits);
    BOOST_TEST(criterion_laws(wrong, {.cases = 1, .widest = 139'999}).kept());
    BOOST_TEST(!criterion_laws(wrong, {.cases = 1, .widest = 140'000}).kept());
    const auto laws = [&](std::size_t widest) {
        return criterion_laws(accept::block{}, {.cases = 1, .widest = widest}).checked.size();
    };
    BOOST_TEST(laws(100) == laws(99) + 2);
}

BOOST_AUTO_TEST_CASE(the_librarys_criteria_are_right_far_out) {
    const auto keeps = [](const auto& criterion, std::size_t widest) {
        const auto r = criterion_laws(criterion, {.seed = 2, .cases = 1, .widest = widest});
        BOOST_TEST(r.kept(), r);
    };
    const auto wide = testing::unless_sanitized<std::size_t>(140'000, 33'000);
    keeps(accept::rejection_sampling{}, wide);
    keeps(accept::block{}, wide);
    keeps(accept::coupled{}, 33'000);
    keeps(accept::exact{}, wide);
    keeps(accept::traversal{}, wide);
    keeps(accept::typical{}, wide);
    keeps(accept::multipath_block{}, 33'000);
    keeps(accept::fuzzy<measure::kl>{0.3}, 33'000);
}

BOOST_AUTO_TEST_SUITE_END()
