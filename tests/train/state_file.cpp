#include "augur/train/state_file.hpp"

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "train/files.hpp"
#include "train/refuses.hpp"

BOOST_AUTO_TEST_SUITE(train_state_file)
using namespace augur;
using namespace augur::train;
using testing::content_of;
using testing::ending;
using testing::says;

const state_identity whose{"0123456789abcdef", 6, 5, 9};

void save(const std::filesystem::path& path, float with) {
    state_writer out(path, "test", 3);
    out.put(whose);
    out.put(std::uint32_t{17});
    out.text("words");
    const std::vector<float> numbers{with, 2, 3};
    out.array(std::span(numbers));
    out.commit();
}
struct content {
    state_identity identity;
    std::uint32_t number = 0;
    std::string words;
    std::vector<float> numbers;
};
content load(const std::filesystem::path& path) {
    state_reader in(path, "test", 3);
    content loaded;
    loaded.identity = in.identity();
    loaded.number = in.get<std::uint32_t>("a number");
    loaded.words = in.text(8, "words");
    in.array(loaded.numbers, 10, "numbers");
    in.finish();
    return loaded;
}
BOOST_AUTO_TEST_CASE(what_was_written_is_read) {
    const testing::scratch_folder folder;
    save(folder / "a", 1.5F);
    const content read = load(folder / "a");
    BOOST_TEST((read.identity == whose));
    BOOST_TEST(read.number == 17U);
    BOOST_TEST(read.words == "words");
    BOOST_TEST(read.numbers == (std::vector<float>{1.5F, 2, 3}), boost::test_tools::per_element());
    BOOST_TEST(folder.files() == 1U);
}

BOOST_AUTO_TEST_CASE(a_choice_is_one_of_those_there_are) {
    const testing::scratch_folder folder;
    for (const std::uint32_t chosen : {0U, 2U, 3U, 4U}) {
        state_writer out(folder / "a", "test", 3);
        out.put(chosen);
        out.commit();
        state_reader in(folder / "a", "test", 3);
        if (chosen <= 3) {
            BOOST_TEST(in.choice("a choice", 3) == chosen);
        } else {
            BOOST_TEST(testing::refuses([&] { in.choice("a choice", 3); }, "a choice is 4; it is at most 3"));
        }
    }
}

BOOST_AUTO_TEST_CASE(a_file_keeps_the_permissions_of_the_one_that_it_replaces) {
    namespace fs = std::filesystem;
    const testing::scratch_folder folder;
    const auto path = folder / "a";
    save(path, 1);
    for (const fs::perms mode : {fs::perms{0600}, fs::perms{0640}, fs::perms{0666}}) {
        fs::permissions(path, mode);
        save(path, 2);
        BOOST_TEST((fs::status(path).permissions() == mode));
    }
}

BOOST_AUTO_TEST_CASE(whatever_ends_the_writing_the_old_file_stays) {
    const testing::scratch_folder folder;
    const auto path = folder / "a";
    save(path, 1);
    const std::string before = content_of(path);
    for (std::size_t limit = 0; limit < before.size(); ++limit) {
        for (const bool killed : {false, true}) {
            const ending found = testing::limited(limit, killed, [&] { save(path, 2); });
            BOOST_TEST((found == (killed ? ending::killed : ending::refused)));
            BOOST_TEST(content_of(path) == before);
        }
    }
    BOOST_TEST(folder.files() == 1 + before.size());  // what killed processes left; the others removed it
    BOOST_TEST((testing::limited(before.size(), true, [&] { save(path, 2); }) == ending::done));
    BOOST_TEST(load(path).numbers[0] == 2);
}

/// Which files are unfinished, as somebody knows who creates them.
struct told_files : unfinished_files {
    int create(const std::filesystem::path& part) override {
        const int file = create_file(part);
        if (file < 0) return file;
        now.push_back(part);
        ++begun;
        return file;
    }
    void ends(const std::filesystem::path& part) override {
        BOOST_TEST(!std::filesystem::exists(part));
        BOOST_TEST(std::erase(now, part) == 1U);
    }
    std::vector<std::filesystem::path> now;
    int begun = 0;
};
BOOST_AUTO_TEST_CASE(an_unfinished_file_is_told_of_until_it_is_there_no_longer) {
    const testing::scratch_folder folder;
    told_files seen;
    {
        state_writer out(folder / "a", "test", 3, &seen);
        BOOST_TEST(seen.now.size() == 1U);
        out.commit();
        BOOST_TEST(seen.now.empty());
    }
    { const state_writer out(folder / "a", "test", 3, &seen); }
    BOOST_TEST(seen.now.empty());
    std::filesystem::create_directory(folder / "b");  // which it cannot replace
    state_writer fails(folder / "b", "test", 3, &seen);
    BOOST_CHECK_THROW(fails.commit(), error);
    BOOST_TEST(seen.now.empty());
    BOOST_CHECK_THROW(state_writer(folder / "absent/a", "test", 3, &seen), error);
    BOOST_TEST(seen.begun == 3);
    BOOST_TEST(folder.files() == 2U);
}

BOOST_AUTO_TEST_CASE(every_damaged_byte_and_every_cut_is_noticed) {
    const testing::scratch_folder folder;
    save(folder / "a", 1);
    const std::string whole = content_of(folder / "a");
    for (std::size_t i = 0; i < whole.size(); ++i) {
        std::string damaged = whole;
        damaged[i] = static_cast<char>(damaged[i] ^ 4);
        testing::write(folder / "b", damaged);
        BOOST_CHECK_THROW(load(folder / "b"), error);
        testing::write(folder / "b", whole.substr(0, i));
        BOOST_CHECK_EXCEPTION(load(folder / "b"), error, [](auto& e) { return says(e, "it is cut short"); });
    }
    testing::write(folder / "b", whole + "x");
    BOOST_CHECK_EXCEPTION(load(folder / "b"), error, [](auto& e) { return says(e, "bytes, but ends after"); });
}

BOOST_AUTO_TEST_CASE(what_is_something_else_is_named) {
    const testing::scratch_folder folder;
    save(folder / "a", 1);
    BOOST_CHECK_EXCEPTION(state_reader(folder / "a", "other", 3), error,
                          [](auto& e) { return says(e, "it is no other"); });
    BOOST_CHECK_EXCEPTION(state_reader(folder / "a", "test", 4), error,
                          [](auto& e) { return says(e, "its version is 3; this program knows 4"); });
    BOOST_CHECK_THROW(state_reader(folder / "absent", "test", 3), error);
    BOOST_CHECK_THROW(save(folder / "absent/a", 1), error);
    const auto refused = [](state_identity here, const char* what) {
        BOOST_CHECK_EXCEPTION(whose.check(here, "f"), error, [&](auto& e) { return says(e, what); });
    };
    whose.check(whose, "f");
    refused({"0123456789abcdef", 7, 5, 9}, "f: it is of hidden states after layer 6, but here it is 7");
    refused({"0123456789abcdef", 6, 4, 9}, "hidden states of a size of 5, but here it is 4");
    refused({"0123456789abcdef", 6, 5, 8}, "a vocabulary of 9, but here it is 8");
    refused({"f", 6, 5, 9}, "the model '0123456789abcdef', but here it is 'f'");
}

BOOST_AUTO_TEST_CASE(what_is_no_file_is_not_replaced_by_one) {
    const testing::scratch_folder folder;
    BOOST_TEST_REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
    std::filesystem::create_symlink(folder / "pipe", folder / "link");
    for (const char* name : {"pipe", "link"}) {
        BOOST_CHECK_EXCEPTION(save(folder / name, 1), error, [&](const error& e) {
            return says(e, "/" + std::string(name) + ": it is not a regular file");
        });
    }
    BOOST_TEST(std::filesystem::is_fifo(folder / "pipe"));
    BOOST_TEST(std::filesystem::is_symlink(folder / "link"));
    BOOST_TEST(folder.files() == 2U);
}

BOOST_AUTO_TEST_CASE(links_are_followed) {
    const testing::scratch_folder folder;
    save(folder / "a", 1);
    std::filesystem::create_symlink(folder / "a", folder / "b");
    save(folder / "b", 2);
    BOOST_TEST(std::filesystem::is_symlink(folder / "b"));
    BOOST_TEST(load(folder / "a").numbers[0] == 2);
}

BOOST_AUTO_TEST_SUITE_END()
