#include "augur/train/options_format.hpp"

#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "train/files.hpp"
#include "train/refuses.hpp"

BOOST_AUTO_TEST_SUITE(train_options_format)
using namespace augur;
using namespace augur::train;
using testing::refuses;

template <class Options>
Options there_and_back(const Options& from) {
    const testing::scratch_folder folder;
    using format = options_format<Options>;
    state_writer out(folder / "o", format::kind, 1);
    format::write(out, from);
    out.commit();
    state_reader in(folder / "o", format::kind, 1);
    const Options read = format::read(in);
    in.finish();  // all that was written was read
    return read;
}

/// One that differs from the default in one thing.
template <class Options>
Options with(void (*change)(Options&)) {
    Options options{};
    change(options);
    return options;
}

struct difference {
    head_options there;
    std::string what;
};
std::vector<difference> different_exits() {
    using o = head_options;
    return {{with<o>([](o& h) { h.norm = norm_kind::layer; }), "the norm layer, but here it is rms"},
            {with<o>([](o& h) { h.epsilon = 0.5; }), "epsilon 0.5, but here it is 1e-05"},
            {with<o>([](o& h) { h.learn_norm = false; }), "learn_norm 0, but here it is 1"},
            {with<o>([](o& h) { h.scale = scale_kind::none; }), "the scale none, but here it is global"},
            {with<o>([](o& h) { h.update = update_kind::none; }), "the update none, but here it is state"},
            {with<o>([](o& h) { h.rank = 5; }), "rank 5, but here it is 16"},
            {with<o>([](o& h) { h.layer_rank = 4; }), "layer_rank 4, but here it is 0"},
            {with<o>([](o& h) { h.weight_norm = true; }), "weight_norm 1, but here it is 0"},
            {with<o>([](o& h) { h.bias = true; }), "bias 1, but here it is 0"},
            {with<o>([](o& h) { h.clamp = 1.5; }), "clamp 1.5, but here it is 0"}};
}

BOOST_AUTO_TEST_CASE(every_option_is_kept) {
    for (const auto& each : different_exits()) BOOST_TEST((there_and_back(each.there) == each.there), each.what);
    const head_options seeded{.seed = 1234567890123456789ULL};
    BOOST_TEST((there_and_back(seeded) == seeded));
    for (const heads_options& each : {heads_options{.heads = 7}, heads_options{.heads = 2, .see_tokens = true}}) {
        BOOST_TEST((there_and_back(each) == each));
    }
}

BOOST_AUTO_TEST_CASE(each_difference_is_named_with_both_values) {
    for (const auto& each : different_exits()) {
        BOOST_TEST(
            refuses([&] { options_format<head_options>::check(each.there, {}, "f"); }, "f: its head has " + each.what),
            each.what);
    }
    const auto check = [](const heads_options& there) { options_format<heads_options>::check(there, {}, "f"); };
    BOOST_TEST(refuses([&] { check({.heads = 3}); }, "f: its head has heads: 3, but here it is 4"));
    BOOST_TEST(refuses([&] { check({.see_tokens = true}); }, "see_tokens 1, but here it is 0"));
}

BOOST_AUTO_TEST_CASE(what_is_equal_or_of_the_past_is_taken) {
    options_format<head_options>::check({.seed = 4}, {}, "f");
    options_format<heads_options>::check({.heads = 4}, {}, "f");
}

BOOST_AUTO_TEST_CASE(a_choice_that_there_is_not_is_refused) {
    const char* const names[]{"the norm is 3; it is at most 2",
                              "the scale is 3; it is at most 2",
                              "the update is 4; it is at most 3",
                              "learn_norm is 2; it is at most 1",
                              "weight_norm is 2",
                              "bias is 2"};
    const std::uint32_t beyond[]{3, 3, 4, 2, 2, 2};
    for (std::size_t wrong = 0; wrong < 6; ++wrong) {
        const testing::scratch_folder folder;
        state_writer out(folder / "o", "checkpoint", 1);
        for (std::size_t i = 0; i < 6; ++i) out.put(i == wrong ? beyond[i] : std::uint32_t{0});
        out.commit();
        state_reader in(folder / "o", "checkpoint", 1);
        BOOST_TEST(refuses([&] { options_format<head_options>::read(in); }, names[wrong]), names[wrong]);
    }
}

BOOST_AUTO_TEST_SUITE_END()
