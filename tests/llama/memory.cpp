#include "augur/llama/memory.hpp"

#include <algorithm>
#include <augur/io/files/gguf.hpp>
#include <augur/llama/gguf_config.hpp>
#include <augur/llama/weights.hpp>
#include <boost/test/unit_test.hpp>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <numeric>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "llama/small_llama.hpp"

BOOST_AUTO_TEST_SUITE(llama_memory)

using namespace augur;
using namespace augur::testing;

BOOST_AUTO_TEST_CASE(there_is_memory) {
    const auto available = llama::available_memory();
    BOOST_TEST(available > std::uint64_t{1} << 20);
    BOOST_TEST(available < std::uint64_t{1} << 50);
}

/// Files as the kernel writes them.
struct control_groups {
    temporary_directory folder;

    void set(const std::string& group, const std::string& file, const std::string& text) const {
        std::filesystem::create_directories(folder / group);
        write_file(folder / group / file, text);
    }
    std::uint64_t room(const std::string& listed) const {
        std::istringstream in(listed);
        return llama::detail::room_of_groups(in, folder.path());
    }
};
constexpr auto no_limit = std::numeric_limits<std::uint64_t>::max();

BOOST_AUTO_TEST_CASE(a_control_group_and_those_around_it_count) {
    const control_groups now;
    BOOST_TEST(now.room("0::/a/b\n") == no_limit);
    now.set("a/b", "memory.max", "max\n");
    BOOST_TEST(now.room("0::/a/b\n") == no_limit);
    now.set("a", "memory.max", "1000\n");
    BOOST_TEST(now.room("0::/a/b\n") == 1000u);
    BOOST_TEST(now.room("0::/a\n") == 1000u);
    BOOST_TEST(now.room("0::/other\n") == no_limit);
    now.set("a/b", "memory.max", "900\n");
    BOOST_TEST(now.room("0::/a/b\n") == 900u);
    BOOST_TEST(now.room("0::/a\n") == 1000u);
    now.set("", "memory.max", "800\n");  // a container's, whose group has a name outside only
    BOOST_TEST(now.room("0::/docker/1f\n") == 800u);
    BOOST_TEST(now.room("0::/\n") == 800u);
    BOOST_TEST(now.room("0::/../x\n") == 800u);
    for (const auto* none : {"", "\n", "0\n", "0:memory\n", "3:cpu:/a/b\n", "3:memory_other:/a/b\n"}) {
        BOOST_TEST(now.room(none) == no_limit, none);
    }
}

BOOST_AUTO_TEST_CASE(what_a_group_holds_is_not_left_but_pages_of_files_are) {
    const control_groups now;
    now.set("a", "memory.max", "1000\n");
    now.set("a", "memory.current", "700\n");
    BOOST_TEST(now.room("0::/a\n") == 300u);
    now.set("a", "memory.stat", "anon 350\nfile 350\ninactive_file 50\nactive_file 200\n");
    BOOST_TEST(now.room("0::/a\n") == 550u);
    now.set("a", "memory.current", "1100\n");
    now.set("a", "memory.stat", "inactive_file 20\n");
    BOOST_TEST(now.room("0::/a\n") == 0u);
    now.set("a", "memory.stat", "inactive_file 2000\n");
    BOOST_TEST(now.room("0::/a\n") == 1000u);
}

BOOST_AUTO_TEST_CASE(groups_of_the_first_version_count) {
    const control_groups now;
    now.set("memory/a", "memory.limit_in_bytes", "1000\n");
    now.set("memory/a", "memory.usage_in_bytes", "600\n");
    now.set("memory/a", "memory.stat", "inactive_file 1\ntotal_inactive_file 100\ntotal_active_file 30\n");
    now.set("memory", "memory.limit_in_bytes", "9223372036854771712\n");
    now.set("a", "memory.max", "10\n");
    BOOST_TEST(now.room("5:cpu:/a\n4:memory:/a/b\n0::/\n") == 530u);
    BOOST_TEST(now.room("4:hugetlb,memory:/a\n") == 530u);
    BOOST_TEST(now.room("4:memory:/\n") == 9223372036854771712u);
}

/// Says that it holds a small Llama's tensors with another feed-forward, and as many layers as are asked for.
class larger_file {
 public:
    larger_file(const io::gguf_file& small, std::uint64_t from, std::uint64_t to)
        : small_(small), from_(from), to_(to) {}

    const std::filesystem::path& path() const { return small_.path(); }
    const io::tensor_view* find(std::string_view name) const {
        const bool is_of_layer = name.starts_with("blk.");
        const auto* const found =
            small_.find(is_of_layer ? "blk.0" + std::string(name.substr(name.find('.', 4))) : std::string(name));
        if (found == nullptr) return nullptr;
        larger_ = *found;
        std::replace(larger_.shape.begin(), larger_.shape.end(), from_, to_);
        return &larger_;
    }
    const io::tensor_view& tensor(std::string_view name) const { return *find(name); }

 private:
    const io::gguf_file& small_;
    std::uint64_t from_, to_;
    mutable io::tensor_view larger_;
};

/// Nothing of that size is on the disk, and nothing has been read when it is refused.
BOOST_AUTO_TEST_CASE(weights_that_do_not_fit_are_refused) {
    BOOST_CHECK_EXCEPTION(llama::check_weights("a.gguf", std::uint64_t{1} << 60), error,
                          says({"a.gguf: the weights take 1152921504606846976 bytes", "that are available"}));
    llama::check_weights("a.gguf", std::uint64_t{1} << 20);
    const temporary_directory folder;
    const io::gguf_file small(small_llama().write(folder / "model.gguf"));
    llama::config c = llama::read_config(small);
    const larger_file file(small, c.feed_forward, std::uint64_t{1} << 22);
    c.feed_forward = std::size_t{1} << 22;
    std::vector<std::size_t> layers(1024);
    std::iota(layers.begin(), layers.end(), std::size_t{0});
    const auto read = [&](llama::weight_format format) {
        return llama::weight_reader(file, c, llama::gguf_names(), format).read(layers, {});
    };
    BOOST_CHECK_EXCEPTION(read(llama::weight_format::keep), error,
                          says({"model.gguf: the weights take 3298", "that are available"}));
    BOOST_CHECK_EXCEPTION(read(llama::weight_format::f16), error, says({"model.gguf: the weights take 1649"}));
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
