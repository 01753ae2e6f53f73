#pragma once
// Several sequences in one on-device loop: a draft and a verdict for each, and one pass of the target for all.

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "augur/backend/device/round.hpp"
#include "augur/backend/device/system.hpp"
#include "augur/decode/device/loop.hpp"
#include "augur/decode/device/loop_drafter.hpp"
#include "augur/decode/device/loop_state.hpp"
#include "augur/decode/device/loop_text.hpp"
#include "augur/detail/host_device.hpp"
#include "augur/transform/pipeline.hpp"
#include "augur/types/error.hpp"
#include "augur/types/token.hpp"

namespace augur::decode::device {

using namespace backend::device;  // what kernels are made of

/// A text, and where its next rows begin: all in the system's memory.
struct text_place {
    const token* text;
    const std::uint32_t* first;
};

/// `size()` sequences of one model, each with a text of its own in the memory of a ControllingSystem:
///   `launch(texts, count)`        launches, and nothing else, the rows of `count` tokens of each text, from its *first
///                                 on; `texts` lies in the system's memory;
///   `logits()`                    where these are, sequence by sequence;
///   `fill(number, text, count)`   keys and values of a sequence's first tokens;
///   `capacity()` of each, `most_rows()` of each in a launch, `vocabulary_size()`, `system()`.
/// Law: rows are those of a ResidentModel with that text. Models: llama::device::resident_group.
template <class M>
concept ResidentGroup = requires(const M& model, const text_place* texts, const token* text, std::size_t count) {
    requires ControllingSystem<std::remove_cvref_t<decltype(model.system())>>;
    { model.size() } -> std::convertible_to<std::size_t>;
    { model.vocabulary_size() } -> std::convertible_to<std::size_t>;
    { model.capacity() } -> std::convertible_to<std::size_t>;
    { model.most_rows() } -> std::convertible_to<std::size_t>;
    model.launch(texts, count);
    model.fill(count, text, count);
    { model.logits() } -> std::same_as<const float*>;
};

/// What is common to the texts of a round. Words that loops and choices look at are named for what they say.
struct group_state {
    std::uint32_t running = 0;  ///< whether any text has another round
    std::uint32_t bucket = 0;   ///< how many rows the target makes of each: as many as the longest draft needs
};

/// Kernel of one thread: what the texts say, together.
template <class State>
struct gather_states {
    static constexpr unsigned threads = warp_size;

    State* const* texts;
    std::size_t count;
    group_state* all;

    static constexpr std::size_t shared_bytes() { return 0; }

    template <class Team>
    AUGUR_KERNEL void operator()(const Team& team) const {
        team.each([&](unsigned thread) {
            if (thread != 0) return;
            group_state now;
            for (std::size_t i = 0; i < count; ++i) {
                if (texts[i]->running == 0) continue;
                now.running = 1;
                if (texts[i]->bucket > now.bucket) now.bucket = texts[i]->bucket;
            }
            *all = now;
        });
    }
};

/// Speculative decoding of several texts at once, which end one by one; a round is one launch of the target, of so
/// many rows of every text as the longest draft needs. Those of texts that have ended are computed and not looked at.
/// Effect, and what is refused: each text's are speculation_loop's with the same seed. Drafters that draft in the
/// target do not compile with it.
template <ResidentGroup Target, class Draft, KernelPolicy Policy, KernelCriterion Criterion>
class speculation_group {
 public:
    using system_type = std::remove_cvref_t<decltype(std::declval<const Target&>().system())>;
    using policy_type = Policy;
    using guarantee = guarantee_on_rows_of<Target, typename Criterion::guarantee>;
    using drafter_type = drafter_in_loop<Draft, Target, Policy, Criterion>;
    using text_type = loop_text<system_type, drafter_type, Policy, Criterion>;
    using state_type = typename text_type::state_type;

    /// Of as many texts as there are drafts, which belong to one each: at most the target's. All models must outlive
    /// it.
    speculation_group(const Target& target, std::span<const Draft> drafts, Policy policy, Criterion criterion,
                      const transform::settings& chosen, std::size_t most_drafted)
        : target_(target), launcher_(target.system()), shared_(target.system(), 1) {
        if (drafts.empty() || drafts.size() > target.size()) {
            augur::detail::fail("a group of ", drafts.size(), " texts, but its target takes 1 to ", target.size());
        }
        const loop_sizes sizes{target.vocabulary_size(), target.capacity(), most_drafted};
        std::vector<state_type*> states;
        std::vector<text_place> places;
        for (const Draft& draft : drafts) {
            check_loop(target, draft, criterion, chosen, most_drafted);
            texts_.emplace_back(target.system(), drafter_type(draft, target, sizes), policy, criterion, chosen, sizes);
            const auto in = texts_.back().view();
            states.push_back(in.state);
            places.push_back({in.text, &in.state->verify_from});
        }
        while (places.size() < target.size()) places.push_back(places.front());  // of no meaning, and not looked at
        states_ = buffer<state_type*, system_type>(target.system(), std::span<state_type* const>(states));
        places_ = buffer<text_place, system_type>(target.system(), std::span<const text_place>(places));
        target.system().clear(shared_.data(), shared_.memory_bytes());
    }

    /// Ends what was left running; then no text has a round.
    void rest() const {
        for (const text_type& each : texts_) each.cancel();
        wait();
        for (const text_type& each : texts_) each.rest();
    }
    /// See speculation_loop::start; while nothing runs.
    void start(std::size_t number, std::span<const token> prompt, std::size_t limit, std::span<const token> stops,
               std::uint64_t seed) const {
        texts_[number].start(prompt, limit, stops, seed);
        target_.fill(number, texts_[number].view().text, prompt.size() - 1);
        gather();
        wait();
    }

    /// See speculation_loop::launch.
    void launch(loop_as how) {
        launcher_.launch(how == loop_as::whole, how != loop_as::launches, &shared_.data()->running,
                         [this] { round(); });
    }
    const std::string& refusal() const { return launcher_.refusal(); }
    void wait() const { target_.system().wait(); }

    std::size_t size() const { return texts_.size(); }
    const text_type& text(std::size_t number) const { return texts_[number]; }
    std::size_t vocabulary_size() const { return target_.vocabulary_size(); }
    std::size_t capacity() const { return target_.capacity(); }
    const Policy& initial_policy() const { return texts_.front().initial_policy(); }

 private:
    void round() const {
        const system_type& on = target_.system();
        for (const text_type& each : texts_) if_running(each, [&] { each.launch_draft(); });
        gather();
        const auto buckets = static_cast<std::uint32_t>(std::bit_width(texts_.front().most_rows()));
        on.choose(&shared_.data()->bucket, buckets, [&](std::uint32_t bucket) {
            const std::size_t rows = std::size_t{1} << bucket;
            target_.launch(places_.data(), rows);
            for (std::size_t i = 0; i < texts_.size(); ++i) {
                const float* const own = target_.logits() + i * rows * vocabulary_size();
                if_running(texts_[i], [&] {
                    texts_[i].launch_verdict(own, rows);
                    texts_[i].launch_commit();
                });
            }
        });
        gather();
    }

    template <class Body>
    void if_running(const text_type& of, const Body& body) const {
        target_.system().choose(&of.view().state->running, 2, [&](std::uint32_t runs) {
            if (runs == 1) body();
        });
    }
    void gather() const {
        target_.system().launch(1, gather_states<state_type>{states_.data(), texts_.size(), shared_.data()});
    }

    const Target& target_;
    loop_launcher<system_type> launcher_;
    std::vector<text_type> texts_;
    buffer<group_state, system_type> shared_;
    buffer<state_type*, system_type> states_;
    buffer<text_place, system_type> places_;
};

template <class Target, class Drafts, class Policy, class Criterion>
speculation_group(const Target&, const Drafts&, Policy, Criterion, const transform::settings&, std::size_t)
    -> speculation_group<Target, typename Drafts::value_type, Policy, Criterion>;

}  // namespace augur::decode::device
