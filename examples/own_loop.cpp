// Your own event loop: rounds of several texts that wait for an engine which answers when it likes, and may be
// cancelled.
//
// decode::step runs a round at once. open_round is the same round, stopped wherever it needs a model: it says which
// pass it waits for, and goes on with the rows. What is cancelled in the middle has not happened, and can be begun
// again.

#include <augur/augur.hpp>
#include <augur/testing/models.hpp>
#include <deque>
#include <iostream>
#include <memory>
#include <vector>

using engine = augur::testing::function_model;
using awaited = augur::model::pass_work<engine>;

/// Stands for a remote engine: passes are handed in, and are done some time later, the last first.
class far_engine {
 public:
    explicit far_engine(const engine& runs) : runs_(&runs) {}

    void submit(awaited& pass) { queue_.push_back(&pass); }
    void withdraw(const awaited* pass) { std::erase(queue_, pass); }
    /// Does one pass of those that wait, and answers it.
    void work() {
        awaited& pass = *queue_.back();
        queue_.pop_back();
        const auto& asked = pass.asked_pass();
        pass.answer(runs_->extend(*asked.sequence, asked.tokens, asked.wanted()));
    }
    bool idle() const { return queue_.empty(); }

 private:
    const engine* runs_;
    std::deque<awaited*> queue_;
};

int main() {
    const engine target = augur::testing::hashed_model(50, 1), small = augur::testing::hashed_model(50, 2);
    const auto scheme =
        augur::speculate(small, target, augur::policy::fixed_length{3}, augur::accept::rejection_sampling{});
    using scheme_type = decltype(scheme);
    using chooser = augur::random::philox_chooser;
    using session = augur::decode::session<std::remove_const_t<scheme_type>, chooser>;
    using round = augur::decode::open_round<std::remove_const_t<scheme_type>, chooser>;

    augur::decode::options chosen;
    chosen.stop.max_tokens = 40;
    std::deque<session> texts;
    for (augur::token first = 0; first < 3; ++first) {
        const std::vector<augur::token> prompt{first, 7, 9};
        texts.emplace_back(scheme, prompt, chosen.sampling, chosen.stop, chooser(chosen.seed));
    }

    far_engine far_target(target), far_small(small);
    const augur::decode::step_options each{};
    std::vector<std::unique_ptr<round>> rounds(texts.size());
    const auto hand_in = [&](round& open) {
        if (awaited* pass = awaited::of(open.wanted(), target)) far_target.submit(*pass);
        if (awaited* pass = awaited::of(open.wanted(), small)) far_small.submit(*pass);
    };
    std::size_t cancelled = 0;
    for (std::size_t turn = 0;; ++turn) {
        bool running = false;
        for (std::size_t i = 0; i < texts.size(); ++i) {
            if (rounds[i] && rounds[i]->done()) rounds[i].reset();
            if (!rounds[i] && texts[i].finished == augur::finish_reason::running) {
                rounds[i] = std::make_unique<round>(scheme, texts[i], each);
                hand_in(*rounds[i]);
            }
            running = running || rounds[i];
        }
        if (!running) break;
        if (turn % 10 == 9 && rounds[0] && !rounds[0]->done()) {  // a user went away, and came back
            far_target.withdraw(awaited::of(rounds[0]->wanted(), target));
            far_small.withdraw(awaited::of(rounds[0]->wanted(), small));
            rounds[0].reset();
            ++cancelled;
        }
        for (far_engine* far : {&far_small, &far_target}) {
            if (!far->idle()) far->work();
        }
        for (auto& open : rounds) {
            if (!open || open->done() || !open->wanted()->done()) continue;
            open->resume();
            if (!open->done()) hand_in(*open);
        }
    }

    bool same = true;
    for (std::size_t i = 0; i < texts.size(); ++i) {
        const std::vector<augur::token> prompt{static_cast<augur::token>(i), 7, 9};
        const auto alone = augur::decode::generate(scheme, prompt, chosen);
        const auto written = texts[i].committed.generated();
        same = same && std::equal(written.begin(), written.end(), alone.tokens.begin(), alone.tokens.end());
        std::cout << "text " << i << ": " << written.size() << " tokens in " << texts[i].counts.rounds() << " rounds\n";
    }
    std::cout << cancelled << " rounds cancelled; " << (same ? "every text is" : "a text is not")
              << " the one decoded alone\n";
    return same && cancelled > 0 ? 0 : 1;
}
