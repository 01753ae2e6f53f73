#include "augur/model/same_vocabulary.hpp"

#include <augur/accept/coupled.hpp>
#include <augur/accept/exact.hpp>
#include <augur/decode/generate.hpp>
#include <augur/draft/fallback.hpp>
#include <augur/draft/prompt_lookup.hpp>
#include <augur/model/any_model.hpp>
#include <augur/policy/fixed_length.hpp>
#include <augur/scheme/cascade.hpp>
#include <augur/scheme/pyramid.hpp>
#include <augur/switching/rolling_entropy.hpp>
#include <augur/switching/scheme.hpp>
#include <augur/testing/costed_model.hpp>
#include <augur/testing/counting_model.hpp>
#include <augur/testing/models.hpp>
#include <augur/testing/refined_models.hpp>
#include <augur/tune/beta.hpp>
#include <boost/test/unit_test.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

using namespace augur;
using policy::fixed_length;
using scheme::model_link;

BOOST_AUTO_TEST_SUITE(model_same_vocabulary)

namespace {

/// A mock of eight tokens with a mark of its own; empty for none.
struct marked : testing::function_model {
    std::string mark;

    marked(std::uint64_t seed, std::string of)
        : testing::function_model(testing::hashed_model(8, seed)), mark(std::move(of)) {}
    std::string vocabulary_fingerprint() const { return mark; }
};
static_assert(Model<marked> && HasVocabularyFingerprint<marked> && !HasVocabularyFingerprint<testing::function_model>);

auto says(const std::string& whole) {
    return [whole](const error& e) {
        BOOST_TEST(e.what() == whole);
        return e.what() == whole;
    };
}

const auto pair_says = says(
    "draft and target must share a vocabulary, but the tokens of the draft have the fingerprint aa and those of the "
    "target bb");
const auto cascade_says = says(
    "the models of a cascade must share a vocabulary, but the tokens of one have the fingerprint aa and those of the "
    "next bb");

const marked a(1, "aa"), also_a(2, "aa"), b(3, "bb"), also_b(6, "bb"), unknown(4, "");
const auto plain_mock = testing::hashed_model(8, 5);
const model_link four{fixed_length{4}, accept::exact{}};
const model_link inside{fixed_length{4}, accept::rejection_sampling{}};

}  // namespace

BOOST_AUTO_TEST_CASE(draft_and_target_of_other_tokens_are_refused) {
    BOOST_CHECK_EXCEPTION(speculate(a, b, fixed_length{}, accept::exact{}), error, pair_says);
    BOOST_CHECK_EXCEPTION(speculate(a, b, fixed_length{}, accept::coupled{}), error, pair_says);
    BOOST_CHECK_EXCEPTION(speculate(draft::draft_model(a), b, fixed_length{}, accept::exact{}), error, pair_says);
    BOOST_CHECK_EXCEPTION(cascaded(a, four, b), error, pair_says);
    BOOST_CHECK_EXCEPTION(scheme::sd(a, b), error, pair_says);
    BOOST_CHECK_EXCEPTION(scheme::fsd(a, b), error, pair_says);
    const auto fits = speculate(a, also_a, fixed_length{}, accept::exact{});
    BOOST_TEST(
        decode::generate(fits, std::vector<token>{1}, {.sampling = {.temperature = {0}}, .stop = {.max_tokens = 4}})
            .tokens.size() == 4u);
}

BOOST_AUTO_TEST_CASE(sizes_come_first) {
    const auto larger = testing::hashed_model(9, 1);
    BOOST_CHECK_EXCEPTION(
        speculate(larger, b, fixed_length{}, accept::exact{}), error,
        says("draft and target must share a vocabulary, but the draft has 9 tokens and the target 8"));
}

BOOST_AUTO_TEST_CASE(models_without_a_fingerprint_are_compared_by_size) {
    BOOST_CHECK_NO_THROW(speculate(plain_mock, b, fixed_length{}, accept::exact{}));
    BOOST_CHECK_NO_THROW(speculate(a, plain_mock, fixed_length{}, accept::exact{}));
    BOOST_CHECK_NO_THROW(speculate(unknown, b, fixed_length{}, accept::exact{}));
    BOOST_CHECK_NO_THROW(speculate(a, unknown, fixed_length{}, accept::exact{}));
    BOOST_CHECK_NO_THROW(speculate(draft::prompt_lookup{}, b, fixed_length{}, accept::exact{}));
}

BOOST_AUTO_TEST_CASE(every_link_of_a_cascade_is_compared) {
    BOOST_CHECK_EXCEPTION(cascaded(a, inside, b, four, also_b), error, cascade_says);
    BOOST_CHECK_EXCEPTION(cascaded_as_published(a, inside, b, four, also_b), error, cascade_says);
    BOOST_CHECK_EXCEPTION(scheme::psd_a(a, b, also_b), error, cascade_says);
    BOOST_CHECK_EXCEPTION(scheme::psd_f(a, b, also_b), error, cascade_says);
    BOOST_CHECK_EXCEPTION(cascaded(a, inside, also_a, four, b), error, pair_says);
    BOOST_CHECK_EXCEPTION(speculate(speculate(a, also_a, fixed_length{}, accept::rejection_sampling{}), b,
                                    fixed_length{}, accept::rejection_sampling{}),
                          error, pair_says);
    BOOST_CHECK_NO_THROW(cascaded(a, inside, also_a, inside, marked(7, "aa")));
}

BOOST_AUTO_TEST_CASE(a_model_that_does_not_say_hides_nobody_behind_it) {
    BOOST_CHECK_EXCEPTION(cascaded(a, inside, plain_mock, inside, b), error, pair_says);
    BOOST_CHECK_EXCEPTION(cascaded(a, inside, unknown, inside, b), error, pair_says);
    BOOST_CHECK_EXCEPTION(cascaded(plain_mock, inside, a, inside, b), error, pair_says);
    BOOST_CHECK_NO_THROW(cascaded(a, inside, unknown, inside, also_a));
}

BOOST_AUTO_TEST_CASE(models_that_take_turns_are_compared) {
    using switching::rolling_entropy;
    const rolling_entropy two, three({.thresholds_bits = {0.5, 1}});
    BOOST_CHECK_EXCEPTION(switched(a, b, two), error,
                          says("switched: the models must share a vocabulary, but the tokens of model 0 have the "
                               "fingerprint aa and those of model 1 bb"));
    BOOST_CHECK_EXCEPTION(switched(a, also_a, b, three), error,
                          says("switched: the models must share a vocabulary, but the tokens of model 0 have the "
                               "fingerprint aa and those of model 2 bb"));
    BOOST_CHECK_EXCEPTION(switched(plain_mock, a, b, three), error,
                          says("switched: the models must share a vocabulary, but the tokens of model 1 have the "
                               "fingerprint aa and those of model 2 bb"));
    BOOST_CHECK_EXCEPTION(switched(a, unknown, b, three), error,
                          says("switched: the models must share a vocabulary, but the tokens of model 0 have the "
                               "fingerprint aa and those of model 2 bb"));
    BOOST_CHECK_NO_THROW(switched(a, plain_mock, also_a, three));
}

BOOST_AUTO_TEST_CASE(drafters_of_a_fallback_are_compared_with_each_other_and_with_the_target) {
    const auto composed = [](const auto& first, const auto& second) {
        return draft::fallback(draft::draft_model(first, draft::argmax{}), draft::prompt_lookup{},
                               draft::draft_model(second, draft::argmax{}));
    };
    BOOST_CHECK_EXCEPTION(composed(b, a), error,
                          says("fallback: its drafters must share a vocabulary, but the tokens of one have the "
                               "fingerprint aa and those of another bb"));
    BOOST_CHECK_EXCEPTION(speculate(composed(plain_mock, a), b, fixed_length{}, accept::exact{}), error, pair_says);
    BOOST_CHECK_NO_THROW(speculate(composed(unknown, a), also_a, fixed_length{}, accept::exact{}));
}

BOOST_AUTO_TEST_CASE(models_whose_rows_are_compared_are_compared) {
    const std::vector<token> text{1, 2, 3, 4};
    BOOST_CHECK_EXCEPTION(tune::divergences_along(a, b, text, 1), error,
                          says("models whose rows are compared must share a vocabulary, but the tokens of the target "
                               "have the fingerprint aa and those of the draft bb"));
    BOOST_TEST(tune::divergences_along(a, also_a, text, 1).size() == 3u);
    BOOST_TEST(tune::divergences_along(a, plain_mock, text, 1).size() == 3u);
}

BOOST_AUTO_TEST_CASE(whatever_holds_a_model_hands_its_fingerprint_on) {
    const auto refused = [](const auto& held) {
        BOOST_CHECK_EXCEPTION(speculate(held, b, fixed_length{}, accept::exact{}), error, pair_says);
    };
    BOOST_TEST(model::any_model(a).vocabulary_fingerprint() == "aa");
    BOOST_TEST(testing::counting_model(a).vocabulary_fingerprint() == "aa");
    refused(model::any_model(a));
    refused(testing::counting_model(a));
    refused(testing::costed_model(a, {}, std::make_shared<testing::virtual_clock>()));
    BOOST_TEST(model::any_model(plain_mock).vocabulary_fingerprint().empty());
    BOOST_TEST(testing::counting_model(plain_mock).vocabulary_fingerprint().empty());
}

BOOST_AUTO_TEST_SUITE_END()
