#include "augur/io/files/gguf_split.hpp"

#include <augur/io/files/fingerprint.hpp>
#include <augur/io/files/gguf.hpp>
#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "io/files.hpp"
#include "io/gguf_writer.hpp"

BOOST_AUTO_TEST_SUITE(io_gguf_split)

using namespace augur;
using namespace augur::testing;

namespace {

/// Part `number` of a model of three parts and four tensors. Change it before it is written.
struct part {
    std::uint16_t number, count = 3;
    std::int32_t tensors = 4;
    std::vector<std::string> names;
    std::string model = "one";
    bool says_tensors = true;
    std::uint32_t version = 3;

    void write(const std::filesystem::path& path) const {
        gguf_writer out;
        out.version = version;
        if (!model.empty()) out.set("general.name", model);
        if (number == 0) out.set("llama.block_count", std::uint32_t{2});
        out.set("split.no", number).set("split.count", count);
        if (says_tensors) out.set("split.tensors.count", tensors);
        float value = 0;
        for (const std::string& name : names) {
            out.tensor(name, {2}, std::vector<float>{value, static_cast<float>(number)});
            ++value;
        }
        out.write(path);
    }
};

struct split_model {
    temporary_directory folder;
    std::vector<part> parts = sound();

    static std::vector<part> sound() {
        return {{.number = 0, .names = {"a", "b"}}, {.number = 1, .names = {"c"}}, {.number = 2, .names = {"d"}}};
    }

    static std::string name_of(std::size_t number) {
        return "model-0000" + std::to_string(number + 1) + "-of-00003.gguf";
    }
    /// Opens the part of this number, all having been written.
    io::gguf_file open(std::size_t named = 0) const {
        for (std::size_t i = 0; i < parts.size(); ++i) parts[i].write(folder / name_of(i));
        return io::gguf_file(folder / name_of(named));
    }
    void refuse(const std::vector<std::string>& fragments, std::size_t named = 0) const {
        BOOST_CHECK_EXCEPTION(open(named), error, says(fragments));
    }
};

}  // namespace

BOOST_AUTO_TEST_CASE(any_part_names_the_whole_model) {
    const split_model split;
    gguf_writer whole;
    for (const part& each : split.parts) {
        float value = 0;
        for (const std::string& name : each.names) {
            whole.tensor(name, {2}, std::vector<float>{value, static_cast<float>(each.number)});
            ++value;
        }
    }
    const auto expected = io::fingerprint(io::gguf_file(whole.write(split.folder / "whole.gguf")));
    for (const std::size_t named : {0u, 1u, 2u}) {
        io::gguf_file opened = split.open(named);
        const io::gguf_file moved = std::move(opened);
        BOOST_TEST(moved.tensors().size() == 4u);
        BOOST_TEST(io::fingerprint(moved) == expected);
        BOOST_TEST(moved.get<std::uint32_t>("llama.block_count") == 2u);
        BOOST_TEST(moved.path() == split.folder / split_model::name_of(named));
        float values[2] = {};
        moved.tensor("d").read(0, std::as_writable_bytes(std::span(values)));
        BOOST_TEST(values[1] == 2.0f);
    }
}

BOOST_AUTO_TEST_CASE(a_missing_part_is_named) {
    split_model split;
    split.open();
    std::filesystem::remove(split.folder / split_model::name_of(2));
    for (const std::size_t named : {0u, 1u}) {
        BOOST_CHECK_EXCEPTION(io::gguf_file(split.folder / split_model::name_of(named)), error,
                              says({"part 3 of the 3", "is missing", split_model::name_of(2)}));
    }
    std::filesystem::rename(split.folder / split_model::name_of(0), split.folder / "model.gguf");
    BOOST_CHECK_EXCEPTION(io::gguf_file(split.folder / "model.gguf"), error,
                          says({"part 1 of the 3", "must end in -00001-of-00003.gguf"}));
}

BOOST_AUTO_TEST_CASE(parts_that_contradict_each_other_are_refused) {
    split_model split;
    split.parts[1].number = 2;
    split.refuse({split_model::name_of(1), "split.no is 2", "part 2 of 3", "must be 1"});
    split.refuse({split_model::name_of(1), "part 3 of the 3", "must end in -00003-of-00003.gguf"}, 1);
    split.parts = split_model::sound();
    split.parts[1].count = 4;
    split.refuse({split_model::name_of(1), "split.count is 4", "must be 3"});
    split.parts = split_model::sound();
    split.parts[2].tensors = 5;
    split.refuse({split_model::name_of(2), "split.tensors.count is 5", "must be 4"});
    split.parts = split_model::sound();
    for (part& each : split.parts) each.tensors = 5;
    split.refuse({"split.tensors.count is 5", "3 parts hold 4 tensors"});
    split.parts = split_model::sound();
    split.parts[2].names = {"d", "e"};
    split.refuse({"split.tensors.count is 4", "3 parts hold 5 tensors"});
    split.parts = split_model::sound();
    split.parts[2].names = {"a"};
    split.refuse({"more than one tensor is called 'a'"});
    split.parts = split_model::sound();
    split.parts[1].model = "another";
    split.refuse({split_model::name_of(1), "'general.name' is not what it is in", split_model::name_of(0)});
    split.parts[0].model = "";
    split.refuse({split_model::name_of(1), "'general.name' is not what it is in"});
    for (part& each : split.parts) each.model = "";
    split.parts[0].model = "one";  // as llama.cpp's tools write them
    BOOST_TEST(split.open().tensors().size() == 4u);
    split.parts = split_model::sound();
    split.parts[2].version = 2;
    split.refuse({split_model::name_of(2), "GGUF version 2", split_model::name_of(0), "of 3"});
    split.parts = split_model::sound();
    split.parts[0].says_tensors = false;
    split.refuse({"no metadata key 'split.tensors.count'"});
    split.parts = split_model::sound();
    split.parts[0].number = 3;
    split.refuse({"split.no is 3 and split.count 3"});
    split.parts = split_model::sound();
    for (part& each : split.parts) each.tensors = -4;
    split.refuse({"split.tensors.count", "-4"});
}

BOOST_AUTO_TEST_CASE(a_whole_file_may_say_that_it_is_whole) {
    const temporary_directory folder;
    for (const std::uint16_t count : {std::uint16_t{0}, std::uint16_t{1}}) {
        const part only{.number = 0, .count = count, .tensors = 1, .names = {"a"}};
        only.write(folder / "model.gguf");
        BOOST_TEST(io::gguf_file(folder / "model.gguf").tensors().size() == 1u);
    }
}

BOOST_AUTO_TEST_SUITE_END()
