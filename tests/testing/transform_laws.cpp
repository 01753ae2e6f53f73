#include "augur/testing/transform_laws.hpp"

#include <augur/transform/pipeline.hpp>
#include <boost/test/unit_test.hpp>

#include "every_law.hpp"
#include "sanitized.hpp"
#include "wrong_transforms.hpp"

using namespace augur;
using testing::transform_laws;

BOOST_AUTO_TEST_SUITE(testing_transform_laws)

template <class Transform>
void keeps(const Transform& transform) {
    for (const std::size_t vocabulary :
         {5u, 17u, 70u, 300u}) {  // no multiples of a vector's width, and more than a chunk
        const auto r =
            transform_laws(transform, vocabulary, {.widest = testing::unless_sanitized<std::size_t>(140'000, 0)});
        BOOST_TEST(r.kept(), r);
    }
}

BOOST_AUTO_TEST_CASE(the_librarys_transforms_keep_them) {
    for (float value : {0.0f, 0.3f, 1.0f, 2.0f}) keeps(transform::temperature{value});
    for (std::size_t k : {0u, 1u, 3u, 9u}) keeps(transform::top_k{k});
    for (float p : {0.1f, 0.6f, 1.0f}) keeps(transform::top_p{p});
    for (float p : {0.0f, 0.3f, 1.0f}) keeps(transform::min_p{p});
    keeps(transform::penalties{1.5f, 0.4f, 0.2f});
    keeps(transform::penalties{0.5f, -0.4f, -0.2f});
    keeps(transform::bias{{{0, 2.0f}, {3, -std::numeric_limits<float>::infinity()}}});
    keeps(transform::mask([](std::span<float> logits, const prefix& before) {
        logits[static_cast<std::size_t>(before.tokens().back())] = -std::numeric_limits<float>::infinity();
    }));
}

BOOST_AUTO_TEST_CASE(settings_that_the_transform_refuses_are_refused) {
    BOOST_CHECK_THROW(transform_laws(transform::temperature{-1}), error);
}

/// Divides by a spread that may be zero.
struct standardises {
    void operator()(std::span<float> logits, const prefix&) const {
        const float spread = logits[1] - logits[0];
        for (float& logit : logits) logit /= spread;
    }
};

/// Gives every token a floor.
struct lifts {
    void operator()(std::span<float> logits, const prefix&) const {
        for (float& logit : logits) logit = std::max(logit, -50.0f);
    }
};

/// Adds what it left over the last time.
struct carries_over {
    mutable float left = 0;
    void operator()(std::span<float> logits, const prefix&) const {
        std::swap(left, logits[0]);
        logits[0] = std::min(logits[0], 0.0f);
    }
};

/// A repetition penalty on all that was ever in front of it.
struct forgets_nothing {
    mutable std::vector<token> seen;
    void operator()(std::span<float> logits, const prefix& before) const {
        if (before.size() > seen.size()) seen.assign(before.tokens().begin(), before.tokens().end());
        for (token t : seen) logits[static_cast<std::size_t>(t)] -= 1;
    }
};

struct on_by_default {
    bool on = true;
    bool active() const { return on; }
    void operator()(std::span<float>, const prefix&) const {}
};

BOOST_AUTO_TEST_CASE(every_law_is_broken_by_a_wrong_transform) {
    every_law::watch all;
    all.holds(transform_laws(transform::top_k{2}));
    all.breaks(transform_laws(standardises{}), "no NaN and no +infinity comes in");
    all.breaks(transform_laws(lifts{}), "removed tokens stay removed");
    all.breaks(transform_laws(carries_over{}), "equal rows and prefixes, equal results");
    all.breaks(transform_laws(forgets_nothing{}), "speculative tokens leave no trace");
    all.breaks(transform_laws(wrong_transforms::bans_by_a_short_set<256>),
               "few tokens of a wide row, as in a narrow one");
    all.breaks(transform_laws(on_by_default{}), "the default is off");
}

BOOST_AUTO_TEST_SUITE_END()
