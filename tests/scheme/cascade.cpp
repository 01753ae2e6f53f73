#include "augur/scheme/cascade.hpp"

#include <unistd.h>

#include <algorithm>
#include <augur/accept/block.hpp>
#include <augur/accept/coupled.hpp>
#include <augur/accept/exact.hpp>
#include <augur/accept/fuzzy.hpp>
#include <augur/accept/rejection_then_fuzzy.hpp>
#include <augur/decode/generate.hpp>
#include <augur/draft/fallback.hpp>
#include <augur/testing/counting_model.hpp>
#include <augur/testing/models.hpp>
#include <augur/testing/named_once.hpp>
#include <augur/testing/scheme_laws.hpp>
#include <boost/test/unit_test.hpp>
#include <limits>

#include "up_to.hpp"

using namespace augur;
using accept::fuzzy;
using accept::rejection_sampling;
using policy::fixed_length;
using scheme::model_link;  // beside POSIX's link, which unistd.h declares
using testing::up_to;

BOOST_AUTO_TEST_SUITE(scheme_cascade)

namespace {

const auto a = testing::hashed_model(2, 1, 1), b = testing::hashed_model(2, 2, 1), c = testing::hashed_model(2, 3, 1),
           d = testing::hashed_model(2, 4, 1), e = testing::hashed_model(2, 5, 1);
const fixed_length one{1}, two{2};
const rejection_sampling sampled;
const fuzzy<measure::total_variation> near{0.3}, anything{1};
const std::vector<token> prompt{1, 0, 1};

/// A law and how it was asked for.
struct law_of_texts {
    testing::text_distribution law;
    decode::options chosen;

    double apart_from_plain(const auto& target) const {
        return testing::total_variation(law,
                                        testing::text_distribution_of(testing::plain_sampling(target), prompt, chosen));
    }
};
law_of_texts law_of_text(const auto& scheme, std::size_t tokens, float temperature = 1) {
    return {testing::text_distribution_of(scheme, prompt, up_to(tokens, temperature)), up_to(tokens, temperature)};
}

}  // namespace

BOOST_AUTO_TEST_CASE(two_models_are_speculative_decoding) {
    const auto law = [](const auto& scheme) { return testing::text_distribution_of(scheme, prompt, up_to(3)); };
    BOOST_TEST(testing::total_variation(law(cascaded(a, model_link{two, near}, b)), law(speculate(a, b, two, near))) ==
               0);
}

BOOST_AUTO_TEST_CASE(a_lossless_last_link_makes_all_lossless) {
    const auto exact = [](const auto& scheme, std::size_t tokens) {
        static_assert(Lossless<std::remove_cvref_t<decltype(scheme)>>);
        BOOST_TEST(testing::broken_promise(scheme, prompt, up_to(tokens)) == "");
    };
    exact(cascaded(a, model_link{two, sampled}, b), 3);
    exact(cascaded(a, model_link{two, sampled}, b, model_link{two, sampled}, c), 3);
    exact(cascaded(a, model_link{two, near}, b, model_link{two, sampled}, c), 3);
    exact(cascaded(a, model_link{one, anything}, b, model_link{two, sampled}, c), 3);
    exact(cascaded(a, model_link{two, accept::rejection_then_fuzzy<measure::kl>{0.1}}, b, model_link{two, sampled}, c),
          3);
    exact(cascaded(a, model_link{one, sampled}, b, model_link{one, sampled}, c, model_link{one, sampled}, d), 2);
    exact(cascaded(a, model_link{one, near}, b, model_link{one, anything}, c, model_link{two, sampled}, d), 2);
}

/// What the tests call an own criterion: a drafted token is accepted as often as the target would draw it.
struct matching {
    using guarantee = augur::guarantee::same_distribution;

    bool accepts(const auto& target, const auto& drafted, auto& draws) const {
        return draws.flip(target.probability(drafted.id), purpose::accept);
    }
    auto after_rejection(const auto& target, const auto& drafted) const {
        return accept::residual(target, drafted_token<point_mass>{drafted.id});
    }
    token draw(const auto& target, auto& draws) const {
        return static_cast<token>(draws.choose(target, purpose::correction));
    }
    const distribution& drawn_from(const distribution& target, const auto&, distribution&) const { return target; }
};

BOOST_AUTO_TEST_CASE(every_criterion_may_stand_inside) {
    const auto exact = [](const auto& scheme, const auto& target, std::size_t tokens = 2) {
        BOOST_TEST(law_of_text(scheme, tokens).apart_from_plain(target) < 1e-12);
        BOOST_TEST(testing::broken_promise(scheme, prompt, up_to(tokens)) == "");
    };
    const model_link raced{two, accept::coupled{}};
    const model_link whole{two, accept::block{}};
    const model_link own{two, matching{}};
    const model_link last{two, sampled};
    for (const std::size_t tokens : {1u, 2u, 3u}) {
        exact(cascaded(a, raced, b, last, c), c, tokens);
        exact(cascaded(a, whole, b, last, c), c, tokens);
        exact(cascaded(a, own, b, last, c), c, tokens);
    }
    // Above them what is exact above others: whole blocks, the noise of the position, a row that is fuzzy.
    exact(cascaded(a, raced, b, whole, c), c);
    exact(cascaded(a, raced, b, raced, c), c);
    exact(cascaded(a, whole, b, raced, c), c);
    exact(cascaded(a, whole, b, whole, c), c, 3);
    exact(cascaded(a, model_link{one, near}, b, whole, c), c, 3);
    exact(cascaded(a, last, b, raced, c), c);
    // And in the middle of four.
    exact(cascaded(a, model_link{one, sampled}, b, model_link{one, accept::coupled{}}, c, model_link{two, sampled}, d),
          d);
    exact(cascaded(a, model_link{one, accept::coupled{}}, b, model_link{one, accept::block{}}, c,
                   model_link{two, sampled}, d),
          d);
    exact(cascaded(a, whole, b, model_link{one, near}, c, model_link{one, sampled}, d), d);
}

BOOST_AUTO_TEST_CASE(greedy_links_inside_hand_up_what_is_certain) {
    const model_link greedy{two, accept::exact{}};
    for (const std::size_t tokens : {1u, 5u}) {
        const auto plainly = decode::generate(plain(c), prompt, up_to(tokens, 0)).tokens;
        for (const auto& text :
             {decode::generate(cascaded(a, greedy, b, greedy, c), prompt, up_to(tokens, 0)).tokens,
              decode::generate(cascaded(a, greedy, b, model_link{two, sampled}, c), prompt, up_to(tokens, 0)).tokens}) {
            BOOST_TEST(text == plainly, boost::test_tools::per_element());
        }
    }
    // A link refuses inside what it refuses as the last one, wherever it is.
    const auto refused = [](const auto& scheme) {
        BOOST_CHECK_EXCEPTION(decode::generate(scheme, prompt, up_to(2)), error, [](const error& found) {
            return std::string(found.what()).find("temperature must be 0") != std::string::npos;
        });
    };
    const model_link last{two, sampled};
    refused(cascaded(a, greedy, b, last, c));
    refused(cascaded(a, greedy, b, last, c, last, d));
    refused(speculate(draft::fallback(draft::no_draft{}, speculate(a, b, two, accept::exact{})), c, two, sampled));
}

/// Two tokens in the first round, and a third where the row after them is uncertain; then one more if there was a
/// third.
struct by_what_was_drafted {
    static constexpr signals_read reads{.required = signals::draft_entropy};
    std::size_t length(const observation& seen) const {
        if (seen.round > 0) return seen.last_drafted == 3 ? 1 : 0;
        return seen.drafted < 2 || seen.draft_entropy_nats > 0.5 ? 3 : 2;
    }
};
/// The noise of the position, with the claim that the row is fresh each time.
struct states_fresh_noise {
    using guarantee = augur::guarantee::none;
    using token_selector = draft::shared_noise;
    bool accepts(const distribution& target, const auto& drafted, auto& draws) const {
        return accept::coupled{}.accepts(target, drafted, draws);
    }
    token draw(const distribution& target, auto& draws) const { return accept::coupled{}.draw(target, draws); }
    const distribution& drawn_from(const distribution& target, const auto&, distribution&) const { return target; }
};

BOOST_AUTO_TEST_CASE(why_shared_noise_goes_up_as_a_point_mass) {
    // The length of a later round depends on what was drafted before, hence on the noise of a position that is raced
    // again.
    double most = 0;
    for (std::size_t seed = 1; seed < 9; ++seed) {
        const auto x = testing::hashed_model(2, seed, 2), y = testing::hashed_model(2, seed + 20, 2),
                   z = testing::hashed_model(2, seed + 40, 2);
        const auto by = [&](const auto& inside) {
            const auto scheme = cascaded(x, model_link{one, inside}, y, model_link{by_what_was_drafted{}, sampled}, z);
            return law_of_text(scheme, 4).apart_from_plain(z);
        };
        BOOST_TEST(by(accept::coupled{}) < 1e-12);
        most = std::max(most, by(states_fresh_noise{}));
    }
    BOOST_TEST_MESSAGE("claimed as fresh: total variation " << most);
    BOOST_TEST(most > 1e-3);
}

BOOST_AUTO_TEST_CASE(a_scheme_drafts_for_a_scheme) {
    const auto small = speculate(a, b, two, sampled);
    const auto by_scheme = speculate(small, c, two, sampled);
    const auto by_links = cascaded(a, model_link{two, sampled}, b, model_link{two, sampled}, c);
    static_assert(Lossless<decltype(by_scheme)>);
    const auto law = law_of_text(by_scheme, 3);
    BOOST_TEST(law.apart_from_plain(c) < 1e-12);
    BOOST_TEST(testing::total_variation(law.law, law_of_text(by_links, 3).law) == 0);
    // Schemes inside schemes, kept or referred to; whatever they promise.
    const auto fuzzy_one = speculate(small, c, two, near);
    BOOST_TEST(law_of_text(speculate(fuzzy_one, d, one, sampled), 2).apart_from_plain(d) < 1e-12);
    BOOST_TEST(law_of_text(speculate(plain(b), c, two, sampled), 3).apart_from_plain(c) < 1e-12);
    BOOST_TEST(law_of_text(speculate(speculate(testing::hashed_model(2, 1, 1), testing::hashed_model(2, 2, 1), two,
                                               accept::block{}),
                                     c, two, sampled),
                           3)
                   .apart_from_plain(c) < 1e-12);
    BOOST_TEST(
        law_of_text(cascaded(small, model_link{one, near}, c, model_link{one, sampled}, d), 2).apart_from_plain(d) <
        1e-12);
    BOOST_TEST(testing::broken_promise(speculate(speculate(a, b, two, accept::coupled{}), c, two, accept::coupled{}),
                                       prompt, up_to(2)) == "");
}

BOOST_AUTO_TEST_CASE(every_stage_is_reported) {
    const model_link by{two, sampled};
    const auto scheme =
        cascaded(a, by, b, model_link{fixed_length{3}, sampled}, c, model_link{fixed_length{4}, sampled}, d);
    const testing::counting_model counted_b(b), counted_c(c), counted_d(d);
    const auto counted = cascaded(a, by, counted_b, model_link{fixed_length{3}, sampled}, counted_c,
                                  model_link{fixed_length{4}, sampled}, counted_d);
    const auto decoded = decode::generate<any_guarantee>(counted, prompt, up_to(60));
    const auto& stages = decoded.counts.stages;
    BOOST_TEST_REQUIRE(stages.size() == 3u);
    // The prompt is a pass of each model, too.
    BOOST_TEST(stages[0].rounds == counted_b.counts().calls - 1);
    BOOST_TEST(stages[1].rounds == counted_c.counts().calls - 1);
    BOOST_TEST(stages[2].rounds == counted_d.counts().calls - 1);
    BOOST_TEST(stages[0].rounds > stages[1].rounds);
    BOOST_TEST(stages[1].rounds > stages[2].rounds);
    for (const stage_statistics& each : stages) {
        BOOST_TEST(each.accepted > 0u);
        BOOST_TEST(each.accepted < each.drafted);
        BOOST_TEST(each.positions.front().drafted <= each.rounds);
    }
    BOOST_TEST(decoded.counts.rounds() == stages[2].rounds);
    // Between rounds, too; and what several drafters have inside, one after the other.
    const draft::fallback several(speculate(a, b, two, sampled), scheme);
    const auto both = speculate(several, e, two, sampled);
    decode::session session(both, prompt, {}, {.max_tokens = 20}, random::philox_chooser(1));
    BOOST_TEST(session.counts.stages.size() == 5u);
    decode::step(both, session);
    BOOST_TEST(session.counts.stages[0].rounds > 0u);
    for (const std::size_t unasked : {1u, 2u, 3u}) BOOST_TEST(session.counts.stages[unasked].rounds == 0u);
    BOOST_TEST(session.counts.stages[4].rounds == 1u);
}

BOOST_AUTO_TEST_CASE(laws) {
    const auto keeps = [](const auto& scheme, const decode::options& chosen) {
        const auto r = testing::scheme_laws(scheme, chosen, {.cases = 8});
        BOOST_TEST(r.kept(), r);
    };
    keeps(cascaded(a, model_link{two, near}, b, model_link{two, sampled}, c), up_to(2));
    auto cut = up_to(2);
    cut.sampling.top_p.p = 0.6f;  // models exclude what others draw
    keeps(cascaded(a, model_link{two, anything}, b, model_link{two, sampled}, c), cut);
    keeps(cascaded(a, model_link{two, near}, b, model_link{two, near}, c), up_to(2));
}

BOOST_AUTO_TEST_CASE(what_models_exclude_leaves_the_law_as_it_is) {
    const auto x = testing::hashed_model(3, 6, 2), y = testing::hashed_model(3, 7, 2),
               z = testing::hashed_model(3, 8, 2);
    for (const float p : {0.4f, 0.7f}) {
        auto cut = up_to(2);
        cut.sampling.top_p.p = p;
        BOOST_TEST(testing::broken_promise(cascaded(x, model_link{one, anything}, y, model_link{one, sampled}, z),
                                           prompt, cut) == "");
    }
}

BOOST_AUTO_TEST_CASE(judged_by_the_rows_of_who_handed_them_up_it_promises_nothing) {
    const auto published = cascaded_as_published(a, model_link{two, anything}, b, model_link{two, sampled}, c);
    static_assert(std::is_same_v<guarantee_of<decltype(published)>, guarantee::none>);
    const auto law = [](const auto& scheme) { return testing::text_distribution_of(scheme, prompt, up_to(3)); };
    const double off = testing::total_variation(law(published), law(testing::plain_sampling(c)));
    BOOST_TEST_MESSAGE("total variation from the target's law: " << off);
    BOOST_TEST(off > 0.01);
    // Where every token is the handing model's own, both are the same.
    const auto kept = cascaded_as_published(a, model_link{two, sampled}, b, model_link{two, sampled}, c);
    BOOST_TEST(testing::total_variation(law(kept), law(testing::plain_sampling(c))) < 1e-12);
}

BOOST_AUTO_TEST_CASE(a_fuzzy_last_link_bounds_each_token) {
    const auto scheme = cascaded(a, model_link{one, near}, b, model_link{two, near}, c);
    static_assert(
        std::is_same_v<guarantee_of<decltype(scheme)>, guarantee::bounded_divergence<measure::total_variation>>);
    const auto first = [](const auto& of) { return testing::text_distribution_of(of, prompt, up_to(1)); };
    BOOST_TEST(testing::total_variation(first(scheme), first(testing::plain_sampling(c))) <= 0.3 + 1e-12);
}

BOOST_AUTO_TEST_CASE(greedy_text_is_the_last_models_for_any_number_of_models) {
    const auto chosen = up_to(40, 0);
    const auto expected = decode::generate(plain(e), prompt, chosen).tokens;
    const model_link by{fixed_length{3}, sampled};
    const model_link loose{two, near};
    const auto same = [&](const auto& scheme) {
        BOOST_TEST(decode::generate<any_guarantee>(scheme, prompt, chosen).tokens == expected);
    };
    same(cascaded(d, by, e));
    same(cascaded(c, by, d, by, e));
    same(cascaded(b, loose, c, by, d, by, e));
    same(cascaded(a, by, b, loose, c, by, d, loose, e));
}

BOOST_AUTO_TEST_CASE(no_number_is_used_twice) {
    const testing::named_once chooser(random::philox_chooser(7));
    const model_link by{fixed_length{3}, sampled};
    const model_link far{fixed_length{9}, sampled};  // most of what is drafted is drafted again, rounds later
    const auto scheme = cascaded(a, by, b, by, c, far, d, far, e);
    decode::generate_with<lossless>(chooser, scheme, prompt, up_to(400));
    BOOST_TEST(chooser.names() > 2000u);
}

/// Wants none of the first one's tokens once it has seen its row: who is asked first has drawn inside before it is told
/// that none of its tokens are wanted.
struct second_alone {
    static constexpr signals_read reads{.available = signals::draft_entropy};
    std::size_t length(const observation& seen) const {
        return seen.source == 0 && !includes(seen.pending, signals::draft_entropy) ? 0 : 2;
    }
};

BOOST_AUTO_TEST_CASE(nor_where_several_stages_are_asked_in_turn) {
    const auto stage_of = [&](const auto& drafter, const auto& model) {
        return speculate(drafter, model, two, sampled);
    };
    const draft::fallback either(stage_of(a, b), stage_of(d, e), a);
    const auto scheme = speculate(either, c, second_alone{}, sampled);
    decode::generate_with<lossless>(testing::named_once(random::philox_chooser(7)), scheme, prompt, up_to(100));
    BOOST_TEST(law_of_text(scheme, 2).apart_from_plain(c) < 1e-12);
}

BOOST_AUTO_TEST_CASE(one_model_twice_is_refused) {
    const model_link by{two, sampled};
    BOOST_CHECK_EXCEPTION(cascaded(a, by, b, by, a), error, [](const error& found) {
        return std::string(found.what()).find("model 0 and model 2") != std::string::npos;
    });
}

BOOST_AUTO_TEST_SUITE_END()
