#include "augur/encoder/gate.hpp"

#include <array>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

using namespace augur;
using namespace augur::encoder;

BOOST_AUTO_TEST_SUITE(encoder_gate)

namespace {

/// Directions in the plane: their cosine distance is 1 - cos of the angle between them.
struct angle {
    double degrees;
};
features direction(double degrees) {
    const double radians = degrees * std::acos(-1.0) / 180;
    return features{{std::cos(radians), std::sin(radians)}};
}
double distance(double degrees) {
    return 1 - std::cos(degrees * std::acos(-1.0) / 180);
}

/// Counts its runs.
struct protractor {
    std::size_t& runs;

    features operator()(const angle& of) const {
        ++runs;
        return direction(of.degrees);
    }
};

struct bench {
    std::size_t runs[4] = {};
    protractor encoders[4] = {{runs[0]}, {runs[1]}, {runs[2]}, {runs[3]}};

    auto three() const { return gated(encoders[0], identity{}, encoders[1], identity{}, encoders[2]); }
    auto four() const {
        return gated(encoders[0], identity{}, encoders[1], identity{}, encoders[2], identity{}, encoders[3]);
    }
    std::string counted() {
        std::string text;
        for (std::size_t& each : runs) text += static_cast<char>('0' + std::exchange(each, 0));
        return text;
    }
};

/// Exit, encoders that ran, and divergences.
template <std::size_t N>
void is(const gate_result<N>& result, std::size_t exit, const std::string& ran,
        const std::vector<double>& divergences) {
    BOOST_TEST(result.exit == exit);
    std::string found;
    for (std::size_t i = 0; i < N; ++i) found += result.ran[i] ? '1' : '0';
    BOOST_TEST(found == ran);
    BOOST_TEST_REQUIRE(result.divergences.size() == divergences.size());
    for (std::size_t i = 0; i < divergences.size(); ++i) {
        BOOST_TEST(std::abs(result.divergences[i] - divergences[i]) < 1e-14);
    }
}

auto says(const std::string& part) {
    return [part](const error& e) { return std::string(e.what()).find(part) != std::string::npos; };
}

features numbers_of(const std::vector<double>& of) {
    return Eigen::Map<const features>(of.data(), static_cast<Eigen::Index>(of.size()));
}

}  // namespace

static_assert(Encoder<protractor, angle> && !Encoder<protractor, int>);

BOOST_AUTO_TEST_CASE(first_agreement_has_an_exit_per_encoder) {
    bench all;
    const auto gate = all.three();  // thresholds 0.3 and 0.5: 45.6 and 60 degrees
    static_assert(gate.stages == 3);
    static_assert(std::is_same_v<guarantee_of<decltype(gate)>, guarantee::none>);

    auto result = gate.first_agreement(angle{0}, angle{45}, angle{180});
    is(result, 0, "110", {distance(45)});
    BOOST_TEST((result.accepted - direction(0)).norm() < 1e-15);
    BOOST_TEST(all.counted() == "1100");

    result = gate.first_agreement(angle{0}, angle{46}, angle{105});
    is(result, 1, "111", {distance(46), distance(59)});
    BOOST_TEST((result.accepted - direction(46)).norm() < 1e-15);
    BOOST_TEST(all.counted() == "1110");

    result = gate.first_agreement(angle{0}, angle{46}, angle{107});
    is(result, 2, "111", {distance(46), distance(61)});
    BOOST_TEST((result.accepted - direction(107)).norm() < 1e-15);
    BOOST_TEST(all.counted() == "1110");
}

BOOST_AUTO_TEST_CASE(first_confirmation_runs_the_same_encoders_and_keeps_the_upper_one) {
    bench all;
    const auto gate = all.three();
    auto result = gate.first_confirmation(angle{0}, angle{45}, angle{180});
    is(result, 1, "110", {distance(45)});
    BOOST_TEST((result.accepted - direction(45)).norm() < 1e-15);
    BOOST_TEST(all.counted() == "1100");
    for (const double video : {105, 107}) {  // within the last threshold or not
        result = gate.first_confirmation(angle{0}, angle{46}, angle{video});
        is(result, 2, "111", {distance(46), distance(video - 46)});
        BOOST_TEST((result.accepted - direction(video)).norm() < 1e-15);
        BOOST_TEST(all.counted() == "1110");
    }
}

BOOST_AUTO_TEST_CASE(as_published_all_links_agree_or_the_last_encoder_decides) {
    bench all;
    const auto gate = all.three();
    auto result = gate.as_published(angle{0}, angle{45}, angle{104});
    is(result, 0, "111", {distance(45), distance(59)});
    BOOST_TEST((result.accepted - direction(0)).norm() < 1e-15);
    BOOST_TEST(all.counted() == "1110");

    result = gate.as_published(angle{0}, angle{45}, angle{106});
    is(result, 2, "111", {distance(45), distance(61)});
    BOOST_TEST((result.accepted - direction(106)).norm() < 1e-15);
    BOOST_TEST(all.counted() == "1110");

    result = gate.as_published(angle{0}, angle{46}, angle{46});
    is(result, 2, "111", {distance(46)});
    BOOST_TEST((result.accepted - direction(46)).norm() < 1e-15);
    BOOST_TEST(all.counted() == "1110");
}

BOOST_AUTO_TEST_CASE(of_four_each_rule_runs_what_it_needs) {
    bench all;
    const auto gate = all.four().with({.thresholds = {0.1, 0.1, 0.1}});  // 25.8 degrees
    const angle a{0}, near{25}, further{50}, furthest{75}, far{180};
    is(gate.first_agreement(a, near, far, far), 0, "1100", {distance(25)});
    is(gate.first_agreement(a, far, far, a), 1, "1110", {2, 0});
    is(gate.first_agreement(a, far, a, near), 2, "1111", {2, 2, distance(25)});
    is(gate.first_agreement(a, far, a, far), 3, "1111", {2, 2, 2});
    BOOST_TEST(all.counted() == "4432");
    is(gate.as_published(a, near, further, furthest), 0, "1111", {distance(25), distance(25), distance(25)});
    is(gate.as_published(a, near, further, far), 3, "1111", {distance(25), distance(25), distance(130)});
    is(gate.as_published(a, near, far, far), 3, "1111", {distance(25), distance(155)});
    BOOST_TEST(all.counted() == "3333");
    const auto result = gate.as_published(a, far, a, near);  // the third is passed over
    is(result, 3, "1101", {2});
    BOOST_TEST((result.accepted - direction(25)).norm() < 1e-15);
    BOOST_TEST(all.counted() == "1101");
}

BOOST_AUTO_TEST_CASE(of_two_the_last_always_runs) {
    bench all;
    const auto gate = gated(all.encoders[0], identity{}, all.encoders[1]);
    BOOST_TEST(gate.options().thresholds == std::vector<double>{0.3}, boost::test_tools::per_element());
    is(gate.first_agreement(angle{0}, angle{45}), 0, "11", {distance(45)});
    is(gate.first_agreement(angle{0}, angle{46}), 1, "11", {distance(46)});
    is(gate.as_published(angle{0}, angle{45}), 0, "11", {distance(45)});
    is(gate.as_published(angle{0}, angle{46}), 1, "11", {distance(46)});
}

/// Inputs and features differ in type and size; what is accepted lies where the last encoder's features do.
BOOST_AUTO_TEST_CASE(accepted_features_are_lifted_to_the_last_encoders) {
    const auto words = [](const std::string& text) { return features::Constant(1, static_cast<double>(text.size())); };
    const auto numbers = [](const std::vector<double>& of) { return numbers_of(of); };
    const auto pointed = [](const std::unique_ptr<features>& at) { return *at; };  // not there unless it is used
    const linear doubled(Eigen::MatrixXd{{2}, {0}}, features{{0, 1}});
    const linear swapped(Eigen::MatrixXd{{0, 1}, {1, 0}, {1, 1}}, features{{0, 0, 5}});
    const auto gate = gated<relative_distance>(words, doubled, numbers, swapped, pointed);
    const std::unique_ptr<features> nothing;

    auto result = gate.first_agreement(std::string("abc"), std::vector<double>{6, 1}, nothing);
    is(result, 0, "110", {0});
    BOOST_TEST((result.accepted == features{{1, 6, 12}}));

    result = gate.first_confirmation(std::string("abc"), std::vector<double>{6, -1}, nothing);
    is(result, 1, "110", {4.0 / 74});
    BOOST_TEST((result.accepted == features{{-1, 6, 10}}));

    const auto video = std::make_unique<features>(features{{1, -6, 0}});
    result = gate.first_agreement(std::string("abc"), std::vector<double>{-6, 1}, video);
    is(result, 1, "111", {144.0 / 74, 0});
    BOOST_TEST((result.accepted == features{{1, -6, 0}}));

    const auto other = std::make_unique<features>(features{{-1, -6, 0}});
    result = gate.first_agreement(std::string("abc"), std::vector<double>{6, -1}, other);
    is(result, 0, "110", {4.0 / 74});
    result = gate.as_published(std::string("abc"), std::vector<double>{6, 1}, other);
    BOOST_TEST(result.exit == 2u);
    BOOST_TEST((result.accepted == *other));
    const auto same = std::make_unique<features>(features{{-1, 6, 10}});
    result = gate.as_published(std::string("abc"), std::vector<double>{6, -1}, same);
    is(result, 0, "111", {4.0 / 74, 0});
    BOOST_TEST((result.accepted == features{{1, 6, 12}}));  // the first encoder's, not the second's
}

BOOST_AUTO_TEST_CASE(lvalues_are_referred_to_and_rvalues_kept) {
    linear map(Eigen::MatrixXd::Identity(2, 2), features::Zero(2));
    const auto encode = [](const angle& of) { return direction(of.degrees); };
    const auto referring = gated(encode, map, encode);
    const auto keeping = gated(encode, linear(map), encode);
    map = linear(-Eigen::MatrixXd::Identity(2, 2), features::Zero(2));
    BOOST_TEST(referring.first_agreement(angle{0}, angle{0}).divergences[0] == 2);
    BOOST_TEST(keeping.first_agreement(angle{0}, angle{0}).divergences[0] == 0);
    const auto plain = gated(numbers_of, identity{}, numbers_of);  // functions, too
    BOOST_TEST(plain.first_agreement(std::vector<double>{1, 2}, std::vector<double>{2, 4}).exit == 0u);
}

BOOST_AUTO_TEST_CASE(at_the_threshold_they_agree) {
    const auto gate = gated<relative_distance>(numbers_of, identity{}, numbers_of);
    const std::vector<double> one{1, 0}, three{0, 3};
    BOOST_TEST(gate.with({.thresholds = {1}}).first_agreement(one, three).exit == 0u);
    BOOST_TEST(gate.with({.thresholds = {std::nextafter(1, 0)}}).first_agreement(one, three).exit == 1u);
    BOOST_TEST(gate.with({.thresholds = {0}}).first_agreement(one, one).exit == 0u);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(
    broken_features_agree_with_nothing, D,
    decltype(std::tuple<cosine_distance, relative_distance, softmax_divergence<measure::hellinger>>{})) {
    const double largest = std::numeric_limits<double>::max();
    const auto gate =
        gated<D>(numbers_of, identity{}, numbers_of, identity{}, numbers_of).with({.thresholds = {largest, largest}});
    const std::vector<double> good{1, 2}, opposite{-1, -2}, bad{std::nan(""), 2};
    BOOST_TEST(gate.first_agreement(good, opposite, good).exit == 0u);  // anything agrees
    BOOST_TEST(gate.first_agreement(bad, good, good).exit == 1u);
    BOOST_TEST(gate.first_agreement(good, bad, good).exit == 2u);
    BOOST_TEST(gate.as_published(bad, good, good).exit == 2u);
    BOOST_TEST(gate.as_published(good, good, bad).exit == 2u);
    const auto result = gate.first_agreement(bad, good, bad);
    BOOST_TEST(result.exit == 2u);
    BOOST_TEST(std::isnan(result.accepted(0)));  // the full path is handed on as it is
}

BOOST_AUTO_TEST_CASE(features_without_length_agree_with_nothing) {
    const auto gate = gated(numbers_of, identity{}, numbers_of, identity{}, numbers_of).with({.thresholds = {2, 2}});
    const std::vector<double> good{1, 2}, zero{0, 0}, none;
    BOOST_TEST(gate.first_agreement(zero, zero, good).exit == 2u);
    BOOST_TEST(gate.first_agreement(none, none, none).exit == 2u);
}

BOOST_AUTO_TEST_CASE(softmax_divergences_take_the_next_encoders_for_the_target) {
    const auto gate = gated<softmax_divergence<measure::kl>>(numbers_of, identity{}, numbers_of);
    const std::vector<double> sure{9, 0, 0}, unsure{1, 0.5, 0};
    const float of_sure[] = {9, 0, 0}, of_unsure[] = {1, 0.5f, 0};
    const auto nats = measure::divergence<measure::kl>(logit_row(of_unsure), logit_row(of_sure));
    const auto result = gate.first_agreement(sure, unsure);
    BOOST_TEST(result.divergences[0] == nats);
    BOOST_TEST(result.exit == 1u);
}

BOOST_AUTO_TEST_CASE(the_caller_counts) {
    bench all;
    const auto gate = all.four().with({.thresholds = {0.1, 0.1, 0.1}});
    decltype(gate)::statistics_type counts;
    const angle a{0}, near{25}, far{180};
    counts.add(gate.first_agreement(a, near, far, far));
    counts.add(gate.first_agreement(a, near, far, far));
    counts.add(gate.first_agreement(a, far, far, a));
    counts.add(gate.as_published(a, far, a, near));
    BOOST_TEST(counts.exits == (std::array<std::size_t, 4>{2, 1, 0, 1}), boost::test_tools::per_element());
    BOOST_TEST(counts.runs == (std::array<std::size_t, 4>{4, 4, 1, 1}), boost::test_tools::per_element());
    BOOST_TEST(all.counted() == "4411");
}

BOOST_AUTO_TEST_CASE(recommended_thresholds_rise_from_strict_to_relaxed) {
    using numbers = std::vector<double>;
    BOOST_TEST(recommended_thresholds(0).empty());
    BOOST_TEST(recommended_thresholds(1) == numbers{0.3}, boost::test_tools::per_element());
    BOOST_TEST(recommended_thresholds(2) == (numbers{0.3, 0.5}), boost::test_tools::per_element());
    const auto five = recommended_thresholds(5);
    for (std::size_t i = 0; i < 5; ++i) {
        BOOST_TEST(five[i] == 0.3 + 0.05 * static_cast<double>(i), boost::test_tools::tolerance(1e-14));
    }
    bench all;
    BOOST_TEST(all.three().options().thresholds == (numbers{0.3, 0.5}), boost::test_tools::per_element());
    BOOST_TEST(all.four().options().thresholds == recommended_thresholds(3), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(thresholds_that_do_not_fit_are_refused) {
    bench all;
    const auto gate = all.three();
    const auto refuses = [&](std::vector<double> thresholds, const std::string& part) {
        BOOST_CHECK_EXCEPTION(gate.with({.thresholds = thresholds}), error, says(part));
    };
    refuses({0.3}, "gate: 3 encoders have 2 links, but 1 thresholds are given");
    refuses({0.3, 0.4, 0.5}, "gate: 3 encoders have 2 links, but 3 thresholds are given");
    refuses({0.3, std::nan("")}, "gate: the threshold of link 1 is nan; it must be finite, and 0 or more");
    refuses({-0.5, 0.5}, "gate: the threshold of link 0 is -0.5");
    refuses({0.5, std::numeric_limits<double>::infinity()}, "gate: the threshold of link 1 is inf");
    BOOST_CHECK_NO_THROW(gate.with({.thresholds = {0.4, 0.4}}));
    BOOST_CHECK_NO_THROW(gate.with({.thresholds = {0, 3}}));
}

BOOST_AUTO_TEST_CASE(each_link_has_a_threshold_of_its_own_in_any_order) {
    bench all;
    const auto rising = all.three().with({.thresholds = {distance(10), distance(40)}});
    const auto falling = all.three().with({.thresholds = {distance(40), distance(10)}});
    // 30 degrees at the first link, then 20: the relaxed threshold takes either, the strict one neither.
    const angle far{0}, between{30}, near{50};
    is(rising.first_agreement(far, between, near), 1, "111", {distance(30), distance(20)});
    is(falling.first_agreement(far, between, near), 0, "110", {distance(30)});
    is(rising.as_published(far, between, near), 2, "111", {distance(30)});
    is(falling.as_published(far, between, near), 2, "111", {distance(30), distance(20)});
}

BOOST_AUTO_TEST_CASE(sizes_that_do_not_fit_are_named) {
    const linear to_three(Eigen::MatrixXd::Zero(3, 2), features::Zero(3));
    BOOST_CHECK_EXCEPTION(gated(numbers_of, to_three, numbers_of, to_three, numbers_of), error,
                          says("gate: the alignment of link 0 makes 3 numbers, but that of link 1 reads 2"));
    BOOST_CHECK_NO_THROW(gated(numbers_of, to_three, numbers_of, identity{}, numbers_of));
    const auto gate = gated(numbers_of, identity{}, numbers_of, identity{}, numbers_of);
    const std::vector<double> two{1, 2}, other{2, -1}, three{1, 2, 3};
    const auto& lower = says("gate: at link 0 the aligned features have 2 numbers, but those of encoder 1 have 3");
    const auto& upper = says("gate: at link 1 the aligned features have 2 numbers, but those of encoder 2 have 3");
    BOOST_CHECK_EXCEPTION(gate.first_agreement(two, three, three), error, lower);
    BOOST_CHECK_EXCEPTION(gate.first_agreement(two, other, three), error, upper);
    BOOST_CHECK_EXCEPTION(gate.as_published(two, three, three), error, lower);
    BOOST_CHECK_EXCEPTION(gate.as_published(two, two, three), error, upper);
    BOOST_TEST(gate.first_agreement(two, two, three).exit == 0u);  // not compared
}

BOOST_AUTO_TEST_SUITE_END()
