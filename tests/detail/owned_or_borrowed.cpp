#include "augur/detail/owned_or_borrowed.hpp"

#include <augur/accept/coupled.hpp>
#include <augur/decode/generate.hpp>
#include <augur/scheme/cascade.hpp>
#include <augur/switching/rolling_entropy.hpp>
#include <augur/switching/scheme.hpp>
#include <augur/switching/step.hpp>
#include <augur/testing/models.hpp>
#include <boost/test/unit_test.hpp>
#include <memory>
#include <utility>
#include <vector>

BOOST_AUTO_TEST_SUITE(detail_owned_or_borrowed)

using namespace augur;
using detail::owned_or_borrowed;

BOOST_AUTO_TEST_CASE(a_value_has_one_address) {
    owned_or_borrowed<std::vector<int>> first(std::vector<int>{1, 2});
    const std::vector<int>* const at = &first.get();
    const auto copy = first;
    const auto moved = std::move(first);
    BOOST_TEST(&copy.get() == at);
    BOOST_TEST(&moved.get() == at);
    const std::vector<int> other{3};
    BOOST_TEST(&owned_or_borrowed<const std::vector<int>&>(other).get() == &other);
}

/// Decodes with a scheme that keeps its models, and moves it after each step.
template <class Make>
void moves_while_sessions_live(const Make& make) {
    using scheme_type = decltype(make());
    struct text {
        scheme_type scheme;
        std::unique_ptr<decode::session<scheme_type>> session;
    };
    const std::vector<token> prompt{1, 2};
    const commit::stop_conditions stops{.max_tokens = 12};
    std::vector<text> texts;
    for (std::uint64_t seed = 0; seed < 5; ++seed) {  // moves all before it, now and then
        auto& added = texts.emplace_back(text{make(), nullptr});
        added.session = std::make_unique<decode::session<scheme_type>>(added.scheme, prompt, transform::settings{},
                                                                       stops, random::philox_chooser(seed));
        for (text& each : texts) {
            if (each.session->finished == finish_reason::running) decode::step(each.scheme, *each.session);
        }
    }
    for (std::uint64_t seed = 0; seed < texts.size(); ++seed) {
        text& each = texts[seed];
        while (each.session->finished == finish_reason::running) {
            auto elsewhere = std::make_unique<scheme_type>(std::move(each.scheme));
            decode::step(*elsewhere, *each.session);
            each.scheme = std::move(*elsewhere);
        }
        const scheme_type own = make();
        decode::session<scheme_type> alone(own, prompt, {}, stops, random::philox_chooser(seed));
        while (alone.finished == finish_reason::running) decode::step(own, alone);
        BOOST_TEST(each.session->committed.tokens() == alone.committed.tokens(), boost::test_tools::per_element());
    }
}

BOOST_AUTO_TEST_CASE(a_scheme_that_keeps_its_models_may_be_moved_while_sessions_live) {
    const auto model = [](std::uint64_t seed) { return testing::hashed_model(9, seed); };
    const policy::fixed_length two{2};
    moves_while_sessions_live([&] { return plain(model(1)); });
    moves_while_sessions_live([&] { return speculate(model(2), model(1), two, accept::coupled{}); });
    const scheme::model_link link{two, accept::coupled{}};
    moves_while_sessions_live([&] { return cascaded(model(3), link, model(2), link, model(1)); });
    moves_while_sessions_live([&] {
        return speculate(speculate(model(3), model(2), two, accept::coupled{}), model(1), two, accept::coupled{});
    });
    const switching::rolling_entropy turns({.thresholds_bits = {2.5}, .window = 1, .dwell = 1});
    moves_while_sessions_live([&] { return switched(model(2), model(1), turns); });
}

BOOST_AUTO_TEST_SUITE_END()
