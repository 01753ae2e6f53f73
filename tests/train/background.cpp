// A thread that learns while another decodes; also run under ThreadSanitizer (threads.train).

#include <boost/test/unit_test.hpp>
#include <chrono>
#include <limits>
#include <thread>
#include <vector>

#include "augur/train/trainer.hpp"
#include "train/teacher.hpp"

BOOST_AUTO_TEST_SUITE(train_background)
using namespace augur;
using namespace augur::train;
using testing::linear_teacher;

trainer_options beside() {
    trainer_options chosen;
    chosen.replay = {.capacity = 256, .top = 4};
    chosen.batch = 8;
    chosen.least = 8;
    chosen.every = 1;
    chosen.share = std::numeric_limits<double>::infinity();
    chosen.background = true;
    chosen.steps.rate = 0.01;
    return chosen;
}

BOOST_AUTO_TEST_CASE(weights_are_constant_in_a_round_and_change_between_rounds) {
    const linear_teacher teacher;
    for (const bool weight_norm : {false, true}) {
        auto head = teacher.head({.update = update_kind::output, .rank = 4, .weight_norm = weight_norm});
        trainer online(head, beside());
        std::vector<float> first(linear_teacher::classes), again(first), before(first);
        std::size_t changes = 0, n = 0;
        const auto shown = teacher.state(99999);
        for (; changes < 20 && n < 200000; ++n) {
            head.row(shown, first);
            changes += n > 0 && first != before ? 1 : 0;
            const auto hidden = teacher.state(n), logits = teacher.logits(hidden);
            for (int look = 0; look < 3; ++look) {  // a round
                std::this_thread::yield();
                head.row(shown, again);
                BOOST_REQUIRE(again == first);
            }
            before = first;
            online.add({hidden, logits, 0, n % 2 == 0 ? accept_bit::accepted : accept_bit::rejected, n});
            online.committed(1, 1);
        }
        BOOST_TEST(changes == 20U);
        BOOST_CHECK_THROW(online.update(), error);
        const auto kept = online.state();  // while the thread is at work
        BOOST_TEST(kept.steps >= 20U);
        online.restore(kept);
        BOOST_TEST(head.values() == kept.values);
    }
}

BOOST_AUTO_TEST_CASE(what_ends_the_thread_reaches_who_decodes) {
    const linear_teacher teacher;
    auto head = teacher.head();
    auto chosen = beside();
    const auto decoder = std::this_thread::get_id();
    chosen.clock = [decoder]() -> double {
        if (std::this_thread::get_id() != decoder) throw error("the clock is broken");
        return 0;
    };
    trainer online(head, chosen);
    bool thrown = false;
    for (std::size_t n = 0; !thrown && n < 200000; ++n) {
        const auto hidden = teacher.state(n), logits = teacher.logits(hidden);
        online.add({hidden, logits, 0, accept_bit::accepted, n});
        try {
            online.committed(1, 1);
        } catch (const error& problem) {
            thrown = std::string(problem.what()) == "the clock is broken";
        }
    }
    BOOST_TEST(thrown);
    online.committed(1, 1);  // once
}

BOOST_AUTO_TEST_CASE(it_ends_without_having_learned) {
    const linear_teacher teacher;
    auto head = teacher.head();
    const trainer online(head, beside());
    BOOST_TEST(online.report().updates == 0U);
}

BOOST_AUTO_TEST_SUITE_END()
