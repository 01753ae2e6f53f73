#include "augur/backend/device/row_masks.hpp"

#include <boost/test/unit_test.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "augur/types/error.hpp"
#include "augur/types/token.hpp"
#include "transform/rows.hpp"

namespace device = augur::backend::device;
using augur::prefix;
using augur::token;
using device::emulated_system;
using device::removed_tokens;

BOOST_AUTO_TEST_SUITE(backend_row_masks)

BOOST_AUTO_TEST_CASE(bits_say_what_is_removed) {
    const auto removes = [](std::size_t id, std::size_t length) { return (id * 7 + length) % 5 < 2; };
    for (const std::size_t vocabulary : {1u, 31u, 32u, 33u, 1000u}) {
        const augur::transform::mask mask = [&](std::span<float> logits, const prefix& before) {
            BOOST_TEST(logits.size() == vocabulary);
            for (std::size_t id = 0; id < logits.size(); ++id) {
                if (removes(id, before.size())) logits[id] = -rows::infinity;
            }
        };
        device::row_masks<emulated_system> masks({}, mask, vocabulary, 4);
        BOOST_TEST(masks.active());
        BOOST_TEST(masks.memory_bytes() == 4 * ((vocabulary + 31) / 32) * sizeof(std::uint32_t));
        prefix text;
        for (int round = 0; round < 2; ++round) {  // what was asked before is forgotten
            for (const std::size_t row : {0u, 1u, 3u}) {
                text.push(0);
                masks.ask(row, text);
            }
            masks.skip(2);
            masks.upload({}, 4);
            const std::size_t words = removed_tokens::words_in(vocabulary);
            for (std::size_t row = 0; row < 4; ++row) {
                const removed_tokens removed{masks.bits() + row * words};
                const std::size_t length = text.size() - (row < 2 ? 2 - row : 0);
                for (std::size_t id = 0; id < vocabulary; ++id) {
                    const bool expected = row == 2 || removes(id, length);
                    BOOST_TEST(removed.contains(id) == expected);
                    BOOST_TEST(masks.allows(row, static_cast<token>(id)) == !expected);
                }
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(without_a_mask_there_is_nothing) {
    const device::row_masks<emulated_system> masks({}, {}, 100, 4);
    BOOST_TEST(!masks.active());
    BOOST_TEST(masks.bits() == nullptr);
    BOOST_TEST(masks.memory_bytes() == 0u);
}

BOOST_AUTO_TEST_CASE(a_mask_that_does_more_is_refused) {
    const augur::transform::mask raises = [](std::span<float> logits, const prefix&) { logits[2] += 1.5f; };
    device::row_masks<emulated_system> masks({}, raises, 100, 4);
    BOOST_CHECK_EXCEPTION(masks.ask(0, prefix(std::vector<token>{4, 4, 4})), augur::error, [](const augur::error& e) {
        return std::string(e.what()) ==
               "settings.mask may only remove tokens, as -infinity, but after 3 tokens it made the logit of token 2 "
               "1.5 where it was 0";
    });
}

BOOST_AUTO_TEST_CASE(a_mask_that_looks_at_logits_is_refused) {
    const auto asked = [](float from, bool above) {
        const augur::transform::mask looks = [=](std::span<float> logits, const prefix&) {
            for (float& logit : logits) {
                if ((logit > from) == above) logit = -rows::infinity;
            }
        };
        device::row_masks<emulated_system> masks({}, looks, 100, 4);
        try {
            masks.ask(0, prefix(std::vector<token>{4, 4, 4}));
        } catch (const augur::error& refused) {
            return std::string(refused.what());
        }
        return std::string();
    };
    BOOST_TEST(asked(50.5f, true) ==
               "settings.mask must not look at logits where rows stay on a device, but after 3 tokens it removes token "
               "50 with logit 51 and not with logit 0");
    BOOST_TEST(asked(99.5f, false) ==
               "settings.mask must not look at logits where rows stay on a device, but after 3 tokens it leaves token "
               "99 with logit 100 and not with logit 0");
}

BOOST_AUTO_TEST_SUITE_END()
