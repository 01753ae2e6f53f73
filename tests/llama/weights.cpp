#include "augur/llama/weights.hpp"

#include <atomic>
#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "llama/small_llama.hpp"

BOOST_AUTO_TEST_SUITE(llama_weights)

using namespace augur;
using namespace augur::testing;

BOOST_AUTO_TEST_CASE(whole_numbers_are_no_weights) {
    for (const std::string name : {"blk.1.ffn_up.weight", "output_norm.weight", "token_embd.weight"}) {
        const temporary_directory folder;
        small_llama file;
        const auto shape = file.shapes.at(name);
        file.shapes.erase(name);
        const auto path = file.write(folder / "model.gguf");
        std::uint64_t count = 1;
        for (const auto dimension : shape) count *= dimension;
        gguf_writer out;
        for (const auto& [key, value] : file.texts) out.set(key, value);
        for (const auto& [key, value] : file.sizes) out.set(key, value);
        for (const auto& [key, value] : file.numbers) out.set(key, value);
        const io::gguf_file others(path);
        for (const auto& tensor : others.tensors()) {
            out.tensor(tensor.name, tensor.shape, gguf_number(tensor.type), tensor.read());
        }
        out.tensor(name, shape, gguf_number(io::tensor_type::i32), std::vector<std::byte>(4 * count));
        BOOST_CHECK_EXCEPTION(llama::host_model::load(out.write(folder / "whole.gguf")), error,
                              says({"whole.gguf", name, "i32"}));
    }
}

/// Cut at every stage of loading: while it is mapped, its metadata are read, or its tensors.
BOOST_AUTO_TEST_CASE(a_file_that_is_cut_while_it_loads_is_an_error_that_names_it) {
    const temporary_directory folder;
    const auto whole = small_llama(io::tensor_type::f32, 256, 8, 2, 512, 3000).write(folder / "whole.gguf");
    const auto path = folder / "model.gguf";
    int refused = 0;
    for (int round = 0; round < 60; ++round) {
        std::filesystem::copy_file(whole, path, std::filesystem::copy_options::overwrite_existing);
        std::atomic<int> steps = 0;
        std::thread other([&] {
            while (steps < round * 20) ++steps;  // a little later each time
            std::filesystem::resize_file(path, round % 2 == 0 ? 0 : 5000);
        });
        if (round == 0) other.join();
        try {
            llama::host_model::load(path, {.threads = 1});
        } catch (const error& caught) {
            ++refused;
            BOOST_TEST(std::string(caught.what()).find(path.string()) != std::string::npos, caught.what());
        }
        if (other.joinable()) other.join();
    }
    BOOST_TEST(refused > 0);
}

BOOST_AUTO_TEST_SUITE_END()
