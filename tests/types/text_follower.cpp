#include "augur/types/text_follower.hpp"

#include <boost/test/unit_test.hpp>
#include <cstddef>
#include <random>
#include <utility>
#include <vector>

using namespace augur;

BOOST_AUTO_TEST_SUITE(types_text_follower)

namespace {

using tokens = std::vector<token>;

std::size_t literally(std::span<const token> a, std::span<const token> b) {
    std::size_t same = 0;
    while (same < a.size() && same < b.size() && a[same] == b[same]) ++same;
    return same;
}

/// A copy of a prefix's tokens that is cut and appended to as caches are.
struct follower {
    tokens held;
    text_follower by;

    std::size_t shared(const prefix_tokens& of) { return by.shared(held, of); }
    void cut(std::size_t length) {
        held.resize(length);
        by.cut(length);
    }
};

}  // namespace

BOOST_AUTO_TEST_CASE(blocks_and_tails_are_compared) {
    for (std::size_t length : {0u, 1u, 63u, 64u, 65u, 128u, 200u}) {
        const tokens a(length, 7);
        BOOST_TEST(shared_length(a, a) == length);
        for (std::size_t at = 0; at < length; ++at) {
            tokens b = a;
            b[at] = 8;
            BOOST_TEST(shared_length(a, b) == at);
            BOOST_TEST(shared_length(std::span(b).first(at), a) == at);
        }
    }
}

BOOST_AUTO_TEST_CASE(whatever_happens_it_says_what_a_whole_comparison_says) {
    std::mt19937 random(3);
    const auto any = [&] { return static_cast<token>(random() % 2); };
    for (std::size_t run = 0; run < 200; ++run) {
        prefix one(tokens{any(), any()}), other(tokens{any(), any(), any()});
        follower copy;
        for (std::size_t i = 0; i < 60; ++i) {
            prefix& of = random() % 8 == 0 ? other : one;
            const auto look = [&](const prefix_tokens& seen) {
                BOOST_TEST_REQUIRE(copy.shared(seen) == literally(copy.held, seen));
                if (random() % 2 == 0) copy.cut(literally(copy.held, seen));
                if (literally(copy.held, seen) == copy.held.size() && random() % 2 == 0)
                    copy.held.assign(seen.begin(), seen.end());
            };
            switch (random() % 6) {
                case 0:
                    of.push(any());
                    break;
                case 1:
                    if (!of.generated().empty()) of.pop();  // nobody should, and it is seen
                    break;
                case 2: {
                    speculative_suffix suffix(of);
                    suffix.push(any());
                    look(of.tokens());
                    speculative_suffix inner(of);
                    inner.push(any());
                    look(of.tokens());
                    break;
                }
                case 3:
                    look(of.tokens().first(random() % (of.size() + 1)));
                    break;
                case 4:
                    if (random() % 4 == 0) of = prefix(one);
                    break;
                default:
                    copy.held.push_back(any());
            }
            look(of.tokens());
        }
    }
}

BOOST_AUTO_TEST_CASE(settled_tokens_are_not_read_twice) {
    prefix text(tokens{1, 2, 3});
    follower copy{{1, 2, 3}, {}};
    BOOST_TEST(copy.shared(text.tokens()) == 3u);
    copy.held[0] = 9;  // which a cache never does: it shows what is read
    text.push(4);
    copy.held.push_back(4);
    BOOST_TEST(copy.shared(text.tokens()) == 4u);
    BOOST_TEST(copy.shared(text.tokens().first(2)) == 2u);
    BOOST_TEST(copy.shared(text.tokens()) == 4u);  // having looked at a part forgets nothing
    const prefix moved = std::move(text);
    BOOST_TEST(copy.shared(moved.tokens()) == 4u);
    const prefix copied = moved;
    BOOST_TEST(copy.shared(copied.tokens()) == 0u);
    BOOST_TEST(copy.shared(tokens{1, 2}) == 0u);
    BOOST_TEST(copy.shared(moved.tokens()) == 0u);
}

BOOST_AUTO_TEST_CASE(speculative_tokens_are_read_each_time) {
    prefix text(tokens{1, 2});
    follower copy{{1, 2, 3}, {}};
    {
        const speculative_suffix suffix(text, tokens{3});
        BOOST_TEST(text.settled() == 2u);
        BOOST_TEST(copy.shared(text.tokens()) == 3u);
    }
    const speculative_suffix suffix(text, tokens{4});
    BOOST_TEST(copy.shared(text.tokens()) == 2u);
}

BOOST_AUTO_TEST_SUITE_END()
