// Drafters that are wrong far out only (known bug 78), and the library's, which are not.

#include "augur/testing/wide_drafter_laws.hpp"

#include <augur/draft/draft_model.hpp>
#include <augur/draft/no_draft.hpp>
#include <augur/draft/prompt_lookup.hpp>
#include <augur/testing/drafter_laws.hpp>
#include <augur/testing/models.hpp>
#include <boost/test/unit_test.hpp>
#include <cstddef>
#include <cstdint>
#include <string>

#include "sanitized.hpp"
#include "wrong_drafters.hpp"

using namespace augur;
using testing::drafter_laws;

BOOST_AUTO_TEST_SUITE(testing_wide_drafter_laws)

namespace far_out = wrong_drafters::far_out;
const testing::effort some{.cases = 2, .shrinks = 8};

const std::string drawn_from = "a draft row is the one that the token was drawn from";
const std::string masks = "far masks are heeded as near ones";
const std::string alike = "tokens are treated alike, whatever their numbers";

template <class TokenSelector>
auto model_of(std::size_t vocabulary, TokenSelector token_selector) {
    return draft::draft_model(testing::hashed_model(vocabulary, 2), token_selector);
}

/// The law is broken in a vocabulary of so many tokens, and none in one of 40.
template <class TokenSelector, class Change>
void wrong(TokenSelector token_selector, const Change& change, std::size_t vocabulary, const std::string& law) {
    const auto narrow = drafter_laws(far_out::changed{model_of(40, token_selector), change}, some);
    BOOST_TEST(narrow.kept(), narrow);
    const auto r = drafter_laws(far_out::changed{model_of(vocabulary, token_selector), change}, some);
    BOOST_TEST(r.breaks(law), r);
    for (const testing::violation& each : r.broken) {
        if (each.law != law) continue;
        BOOST_TEST(each.what.find("in a vocabulary of " + std::to_string(vocabulary) + " ") != std::string::npos, r);
        BOOST_TEST(each.what.find(" token ") != std::string::npos, r);
    }
}

BOOST_AUTO_TEST_CASE(draft_rows_that_are_cut_are_named) {
    const auto cut_at = [](std::size_t kept) {
        return [kept](token&, distribution& stated) { far_out::cut_draft_row(stated, kept); };
    };
    wrong(draft::sampled{}, cut_at(256), 300, drawn_from);
    wrong(draft::sampled{}, cut_at(128), 300, drawn_from);
    wrong(draft::sampled{}, cut_at(65'536), 140'000, drawn_from);
    const auto whole_vectors = [](token&, distribution& stated) {
        if (stated.size() > 40) far_out::cut_draft_row(stated, stated.size() / 64 * 64);
    };
    wrong(draft::sampled{}, whole_vectors, 100, drawn_from);
    const auto all_but_the_last = [](token&, distribution& stated) {
        if (stated.size() > 40) far_out::cut_draft_row(stated, stated.size() - 1);
    };
    wrong(draft::sampled{}, all_but_the_last, 100, drawn_from);
    wrong(draft::sampled{}, all_but_the_last, 140'000, drawn_from);
}

template <class Id>
token cut(token t) {
    return std::max<token>(0, static_cast<Id>(t));
}

BOOST_AUTO_TEST_CASE(tokens_that_are_cut_are_named) {
    const auto drawn = []<class Id>(Id) { return [](token& t, distribution&) { t = cut<Id>(t); }; };
    const auto certain = []<class Id>(Id) { return [](token t) { return cut<Id>(t); }; };
    wrong(draft::sampled{}, drawn(std::uint8_t{}), 300, drawn_from);
    wrong(draft::sampled{}, drawn(std::int8_t{}), 300, drawn_from);
    wrong(draft::sampled{}, drawn(std::uint16_t{}), 140'000, drawn_from);
    wrong(draft::sampled{}, drawn(std::int16_t{}), 33'000, drawn_from);
    wrong(draft::argmax{}, certain(std::uint8_t{}), 300, masks);
    wrong(draft::argmax{}, certain(std::uint16_t{}), 140'000, masks);
    wrong(draft::shared_noise{}, certain(std::int8_t{}), 300, masks);
    wrong(draft::shared_noise{}, certain(std::int16_t{}), 33'000, masks);
}

BOOST_AUTO_TEST_CASE(lookups_by_cut_ids_are_found) {
    const auto wrong = [](const auto& drafter, const std::string& vocabulary) {
        const auto narrow = drafter_laws(drafter, 3, {.widest = 0});
        BOOST_TEST(narrow.kept(), narrow);
        const auto r = drafter_laws(drafter, 3);
        BOOST_TEST(r.breaks(alike), r);
        BOOST_TEST_REQUIRE(!r.broken.empty(), r);
        BOOST_TEST(r.broken[0].what.find("in a vocabulary of " + vocabulary + ", after {") != std::string::npos, r);
    };
    wrong(far_out::lookup_of_cut_ids<std::uint8_t>{}, "300");
    wrong(far_out::lookup_of_cut_ids<std::uint16_t>{}, "140000");
    wrong(far_out::changed{draft::prompt_lookup(1, 3), cut<std::uint8_t>}, "300");
    wrong(far_out::changed{draft::prompt_lookup(1, 3), cut<std::int8_t>}, "300");
    wrong(far_out::changed{draft::prompt_lookup(1, 3), cut<std::uint16_t>}, "140000");
    wrong(far_out::changed{draft::prompt_lookup(1, 3), cut<std::int16_t>}, "33000");
}

BOOST_AUTO_TEST_CASE(a_length_that_depends_on_a_far_token_is_found) {
    const far_out::drops_far_tokens<decltype(model_of(1, draft::sampled{}))> drops{model_of(300, draft::sampled{}),
                                                                                   256};
    const auto r = drafter_laws(drops, some);
    BOOST_TEST(r.breaks("the length does not depend on the value of a drawn token"), r);
}

BOOST_AUTO_TEST_CASE(the_librarys_drafters_are_right_far_out) {
    const auto keeps = [](const auto&... arguments) {
        const auto r = drafter_laws(arguments...);
        BOOST_TEST(r.kept(), r);
        BOOST_TEST(r.skipped.empty(), r);
    };
    for (const std::size_t vocabulary : {std::size_t{100}, testing::unless_sanitized<std::size_t>(140'000, 33'000)}) {
        const testing::effort few{.cases = vocabulary > 1000 ? 1u : 20u};
        keeps(model_of(vocabulary, draft::sampled{}), few);
        keeps(model_of(vocabulary, draft::argmax{}), few);
        keeps(model_of(vocabulary, draft::shared_noise{}), few);
        keeps(draft::draft_model(testing::hashed_model(vocabulary, 2), draft::sampled{}), few);
        keeps(draft::draft_model(testing::hashed_model(vocabulary, 2), draft::argmax{}), few);
    }
    keeps(draft::prompt_lookup(1, 3), std::size_t{3});
    keeps(draft::prompt_lookup(2, 2), std::size_t{140'000});
    keeps(draft::no_draft{}, std::size_t{3});
}

BOOST_AUTO_TEST_CASE(a_drafter_of_a_narrow_vocabulary_is_said_not_to_be_known_far_out) {
    const auto r = drafter_laws(model_of(3, draft::sampled{}), some);
    BOOST_TEST(r.kept(), r);
    BOOST_TEST_REQUIRE(r.skipped.size() == 1u, r);
    BOOST_TEST(r.skipped[0].what == "its vocabulary has 3 tokens: try one of 140,000, too");
    const auto wide = drafter_laws(model_of(140'000, draft::sampled{}), {.cases = 1, .widest = 33'000});
    BOOST_TEST(wide.skipped.size() == 5u, wide);
    const auto any = drafter_laws(draft::prompt_lookup(1, 3), 3, {.widest = 0});
    BOOST_TEST(any.kept(), any);
}

BOOST_AUTO_TEST_SUITE_END()
