#include "augur/testing/criterion_laws.hpp"

#include <algorithm>
#include <augur/accept/block.hpp>
#include <augur/accept/coupled.hpp>
#include <augur/accept/exact.hpp>
#include <augur/accept/multipath_block.hpp>
#include <augur/accept/rejection_sampling.hpp>
#include <augur/accept/traversal.hpp>
#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

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
    template <class DraftDistribution, class Row>
    const auto& after_rejection(const residual_weights<DraftDistribution, Row>& left,
                                const drafted_token<DraftDistribution>&) const {
        return left;
    }
    template <class DraftDistribution>
    auto after_rejection(const distribution& target, const drafted_token<DraftDistribution>& drafted) const {
        return accept::residual(target, drafted);
    }
};

/// Is right along chains, and takes any second sibling.
struct takes_the_second : rejection_sampling {
    using rejection_sampling::accepts;
    template <class DraftDistribution, class Row>
    bool accepts(const residual_weights<DraftDistribution, Row>&, const drafted_token<DraftDistribution>&,
                 auto&) const {
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
        const auto r =
            criterion_laws(criterion, {.cases = testing::unless_sanitized<std::size_t>(150, 10), .widest = 300});
        BOOST_TEST(r.kept(), r);
        BOOST_TEST(r.skipped.size() == skipped, r);
        BOOST_TEST(r.checked.size() == laws);
    };
    check(accept::rejection_sampling{}, 16, 0);
    check(accept::block{}, 11, 2);  // no siblings
    check(accept::coupled{}, 16, 0);
    check(accept::exact{}, 16, 0);
    check(accept::traversal{}, 16, 0);
    check(accept::multipath_block{}, 7, 0);  // drawn drafts only
}

BOOST_AUTO_TEST_CASE(every_law_is_broken_by_a_wrong_criterion) {
    every_law::watch all;
    const testing::effort some{.cases = 50, .widest = 300};
    all.holds(criterion_laws(rejection_sampling{}, {.cases = 10, .widest = 300}));
    all.breaks(criterion_laws(no_residual{}, some), "keeps its promise" + drawn);
    all.breaks(criterion_laws(certain{}, some), "keeps its promise" + drawn);
    all.breaks(criterion_laws(distorts_the_draw{}, some), "keeps its promise" + points);
    all.breaks(criterion_laws(takes_zero_for_agreement{}, some), "keeps its promise" + points);
    all.breaks(criterion_laws(own_noise{}, some), "keeps its promise with shared noise" + points);
    all.breaks(criterion_laws(trusts_the_draft{}, some), "keeps its promise with shared noise" + points);
    all.breaks(criterion_laws(last_of_ties{}, some), "keeps its promise" + points);
    all.breaks(criterion_laws(accepts_at_zero{}, some), "never an impossible token" + drawn);
    all.breaks(criterion_laws(accepts_at_zero{}, some), "never an impossible token" + points);
    all.breaks(criterion_laws(remembers{}, some), "equal arguments, equal decisions" + drawn);
    all.breaks(criterion_laws(remembers{}, some), "equal arguments, equal decisions" + points);
    all.breaks(criterion_laws(beyond_the_rows{}, some), "ends where the target cannot be drawn from" + drawn);
    all.breaks(criterion_laws(beyond_the_rows{}, some), "ends where the target cannot be drawn from" + points);
    all.breaks(criterion_laws(forgets_the_first{}, some), "keeps its promise among siblings" + drawn);
    all.breaks(criterion_laws(forgets_the_first{}, some), "keeps its promise among siblings" + points);
    all.breaks(criterion_laws(forgets_the_first{}, some),
               "keeps its promise among siblings with shared noise" + points);
    const auto of_a_tree = criterion_laws(forgets_what_a_child_left{}, some);
    all.breaks(of_a_tree, "keeps its promise among siblings" + drawn);
    BOOST_TEST(!of_a_tree.breaks("keeps its promise" + drawn), of_a_tree);  // chains are judged rightly
    all.breaks(criterion_laws(no_residual{}, some), "keeps its promise in wide rows" + drawn);
    all.breaks(criterion_laws(no_residual{}, some), "keeps its promise in wide rows" + points);
    all.breaks(criterion_laws(takes_the_second{}, some), "no impossible token among siblings" + drawn);
    all.breaks(criterion_laws(takes_the_second{}, some), "no impossible token among siblings" + points);
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

bool says(const testing::report& r, const std::string& what) {
    return std::any_of(r.broken.begin(), r.broken.end(),
                       [&](const auto& v) { return v.what.find(what) != std::string::npos; });
}

/// Counts the token that follows among the accepted ones.
struct counts_one_more : accept::block {
    template <ChainProposal Proposal, class Draws>
    verdict judge_block(std::span<const distribution> targets, const Proposal& proposed, const Draws& draws) const {
        verdict decided = block::judge_block(targets, proposed, draws);
        if (decided.accepted == proposed.size()) ++decided.accepted;
        return decided;
    }
};

/// Takes a block for a tree, of which all but the last node are accepted, or a node that nobody drafted.
template <std::size_t Beyond>
struct finds_a_path_in_a_block : accept::block {
    template <ChainProposal Proposal, class Draws>
    verdict judge_block(std::span<const distribution> targets, const Proposal& proposed, const Draws& draws) const {
        verdict decided = block::judge_block(targets, proposed, draws);
        if (decided.accepted > 1) decided.path = {Beyond};
        return decided;
    }
};

/// Numbers tokens from 1.
struct draws_from_1 : rejection_sampling {
    token draw(const auto& target, auto& draws) const { return rejection_sampling::draw(target, draws) + 1; }
};
struct draws_nothing : rejection_sampling {
    token draw(const auto&, auto&) const { return no_token; }
};
struct block_from_1 : accept::block {
    template <ChainProposal Proposal, class Draws>
    verdict judge_block(std::span<const distribution> targets, const Proposal& proposed, const Draws& draws) const {
        verdict decided = block::judge_block(targets, proposed, draws);
        if (decided.next != no_token) ++decided.next;
        return decided;
    }
};

/// Changes the answer of a right rule over trees.
template <void (*Change)(std::vector<std::size_t>& path, token& next)>
struct changed_tree : rejection_sampling {
    token judge_tree(const auto& targets, const auto& proposed, const auto& draws,
                     std::vector<std::size_t>& path) const {
        token next = accept::traversal{}.judge_tree(targets, proposed, draws, path);
        Change(path, next);
        return next;
    }
};
void leaf_first(std::vector<std::size_t>& path, token&) {
    std::reverse(path.begin(), path.end());
}
void rows_for_nodes(std::vector<std::size_t>& path, token&) {
    for (std::size_t& node : path) ++node;
}
void twice(std::vector<std::size_t>& path, token&) {
    if (!path.empty()) path.push_back(path.back());
}
void from_1(std::vector<std::size_t>&, token& next) {
    next += next == no_token ? 0 : 1;
}

BOOST_AUTO_TEST_CASE(answers_that_are_no_places_break_a_law) {
    const auto breaks = [](const auto& criterion, const std::string& what) {
        const auto r = criterion_laws(criterion, {.cases = 50});
        BOOST_TEST(says(r, "threw: " + what), what << "\n" << r);
    };
    breaks(counts_one_more{}, "accepts 1 of 0 drafted");
    breaks(finds_a_path_in_a_block<0>{}, "accepts 2 on the path {0}");
    breaks(finds_a_path_in_a_block<9>{}, "path {9}: node 9 of 2 drafted");
    breaks(draws_from_1{}, "gives token 2 of a vocabulary of 2");
    breaks(draws_nothing{}, "gives token -1 of a vocabulary of 2");
    breaks(block_from_1{}, "gives token 2 of a vocabulary of 2");
    breaks(changed_tree<from_1>{}, "gives token 2 of a vocabulary of 2");
    breaks(changed_tree<leaf_first>{}, "path {1, 0}: node 1 follows 0, not -1");
    breaks(changed_tree<rows_for_nodes>{}, "path {1}: node 1 of 1 drafted");
    breaks(changed_tree<twice>{}, "path {0, 0}: node 0 follows -1, not 0");
}

/// Cannot be derived from, so that its answers are taken as they are.
struct nobody_derives final : rejection_sampling {};

BOOST_AUTO_TEST_CASE(a_final_class_is_a_criterion_too) {
    const auto r = criterion_laws(nobody_derives{}, {.cases = 10});
    BOOST_TEST(r.kept(), r);
}

BOOST_AUTO_TEST_CASE(weights_are_small_or_now_and_then_very_large) {
    std::set<double> seen;
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        testing::choices from(seed);
        for (const double weight : testing::uneven_weights(from, 3)) seen.insert(weight);
    }
    BOOST_TEST((seen == std::set<double>{0, 1, 2, 3, 4, 50, 1000}));
}

/// Takes what the target is nearly sure of without a coin.
struct trusts_sure_tokens : rejection_sampling {
    bool accepts(const auto& target, const auto& drafted, auto& draws) const {
        return target.probability(drafted.id) > 0.9 || rejection_sampling::accepts(target, drafted, draws);
    }
};

/// Divides by no draft probability below 0.05.
struct floors_the_draft : rejection_sampling {
    bool accepts(const auto& target, const auto& drafted, auto& draws) const {
        const double ratio = target.probability(drafted.id) / std::max(0.05, drafted.probability(drafted.id));
        return draws.flip(std::min(1.0, ratio), purpose::accept);
    }
};

/// Accepts the drafted token of this number unseen.
template <std::size_t Unseen>
struct accepts_unseen : accept::block {
    template <ChainProposal Proposal, class Draws>
    verdict judge_block(std::span<const distribution> targets, const Proposal& proposed, const Draws& draws) const {
        verdict decided = block::judge_block(targets, proposed, draws);
        if (decided.accepted + 1 != Unseen || targets.size() <= Unseen) return decided;
        auto after = draws(Unseen);
        return {.drafted = proposed.size(), .accepted = Unseen, .next = draw(targets[Unseen], after)};
    }
};

/// Residual weights in groups of so many tokens, of which the full ones are the target's.
template <std::size_t Lanes, class Drafted>
struct grouped_residual {
    const distribution& target;
    Drafted drafted;
    std::size_t size() const { return target.size(); }
    double operator[](std::size_t i) const {
        const auto t = static_cast<token>(i);
        const double taken = i < size() / Lanes * Lanes ? 0 : drafted.probability(t);
        return std::max(0.0, target.probability(t) - taken);
    }
    double total() const {
        double sum = 0;
        for (std::size_t i = 0; i < size(); ++i) sum += (*this)[i];
        return sum;
    }
    double probability(token t) const { return (*this)[static_cast<std::size_t>(t)] / total(); }
};
template <std::size_t Lanes>
struct wrong_in_full_groups : rejection_sampling {
    const auto& after_rejection(const auto& left, const auto&) const { return left; }
    template <class DraftDistribution>
    auto after_rejection(const distribution& target, const drafted_token<DraftDistribution>& drafted) const {
        return grouped_residual<Lanes, drafted_token<DraftDistribution>>{target, drafted};
    }
};

/// By as many inputs as there are by default: where each access is checked that takes a minute, and shows no more.
BOOST_AUTO_TEST_CASE(what_is_wrong_for_sure_tokens_long_drafts_or_wide_rows_is_found,
                     *boost::unit_test::enable_if<!testing::sanitized>()) {
    const auto found = [](const auto& criterion) {
        const auto r = criterion_laws(criterion);
        BOOST_TEST(r.breaks("keeps its promise" + drawn), r);
        return r;
    };
    found(trusts_sure_tokens{});
    found(floors_the_draft{});
    BOOST_TEST(says(found(accepts_unseen<4>{}), "drafting 4 of 5"));
    BOOST_TEST(says(found(accepts_unseen<6>{}), "drafting 6 of 7"));
    BOOST_TEST(says(found(wrong_in_full_groups<4>{}), "after token 1 target {"));
    found(wrong_in_full_groups<8>{});
    found(wrong_in_full_groups<16>{});
}

/// Divides by the weight of a drawn token, which means nothing where the row is a point.
struct reads_weights_of_points : rejection_sampling {
    using rejection_sampling::accepts;
    bool accepts(const distribution& target, const drafted_token<distribution>& drafted, auto& draws) const {
        if (target.is_point()) return drafted.id == target.mode();
        const double draft =
            double{drafted.row->weights()[static_cast<std::size_t>(drafted.id)]} / drafted.row->total();
        const double p = target.probability(drafted.id);
        return p > 0 && draws.flip(std::min(1.0, p / draft), purpose::accept);
    }
};

/// Judges what is certain by the noise of the position, by which it may have been drawn.
struct races_points : rejection_sampling {
    using rejection_sampling::accepts;
    bool accepts(const distribution& target, const drafted_token<distribution>& drafted, auto& draws) const {
        if (!drafted.row->is_point()) return rejection_sampling::accepts(target, drafted, draws);
        return drafted.id == static_cast<token>(draws.exponential_race_once(target));
    }
};

/// Asks the first row of a block whether all of them have weights.
struct asks_the_first_row : accept::block {
    template <ChainProposal Proposal, class Draws>
    verdict judge_block(std::span<const distribution> targets, const Proposal& proposed, const Draws& draws) const {
        if constexpr (std::is_same_v<typename Proposal::draft_distribution_type, distribution>) {
            if (proposed.size() > 0 && !proposed[0].row->is_point()) {
                proposal<distribution> read;
                for (std::size_t i = 0; i < proposed.size(); ++i) {
                    const auto weights = proposed[i].row->weights();
                    read.push(proposed[i].id, distribution::weighted({weights.begin(), weights.end()}));
                }
                return block::judge_block(targets, read, draws);
            }
        }
        return block::judge_block(targets, proposed, draws);
    }
};

BOOST_AUTO_TEST_CASE(what_is_wrong_for_points_beside_rows_that_are_none_is_found,
                     *boost::unit_test::enable_if<!testing::sanitized>()) {
    const auto found = [](const auto& criterion, const std::string& input) {
        const auto r = criterion_laws(criterion);
        BOOST_TEST(r.breaks("keeps its promise" + drawn), r);
        BOOST_TEST(says(r, input), r);
    };
    found(reads_weights_of_points{}, ", certain ");
    found(races_points{}, "certain of what shared noise draws: total");
    found(asks_the_first_row{}, "certain where token 0 is its most probable one: total");
}

/// Asks no more where a token is certain.
struct trusts_points : rejection_sampling {
    using guarantee = augur::guarantee::none;
    template <class DraftDistribution>
    bool accepts(const auto& target, const drafted_token<DraftDistribution>& drafted, auto& draws) const {
        if constexpr (std::is_same_v<DraftDistribution, distribution>) {
            if (drafted.row->is_point()) return true;
        }
        return rejection_sampling::accepts(target, drafted, draws);
    }
};

BOOST_AUTO_TEST_CASE(points_are_tried_where_no_equality_is_promised) {
    const auto r = criterion_laws(trusts_points{}, {.cases = 50});
    BOOST_TEST(r.breaks("never an impossible token" + drawn), r);
    BOOST_TEST(says(r, ", certain of token "), r);
}

/// Accepts everything that is possible.
struct lenient : rejection_sampling {
    using guarantee = augur::guarantee::none;
    bool accepts(const auto& target, const auto& drafted, auto&) const { return target.probability(drafted.id) > 0; }
};

BOOST_AUTO_TEST_CASE(a_criterion_that_promises_nothing_keeps_the_others) {
    const auto r = criterion_laws(lenient{});
    BOOST_TEST(r.kept(), r);
    BOOST_TEST(r.checked.size() == 10u);
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
