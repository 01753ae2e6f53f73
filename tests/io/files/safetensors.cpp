#include "augur/io/files/safetensors.hpp"

#include <augur/io/files/dequantize.hpp>
#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "io/files.hpp"

using namespace augur::io;
using augur::testing::byte_writer;
using augur::testing::says;
using augur::testing::temporary_directory;
using augur::testing::write_file;

static_assert(std::is_nothrow_move_constructible_v<safetensors_folder> &&
              !std::is_copy_constructible_v<safetensors_folder>);

BOOST_AUTO_TEST_SUITE(io_safetensors)

namespace {

/// A file with this header and so many bytes of data, counting up.
std::vector<std::byte> image(std::string_view header, std::size_t data_size) {
    byte_writer out;
    out.string(header);
    for (std::size_t i = 0; i < data_size; ++i) out.number(static_cast<std::uint8_t>(i));
    return out.bytes();
}

/// The header's entry of one tensor, without braces around it.
std::string entry(const std::string& name, const std::string& dtype, const std::string& shape,
                  const std::string& offsets) {
    return '"' + name + R"(":{"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets + '}';
}

void refuses(const std::vector<std::byte>& file, std::vector<std::string> fragments) {
    BOOST_CHECK_EXCEPTION(parse_safetensors(file, "m.safetensors"), augur::error, says(std::move(fragments)));
}
void refuses_header(const std::string& header, std::vector<std::string> fragments) {
    refuses(image(header, 16), std::move(fragments));
}
/// One tensor "w" over 16 bytes of data.
void refuses_one(const std::string& dtype, const std::string& shape, const std::string& offsets,
                 std::vector<std::string> fragments) {
    refuses_header('{' + entry("w", dtype, shape, offsets) + '}', std::move(fragments));
}

const std::string two_tensors = '{' + entry("b", "BF16", "[2,2]", "[8,16]") + ',' + entry("a", "F32", "[2]", "[0,8]") +
                                R"(,"__metadata__":{"format":"pt"}})";

/// A sound sharded folder: a and b in one shard, c in the other.
struct sharded_folder : temporary_directory {
    sharded_folder() {
        write_file(path() / "config.json", R"({"hidden_size": 8})");
        write_file(path() / "one.safetensors", image(two_tensors, 16));
        write_file(path() / "two.safetensors", image('{' + entry("c", "F16", "[3]", "[0,6]") + '}', 6));
        index(R"({"a":"one.safetensors","b":"one.safetensors","c":"two.safetensors"})");
    }
    void index(const std::string& weight_map) const {
        write_file(path() / "model.safetensors.index.json",
                   R"({"metadata":{"total_size":22},"weight_map":)" + weight_map + '}');
    }
    void refuses_to_open(std::vector<std::string> fragments) const {
        BOOST_CHECK_EXCEPTION(safetensors_folder{path()}, augur::error, says(std::move(fragments)));
    }
};

}  // namespace

BOOST_AUTO_TEST_CASE(tensors_come_in_the_order_of_their_data) {
    const auto file = image(two_tensors, 16);
    const auto tensors = parse_safetensors(file, "x").tensors;
    BOOST_TEST_REQUIRE(tensors.size() == 2u);
    BOOST_TEST(tensors[0].name == "a");
    BOOST_TEST((tensors[0].type == tensor_type::f32));
    BOOST_TEST(tensors[0].shape == std::vector<std::uint64_t>({2}));
    BOOST_TEST(tensors[0].bytes.size() == 8u);
    BOOST_TEST((tensors[1].type == tensor_type::bf16));
    BOOST_TEST(tensors[1].rows() == 2u);
    BOOST_TEST((tensors[1].bytes[0] == std::byte{8}));
    BOOST_TEST(tensors[1].bytes.data() + tensors[1].bytes.size() == file.data() + file.size());
}

BOOST_AUTO_TEST_CASE(a_file_of_the_reference_writer) {
    const safetensors_folder model(std::filesystem::path(AUGUR_TEST_DATA) / "io" / "reference.safetensors");
    const auto& embedding = model.tensor("embed");
    BOOST_TEST(embedding.shape == std::vector<std::uint64_t>({3, 2}));
    std::vector<float> values(6);
    dequantize(embedding.type, embedding.bytes, values);
    BOOST_TEST(values == std::vector<float>({0, 1, 2, 3, 4, 5}));
    const auto& norm = model.tensor("norm");
    values.resize(5);
    dequantize(norm.type, norm.bytes, values);
    BOOST_TEST(values == std::vector<float>({0, 1, 2, 3, 4}));
    BOOST_TEST(model.tensors().size() == 2u);
    BOOST_TEST(model.unread().size() == 2u);
    BOOST_CHECK_EXCEPTION(model.tensor("ids"), augur::error, says({"'ids' is stored as I64"}));
    BOOST_CHECK_EXCEPTION(model.tensor("mask"), augur::error, says({"'mask' is stored as BOOL"}));
}

BOOST_AUTO_TEST_CASE(small_sound_files) {
    BOOST_TEST(parse_safetensors(image("{}", 0), "x").tensors.empty());
    BOOST_TEST(parse_safetensors(image(R"({"__metadata__":{}}     )", 0), "x").tensors.empty());
    const auto scalar = image('{' + entry("s", "F16", "[]", "[0,2]") + '}', 2);
    BOOST_TEST(parse_safetensors(scalar, "x").tensors[0].shape == std::vector<std::uint64_t>({1}));
}

BOOST_AUTO_TEST_CASE(every_truncation_and_extension_is_an_error) {
    auto file = image(two_tensors, 16);
    for (std::size_t size = 0; size < file.size(); ++size) {
        BOOST_CHECK_THROW(parse_safetensors(std::span(file).first(size), "x"), augur::error);
    }
    file.push_back(std::byte{0});
    refuses(file, {"take 16 of 17 bytes"});
}

BOOST_AUTO_TEST_CASE(the_header_fits_the_file_and_the_format) {
    refuses(byte_writer().number(std::uint64_t{100'000'001}).bytes(), {"100000001", "100000000"});
    refuses(byte_writer().number(~std::uint64_t{0}).bytes(), {"18446744073709551615"});
    refuses(byte_writer().number(std::uint64_t{99'999'999}).number(0).bytes(), {"needs 99999999 bytes, 4 are left"});
    refuses(byte_writer().number(std::uint32_t{2}).bytes(), {"length of the header", "needs 8 bytes, 4 are left"});
}

BOOST_AUTO_TEST_CASE(the_header_is_json_of_the_schema) {
    refuses_header("", {"parse error"});
    refuses_header("{", {"parse error"});
    refuses_header("{} {}", {"parse error"});
    const std::string sound = '{' + entry("w", "F32", "[4]", "[0,16]") + '}';
    refuses_header(sound + std::string(3, '\0'), {"no JSON", "a zero byte"});
    refuses_header(sound + '\0' + sound, {"no JSON", "a zero byte"});
    refuses_header("\xEF\xBB\xBF" + sound, {"no JSON", "byte order mark"});
    refuses_header("{\"\xff\":1}", {"parse error"});
    refuses_header("[]", {"an array where the header's object must be"});
    refuses_header("1", {"the number 1 where the header's object"});
    refuses_header("\"x\"", {"the string 'x' where the header's object"});
    refuses_header(R"({"w":null})", {"null where a tensor's object"});
    refuses_header(R"({"w":[]})", {"an array where a tensor's object"});
    refuses_header(R"({"w":{}})", {"'w'", "without all of dtype, shape and data_offsets"});
    refuses_header(R"({"w":{"dtype":"F32","shape":[4]}})", {"'w'", "without all of"});
    refuses_header(R"({"w":{"dtype":["F32"]}})", {"'w'", "an array where dtype"});
    refuses_header(R"({"w":{"dtype":true}})", {"'w'", "true where dtype"});
    refuses_header(R"({"w":{"shape":"4"}})", {"'w'", "the string '4' where"});
    refuses_header(R"({"w":{"shape":{}}})", {"'w'", "an object where"});
    refuses_header(R"({"w":{"shape":[[4]]}})", {"'w'", "an array where a dimension"});
    refuses_header(R"({"w":{"shape":["4"]}})", {"'w'", "the string '4' where a dimension"});
    refuses_header(R"({"w":{"dtype":"F32","dtype":"F32"}})", {"'w'", "a second field 'dtype'"});
    refuses_header(R"({"w":{"stride":[1]}})", {"'w'", "unknown field 'stride'"});
    refuses_header(R"({"__metadata__":{"a":1}})", {"the number 1 where a string of metadata"});
    refuses_header(R"({"__metadata__":{"a":{}}})", {"an object where a string of metadata"});
    refuses_header(R"({"__metadata__":{},"__metadata__":{}})", {"second __metadata__"});
    refuses_header(std::string(1'000'000, '['), {"an array where the header's object"});
    refuses_header(R"({"w":)" + std::string(1'000'000, '['), {"an array where a tensor's object"});
}

BOOST_AUTO_TEST_CASE(shapes) {
    refuses_one("F32", "[4194305,4194305,211106198978564]", "[0,16]", {"'w'", "4194305", "2^63-1"});
    refuses_one("F32", "[4611686018427387905]", "[0,4]", {"'w'", "2^64 bits", "4611686018427387905"});
    refuses_one("F32", "[0]", "[0,0]", {"'w'", "dimension of 0 in {0}"});
    refuses_one("F32", "[4,0]", "[0,16]", {"dimension of 0 in {4, 0}"});
    refuses_one("F32", "[-4]", "[0,16]", {"'w'", "negative number -4"});
    refuses_one("F32", "[4.0]", "[0,16]", {"'w'", "number '4.0'"});
    refuses_one("F32", "[1e1]", "[0,16]", {"'w'", "number '1e1'"});
    refuses_one("F32", "[18446744073709551616]", "[0,16]", {"'w'", "18446744073709551616"});
    refuses_one("F32", "[5]", "[0,16]", {"'w'", "16 bytes", "{5}", "20"});
    refuses_one("F32", "[3]", "[0,16]", {"'w'", "16 bytes", "{3}", "12"});
    refuses_one("F16", "[2,3]", "[0,16]", {"'w'", "{2, 3} of F16", "12"});
}

BOOST_AUTO_TEST_CASE(offsets) {
    refuses_one("F32", "[4]", "[16,0]", {"'w'", "[16, 0]", "16 bytes of data"});
    refuses_one("F32", "[4]", "[8,4]", {"'w'", "[8, 4]"});
    refuses_one("F32", "[4]", "[-16,0]", {"'w'", "negative number -16"});
    refuses_one("F32", "[5]", "[0,20]", {"'w'", "[0, 20]", "16 bytes of data"});
    refuses_one("F32", "[4]", "[18446744073709551612,12]", {"[18446744073709551612, 12]"});
    refuses_one("F32", "[4]", "[18446744073709551600,18446744073709551615]", {"18446744073709551615"});
    refuses_one("F32", "[4]", "[0]", {"'w'", "1 data_offsets"});
    refuses_one("F32", "[4]", "[0,16,32]", {"'w'", "3 data_offsets"});
}

BOOST_AUTO_TEST_CASE(dtypes_that_are_not_read_are_checked_all_the_same) {
    const auto all = '{' + entry("ids", "I64", "[1]", "[0,8]") + ',' + entry("w", "F32", "[1]", "[8,12]") + ',' +
                     entry("mask", "BOOL", "[2]", "[12,14]") + ',' + entry("fp4", "F4", "[2,2]", "[14,16]") + '}';
    const auto contents = parse_safetensors(image(all, 16), "x");
    BOOST_TEST_REQUIRE(contents.tensors.size() == 1u);
    BOOST_TEST(contents.tensors[0].name == "w");
    BOOST_TEST_REQUIRE(contents.unread.size() == 3u);
    BOOST_TEST(contents.unread[0].name == "ids");
    BOOST_TEST(contents.unread[0].type == "I64");
    BOOST_TEST(contents.unread[2].name == "fp4");
    refuses_one("I64", "[3]", "[0,16]", {"'w' has 16 bytes", "{3} of I64 takes 24"});
    refuses_one("F8_E4M3", "[15]", "[0,16]", {"'w' has 16 bytes", "{15} of F8_E4M3 takes 15"});
    refuses_one("F6_E2M3", "[3]", "[0,16]", {"'w'", "{3}", "F6_E2M3 takes 18 bits", "no whole bytes"});
    refuses_one("U8", "[32]", "[0,32]", {"'w'", "[0, 32]", "16 bytes of data"});
    refuses_one("BOOL", "[16,0]", "[0,16]", {"'w'", "dimension of 0 in {16, 0}"});
    refuses_one("F64", "[1]", "[8,16]", {"'w' begins at 8, after a hole"});
}

BOOST_AUTO_TEST_CASE(dtypes_that_the_format_does_not_define) {
    for (const std::string dtype : {"f32", "F31", "F8_E4M3 ", "\\u001b", ""}) {
        const auto printed = dtype == "\\u001b" ? "\\x1b" : dtype;
        refuses_one(dtype, "[4]", "[0,16]", {"'w' has dtype '" + printed + "', which the format does not define"});
    }
}

BOOST_AUTO_TEST_CASE(only_asking_for_an_unread_tensor_is_an_error) {
    const temporary_directory folder;
    const auto header = '{' + entry("w", "F32", "[2]", "[0,8]") + ',' + entry("ids", "I64", "[1]", "[8,16]") + '}';
    const safetensors_folder model(write_file(folder / "m.safetensors", image(header, 16)));
    BOOST_TEST(model.tensors().size() == 1u);
    BOOST_TEST(model.unread().size() == 1u);
    BOOST_TEST(model.find("w") == &model.tensors()[0]);
    BOOST_CHECK_EXCEPTION(model.tensor("ids"), augur::error, says({"m.safetensors", "'ids' is stored as I64"}));
    BOOST_CHECK_EXCEPTION(model.find("ids"), augur::error, says({"m.safetensors", "'ids' is stored as I64"}));
    BOOST_CHECK_EXCEPTION(model.tensor("id"), augur::error, says({"none of its 2 tensors", "'id'"}));
}

BOOST_AUTO_TEST_CASE(the_data_is_covered_once) {
    const auto two = [](const std::string& first, const std::string& second) {
        return '{' + entry("a", "F32", "[2]", first) + ',' + entry("b", "F32", "[2]", second) + '}';
    };
    refuses_header(two("[0,8]", "[4,12]"), {"'b' begins at 4, inside", "up to 8"});
    refuses_header(two("[0,8]", "[0,8]"), {"begins at 0, inside"});
    refuses(image(two("[0,8]", "[12,20]"), 20), {"'b' begins at 12, after a hole", "up to 8"});
    refuses_header('{' + entry("a", "F32", "[2]", "[8,16]") + '}', {"'a' begins at 8, after a hole", "up to 0"});
    refuses_header('{' + entry("a", "F32", "[2]", "[0,8]") + '}', {"take 8 of 16 bytes"});
    refuses_header("{}", {"take 0 of 16 bytes"});
}

BOOST_AUTO_TEST_CASE(a_single_file_has_the_configuration_beside_it) {
    const temporary_directory folder;
    const auto path = write_file(folder / "heads.safetensors", image(two_tensors, 16));
    const safetensors_folder alone(path);
    BOOST_TEST(alone.config_path() == folder / "config.json");
    BOOST_CHECK_EXCEPTION(alone.config(), augur::error,
                          says({path.string() + ": no configuration", (folder / "config.json").string()}));
    write_file(folder / "config.json", R"({"hidden_size": 8})");
    BOOST_TEST(safetensors_folder(path).config().at("hidden_size") == 8);
    write_file(folder / "config.json", "{}");
    BOOST_TEST(safetensors_folder(path).config() == nlohmann::json::object());
    write_file(folder / "config.json", "null");
    BOOST_CHECK_EXCEPTION(safetensors_folder{path}, augur::error, says({"config.json", "not a JSON object"}));
}

BOOST_AUTO_TEST_CASE(a_single_file) {
    const temporary_directory folder;
    const safetensors_folder model(write_file(folder / "heads.safetensors", image(two_tensors, 16)));
    BOOST_TEST(model.path() == folder / "heads.safetensors");
    BOOST_TEST(model.tensors().size() == 2u);
    BOOST_TEST(model.find("c") == nullptr);
    BOOST_CHECK_EXCEPTION(model.tensor("c"), augur::error, says({"heads.safetensors", "'c'", "2 tensors"}));
    const auto twins = '{' + entry("a", "F32", "[2]", "[0,8]") + ',' + entry("a", "F32", "[2]", "[8,16]") + '}';
    const auto path = write_file(folder / "twins.safetensors", image(twins, 16));
    BOOST_CHECK_EXCEPTION(safetensors_folder{path}, augur::error,
                          says({"twins", "more than one tensor is called 'a'"}));
    BOOST_CHECK_EXCEPTION(safetensors_folder(folder / "absent"), augur::error, says({"absent", "No such file"}));
}

BOOST_AUTO_TEST_CASE(a_shard_that_is_cut_after_opening_is_an_error_that_names_it) {
    const sharded_folder folder;
    const safetensors_folder model(folder.path());
    BOOST_TEST((model.tensor("c").read() == std::vector<std::byte>{std::byte{0}, std::byte{1}, std::byte{2},
                                                                   std::byte{3}, std::byte{4}, std::byte{5}}));
    std::filesystem::resize_file(folder / "two.safetensors", 20);
    BOOST_CHECK_EXCEPTION(model.tensor("c").read(), augur::error, says({(folder / "two.safetensors").string(), "cut"}));
    BOOST_TEST(model.tensor("a").read().size() == 8u);
}

BOOST_AUTO_TEST_CASE(a_shard_has_a_name_that_can_be_printed) {
    const sharded_folder folder;
    folder.index(R"({"a":"\u001b[2Jone.safetensors"})");
    folder.refuses_to_open({"'\\x1b[2Jone.safetensors'", "not a file name"});
    folder.index(R"({"a":"\u009b2Jone.safetensors"})");
    folder.refuses_to_open({"'\\xc2\\x9b2Jone", "not a file name"});
}

BOOST_AUTO_TEST_CASE(safetensors_are_known_by_their_path) {
    const sharded_folder folder;
    BOOST_TEST(augur::io::holds_safetensors(folder.path()));
    BOOST_TEST(augur::io::holds_safetensors(folder / "one.safetensors"));
    BOOST_TEST(augur::io::holds_safetensors(folder / "absent.safetensors"));
    BOOST_TEST(!augur::io::holds_safetensors(folder / "config.json"));
    BOOST_TEST(!augur::io::holds_safetensors(folder / "absent"));
}

BOOST_AUTO_TEST_CASE(a_folder_with_one_file) {
    const temporary_directory folder;
    BOOST_CHECK_EXCEPTION(safetensors_folder{folder.path()}, augur::error, says({"config.json", "No such file"}));
    write_file(folder / "config.json", "[1]");
    BOOST_CHECK_EXCEPTION(safetensors_folder{folder.path()}, augur::error, says({"config.json", "not a JSON object"}));
    write_file(folder / "config.json", R"({"model_type":"llama"})");
    BOOST_CHECK_EXCEPTION(safetensors_folder{folder.path()}, augur::error,
                          says({"neither model.safetensors nor model.safetensors.index.json"}));
    write_file(folder / "model.safetensors", image(two_tensors, 16));
    const safetensors_folder model(folder.path());
    BOOST_TEST(model.config().at("model_type") == "llama");
    BOOST_TEST(model.tensor("b").bytes.size() == 8u);
}

BOOST_FIXTURE_TEST_CASE(a_folder_with_shards, sharded_folder) {
    safetensors_folder first(path());
    const auto* tensor = first.find("c");
    BOOST_TEST_REQUIRE(tensor != nullptr);
    const safetensors_folder model(std::move(first));
    BOOST_TEST(model.find("c") == tensor);
    BOOST_TEST((tensor->bytes[5] == std::byte{5}));
    BOOST_TEST(model.tensors().size() == 3u);
    BOOST_TEST(model.config().at("hidden_size") == 8);
}

BOOST_FIXTURE_TEST_CASE(shards_that_are_missing_or_lack_their_tensors, sharded_folder) {
    index(R"({"a":"one.safetensors","d":"three.safetensors"})");
    refuses_to_open({"three.safetensors", "No such file"});
    index(R"({"a":"two.safetensors"})");
    refuses_to_open({"two.safetensors", "'a'", "not among the 1 tensors"});
    write_file(path() / "ids.safetensors", image('{' + entry("ids", "I64", "[1]", "[0,8]") + '}', 8));
    index(R"({"a":"one.safetensors","ids":"ids.safetensors"})");
    BOOST_TEST(safetensors_folder(path()).unread().size() == 1u);
    write_file(path() / "ids.safetensors", image('{' + entry("a", "I64", "[1]", "[0,8]") + '}', 8));
    index(R"({"b":"one.safetensors","a":"ids.safetensors"})");
    refuses_to_open({"more than one tensor is called 'a'"});
    write_file(path() / "three.safetensors", image('{' + entry("c", "F16", "[3]", "[0,6]") + '}', 6));
    index(R"({"a":"one.safetensors","c":"three.safetensors","d":"two.safetensors"})");
    refuses_to_open({"two.safetensors", "'d'"});
    write_file(path() / "four.safetensors",
               image('{' + entry("c", "F16", "[1]", "[0,2]") + ',' + entry("d", "F16", "[1]", "[2,4]") + '}', 4));
    index(R"({"c":"three.safetensors","d":"four.safetensors"})");
    refuses_to_open({"more than one tensor is called 'c'"});
}

BOOST_FIXTURE_TEST_CASE(shards_stay_in_the_folder, sharded_folder) {
    for (const std::string shard : {"../one.safetensors", "/one.safetensors", "sub/one.safetensors", "..", ".", "",
                                    "..\\\\one.safetensors", "one.safetensors\\u0000"}) {
        index(R"({"a":")" + shard + R"("})");
        refuses_to_open({"index.json", "of 'a' is not a file name in this folder"});
    }
}

BOOST_FIXTURE_TEST_CASE(the_index_is_of_its_shape, sharded_folder) {
    index("[]");
    refuses_to_open({"index.json", "no object weight_map"});
    index(R"({"a":1})");
    refuses_to_open({"the shard of 'a' is no string"});
    index(R"({"a":"one.safetensors","a":"two.safetensors"})");
    refuses_to_open({"duplicate key 'a'"});
    write_file(path() / "model.safetensors.index.json", "{}");
    refuses_to_open({"no object weight_map"});
    write_file(path() / "model.safetensors.index.json", "3");
    refuses_to_open({"no object weight_map"});
    write_file(path() / "model.safetensors.index.json", "{");
    refuses_to_open({"index.json", "parse error"});
}

BOOST_AUTO_TEST_SUITE_END()
