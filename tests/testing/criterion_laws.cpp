#include "augur/testing/criterion_laws.hpp"

#include <augur/accept/block.hpp>
#include <augur/accept/coupled.hpp>
#include <augur/accept/exact.hpp>
#include <augur/accept/multipath_block.hpp>
#include <augur/accept/rejection_sampling.hpp>
#include <augur/accept/traversal.hpp>
#include <boost/test/unit_test.hpp>

#include "every_law.hpp"
#include "sanitized.hpp"
#include "wrong_criteria.hpp"

using namespace augur;
using testing::criterion_laws;

BOOST_AUTO_TEST_SUITE(testing_criterion_laws)

using accept::rejection_sampling;
using accept::residual_weights;
using wrong::no_residual;
using wrong::own_noise;
using wrong::remembers;

/// Takes a drawn token for certain, and corrects for its row.
struct certain : rejection_sampling {
    bool accepts(const auto& target, const auto& drafted, auto& draws) const {
        return draws.flip(target.probability(drafted.id), purpose::accept);
    }
};

/// Residual weights whose total is that of the target: the last token gets what is missing.
struct not_renormalised {
    const distribution& target;
    std::size_t size() const { return target.size(); }
    double operator[](std::size_t i) const { return i == 0 ? target[i] / 2 : target[i]; }
    double total() const { return target.total() - target[0] / 2; }
};
struct distorts_the_draw : rejection_sampling {
    using rejection_sampling::draw;
    token draw(const distribution& target, auto& draws) const {
        return static_cast<token>(draws.choose(not_renormalised{target}, purpose::correction));
    }
};

/// u <= ratio instead of u < ratio, as if the coin could land on its edge.
struct accepts_at_zero : rejection_sampling {
    bool accepts(const auto& target, const auto& drafted, auto& draws) const {
        return !(target.probability(drafted.id) > 0) || rejection_sampling::accepts(target, drafted, draws);
    }
};

/// Draws for the target and takes token 0 for agreement, whatever was drafted.
struct takes_zero_for_agreement : rejection_sampling {
    bool accepts(const auto& target, const auto& drafted, auto& draws) const {
        const token drawn = static_cast<token>(draws.choose(target, purpose::accept));
        return drawn == drafted.id || drawn == 0;
    }
};

/// Accepts with the noise of the draft alone: right whenever both agree.
struct trusts_the_draft : accept::coupled {
    bool accepts(const auto&, const auto&, auto&) const { return true; }
};

/// Of two equally probable tokens the last, where plain decoding takes the first.
struct last_of_ties : accept::exact {
    token draw(const distribution& target, auto&) const {
        return target.mode() == 0 && target.size() > 1 ? 1 : target.mode();
    }
};

/// A rule over whole blocks that counts the drafted tokens, not the rows.
struct beyond_the_rows : accept::block {
    template <ChainProposal Proposal, class Draws>
    verdict judge_block(std::span<const distribution> targets, const Proposal& proposed, const Draws& draws) const {
        auto first = draws(0);
        return {proposed.size(), proposed.size(), targets.empty() ? 0 : draw(targets[0], first)};
    }
};

/// Judges the first of a position's siblings rightly and forgets it: the next is judged against the whole target.
struct forgets_the_first : rejection_sampling {
    template <class Claim, class Row>
    const auto& after_rejection(const residual_weights<Claim, Row>& left, const drafted_token<Claim>&) const {
        return left;
    }
    template <class Claim>
    auto after_rejection(const distribution& target, const drafted_token<Claim>& drafted) const {
        return accept::residual(target, drafted);
    }
};

/// Is right along chains, and takes any second sibling.
struct takes_the_second : rejection_sampling {
    using rejection_sampling::accepts;
    template <class Claim, class Row>
    bool accepts(const residual_weights<Claim, Row>&, const drafted_token<Claim>&, auto&) const {
        return true;
    }
};

/// Judges a tree at once, and judges the second child of a place as if there had been no first.
struct forgets_what_a_child_left : rejection_sampling {
    token judge_tree(const auto& targets, const auto& proposed, const auto& draws,
                     std::vector<std::size_t>& path) const {
        if (targets[0].empty()) return no_token;
        std::size_t sibling = 0;
        for (std::size_t node = 0; node < proposed.size(); ++node) {
            if (parents::of(parents_of(proposed), node) != after_prefix) continue;
            auto here = draws(after_prefix, sibling++);
            if (!accepts(targets[0], proposed[node], here)) continue;
            path.push_back(node);
            if (targets[node + 1].empty()) return no_token;
            auto after = draws(static_cast<std::int32_t>(node), 0);
            return draw(targets[node + 1], after);
        }
        auto instead = draws(after_prefix, 0);
        if (proposed.size() == 0) return draw(targets[0], instead);
        return draw(after_rejection(targets[0], proposed[0]), instead);
    }
};

const std::string drawn = " (drawn drafts)";
const std::string points = " (point masses)";

BOOST_AUTO_TEST_CASE(the_librarys_criteria_keep_them) {
    const auto check = [](const auto& criterion, std::size_t laws, std::size_t skipped) {
        const auto r = criterion_laws(criterion, {.cases = testing::unless_sanitized<std::size_t>(150, 10)});
        BOOST_TEST(r.kept(), r);
        BOOST_TEST(r.skipped.size() == skipped, r);
        BOOST_TEST(r.checked.size() == laws);
    };
    check(accept::rejection_sampling{}, 14, 0);
    check(accept::block{}, 9, 2);  // no siblings
    check(accept::coupled{}, 14, 0);
    check(accept::exact{}, 14, 0);
    check(accept::traversal{}, 14, 0);
    check(accept::multipath_block{}, 6, 0);  // drawn drafts only
}

BOOST_AUTO_TEST_CASE(every_law_is_broken_by_a_wrong_criterion) {
    every_law::watch all;
    all.holds(criterion_laws(rejection_sampling{}, {.cases = 10}));
    all.breaks(criterion_laws(no_residual{}), "keeps its promise" + drawn);
    all.breaks(criterion_laws(certain{}), "keeps its promise" + drawn);
    all.breaks(criterion_laws(distorts_the_draw{}), "keeps its promise" + points);
    all.breaks(criterion_laws(takes_zero_for_agreement{}), "keeps its promise" + points);
    all.breaks(criterion_laws(own_noise{}), "keeps its promise with shared noise" + points);
    all.breaks(criterion_laws(trusts_the_draft{}), "keeps its promise with shared noise" + points);
    all.breaks(criterion_laws(last_of_ties{}), "keeps its promise" + points);
    all.breaks(criterion_laws(accepts_at_zero{}), "never an impossible token" + drawn);
    all.breaks(criterion_laws(accepts_at_zero{}), "never an impossible token" + points);
    all.breaks(criterion_laws(remembers{}), "equal arguments, equal decisions" + drawn);
    all.breaks(criterion_laws(remembers{}), "equal arguments, equal decisions" + points);
    all.breaks(criterion_laws(beyond_the_rows{}), "ends where the target cannot be drawn from" + drawn);
    all.breaks(criterion_laws(beyond_the_rows{}), "ends where the target cannot be drawn from" + points);
    all.breaks(criterion_laws(forgets_the_first{}), "keeps its promise among siblings" + drawn);
    all.breaks(criterion_laws(forgets_the_first{}), "keeps its promise among siblings" + points);
    all.breaks(criterion_laws(forgets_the_first{}), "keeps its promise among siblings with shared noise" + points);
    const auto of_a_tree = criterion_laws(forgets_what_a_child_left{});
    all.breaks(of_a_tree, "keeps its promise among siblings" + drawn);
    BOOST_TEST(!of_a_tree.breaks("keeps its promise" + drawn), of_a_tree);  // chains are judged rightly
    all.breaks(criterion_laws(takes_the_second{}), "no impossible token among siblings" + drawn);
    all.breaks(criterion_laws(takes_the_second{}), "no impossible token among siblings" + points);
}

BOOST_AUTO_TEST_CASE(two_coins_of_one_name_are_named) {
    const auto r = criterion_laws(wrong::two_coins{});
    for (const std::string& law : {"keeps its promise" + drawn, "keeps its promise" + points}) {
        const auto found = std::find_if(r.broken.begin(), r.broken.end(), [&](const auto& v) { return v.law == law; });
        BOOST_TEST_REQUIRE((found != r.broken.end()), r);
        BOOST_TEST(found->what.find("purpose accept, round 0 is asked for twice: first by flip(") != std::string::npos,
                   found->what);
    }
}

/// Accepts everything that is possible.
struct lenient : rejection_sampling {
    using guarantee = augur::guarantee::none;
    bool accepts(const auto& target, const auto& drafted, auto&) const { return target.probability(drafted.id) > 0; }
};

BOOST_AUTO_TEST_CASE(a_criterion_that_promises_nothing_keeps_the_others) {
    const auto r = criterion_laws(lenient{});
    BOOST_TEST(r.kept(), r);
    BOOST_TEST(r.checked.size() == 8u);
    BOOST_TEST(r.skipped.size() == 2u);
}

BOOST_AUTO_TEST_CASE(the_counterexample_is_small_and_says_everything) {
    const auto r = criterion_laws(no_residual{});
    BOOST_TEST(r.breaks("keeps its promise" + drawn), r);
    for (const auto& v : r.broken) {
        if (v.law != "keeps its promise" + drawn) continue;
        BOOST_TEST(v.what.find("seed 1, case ") == 0u, v.what);
        BOOST_TEST(v.what.find("drafting 1 of 2, temperature 1, top_k 0, top_p 1, min_p 0, penalties 1 0 0: total") !=
                       std::string::npos,
                   v.what);
        BOOST_TEST(v.what.find("after {}, total variation") != std::string::npos, v.what);
    }
}

BOOST_AUTO_TEST_SUITE_END()
