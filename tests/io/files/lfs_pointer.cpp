#include "augur/io/files/lfs_pointer.hpp"

#include <augur/io/files/gguf.hpp>
#include <augur/io/files/json.hpp>
#include <augur/io/files/safetensors.hpp>
#include <boost/test/unit_test.hpp>
#include <string>

#include "io/files.hpp"

BOOST_AUTO_TEST_SUITE(io_lfs_pointer)

using namespace augur;
using namespace augur::testing;

namespace {

const std::string first = "version https://git-lfs.github.com/spec/v1\n";
const std::string object = "oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\n";

}  // namespace

BOOST_AUTO_TEST_CASE(a_pointer_says_what_it_stands_for) {
    const std::string text = first + object + "size 538090408\n";
    const auto found = io::find_lfs_pointer(text);
    BOOST_REQUIRE(found.has_value());
    BOOST_TEST(found->size == 538090408u);
    BOOST_TEST(found->object == object.substr(4, object.size() - 5));
    for (const std::string& same :
         {first + object + "size 7", first + "ext-0-foo sha256:ab\n" + object + "size 7\n",
          std::string("version https://git-lfs.github.com/spec/v1\r\noid sha256:ab\r\nsize 7\r\n"),
          std::string("version https://hawser.github.com/spec/v1\noid sha256:ab\nsize 7\n")}) {
        BOOST_TEST_CONTEXT(same) {
            BOOST_REQUIRE(io::find_lfs_pointer(same).has_value());
            BOOST_TEST(io::find_lfs_pointer(same)->size == 7u);
        }
    }
}

BOOST_AUTO_TEST_CASE(other_texts_are_none) {
    for (const std::string& other :
         {std::string(), std::string("version https://git-lfs.github.com/"), first, first + object, first + "size 7\n",
          first + object + "size seven\n", first + object + "size -7\n", first + object + "size 99999999999999999999\n",
          "What is\n" + first + object + "size 7\n", first + object + "size 7\n" + std::string(1024, 'x')}) {
        BOOST_TEST_CONTEXT(other) {
            BOOST_TEST(!io::find_lfs_pointer(other).has_value());
        }
    }
    std::string longest = first + object + "size 7\n";
    longest.resize(io::longest_lfs_pointer, ' ');
    BOOST_TEST(io::find_lfs_pointer(longest).has_value());
    BOOST_TEST(!io::find_lfs_pointer(longest + ' ').has_value());
}

BOOST_AUTO_TEST_CASE(whatever_is_opened_says_that_it_is_one) {
    const temporary_directory folder;
    const std::string text = first + object + "size 538090408\n";
    const auto says_so = says({"is a Git LFS pointer to an object of 538090408 bytes", "git lfs pull"});
    BOOST_CHECK_EXCEPTION(io::gguf_file(write_file(folder / "model.gguf", text)), error, says_so);
    BOOST_CHECK_EXCEPTION(io::read_json(write_file(folder / "tokenizer.json", text)), error, says_so);
    BOOST_CHECK_EXCEPTION(io::safetensors_folder(write_file(folder / "heads.safetensors", text)), error, says_so);
    write_file(folder / "config.json", "{}");
    write_file(folder / "model.safetensors", text);
    BOOST_CHECK_EXCEPTION(io::safetensors_folder(folder.path()), error, says_so);
    std::filesystem::remove(folder / "model.safetensors");
    write_file(folder / "model.safetensors.index.json", R"({"weight_map": {"a": "one.safetensors"}})");
    write_file(folder / "one.safetensors", text);
    BOOST_CHECK_EXCEPTION(io::safetensors_folder(folder.path()), error, says_so);
    BOOST_TEST(io::read_text(write_file(folder / "a.txt", first), 100) == first);
}

BOOST_AUTO_TEST_SUITE_END()
