#include <augur/accept/coupled.hpp>
#include <augur/accept/exact.hpp>
#include <augur/accept/rejection_sampling.hpp>
#include <augur/draft/draft_model.hpp>
#include <augur/policy/tree_static.hpp>
#include <augur/scheme/cascade.hpp>
#include <augur/scheme/speculator.hpp>
#include <augur/switching/rolling_entropy.hpp>
#include <augur/switching/step.hpp>
#include <boost/test/unit_test.hpp>
#include <utility>

#include "backend/device/rows_on_device.hpp"
#include "switching/codecs.hpp"
#include "testing/fault_schemes.hpp"

using namespace augur;
using testing::fault_choice;

BOOST_AUTO_TEST_SUITE(testing_fault_engines)

/// Verifies where its rows are, which is a place that throws.
struct verifies_there : rows_on_device::model {
    using rows_on_device::model::model;

    template <class Inner>
    struct failing_verifier {
        Inner inner;
        explicit operator bool() const { return static_cast<bool>(inner); }
        bool takes_trees() const { return inner.takes_trees(); }
        void judge(const auto& asked, const prefix& before, const judged_proposal& proposed, std::size_t round,
                   verdict& out) {
            testing::fault_places.call("judge", [&] { inner.judge(asked, before, proposed, round, out); });
        }
        auto rows(const sequence_type& s) {
            return testing::fault_places.call("rows", [&] { return inner.rows(s); });
        }
        double entropy_nats(const sequence_type& s, std::size_t row) {
            return testing::fault_places.call("entropy_nats", [&] { return inner.entropy_nats(s, row); });
        }
    };
    template <class Criterion>
    auto make_device_verifier(const Criterion& criterion, const transform::settings& chosen,
                              const random::philox_chooser& by) const {
        return failing_verifier<decltype(rows_on_device::model::make_device_verifier(criterion, chosen, by))>{
            rows_on_device::model::make_device_verifier(criterion, chosen, by)};
    }
};

BOOST_AUTO_TEST_CASE(verifying_on_a_device_keeps_them) {
    const auto target = testing::failing(verifies_there(testing::fault_rows(1)), testing::fault_places);
    static_assert(VerifiesOnDevice<std::remove_cvref_t<decltype(target)>, accept::rejection_sampling>);
    const auto small = testing::failing_chains(2);
    const policy::fixed_length two{2};
    testing::fault_tally tally;
    tally.keeps("exact", speculate(small, target, two, accept::exact{}), fault_choice(0));
    tally.keeps("sampled", speculate(small, target, two, accept::rejection_sampling{}), fault_choice(1));
    const policy::tree_static wide(topology::of_paths({{0}, {1}, {0, 0}, {0, 1}}));
    tally.keeps("trees", speculate(draft::draft_model(small), target, wide, accept::coupled{}), fault_choice(1));
    const auto last = testing::failing_chains(3);
    const scheme::model_link raced{two, accept::coupled{}};
    tally.keeps("inside a cascade", cascaded(small, raced, target, raced, last), fault_choice(1));
    tally.report("device verification", 1000);
}

/// A codec of one byte a token, which may throw.
struct failing_letters {
    testing::letter_codec letters{};
    std::vector<token> encode(std::string_view bytes) const {
        return testing::fault_places.call("encode", [&] { return letters.encode(bytes); });
    }
    std::string bytes_of(token t) const {
        return testing::fault_places.call("bytes_of", [&] { return letters.bytes_of(t); });
    }
};

/// What a text of models that hand each other text came to, however often somebody threw.
template <class Scheme>
std::string handed_text(const Scheme& scheme, const testing::disturbance& by, testing::fault_trial& trial) {
    const typename Scheme::prompt_type from{switching::opening{testing::fault_prompt},
                                            switching::opening{testing::fault_prompt}};
    decode::session<Scheme> s(scheme, from, {}, {.max_tokens = 16}, random::philox_chooser(4));
    testing::fault_listener listener(testing::fault_places, trial.trouble);
    testing::fault_places.arm(by.calls);
    const auto hook = allocations::hook();
    hook.arm(by.first_allocation, by.allocations);
    while (s.finished == finish_reason::running && trial.failures < 9) {
        if (!listener.attempt([&] { decode::step(scheme, s); })) ++trial.failures;
    }
    trial.calls = testing::fault_places.calls();
    trial.allocations = hook.disarm();
    testing::fault_places.disarm();
    std::string all = s.text + ", " + std::string(name_of(s.finished)) + trial.trouble;
    for (const auto& each : testing::tokens_by(scheme, s.writers, s.committed.generated()))
        all += augur::detail::message(' ', each.model, ':', each.id, '/', each.bytes);
    for (const model_statistics& each : s.counts.models) {
        all += augur::detail::message("; ", each.written, " in ", each.passes);
    }
    return all +
           augur::detail::message("; ", s.counts.turns.switches, ' ', s.counts.turns.waited, ' ', s.counts.turns.lost) +
           testing::learned_by(s.policy);
}

BOOST_AUTO_TEST_CASE(models_that_hand_each_other_text_keep_them) {
    const auto model = [](std::uint64_t seed) {
        return testing::failing(testing::hashed_model(8, seed, 3), testing::fault_places);
    };
    const auto small = model(1), large = model(2);
    const failing_letters codec;
    const switching::rolling_entropy turns({.thresholds_bits = {1.5}, .window = 1, .dwell = 1});
    const auto scheme = switched(spoken(small, codec), spoken(large, codec), turns);
    testing::fault_trial sound;
    const std::string expected = handed_text(scheme, {}, sound);
    std::size_t runs = 0;
    const auto same = [&](const testing::disturbance& by) {
        testing::fault_trial trial;
        BOOST_TEST(handed_text(scheme, by, trial) == expected, testing::fault_parts::described(by));
        ++runs;
    };
    const std::size_t stride = testing::unless_sanitized(1, 7);
    for (const std::size_t burst : {1u, 3u}) {
        for (std::size_t i = 0; i < sound.calls; i += stride) {
            for (const bool after : {false, true}) same({.calls = {.first = i, .count = burst, .after = after}});
        }
        for (std::size_t i = 0; i < sound.allocations; i += stride) {
            same({.first_allocation = i, .allocations = burst});
        }
    }
    BOOST_TEST_MESSAGE("text handed over: 1 scheme, " << runs << " decodings");
    BOOST_TEST(runs > testing::unless_sanitized(120u, 15u));
}

/// The laws of every scheme: what the sink and watchers are shown, stops, counts and caches.
BOOST_AUTO_TEST_CASE(so_do_their_sinks_watchers_and_stops) {
    const auto model = [](std::uint64_t seed) {
        return testing::failing(testing::hashed_model(8, seed, 3), testing::fault_places);
    };
    const auto small = model(1), large = model(2);
    const failing_letters codec;
    const switching::rolling_entropy turns({.thresholds_bits = {1.5}, .window = 1, .dwell = 1});
    const switching::opening from{testing::fault_prompt};
    testing::fault_tally tally;
    tally.keeps("letters", switched(spoken(small, codec), spoken(large, codec), turns), fault_choice(1, 12),
                {from, from});
    const std::vector<token> ends{3};
    tally.keeps("end tokens", switched(spoken(small, codec, ends), spoken(large, codec, ends), turns),
                fault_choice(0.7f, 20), {from, from});
    auto stopped = fault_choice(1, 30);
    stopped.chosen.stop.stop_strings = {"aa", "bc", "gf", "hc"};
    tally.keeps("stop strings", switched(spoken(small, codec), spoken(large, codec), turns), stopped, {from, from});
    tally.report("text handed over", 1000);
}

BOOST_AUTO_TEST_SUITE_END()
