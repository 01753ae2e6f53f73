#include "augur/io/files/taken_tensors.hpp"

#include <augur/io/files/gguf.hpp>
#include <augur/io/files/safetensors.hpp>
#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "io/files.hpp"
#include "io/gguf_writer.hpp"

BOOST_AUTO_TEST_SUITE(io_taken_tensors)

using namespace augur;
using namespace augur::testing;

BOOST_AUTO_TEST_CASE(what_was_not_taken_is_named) {
    gguf_writer out;
    for (const char* name : {"a", "b", "c", "d", "e", "f", "model.layers.0.self_attn.rotary_emb.inv_freq"}) {
        out.tensor(name, {1}, std::vector<float>{1});
    }
    const temporary_directory folder;
    const io::gguf_file file(out.write(folder / "model.gguf"));
    io::taken_tensors taken;
    const auto left = [&](const std::vector<std::string>& fragments) {
        BOOST_CHECK_EXCEPTION(taken.check_none_left(file), error, says(fragments));
    };
    left({"model.gguf: 6 tensors are not understood", "without them", "'a', 'b', 'c', 'd', ..."});
    taken.take("a");
    taken.take("not there");
    left({"5 tensors", "'b', 'c', 'd', 'e', ..."});
    for (const char* name : {"b", "c", "d", "d"}) taken.take(name);
    left({"2 tensors are", ": 'e', 'f'"});
    taken.take("f");
    left({"1 tensor is not understood", "without it", ": 'e'"});
    taken.take("e");
    BOOST_CHECK_NO_THROW(taken.check_none_left(file));
}

BOOST_AUTO_TEST_CASE(a_tracked_file_takes_what_is_read_and_not_what_is_looked_for) {
    gguf_writer out;
    for (const char* name : {"a", "b", "c"}) out.tensor(name, {1}, std::vector<float>{1});
    const temporary_directory folder;
    const io::gguf_file file(out.write(folder / "model.gguf"));
    const io::tracked_file tracked(file);
    BOOST_TEST(tracked.find("a")->name == "a");
    BOOST_TEST(tracked.find("d") == nullptr);
    BOOST_TEST(tracked.tensor("b").name == "b");
    BOOST_CHECK_EXCEPTION(tracked.check_all_read(), error, says({"2 tensors", ": 'a', 'c'"}));
    tracked.pass_over("a");
    BOOST_TEST(tracked.tensor("c").element_count() == 1u);
    BOOST_CHECK_NO_THROW(tracked.check_all_read());
}

BOOST_AUTO_TEST_CASE(tensors_of_other_dtypes_are_left_too) {
    const temporary_directory folder;
    byte_writer image;
    image.string(R"({"w.qweight":{"dtype":"I32","shape":[1],"data_offsets":[0,4]},)"
                 R"("model.rotary_emb.inv_freq":{"dtype":"F64","shape":[1],"data_offsets":[4,12]}})");
    image.number(std::uint32_t{0}).number(std::uint64_t{0});
    const io::safetensors_folder file(write_file(folder / "model.safetensors", image.bytes()));
    io::taken_tensors taken;
    BOOST_CHECK_EXCEPTION(taken.check_none_left(file), error, says({"1 tensor is not understood", "'w.qweight'"}));
    taken.take("w.qweight");
    BOOST_CHECK_NO_THROW(taken.check_none_left(file));
}

BOOST_AUTO_TEST_SUITE_END()
