#include "augur/train/checkpoint.hpp"

#include <boost/test/unit_test.hpp>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "augur/train/draft_heads.hpp"
#include "augur/train/learner.hpp"
#include "train/files.hpp"
#include "train/gradients.hpp"
#include "train/refuses.hpp"
#include "train/teacher.hpp"

BOOST_AUTO_TEST_SUITE(train_checkpoint)
using namespace augur;
using namespace augur::train;
using testing::ending;
using testing::linear_teacher;
using testing::says;

const state_identity whose{"0123456789abcdef", 6, 5, 9};

checkpoint<float> some_checkpoint(float number = 1) {
    checkpoint<float> kept;
    kept.options = {.norm = norm_kind::layer,
                    .epsilon = 1e-6,
                    .learn_norm = false,
                    .scale = scale_kind::per_class,
                    .update = update_kind::output,
                    .rank = 3,
                    .weight_norm = true,
                    .bias = true,
                    .seed = 12};
    kept.tokens = {4, 2, 7};
    kept.values = vector<float>::LinSpaced(5, 0, number);
    kept.first = -kept.values;
    kept.second = 2 * kept.values;
    kept.steps = 17;
    kept.dropped = 3;
    kept.waiting = 5;
    kept.served = 40;
    kept.rewards.drawn = 11;
    kept.rewards.above = true;
    kept.rewards.acceptance = 0.625;
    kept.rewards.baseline = 0.5;
    return kept;
}
bool equal(const checkpoint<float>& a, const checkpoint<float>& b) {
    return a.options == b.options && a.tokens == b.tokens && a.values == b.values && a.first == b.first &&
           a.second == b.second && a.steps == b.steps && a.dropped == b.dropped && a.waiting == b.waiting &&
           a.rewards.drawn == b.rewards.drawn && a.rewards.acceptance == b.rewards.acceptance &&
           a.rewards.baseline == b.rewards.baseline && a.served == b.served && a.rewards.above == b.rewards.above;
}
BOOST_AUTO_TEST_CASE(what_was_kept_is_found_again) {
    const testing::scratch_folder folder;
    checkpoint_file::save(some_checkpoint(), folder / "c", whose);
    BOOST_TEST(equal(checkpoint_file::load<float>(folder / "c", whose), some_checkpoint()));
    checkpoint_file::save(some_checkpoint(2), folder / "c", whose);
    BOOST_TEST(equal(checkpoint_file::load<float>(folder / "c", whose), some_checkpoint(2)));
    BOOST_TEST(folder.files() == 1U);
}

BOOST_AUTO_TEST_CASE(a_full_disk_or_a_kill_at_any_byte_leaves_the_old_one) {
    const testing::scratch_folder folder;
    checkpoint_file::save(some_checkpoint(), folder / "c", whose);
    const std::size_t size = testing::content_of(folder / "c").size();
    for (std::size_t limit = 0; limit < size; limit += 7) {
        for (const bool killed : {false, true}) {
            const ending found = testing::limited(
                limit, killed, [&] { checkpoint_file::save(some_checkpoint(2), folder / "c", whose); });
            BOOST_TEST((found == (killed ? ending::killed : ending::refused)));
            BOOST_TEST(equal(checkpoint_file::load<float>(folder / "c", whose), some_checkpoint()));
        }
    }
    BOOST_TEST((testing::limited(size, true, [&] { checkpoint_file::save(some_checkpoint(2), folder / "c", whose); }) ==
                ending::done));
    BOOST_TEST(equal(checkpoint_file::load<float>(folder / "c", whose), some_checkpoint(2)));
}

BOOST_AUTO_TEST_CASE(one_of_another_model_or_depth_is_refused_with_both_values) {
    const testing::scratch_folder folder;
    checkpoint_file::save(some_checkpoint(), folder / "c", whose);
    const auto refused = [&](const state_identity& here, const char* what) {
        BOOST_CHECK_EXCEPTION(checkpoint_file::load<float>(folder / "c", here), error,
                              [&](auto& e) { return says(e, what); });
    };
    refused({"another", 6, 5, 9}, "the model '0123456789abcdef', but here it is 'another'");
    refused({"0123456789abcdef", 7, 5, 9}, "after layer 6, but here it is 7");
    refused({"0123456789abcdef", 6, 8, 9}, "a size of 5, but here it is 8");
    refused({"0123456789abcdef", 6, 5, 8}, "a vocabulary of 9, but here it is 8");
    BOOST_CHECK_EXCEPTION(checkpoint_file::load<double>(folder / "c", whose), error,
                          [](auto& e) { return says(e, "its parameters have 4 bytes, but here they have 8"); });
    testing::write(folder / "d", "GGUF and something else, which is no checkpoint");
    BOOST_CHECK_THROW(checkpoint_file::load<float>(folder / "d", whose), error);
}

BOOST_AUTO_TEST_CASE(damage_is_noticed) {
    const testing::scratch_folder folder;
    checkpoint_file::save(some_checkpoint(), folder / "c", whose);
    const std::string whole = testing::content_of(folder / "c");
    for (std::size_t i = 0; i < whole.size(); ++i) {
        std::string damaged = whole;
        damaged[i] = static_cast<char>(damaged[i] ^ 32);
        testing::write(folder / "c", damaged);
        BOOST_CHECK_THROW(checkpoint_file::load<float>(folder / "c", whose), error);
        testing::write(folder / "c", whole.substr(0, i));
        BOOST_CHECK_THROW(checkpoint_file::load<float>(folder / "c", whose), error);
    }
    using kept = checkpoint<float>;
    for (const auto numbers : {&kept::values, &kept::first, &kept::second}) {
        kept broken = some_checkpoint();
        (broken.*numbers)[2] = std::numeric_limits<float>::quiet_NaN();
        checkpoint_file::save(broken, folder / "c", whose);
        BOOST_CHECK_EXCEPTION(checkpoint_file::load<float>(folder / "c", whose), error,
                              [](auto& e) { return says(e, "it holds a NaN or an infinity"); });
    }
}

BOOST_AUTO_TEST_CASE(a_head_of_another_kind_is_refused) {
    const linear_teacher teacher;
    const head_options own{.rank = 4};
    const auto head = teacher.head(own);
    checkpoint<float> kept;
    kept.options = own;
    kept.values = kept.first = kept.second = head.values();
    kept.check(head);
    const auto refused = [&](auto&& change, const char* what) {
        checkpoint<float> other = kept;
        change(other);
        BOOST_CHECK_EXCEPTION(other.check(head, "c"), error, [&](auto& e) { return says(e, what); });
    };
    refused([](auto& c) { c.options.rank = 5; }, "rank 5, but here it is 4");
    refused([](auto& c) { c.tokens = {1}; }, "tokens: 1, but here it is 0");
    refused([](auto& c) { c.second.conservativeResize(3); }, "numbers: 3, but here it is");
    kept.options.seed = 99;
    kept.check(head);
    using small_head = state_head<dense_weight_matrix<float>>;
    const auto pruned = [](const std::vector<token>& tokens) {
        return small_head(dense_weight_matrix<float>(std::vector<float>(6, 1), 2, 3),
                          {.layer = 1, .vocabulary_size = 9, .tokens = tokens}, {.rank = 1});
    };
    checkpoint<float> few;
    few.options = {.rank = 1};
    few.tokens = {4, 2};
    few.values = few.first = few.second = pruned({4, 2}).values();
    few.check(pruned({4, 2}));
    BOOST_CHECK_EXCEPTION(few.check(pruned({4, 3})), error, [](auto& e) { return says(e, "the token 2"); });
}

BOOST_AUTO_TEST_CASE(draft_heads_have_files_of_their_own) {
    const testing::scratch_folder folder;
    const std::vector<float> W(9 * 5, 0.5F);
    const auto embed = [](token, std::span<float>) {};
    draft_heads heads(dense_weight_matrix<float>(W, 9, 5), {.vocabulary_size = 9}, {.heads = 2, .see_tokens = true},
                      embed);
    checkpoint<float, heads_options> kept;
    kept.options = heads.options();
    kept.values = kept.first = kept.second = vector<float>::LinSpaced(heads.values().size(), 0, 1);
    kept.steps = 5;
    checkpoint_file::save(kept, folder / "h", whose);
    const auto read = checkpoint_file::load<float, heads_options>(folder / "h", whose);
    BOOST_TEST((read.options == kept.options));
    BOOST_TEST(read.values == kept.values);
    BOOST_TEST(read.steps == 5U);
    read.check(heads);
    BOOST_CHECK_EXCEPTION(checkpoint_file::load<float>(folder / "h", whose), error,
                          [](auto& e) { return says(e, "it is no checkpoint of augur"); });
    checkpoint_file::save(some_checkpoint(), folder / "c", whose);
    BOOST_CHECK_EXCEPTION((checkpoint_file::load<float, heads_options>(folder / "c", whose)), error,
                          [](auto& e) { return says(e, "it is no checkpoint of draft heads of augur"); });
    const auto refused = [&](auto&& change, const char* what) {
        auto other = kept;
        change(other);
        BOOST_CHECK_EXCEPTION(other.check(heads, "h"), error, [&](auto& e) { return says(e, what); });
    };
    refused([](auto& c) { c.options.heads = 3; }, "h: its head has heads: 3, but here it is 2");
    refused([](auto& c) { c.values.conservativeResize(3); }, "numbers: 3, but here it is");
}

BOOST_AUTO_TEST_SUITE_END()
