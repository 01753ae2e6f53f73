// Schemes over wide vocabularies, and policies that measure wide rows: right ones, and those that are wrong far out
// only (known bug 78).

#include <algorithm>
#include <augur/accept/coupled.hpp>
#include <augur/accept/exact.hpp>
#include <augur/accept/rejection_sampling.hpp>
#include <augur/decode/generate.hpp>
#include <augur/draft/draft_model.hpp>
#include <augur/measure/entropy.hpp>
#include <augur/policy/entropy_bins.hpp>
#include <augur/policy/fixed_length.hpp>
#include <augur/testing/model_laws.hpp>
#include <augur/testing/policy_laws.hpp>
#include <augur/testing/scheme_laws.hpp>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sanitized.hpp"
#include "wrong_criteria.hpp"

using namespace augur;
using testing::policy_laws;
using testing::scheme_laws;

BOOST_AUTO_TEST_SUITE(testing_wide_scheme_laws)

namespace far_out = wrong::far_out;
const testing::effort some{.cases = 2, .shrinks = 8};

decode::options sampling(float temperature = 1) {
    decode::options chosen;
    chosen.sampling.temperature.value = temperature;
    chosen.stop.max_tokens = 2;
    return chosen;
}

template <class Criterion>
auto scheme(std::size_t vocabulary, const Criterion& criterion) {
    return speculate(testing::hashed_model(vocabulary, 2), testing::hashed_model(vocabulary, 1),
                     policy::fixed_length{1}, criterion);
}

BOOST_AUTO_TEST_CASE(the_librarys_schemes_keep_their_laws_in_wide_vocabularies) {
    const auto keeps = [](const auto& of, const decode::options& chosen) {
        const auto r = scheme_laws(of, chosen, {.cases = 1});
        BOOST_TEST(r.kept(), r);
        BOOST_TEST(r.checked.size() == 9u, r);
    };
    for (const std::size_t vocabulary : {std::size_t{100}, testing::unless_sanitized<std::size_t>(140'000, 33'000)}) {
        keeps(scheme(vocabulary, accept::rejection_sampling{}), sampling());
        keeps(scheme(vocabulary, accept::coupled{}), sampling());
        keeps(scheme(vocabulary, accept::exact{}), sampling(0));
    }
}

BOOST_AUTO_TEST_CASE(a_scheme_that_is_wrong_far_out_is_found) {
    const far_out::looks_up_cut cut(far_out::to_16_bits);
    const auto narrow = scheme_laws(scheme(300, cut), sampling(), some);
    BOOST_TEST(narrow.kept(), narrow);
    const auto r = scheme_laws(scheme(140'000, cut), sampling(), some);
    BOOST_TEST_REQUIRE(r.breaks("keeps its promise"), r);
    BOOST_TEST(r.broken[0].what.find("in a vocabulary of 140000, all tokens masked but {") != std::string::npos, r);
    const auto bounded = scheme_laws(scheme(300, cut), sampling(), {.cases = 1, .widest = 299});
    BOOST_TEST(bounded.skipped.size() == 3u, bounded);
}

/// Measures rows by a form of its own.
template <double (*Form)(logit_row)>
struct measures_by {
    static constexpr signals_read reads{.required = signals::draft_entropy, .entropy_nats = Form};
    std::size_t length(const observation& seen) const { return seen.draft_entropy_nats < 1 ? 4 : 0; }
};
template <std::size_t First>
double of_the_first(logit_row row) {
    return measure::entropy_nats(logit_row(row.data(), std::min(row.size(), First)));
}
double of_whole_vectors(logit_row row) {
    const std::size_t size = row.size() < 64 ? row.size() : row.size() / 64 * 64;
    return measure::entropy_nats(logit_row(row.data(), size));
}
/// A share of the most that there can be.
double as_a_share(logit_row row) {
    return measure::entropy_nats(row) / std::log(static_cast<double>(row.size()));
}
template <std::size_t First>
using measures_the_first = measures_by<of_the_first<First>>;
using measures_whole_vectors = measures_by<of_whole_vectors>;
using measures_a_share = measures_by<as_a_share>;

BOOST_AUTO_TEST_CASE(a_policy_that_measures_a_part_of_wide_rows_is_found) {
    const auto wrong = [](const auto& policy, const std::string& vocabulary) {
        const auto narrow = policy_laws(policy, {.widest = 0});
        BOOST_TEST(narrow.kept(), narrow);
        const auto r = policy_laws(policy);
        BOOST_TEST_REQUIRE(r.breaks("the entropy of a wide row is that of its few tokens"), r);
        BOOST_TEST(r.broken[0].what.find("in a vocabulary of " + vocabulary + ", tokens {") != std::string::npos, r);
    };
    wrong(measures_the_first<128>{}, "300");
    wrong(measures_the_first<65'535>{}, "140000");
    wrong(measures_whole_vectors{}, "100");
    const auto whole = policy_laws(measures_the_first<SIZE_MAX>{});
    BOOST_TEST(whole.kept(), whole);
    BOOST_TEST(whole.skipped.empty(), whole);
    const auto share = policy_laws(measures_a_share{});
    BOOST_TEST(share.kept(), share);
    BOOST_TEST(share.skipped.size() == 1u, share);
    const auto offset =
        policy_laws(policy::basic_entropy_bins<policy::entropy_of::draft, policy::entropy_form::offset>{});
    BOOST_TEST(offset.kept(), offset);
    BOOST_TEST(offset.skipped.empty(), offset);
}

/// Appends cut ids where it is handed several tokens at once.
struct cuts_ids_in_parts : testing::function_model {
    using function_model::function_model;
    scores extend(sequence_type& sequence, std::span<const token> tokens) const {
        return extend(sequence, tokens, tokens.size());
    }
    scores extend(sequence_type& sequence, std::span<const token> tokens, std::size_t last) const {
        std::vector<token> cut(tokens.begin(), tokens.end());
        if (tokens.size() > 1) {
            for (token& t : cut) t = far_out::to_byte(t);
        }
        return function_model::extend(sequence, cut, last);
    }
};

BOOST_AUTO_TEST_CASE(a_model_that_cuts_ids_is_found) {
    const auto rows = [](std::span<const token> before, std::span<float> row) {
        for (std::size_t i = 0; i < row.size(); ++i)
            row[i] = static_cast<float>(before.back() % 1000) + static_cast<float>(i);
    };
    const auto right = testing::model_laws(testing::function_model(300, 128, rows), {.cases = 10});
    BOOST_TEST(right.kept(), right);
    const auto r = testing::model_laws(cuts_ids_in_parts(300, 128, rows), {.cases = 10});
    BOOST_TEST(!r.kept(), r);
    const auto narrow = testing::model_laws(cuts_ids_in_parts(99, 128, rows), {.cases = 10});
    BOOST_TEST(narrow.kept(), narrow);
}

BOOST_AUTO_TEST_SUITE_END()
