#include "augur/accept/fuzzy_greedy.hpp"

#include <augur/accept/block.hpp>
#include <augur/accept/coupled.hpp>
#include <augur/accept/rejection_sampling.hpp>
#include <augur/scheme/cascade.hpp>
#include <augur/testing/drafter_laws.hpp>
#include <augur/testing/scheme_laws.hpp>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "accept/fuzzy_laws.hpp"
#include "up_to.hpp"

namespace augur::accept {
static_assert(AcceptanceCriterionFor<fuzzy_greedy<measure::kl>, point_mass> &&
              AcceptanceCriterionFor<fuzzy_greedy<measure::kl>, mode_of_row>);
static_assert(!AcceptanceCriterionFor<fuzzy_greedy<measure::kl>, distribution>);
static_assert(!Lossless<fuzzy_greedy<measure::kl>>);
}  // namespace augur::accept

using namespace augur;
using accept::fuzzy_greedy;
using fuzzy_laws::infinity;
using measure::total_variation;
using testing::up_to;

BOOST_AUTO_TEST_SUITE(accept_fuzzy_greedy)

namespace {

const std::vector<token> prompt{0, 1, 0};

/// What comes of a drafted token.
template <class DraftDistribution>
token judged(const auto& criterion, const distribution& target, const drafted_token<DraftDistribution>& drafted) {
    random::philox_chooser chooser(0);
    position_draws draws(chooser, 0, 0);
    const token drawn = accept::accept_or_draw(criterion, target, drafted, draws);
    return drawn == no_token ? drafted.id : drawn;
}

/// Of a row's most probable token.
token judged(const auto& criterion, const distribution& target, const mode_of_row& row) {
    return judged(criterion, target, drafted_token<mode_of_row>{row.mode(), &row});
}

double below_the_most_probable(const distribution& target, token t) {
    return target.probability(target.mode()) - target.probability(t);
}

distribution row_after(const testing::function_model& model, const std::vector<token>& text, float temperature) {
    std::vector<float> row(model.vocabulary_size());
    model.fill_row(text, row);
    transform::settings chosen;
    chosen.temperature.value = temperature;
    return transform::pipeline(chosen, row.size())(row, prefix(text));
}

double total_variation_between(const distribution& a, const distribution& b) {
    double sum = 0;
    for (token t = 0; t < static_cast<token>(a.size()); ++t) sum += std::abs(a.probability(t) - b.probability(t)) / 2;
    return sum;
}

std::vector<token> after_prompt(const std::vector<token>& text) {
    return {text.begin() + static_cast<std::ptrdiff_t>(prompt.size()), text.end()};
}

/// The text by the definition: rounds of `drafted` tokens of the draft, or as many as leave room for the target's, each
/// of which stands or ends the round.
std::vector<token> by_definition(const testing::function_model& draft, const testing::function_model& target,
                                 double threshold, std::size_t drafted, const decode::options& chosen) {
    std::vector<token> text = prompt;
    const float temperature = chosen.sampling.temperature.value;
    const std::size_t limit = prompt.size() + chosen.stop.max_tokens;
    for (std::size_t in_round = 0; text.size() < limit;) {
        const bool more = in_round < drafted && text.size() + 1 < limit;
        const distribution own = row_after(target, text, temperature), other = row_after(draft, text, temperature);
        const bool near = total_variation_between(own, other) <= threshold;
        const bool stands = more && (near || other.mode() == own.mode());
        text.push_back(stands ? other.mode() : own.mode());
        in_round = stands ? in_round + 1 : 0;
    }
    return after_prompt(text);
}

/// The only text of a scheme.
std::vector<token> text_of(const auto& scheme, const decode::options& chosen) {
    const auto law = testing::text_distribution_of(scheme, prompt, chosen);
    BOOST_REQUIRE(law.probability.size() == 1u);
    return law.probability.begin()->first;
}

template <class D>
auto rule(double threshold) {
    return fuzzy_greedy<D>(threshold);
}

}  // namespace

static_assert(std::is_same_v<guarantee_of<fuzzy_greedy<total_variation>>, guarantee::greedy_within<total_variation>>);

BOOST_AUTO_TEST_CASE(each_token_is_the_most_probable_of_a_row_within_the_threshold) {
    std::mt19937 random(1);
    std::size_t of_draft = 0, kept_out = 0;
    for (std::size_t i = 0; i < 400; ++i) {
        const std::size_t size = 2 + random() % 4;
        const auto target = distribution::weighted(fuzzy_laws::random_weights(random, size));
        const mode_of_row row{distribution::weighted(fuzzy_laws::random_weights(random, size))};
        std::vector<double> other(size);
        for (std::size_t t = 0; t < size; ++t) other[t] = row.probability(static_cast<token>(t));
        fuzzy_laws::each_divergence([&]<class D>(const D&) {
            const double far = fuzzy_laws::distance<D>(target, other);
            for (const double threshold : {0.0, 0.05, 0.2, 0.5, 0.9}) {
                const auto criterion = rule<D>(threshold);
                const token got = judged(criterion, target, row);
                const double bound = criterion.promised().bound;
                BOOST_TEST((got == target.mode() || (got == row.mode() && far <= bound + fuzzy_laws::exactly)));
                BOOST_TEST(target.probability(got) > 0);
                const bool allowed = far < threshold - fuzzy_laws::exactly && target.probability(row.mode()) > 0;
                BOOST_TEST((!allowed || got == row.mode()), D::name << " " << far << " of " << threshold);
                of_draft += got != target.mode();
                kept_out += got != row.mode();
            }
        });
    }
    BOOST_TEST(of_draft > 300u);
    BOOST_TEST(kept_out > 300u);
}

BOOST_AUTO_TEST_CASE(a_token_is_at_most_twice_the_bound_less_probable_than_the_most_probable) {
    std::mt19937 random(2);
    for (std::size_t i = 0; i < 2000; ++i) {
        const auto target = distribution::weighted(fuzzy_laws::random_weights(random, 3));
        const mode_of_row row{distribution::weighted(fuzzy_laws::random_weights(random, 3))};
        for (const double threshold : {0.0, 0.1, 0.3}) {
            const token got = judged(rule<total_variation>(threshold), target, row);
            BOOST_TEST(below_the_most_probable(target, got) <= 2 * threshold + fuzzy_laws::exactly);
        }
    }
    // No less can be said: these rows are 0.125 apart, and their tokens 0.25.
    const auto target = distribution::weighted({3, 5});
    const mode_of_row row{distribution::weighted({4, 4})};
    const token got = judged(rule<total_variation>(0.125), target, row);
    BOOST_TEST(got == 0);
    BOOST_TEST(below_the_most_probable(target, got) == 0.25);
    BOOST_TEST(judged(rule<total_variation>(0.1249), target, row) == 1);
}

BOOST_AUTO_TEST_CASE(a_point_mass_is_the_row_that_is_one_on_its_token) {
    const auto target = distribution::weighted({4, 3, 1});
    BOOST_TEST(judged(rule<total_variation>(0.7), target, drafted_token<point_mass>{1}) == 1);
    BOOST_TEST(judged(rule<total_variation>(0.6), target, drafted_token<point_mass>{1}) == 0);
    BOOST_TEST(judged(rule<total_variation>(0), target, drafted_token<point_mass>{0}) == 0);
    distribution storage;
    const auto criterion = rule<total_variation>(0.7);
    BOOST_TEST(&criterion.drawn_from(target, drafted_token<point_mass>{2}, storage) == &target);
    BOOST_TEST(criterion.drawn_from(target, drafted_token<point_mass>{1}, storage).probability(1) == 1);
    BOOST_TEST(&criterion.drawn_from(target, drafted_token<point_mass>{0}, storage) == &target);
}

BOOST_AUTO_TEST_CASE(a_token_the_target_excludes_never_stands) {
    const auto target = distribution::weighted({1, 2, 0});
    const mode_of_row row{distribution::weighted({1, 1, 2})};
    fuzzy_laws::each_divergence([&]<class D>(const D&) {
        BOOST_TEST(judged(rule<D>(infinity), target, row) == 1);
        BOOST_TEST(judged(rule<D>(infinity), target, drafted_token<point_mass>{2}) == 1);
    });
}

BOOST_AUTO_TEST_CASE(texts_are_those_of_the_definition) {
    std::size_t apart = 0;
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
        const auto target = testing::hashed_model(3, seed), drafter = testing::hashed_model(3, seed + 100);
        const auto greedy = text_of(plain(target), up_to(12, 0));
        for (const float temperature : {0.5f, 1.0f, 3.0f}) {
            const auto chosen = up_to(12, temperature);
            for (const double threshold : {0.0, 0.1, 0.3, 0.6, 1.0}) {
                const auto scheme =
                    speculate(drafter, target, policy::fixed_length{3}, rule<total_variation>(threshold));
                const auto text = text_of(scheme, chosen);
                BOOST_TEST(text == by_definition(drafter, target, threshold, 3, chosen));
                BOOST_TEST((threshold > 0 || text == greedy));
                apart += text != greedy;
            }
        }
    }
    BOOST_TEST(apart > 20u);
}

BOOST_AUTO_TEST_CASE(the_targets_own_choice_stands_however_far_the_rows_are) {
    const auto target = testing::markov_model({{0, 9, 1}, {1, 0, 9}, {9, 1, 1}});
    const auto drafter = testing::markov_model({{3, 4, 3}, {3, 3, 4}, {4, 3, 3}});
    const auto scheme = speculate(drafter, target, policy::fixed_length{3}, rule<total_variation>(0));
    BOOST_TEST(decode::generate<any_guarantee>(scheme, prompt, up_to(40)).counts.acceptance() == 1.0);
}

BOOST_AUTO_TEST_CASE(a_higher_temperature_brings_rows_nearer) {
    const auto target = testing::hashed_model(5, 3), drafter = testing::hashed_model(5, 4);
    const auto scheme = speculate(drafter, target, policy::fixed_length{3}, rule<total_variation>(0.2));
    const auto acceptance = [&](float temperature) {
        return decode::generate<any_guarantee>(scheme, prompt, up_to(60, temperature)).counts.acceptance();
    };
    BOOST_TEST(acceptance(20) > acceptance(0.2f) + 0.3);
}

BOOST_AUTO_TEST_CASE(n_grams_draft_for_it) {
    const auto target = testing::hashed_model(3, 1);
    const auto scheme =
        speculate(draft::prompt_lookup(1, 3), target, policy::fixed_length{3}, rule<total_variation>(0));
    BOOST_TEST(text_of(scheme, up_to(12)) == text_of(plain(target), up_to(12, 0)));
}

BOOST_AUTO_TEST_CASE(in_a_cascade_a_token_is_judged_by_the_row_that_it_is_the_most_probable_of) {
    using scheme::model_link;
    std::size_t of_others = 0;
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        const auto a = testing::hashed_model(3, seed, 1), b = testing::hashed_model(3, seed + 50, 1);
        const auto c = testing::hashed_model(3, seed + 99, 1);
        for (const double inside : {0.0, 0.2, 0.5}) {
            for (const double last : {0.1, 0.3}) {
                const auto scheme = cascaded(a, model_link{policy::fixed_length{2}, rule<total_variation>(inside)}, b,
                                             model_link{policy::fixed_length{4}, rule<total_variation>(last)}, c);
                std::vector<token> text = prompt;
                for (const token t : text_of(scheme, up_to(10))) {
                    const distribution own = row_after(c, text, 1);
                    bool found = own.mode() == t;
                    for (const auto* model : {&a, &b}) {
                        if (model == &a && inside == 0) continue;  // then the qualifier's text is its own
                        const distribution other = row_after(*model, text, 1);
                        found = found || (other.mode() == t && total_variation_between(own, other) <= last);
                    }
                    BOOST_TEST(found);
                    of_others += own.mode() != t;
                    text.push_back(t);
                }
            }
        }
    }
    BOOST_TEST(of_others > 20u);
}

BOOST_AUTO_TEST_CASE(a_lossless_last_link_is_exact_over_it) {
    using scheme::model_link;
    const auto a = testing::hashed_model(3, 1), b = testing::hashed_model(3, 2), c = testing::hashed_model(3, 3);
    const model_link inside{policy::fixed_length{1}, rule<total_variation>(0.4)};
    const auto check = [&](auto criterion) {
        const auto scheme = cascaded(a, inside, b, model_link{policy::fixed_length{3}, criterion}, c);
        const std::string broken = testing::broken_promise(scheme, prompt, up_to(3));
        BOOST_TEST(broken.empty(), broken);
    };
    check(accept::rejection_sampling{});
    check(accept::coupled{});
    check(accept::block{});
}

BOOST_AUTO_TEST_CASE(lossless_rules_take_the_draft_distribution_for_what_it_is) {
    const auto target = testing::hashed_model(3, 1);
    const auto check = [&](auto criterion) {
        const draft::draft_model drafter(testing::hashed_model(3, 2), draft::argmax_with_row{});
        const auto scheme = speculate(drafter, target, policy::fixed_length{2}, criterion);
        const std::string broken = testing::broken_promise(scheme, prompt, up_to(3));
        BOOST_TEST(broken.empty(), broken);
    };
    check(accept::rejection_sampling{});
    check(accept::coupled{});
    check(accept::block{});
    const auto laws =
        testing::drafter_laws(draft::draft_model(testing::hashed_model(4, 2), draft::argmax_with_row{}), {.cases = 40});
    BOOST_TEST(laws.kept(), laws);
}

BOOST_AUTO_TEST_CASE(siblings_are_within_the_threshold) {
    std::mt19937 random(3);
    std::size_t second = 0;
    for (std::size_t i = 0; i < 200; ++i) {
        std::vector<std::vector<double>> target(3), draft(3);
        for (auto* rows : {&target, &draft}) {
            for (auto& row : *rows) {
                const auto weights = fuzzy_laws::random_weights(random, 3);
                row.assign(weights.begin(), weights.end());
            }
        }
        testing::tree_round round{testing::markov_model(target), testing::markov_model(draft), {-1, -1, 0}};
        const auto text = round.text(rule<total_variation>(0.2), draft::argmax_with_row{}, random::philox_chooser(i));
        token last = 0;
        for (const token t : text) {
            const auto& weights = target[static_cast<std::size_t>(last)];
            const auto row = distribution::weighted({weights.begin(), weights.end()});
            BOOST_TEST(below_the_most_probable(row, t) <= 0.4 + 1e-6);
            second += row.mode() != t;
            last = t;
        }
    }
    BOOST_TEST(second > 20u);
}

BOOST_AUTO_TEST_CASE(refusals) {
    fuzzy_laws::check_refusals<fuzzy_greedy>();
    const auto target = testing::hashed_model(3, 1);
    const auto scheme = speculate(target, target, policy::fixed_length{2}, rule<total_variation>(0.2));
    BOOST_CHECK_EXCEPTION(decode::generate<any_guarantee>(scheme, prompt, up_to(3, 0)), error, [](const error& e) {
        return std::string(e.what()).find("which is 0, but must be above 0") != std::string::npos;
    });
}

BOOST_AUTO_TEST_CASE(laws) {
    fuzzy_laws::each_divergence([&]<class D>(const D&) {
        for (const double threshold : {0.0, 0.3, infinity}) {
            const auto r = testing::criterion_laws(rule<D>(threshold), {.cases = 60, .widest = 300});
            BOOST_TEST(r.kept(), r);
            BOOST_TEST(r.checked.size() == 10u);
            BOOST_TEST(r.skipped.size() == 2u);  // a bound is no equality
        }
    });
    const auto target = testing::hashed_model(3, 1), drafter = testing::hashed_model(3, 2);
    const auto scheme = speculate(drafter, target, policy::fixed_length{2}, rule<total_variation>(0.3));
    const auto r = testing::scheme_laws(scheme, up_to(4));
    BOOST_TEST(r.kept(), r);
}

BOOST_AUTO_TEST_SUITE_END()
