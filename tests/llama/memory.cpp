#include "augur/llama/memory.hpp"

#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <string>

#include "llama/small_llama.hpp"

BOOST_AUTO_TEST_SUITE(llama_memory)

using namespace augur;
using namespace augur::testing;

BOOST_AUTO_TEST_CASE(there_is_memory) {
    const auto available = llama::available_memory();
    BOOST_TEST(available > std::uint64_t{1} << 20);
    BOOST_TEST(available < std::uint64_t{1} << 50);
}

BOOST_AUTO_TEST_CASE(what_is_held_is_not_asked_for) {
    llama::check_cache(10, 500, 500, 100);
    llama::check_cache(10, 501, 500, 501);
    BOOST_CHECK_EXCEPTION(llama::check_cache(10, 501, 500, 500), error,
                          says({"keys and values of 10 tokens take 501 bytes", "the 500 that a sequence may take"}));
    BOOST_CHECK_EXCEPTION(llama::check_cache(10, std::uint64_t{1} << 60, 0, 0), error, says({"that are available"}));
    llama::check_cache(10, std::uint64_t{1} << 20, 0, 0);
}

BOOST_AUTO_TEST_CASE(a_sequence_takes_what_it_may) {
    const std::size_t block = small_llama().load().cache_bytes(1);
    BOOST_TEST(block == 2u * 2u * (256u * 8u + 256u * 16u) * sizeof(float));  // values are padded to 16 components
    BOOST_TEST(small_llama().load().cache_bytes(257) == 2 * block);
    BOOST_CHECK_EXCEPTION(small_llama().load({.cache_bytes = block - 1}), error,
                          says({std::to_string(block), std::to_string(block - 1)}));
    BOOST_CHECK_EXCEPTION(small_llama().load({.context_length = 257, .cache_bytes = block}), error,
                          says({"257 tokens", std::to_string(2 * block)}));
    const auto model = small_llama().load({.cache_bytes = block});
    auto sequence = model.make_sequence();
    model.extend(sequence, some_tokens(256, 77), 1);
    BOOST_CHECK_EXCEPTION(model.extend(sequence, some_tokens(1, 77), 1), error, says({"257 tokens take"}));
    BOOST_TEST(model.length(sequence) == 256u);
    model.truncate(sequence, 3);
    BOOST_TEST(model.extend(sequence, some_tokens(1, 77), 1).size() == 1u);
}

/// 4 KB of a disk, for the tensors are holes; a token would have taken 3.4 GB.
BOOST_AUTO_TEST_CASE(heads_of_a_few_bytes_take_no_gigabytes) {
    const temporary_directory folder;
    small_llama file(io::tensor_type::f32, 1, 1, 1, 1, 3);
    file.sizes["llama.block_count"] = 1;
    file.sizes["llama.attention.head_count"] = file.sizes["llama.attention.head_count_kv"] = 400;
    file.sizes["llama.attention.key_length"] = 4096;
    std::erase_if(file.shapes, [](const auto& shape) { return shape.first.starts_with("blk.1."); });
    BOOST_CHECK_EXCEPTION(llama::host_model::load(file.write(folder / "model.gguf")), error,
                          says({"model.gguf", "heads by head size) is 1638400", "262144"}));
    file.sizes["llama.attention.head_count"] = file.sizes["llama.attention.head_count_kv"] = 17;
    BOOST_CHECK_EXCEPTION(llama::host_model::load(file.write(folder / "model.gguf")), error,
                          says({"model.gguf", "key-value heads by head size) is 69632", "65536"}));
}

BOOST_AUTO_TEST_SUITE_END()
