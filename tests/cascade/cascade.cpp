#include "augur/cascade/cascade.hpp"

#include <unistd.h>

#include <augur/accept/exact.hpp>
#include <augur/accept/fuzzy.hpp>
#include <augur/accept/rejection_then_fuzzy.hpp>
#include <augur/decode/generate.hpp>
#include <augur/testing/models.hpp>
#include <augur/testing/named_once.hpp>
#include <augur/testing/scheme_laws.hpp>
#include <boost/test/unit_test.hpp>
#include <limits>

using namespace augur;
using accept::fuzzy;
using accept::rejection_sampling;
using cascade::model_link;  // beside POSIX's link, which unistd.h declares
using policy::fixed_length;

BOOST_AUTO_TEST_SUITE(cascade_cascade)

namespace {

const auto a = testing::hashed_model(2, 1, 1), b = testing::hashed_model(2, 2, 1), c = testing::hashed_model(2, 3, 1),
           d = testing::hashed_model(2, 4, 1), e = testing::hashed_model(2, 5, 1);
const fixed_length one{1}, two{2};
const rejection_sampling sampled;
const fuzzy<measure::total_variation> near{0.3}, anything{1};
const std::vector<token> prompt{1, 0, 1};

decode::options up_to(std::size_t tokens, float temperature = 1) {
    decode::options chosen;
    chosen.stop.max_tokens = tokens;
    chosen.sampling.temperature.value = temperature;
    return chosen;
}

}  // namespace

BOOST_AUTO_TEST_CASE(two_models_are_speculative_decoding) {
    const auto law = [](const auto& scheme) { return testing::law_of(scheme, prompt, up_to(3)); };
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
    const auto law = [](const auto& scheme) { return testing::law_of(scheme, prompt, up_to(3)); };
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
    const auto first = [](const auto& of) { return testing::law_of(of, prompt, up_to(1)); };
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

BOOST_AUTO_TEST_CASE(one_model_twice_is_refused) {
    const model_link by{two, sampled};
    BOOST_CHECK_EXCEPTION(cascaded(a, by, b, by, a), error, [](const error& found) {
        return std::string(found.what()).find("model 0 and model 2") != std::string::npos;
    });
}

BOOST_AUTO_TEST_SUITE_END()
