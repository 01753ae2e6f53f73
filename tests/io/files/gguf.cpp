#include "augur/io/files/gguf.hpp"

#include <augur/io/files/dequantize.hpp>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "io/files.hpp"
#include "io/gguf_writer.hpp"

using namespace augur::io;
using augur::testing::byte_writer;
using augur::testing::gguf_writer;
using augur::testing::says;
using augur::testing::temporary_directory;

static_assert(std::is_nothrow_move_constructible_v<gguf_file> && std::is_nothrow_move_assignable_v<gguf_file>);
static_assert(!std::is_copy_constructible_v<gguf_file>);

BOOST_AUTO_TEST_SUITE(io_gguf)

namespace {

constexpr std::uint32_t f32 = 0;
constexpr std::uint64_t huge = std::numeric_limits<std::uint64_t>::max();
const std::vector<float> numbers = {0, 1, 2, 3, 4, 5};

void refuses(const std::vector<std::byte>& image, std::vector<std::string> fragments) {
    BOOST_CHECK_EXCEPTION(gguf_view{image}, augur::error, says(std::move(fragments)));
}
void refuses(const gguf_writer& broken, std::vector<std::string> fragments) {
    refuses(broken.bytes(), std::move(fragments));
}

gguf_writer sound() {
    gguf_writer model;
    model.set("general.architecture", "llama").set("llama.block_count", std::uint32_t{2});
    model.set("tokenizer.ggml.tokens", std::vector<std::string>{"<s>", "", "a"});
    model.tensor("token_embd.weight", {2, 3}, numbers).tensor("norm.weight", {3}, std::span(numbers).first(3));
    return model;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_file_gives_back_what_was_written) {
    const temporary_directory folder;
    for (const std::uint32_t version : {2u, 3u}) {
        auto model = sound();
        model.version = version;
        const gguf_file file(model.write(folder / "model.gguf"));
        BOOST_TEST(file.path() == folder / "model.gguf");
        BOOST_TEST(file.get<std::string>("general.architecture") == "llama");
        BOOST_TEST(file.array<std::string>("tokenizer.ggml.tokens") == std::vector<std::string>({"<s>", "", "a"}));
        BOOST_TEST_REQUIRE(file.tensors().size() == 2u);
        const auto& embedding = file.tensors()[0];
        BOOST_TEST(embedding.name == "token_embd.weight");
        BOOST_TEST((embedding.type == tensor_type::f32));
        BOOST_TEST(embedding.shape == std::vector<std::uint64_t>({2, 3}));
        BOOST_TEST(embedding.rows() == 2u);
        BOOST_TEST(embedding.columns() == 3u);
        BOOST_TEST(embedding.element_count() == 6u);
        const auto expected = std::as_bytes(std::span(numbers));
        BOOST_TEST(std::equal(embedding.bytes.begin(), embedding.bytes.end(), expected.begin(), expected.end()));
        BOOST_TEST(&file.tensor("norm.weight") == &file.tensors()[1]);
        BOOST_TEST(file.tensor("norm.weight").rows() == 1u);
        BOOST_TEST(file.tensor("norm.weight").bytes.size() == 12u);
    }
}

BOOST_AUTO_TEST_CASE(a_file_of_the_reference_writer) {
    const gguf_file file(std::filesystem::path(AUGUR_TEST_DATA) / "io" / "reference.gguf");
    BOOST_TEST(file.get<std::string>("general.architecture") == "llama");
    BOOST_TEST(file.get<std::int64_t>("llama.block_count") == 2);
    BOOST_TEST(file.get<double>("llama.rope.freq_base") == 10000.0);
    BOOST_TEST(file.get<bool>("tokenizer.ggml.add_bos_token"));
    BOOST_TEST(file.array<std::string>("tokenizer.ggml.tokens") == std::vector<std::string>({"<s>", "\u2581a", "b"}));
    BOOST_TEST(file.array<int>("tokenizer.ggml.token_type") == std::vector<int>({3, 1, 1}));
    const auto& embedding = file.tensor("token_embd.weight");
    BOOST_TEST(embedding.shape == std::vector<std::uint64_t>({3, 2}));
    std::vector<float> values(6);
    dequantize(embedding.type, embedding.bytes, values);
    BOOST_TEST(values == numbers);
    const auto& norm = file.tensor("output_norm.weight");
    BOOST_TEST((norm.type == tensor_type::f16));
    values.resize(5);
    dequantize(norm.type, norm.bytes, values);
    BOOST_TEST(values == std::vector<float>({0, 1, 2, 3, 4}));
}

BOOST_AUTO_TEST_CASE(what_is_handed_out_survives_a_move) {
    const temporary_directory folder;
    gguf_file first(sound().write(folder / "model.gguf"));
    const auto* tensor = first.find("norm.weight");
    gguf_file second(std::move(first));
    BOOST_TEST(second.find("norm.weight") == tensor);
    gguf_file third(gguf_writer().write(folder / "other.gguf"));
    third = std::move(second);
    BOOST_TEST(third.find("norm.weight") == tensor);
    BOOST_TEST(third.get<int>("llama.block_count") == 2);
    BOOST_TEST((tensor->bytes[7] == std::as_bytes(std::span(numbers))[7]));
}

BOOST_AUTO_TEST_CASE(a_string_of_holes_takes_no_memory) {
    const temporary_directory folder;
    gguf_writer model;
    model.raw_value("large", 8, byte_writer().number(std::uint64_t{1} << 35).bytes());
    const auto path = model.write(folder / "model.gguf");
    std::filesystem::resize_file(path, std::uintmax_t{1} << 36);
    BOOST_CHECK_EXCEPTION(gguf_file{path}, augur::error, says({path.string(), "bytes or more, over the 134217728"}));
}

/// However early another process cuts the file: metadata stay, and tensors are errors that name it, never SIGBUS.
BOOST_AUTO_TEST_CASE(a_file_that_is_cut_after_opening) {
    const temporary_directory folder;
    auto model = sound();
    model.set("large", std::vector<std::string>(300'000, "some text"));
    const auto path = model.write(folder / "model.gguf");
    const gguf_file file(path);
    const auto& tensor = file.tensor("norm.weight");
    const auto before = tensor.read();
    std::filesystem::resize_file(path, 1);
    BOOST_TEST(file.get<int>("llama.block_count") == 2);
    BOOST_TEST(file.array<std::string>("large").back() == "some text");
    BOOST_TEST(before.size() == tensor.bytes.size());
    BOOST_CHECK_EXCEPTION(tensor.read(), augur::error, says({path.string(), "cut short while it was read"}));
}

BOOST_AUTO_TEST_CASE(a_missing_name_is_null_or_an_error_that_names_it) {
    const auto image = sound().bytes();
    const gguf_view file(image, "tiny");
    BOOST_TEST(file.find("output.weight") == nullptr);
    BOOST_CHECK_EXCEPTION(file.tensor("output.weight"), augur::error, says({"tiny", "'output.weight'", "2 tensors"}));
    BOOST_TEST(!file.contains("llama.rope"));
    BOOST_TEST(file.get_or<int>("llama.rope", 7) == 7);
    BOOST_CHECK_EXCEPTION(file.get<int>("llama.rope"), augur::error, says({"tiny", "'llama.rope'"}));
    BOOST_CHECK_EXCEPTION(file.array<int>("llama.rope"), augur::error, says({"tiny", "'llama.rope'"}));
}

BOOST_AUTO_TEST_CASE(a_file_may_hold_nothing_or_only_metadata) {
    BOOST_TEST(gguf_view(gguf_writer().bytes()).tensors().empty());
    const auto image = gguf_writer().set("a", true).bytes();
    BOOST_TEST(gguf_view(image).get<bool>("a"));
}

BOOST_AUTO_TEST_CASE(header) {
    refuses(std::vector<std::byte>(), {"magic", "needs 4 bytes, 0 are left"});
    gguf_writer broken;
    broken.magic = "GGJT";
    refuses(broken, {"not a GGUF file", "'GGJT'"});
    broken.magic = "GGUF";
    for (const std::uint32_t version : {0u, 1u, 4u, 0xffffffffu}) {
        broken.version = version;
        refuses(broken, {"version " + std::to_string(version), "only 2 and 3"});
    }
    broken.version = 0x03000000;
    refuses(broken, {"big-endian", "50331648"});
}

BOOST_AUTO_TEST_CASE(every_truncation_is_an_error) {
    const auto image = sound().bytes();
    const gguf_view whole(image);
    for (std::size_t size = 0; size < image.size(); ++size) {
        const std::vector<std::byte> part(image.begin(), image.begin() + static_cast<std::ptrdiff_t>(size));
        BOOST_CHECK_THROW(gguf_view{part}, augur::error);
    }
}

// Counts and lengths that the file's own length cannot justify once exhausted memory in other readers.
BOOST_AUTO_TEST_CASE(absurd_counts) {
    for (const std::uint64_t count : {huge, huge / 2, huge / 33 + 1, std::uint64_t{1} << 40, std::uint64_t{100}}) {
        auto broken = sound();
        broken.tensor_count = count;
        refuses(broken, {"number of tensors is " + std::to_string(count), "at most"});
        broken = sound();
        broken.key_count = count;
        refuses(broken, {"number of metadata keys is " + std::to_string(count), "at most"});
    }
}

BOOST_AUTO_TEST_CASE(absurd_lengths) {
    for (const std::uint64_t length : {huge, huge - 7, huge / 8 + 1, std::uint64_t{1} << 40, std::uint64_t{1000}}) {
        byte_writer string;
        string.number(length).raw_bytes(std::as_bytes(std::span("abc")));
        refuses(gguf_writer().raw_value("k", 8, string.bytes()), {"string", "needs " + std::to_string(length)});
        for (std::uint32_t type = 0; type <= 12; ++type) {
            byte_writer array;
            array.number(type).number(length).number(std::uint64_t{0}).number(std::uint32_t{0});
            refuses(gguf_writer().raw_value("k", 9, array.bytes()),
                    {"length of an array is " + std::to_string(length), "hold at most"});
        }
        byte_writer image;
        image.raw_bytes(std::as_bytes(std::span("GGUF", 4))).number(std::uint32_t{3}).number(std::uint64_t{0});
        image.number(std::uint64_t{1}).number(length).raw_bytes(std::as_bytes(std::span("general.name")));
        refuses(image.bytes(), {"metadata key", "needs " + std::to_string(length)});
    }
}

BOOST_AUTO_TEST_CASE(keys_are_not_empty_and_not_twice) {
    refuses(gguf_writer().set("", 1), {"key 0 of 1 is empty"});
    refuses(gguf_writer().set("a", 1).set("b", 2).set("a", "x"), {"duplicate metadata key 'a'"});
}

BOOST_AUTO_TEST_CASE(the_alignment_is_a_power_of_two_from_eight) {
    for (const std::uint32_t alignment : {0u, 1u, 4u, 12u, 33u, 0xffffffffu}) {
        refuses(sound().set("general.alignment", alignment), {"general.alignment is " + std::to_string(alignment)});
    }
    refuses(sound().set("general.alignment", std::uint64_t{32}), {"general.alignment must be a u32", "u64"});
    refuses(sound().set("general.alignment", std::int32_t{32}), {"must be a u32", "i32"});
    refuses(sound().set("general.alignment", "32"), {"must be a u32", "string"});
    refuses(sound().set("general.alignment", std::vector<std::uint32_t>{32}), {"must be a u32", "array of u32"});
    for (const std::uint32_t alignment : {8u, 64u, 4096u}) {
        gguf_writer model;
        model.alignment = alignment;
        model.set("general.alignment", alignment).tensor("a", {6}, numbers).tensor("b", {6}, numbers);
        const auto image = model.bytes();
        const gguf_view file(image);
        for (const auto& tensor : file.tensors()) {
            BOOST_TEST((tensor.bytes.data() - image.data()) % static_cast<std::ptrdiff_t>(alignment) == 0);
            BOOST_TEST((tensor.bytes[20] == std::as_bytes(std::span(numbers))[20]));
        }
    }
    gguf_writer far;
    far.set("general.alignment", std::uint32_t{1} << 31).raw_tensor("a", {1}, f32, 0);
    refuses(far, {"'a' of 4 bytes at offset 0", "0 bytes of tensor data"});
}

BOOST_AUTO_TEST_CASE(value_types_end_at_twelve) {
    const std::vector<std::byte> zeros(64);
    for (const std::uint32_t type : {13u, 255u, 0xffffffffu}) {
        refuses(gguf_writer().raw_value("k", type, zeros), {"is " + std::to_string(type), "end at 12"});
        byte_writer array;
        array.number(type).number(std::uint64_t{0});
        refuses(gguf_writer().raw_value("k", 9, array.bytes()), {"is " + std::to_string(type), "end at 12"});
    }
}

BOOST_AUTO_TEST_CASE(nested_arrays_are_stepped_over_four_deep) {
    const auto nested = [](int depth) {
        byte_writer value;
        for (int i = 1; i < depth; ++i) value.number(std::uint32_t{9}).number(std::uint64_t{1});
        value.number(std::uint32_t{0}).number(std::uint64_t{3}).raw_bytes(std::as_bytes(std::span("abc", 3)));
        return gguf_writer().raw_value("k", 9, value.bytes()).set("after", 5).bytes();
    };
    for (int depth = 1; depth <= 4; ++depth) BOOST_TEST(gguf_view(nested(depth)).get<int>("after") == 5);
    refuses(nested(5), {"nested more than 4 deep"});
    refuses(nested(100000), {"nested more than 4 deep"});
    const auto image = nested(2);
    BOOST_CHECK_EXCEPTION(gguf_view(image, "x").array<int>("k"), augur::error, says({"'k'", "array of arrays"}));
    BOOST_CHECK_EXCEPTION(gguf_view(image, "x").get<int>("k"), augur::error, says({"'k'", "array"}));
}

// Products and sums that wrap: CVE-2026-33298, CVE-2025-53630, CVE-2026-27940; a dimension of 0 once divided by zero.
BOOST_AUTO_TEST_CASE(dimensions) {
    const auto one = [](const std::vector<std::uint64_t>& shape, std::uint32_t type = f32) {
        return gguf_writer().raw_tensor("bad", shape, type, 0).raw_data(std::vector<std::byte>(64));
    };
    refuses(one({}), {"'bad' has 0 dimensions"});
    refuses(one({1, 1, 1, 1, 1}), {"'bad' has 5 dimensions"});
    refuses(one({4, 0}), {"'bad' has a dimension of 0 in {0, 4}"});
    refuses(one({0, huge}), {"dimension of 0"});
    refuses(one({(std::uint64_t{1} << 42) + 1, std::uint64_t{1} << 22}), {"'bad'", "2^63-1", "4398046511105"});
    refuses(one({std::uint64_t{huge / 2}, 2}), {"2^63-1", "9223372036854775807"});
    refuses(one({std::uint64_t{1} << 32, std::uint64_t{1} << 32, 1, 16}), {"2^63-1"});
    refuses(one({std::uint64_t{1} << 62}), {"'bad'", "2^64 bytes", "4611686018427387904"});
    refuses(one({std::uint64_t{1} << 40}), {"'bad' of 4398046511104 bytes", "64 bytes of tensor data"});
    refuses(one({31}, 2), {"'bad' has rows of 31 elements", "q4_0", "32"});
    refuses(one({16, 2}, 8), {"'bad' has rows of 16 elements", "q8_0", "32"});
    BOOST_TEST(gguf_view(one({2, 2, 2, 2}).bytes()).tensors()[0].bytes.size() == 64u);
}

BOOST_AUTO_TEST_CASE(types_that_are_not_read_are_named) {
    const auto one = [](std::uint32_t type) { return gguf_writer().raw_tensor("bad", {256}, type, 0); };
    BOOST_CHECK_EXCEPTION(gguf_view{one(16).bytes()}, unread_tensor_type, says({"'bad' has type 16 iq2_xxs"}));
    refuses(one(34), {"type 34 tq1_0"});
    refuses(one(27), {"type 27 i64"});
    refuses(one(41), {"type 41 q1_0"});
    refuses(one(4), {"type 4 (removed)"});
    refuses(one(42), {"type 42 (unknown)"});
    refuses(one(0xffffffffu), {"type 4294967295 (unknown)"});
}

BOOST_AUTO_TEST_CASE(every_type_that_is_read_has_its_size) {
    const std::vector<std::pair<std::uint32_t, tensor_type>> types = {
        {0, tensor_type::f32},    {1, tensor_type::f16},   {2, tensor_type::q4_0},    {3, tensor_type::q4_1},
        {6, tensor_type::q5_0},   {7, tensor_type::q5_1},  {8, tensor_type::q8_0},    {12, tensor_type::q4_k},
        {10, tensor_type::q2_k},  {11, tensor_type::q3_k}, {20, tensor_type::iq4_nl}, {23, tensor_type::iq4_xs},
        {39, tensor_type::mxfp4}, {13, tensor_type::q5_k}, {14, tensor_type::q6_k},   {26, tensor_type::i32},
        {30, tensor_type::bf16}};
    for (const auto& [number, type] : types) {
        const auto size = 2 * 256 / block_size(type) * block_bytes(type);
        const auto image = gguf_writer().tensor("t", {2, 256}, number, std::vector<std::byte>(size)).bytes();
        const gguf_view file(image);
        BOOST_TEST((file.tensors()[0].type == type), name_of(type));
        BOOST_TEST(file.tensors()[0].bytes.size() == size);
        auto shorter = gguf_writer().tensor("t", {2, 256}, number, std::vector<std::byte>(size - 1));
        refuses(shorter, {"'t' of " + std::to_string(size) + " bytes"});
    }
}

BOOST_AUTO_TEST_CASE(places) {
    const auto at = [](std::uint64_t offset) {
        return gguf_writer().raw_tensor("bad", {8}, f32, offset).raw_data(std::vector<std::byte>(96));
    };
    BOOST_TEST(gguf_view(at(64).bytes()).tensors()[0].bytes.size() == 32u);
    refuses(at(16), {"'bad' starts at offset 16", "alignment 32"});
    refuses(at(96), {"'bad' of 32 bytes at offset 96", "96 bytes"});
    refuses(at(128), {"offset 128"});
    refuses(at(huge - 31), {"'bad'", "offset 18446744073709551584"});
    refuses(at(huge), {"offset 18446744073709551615", "alignment"});
}

BOOST_AUTO_TEST_CASE(tensors_share_nothing) {
    const auto two = [](std::uint64_t first, std::uint64_t second) {
        return gguf_writer()
            .raw_tensor("a", {16}, f32, first)
            .raw_tensor("b", {16}, f32, second)
            .raw_data(std::vector<std::byte>(192));
    };
    refuses(two(0, 0), {"'a' and 'b' overlap at offset 0"});
    refuses(two(32, 0), {"'b' and 'a' overlap at offset 32"});
    refuses(two(0, 32), {"'a' and 'b' overlap at offset 32"});
    BOOST_TEST(gguf_view(two(128, 0).bytes()).tensors().size() == 2u);
    gguf_writer twins;
    twins.tensor("a", {6}, numbers).tensor("b", {6}, numbers).tensor("a", {6}, numbers);
    refuses(twins, {"more than one tensor is called 'a'"});
    refuses(gguf_writer().tensor("", {6}, numbers), {"empty tensor name"});
}

BOOST_AUTO_TEST_CASE(names_are_printed_safely) {
    const std::string hostile = std::string("\x1b[2J\n\0", 6) + std::string(1000000, 'x');
    refuses(gguf_writer().raw_tensor(hostile, {0}, f32, 0), {"'\\x1b[2J\\x0a\\x00xxx", "(1000006 bytes)"});
}

BOOST_AUTO_TEST_CASE(a_real_model_opens_whatever_its_vocabulary) {
    const temporary_directory folder;
    std::vector<std::string> tokens;
    for (int i = 0; i < 60000; ++i) tokens.push_back("token" + std::to_string(i));
    gguf_writer model;
    model.set("tokenizer.ggml.tokens", tokens).set("tokenizer.ggml.scores", std::vector<float>(tokens.size(), -1.5f));
    for (int i = 0; i < 500; ++i) model.tensor("blk." + std::to_string(i), {6}, numbers);
    const gguf_file file(model.write(folder / "large.gguf"));
    BOOST_TEST(file.array<std::string>("tokenizer.ggml.tokens").back() == "token59999");
    BOOST_TEST(file.array<float>("tokenizer.ggml.scores").size() == 60000u);
    BOOST_TEST(file.tensor("blk.499").bytes.size() == 24u);
}

BOOST_AUTO_TEST_SUITE_END()
