// What model files and other untrusted input have broken: docs/conformance.md, 46 to 55. In depth: tests/io,
// tests/llama.

#include "io/files.hpp"

#include <augur/io/files/gguf.hpp>
#include <augur/io/files/safetensors.hpp>
#include <augur/io/text/tokenizer.hpp>
#include <limits>

#include "conformance/schemes.hpp"
#include "io/gguf_writer.hpp"
#include "io/vocabularies.hpp"
#include "llama/small_llama.hpp"

using namespace augur;
using namespace augur::conformance;
using testing::byte_writer;
using testing::gguf_writer;

BOOST_AUTO_TEST_SUITE(conformance_files)

constexpr std::uint64_t huge = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint32_t f32 = 0;

void refuses(const gguf_writer& model, std::vector<std::string> fragments) {
    const auto image = model.bytes();
    BOOST_CHECK_EXCEPTION(io::gguf_view{image}, error, testing::says(std::move(fragments)));
}

gguf_writer one_tensor(const std::vector<std::uint64_t>& dimensions, std::uint64_t offset = 0) {
    return gguf_writer().raw_tensor("t", dimensions, f32, offset).raw_data(std::vector<std::byte>(64));
}

// The number of elements wrapped around to a small one.
BOOST_AUTO_TEST_CASE(invariant_46_a_tensors_size_does_not_wrap) {
    refuses(one_tensor({(std::uint64_t{1} << 42) + 1, std::uint64_t{1} << 22}), {"'t'", "2^63-1"});
    refuses(one_tensor({huge / 2, 2}), {"'t'", "2^63-1"});
    refuses(one_tensor({std::uint64_t{1} << 62}), {"'t'", "2^64 bytes"});
    const auto sound = one_tensor({16}).bytes();
    BOOST_TEST(io::gguf_view(sound).tensors().size() == 1u);
}

// Offset plus size wrapped around to a place inside of the file.
BOOST_AUTO_TEST_CASE(invariant_47_a_tensors_place_is_inside_of_the_file) {
    refuses(one_tensor({16}, huge - 31), {"'t'", std::to_string(huge - 31)});
    refuses(one_tensor({16}, 32), {"'t'", "64 bytes"});
    refuses(one_tensor({17}), {"'t' of 68 bytes", "64 bytes"});
}

// A count in the header, times the size of what it counts, was allocated.
BOOST_AUTO_TEST_CASE(invariant_48_counts_are_bounded_by_the_file) {
    for (const std::uint64_t count : {huge, huge / 33 + 1, std::uint64_t{1} << 40}) {
        auto model = one_tensor({16});
        model.tensor_count = count;
        refuses(model, {"number of tensors is " + std::to_string(count)});
        model = one_tensor({16});
        model.key_count = count;
        refuses(model, {"number of metadata keys is " + std::to_string(count)});
    }
}

// A dimension of 0 was divided by, an empty key asserted on.
BOOST_AUTO_TEST_CASE(invariant_49_nothing_is_empty_that_must_not_be) {
    refuses(one_tensor({16, 0}), {"'t' has a dimension of 0"});
    refuses(one_tensor({}), {"'t' has 0 dimensions"});
    refuses(gguf_writer().set("", 1), {"key 0 of 1 is empty"});
}

// The length of a string or an array exhausted the memory.
BOOST_AUTO_TEST_CASE(invariant_50_lengths_are_bounded_by_the_bytes_that_are_left) {
    for (const std::uint64_t length : {huge, huge / 8 + 1, std::uint64_t{1} << 40}) {
        byte_writer text, array;
        text.number(length).raw_bytes(std::as_bytes(std::span("abc")));
        refuses(gguf_writer().raw_value("k", 8, text.bytes()), {"needs " + std::to_string(length)});
        array.number(f32).number(length);
        refuses(gguf_writer().raw_value("k", 9, array.bytes()), {"length of an array is " + std::to_string(length)});
    }
    // The check is one of lengths, not of elements: a million strings are each looked at once.
    gguf_writer large;
    large.set("tokenizer.ggml.tokens", std::vector<std::string>(1'000'000, "a"));
    const auto image = large.bytes();
    BOOST_TEST(io::gguf_view(image).array<std::string>("tokenizer.ggml.tokens").size() == 1'000'000u);
}

// Alignments of 0 or of another type went into divisions; a key given twice was read once and checked once.
BOOST_AUTO_TEST_CASE(invariant_51_the_alignment_is_a_power_of_two_of_its_type) {
    for (const std::uint32_t alignment : {0u, 1u, 12u, 33u, 0xffffffffu}) {
        refuses(one_tensor({16}).set("general.alignment", alignment),
                {"general.alignment is " + std::to_string(alignment)});
    }
    refuses(one_tensor({16}).set("general.alignment", std::uint64_t{32}), {"must be a u32", "u64"});
    refuses(one_tensor({16}).set("general.alignment", "32"), {"must be a u32", "string"});
    refuses(gguf_writer().set("a", 1).set("a", 1), {"duplicate metadata key 'a'"});
}

// More layers than a fixed array held; heads that divide nothing; ids beyond the vocabulary.
BOOST_AUTO_TEST_CASE(invariant_52_a_configuration_is_validated_before_it_is_used) {
    const auto refuses_size = [](const std::string& key, std::uint32_t value, std::vector<std::string> fragments) {
        testing::small_llama file;
        file.sizes[key] = value;
        BOOST_CHECK_EXCEPTION(file.load(), error, testing::says(std::move(fragments)));
    };
    refuses_size("llama.block_count", 4'000'000'000u, {"4000000000"});
    refuses_size("llama.attention.head_count", 7, {"64", "7"});
    refuses_size("llama.attention.head_count", 0, {"heads is 0"});
    refuses_size("llama.attention.head_count_kv", 3, {"8 heads", "3"});
    refuses_size("llama.rope.dimension_count", 7, {"7 is odd"});
    refuses_size("llama.rope.dimension_count", 10, {"10", "8"});
    refuses_size("llama.vocab_size", 78, {"78", "77"});
}

/// A safetensors file of one header and so many bytes of data.
std::vector<std::byte> safetensors(const std::string& header, std::size_t data) {
    byte_writer out;
    out.string(header).raw_bytes(std::vector<std::byte>(data));
    return out.bytes();
}

// Shapes, ranges and headers that do not belong together.
BOOST_AUTO_TEST_CASE(invariant_53_safetensors_are_checked_as_the_reference_does) {
    const auto one = [](const std::string& shape, const std::string& offsets) {
        return R"("w":{"dtype":"F32","shape":)" + shape + R"(,"data_offsets":)" + offsets + '}';
    };
    const auto refuses_header = [](const std::string& header, std::vector<std::string> fragments) {
        BOOST_CHECK_EXCEPTION(io::parse_safetensors(safetensors(header, 16), "m"), error,
                              testing::says(std::move(fragments)));
    };
    refuses_header('{' + one("[4194305,4194305,211106198978564]", "[0,16]") + '}', {"'w'", "2^63-1"});
    refuses_header('{' + one("[4]", "[16,0]") + '}', {"'w'", "[16, 0]"});
    refuses_header('{' + one("[4]", "[-16,0]") + '}', {"'w'", "-16"});
    refuses_header('{' + one("[5]", "[0,16]") + '}', {"'w'", "16 bytes", "20"});
    refuses_header('{' + one("[2]", "[8,16]") + '}', {"'w' begins at 8", "hole"});
    refuses_header('{' + one("[2]", "[0,8]") + '}', {"8 of 16 bytes"});
    refuses_header('{' + one("[2]", "[0,8]") + R"(,"v":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})",
                   {"inside"});
    const auto length = [](std::uint64_t claimed) { return byte_writer().number(claimed).number(0).bytes(); };
    BOOST_CHECK_EXCEPTION(io::parse_safetensors(length(100'000'001), "m"), error, testing::says({"100000001"}));
    BOOST_CHECK_EXCEPTION(io::parse_safetensors(length(999), "m"), error, testing::says({"999", "4 are left"}));
    const testing::temporary_directory folder;
    const auto twice = '{' + one("[2]", "[0,8]") + ',' + one("[2]", "[8,16]") + '}';
    const auto path = testing::write_file(folder / "m.safetensors", safetensors(twice, 16));
    BOOST_CHECK_EXCEPTION(io::safetensors_folder{path}, error, testing::says({"'w'"}));
    testing::write_file(folder / "config.json", "{}");
    testing::write_file(folder / "model.safetensors.index.json", R"({"weight_map":{"w":"absent.safetensors"}})");
    BOOST_CHECK_EXCEPTION(io::safetensors_folder{folder.path()}, error, testing::says({"absent.safetensors"}));
    const auto sound = io::parse_safetensors(safetensors('{' + one("[4]", "[0,16]") + '}', 16), "m");
    BOOST_TEST(sound.tensors.size() == 1u);
}

// A range below 0, or from a larger position to a smaller one, wrote outside of the cache.
BOOST_AUTO_TEST_CASE(invariant_54_a_cache_is_cut_only_where_it_has_something) {
    const auto check = [](const auto& model) {
        auto sequence = model.make_sequence();
        model.extend(sequence, prompt);
        for (const std::size_t length : {std::size_t{4}, std::size_t{1} << 32, ~std::size_t{0}}) {
            BOOST_CHECK_EXCEPTION(model.truncate(sequence, length), error,
                                  testing::says({"3 tokens", std::to_string(length)}));
            BOOST_TEST(model.length(sequence) == 3u);
        }
        model.truncate(sequence, 3);
        model.truncate(sequence, 0);
        BOOST_TEST(model.length(sequence) == 0u);
    };
    check(testing::small_llama().load({.threads = 1}));
    check(testing::hashed_model(6, 1));
}

// A prompt of two billion bytes ended the process.
BOOST_AUTO_TEST_CASE(invariant_55_a_prompt_has_a_limit_that_the_error_names) {
    const auto model = testing::hashed_model(6, 1, 2, 1000);
    each_criterion([&](const auto& criterion) {
        const auto scheme = speculate(model, model, policy::fixed_length{2}, criterion);
        BOOST_CHECK_EXCEPTION(decode::generate(scheme, std::vector<token>(1'000'000, 1), greedy(5)), error,
                              testing::says({"1000000 tokens", "1000"}));
    });
    const auto llama = testing::small_llama().load({.threads = 1});
    auto sequence = llama.make_sequence();
    BOOST_CHECK_EXCEPTION(llama.extend(sequence, std::vector<token>(1'000'000, 1)), error,
                          testing::says({"1000000", "600"}));
    const io::tokenizer words(testing::byte_level_words());
    const std::string text((std::size_t{1} << 30) + 1, 'a');
    BOOST_CHECK_EXCEPTION(words.encode(text), error, testing::says({"1073741825 bytes", "1073741824"}));
}

BOOST_AUTO_TEST_SUITE_END()
