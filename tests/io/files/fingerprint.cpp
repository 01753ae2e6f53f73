#include "augur/io/files/fingerprint.hpp"

#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>

#include "io/gguf_writer.hpp"

BOOST_AUTO_TEST_SUITE(io_fingerprint)

using namespace augur;
using namespace augur::testing;

BOOST_AUTO_TEST_CASE(the_hash_is_fnv_1a) {
    const auto of = [](std::string_view text) {
        io::fnv_hash hash;
        hash.add(text);
        return hash.text();
    };
    BOOST_TEST(of("") == "cbf29ce484222325");  // the values published with it
    BOOST_TEST(of("a") == "af63dc4c8601ec8c");
    BOOST_TEST(of("foobar") == "85944171f73967e8");
    io::fnv_hash numbers;
    numbers.add(0x6f6f66, 3);
    numbers.add(0x726162, 3);
    BOOST_TEST(numbers.text() == of("foobar"));
}

struct file_in_the_making {
    std::string name = "a.weight";
    std::vector<std::uint64_t> shape{30, 100};
    std::vector<float> values = std::vector<float>(3000, 0.5f);
    std::string metadata = "x";

    std::string fingerprint() const {
        gguf_writer out;
        out.set("general.name", metadata);
        out.tensor(name, shape, values).tensor("b", {4}, std::vector<float>{1, 2, 3, 4});
        const auto bytes = out.bytes();
        return io::fingerprint(io::gguf_view(bytes));
    }
};

BOOST_AUTO_TEST_CASE(it_is_what_the_definition_says) {
    const file_in_the_making file;
    std::string hashed = "a.weight";
    const auto add = [&](std::uint64_t number, int bytes) {
        for (int i = 0; i < bytes; ++i) hashed += static_cast<char>(number >> (8 * i));
    };
    add(0, 4), add(100, 8), add(30, 8);  // f32; the innermost dimension first
    const auto ends = std::string(reinterpret_cast<const char*>(file.values.data()), 4096);
    hashed += ends + ends + "b";
    add(0, 4), add(4, 8);
    const std::vector<float> last{1, 2, 3, 4};
    const std::string small(reinterpret_cast<const char*>(last.data()), 16);
    hashed += small + small;
    io::fnv_hash expected;
    expected.add(hashed);
    BOOST_TEST(file.fingerprint() == expected.text());
}

BOOST_AUTO_TEST_CASE(it_tells_models_apart_and_looks_past_metadata) {
    const auto changed = [](auto&& change) {
        file_in_the_making other;
        change(other);
        return other.fingerprint();
    };
    const std::string own = file_in_the_making{}.fingerprint();
    BOOST_TEST(changed([](auto& f) { f.metadata = "y"; }) == own);
    BOOST_TEST(changed([](auto& f) { f.name = "c.weight"; }) != own);
    BOOST_TEST(changed([](auto& f) { f.shape = {100, 30}; }) != own);
    BOOST_TEST(changed([](auto& f) { f.values[0] = 1; }) != own);
    BOOST_TEST(changed([](auto& f) { f.values[1023] = 1; }) != own);
    BOOST_TEST(changed([](auto& f) { f.values[1500] = 1; }) == own);
    BOOST_TEST(changed([](auto& f) { f.values[1976] = 1; }) != own);
    BOOST_TEST(changed([](auto& f) { f.values[2999] = 1; }) != own);
}

BOOST_AUTO_TEST_CASE(safetensors_are_taken_in_the_order_of_names) {
    const temporary_directory folder;
    const nlohmann::json header = {{"b", {{"dtype", "F32"}, {"shape", {1}}, {"data_offsets", {0, 4}}}},
                                   {"a", {{"dtype", "BF16"}, {"shape", {1, 2}}, {"data_offsets", {4, 8}}}}};
    const std::string text = header.dump();
    byte_writer out;
    out.number(std::uint64_t{text.size()});
    out.raw_bytes(std::as_bytes(std::span(text)));
    out.raw_bytes(std::as_bytes(std::span("frstscnd", 8)));
    write_file(folder / "model.safetensors", out.bytes());
    io::fnv_hash expected;
    expected.add("aBF16");
    expected.add(1, 8);
    expected.add(2, 8);
    expected.add("scndscndbF32");
    expected.add(1, 8);
    expected.add("frstfrst");
    BOOST_TEST(io::fingerprint(io::safetensors_folder(folder / "model.safetensors")) == expected.text());
}

/// The bytes of a safetensors file with one F32 tensor of these values.
std::vector<std::byte> one_tensor(const std::string& name, const std::vector<float>& values) {
    const auto size = values.size() * sizeof(float);
    const nlohmann::json header = {{name, {{"dtype", "F32"}, {"shape", {values.size()}}, {"data_offsets", {0, size}}}}};
    byte_writer out;
    out.string(header.dump());
    return out.raw_bytes(std::as_bytes(std::span(values))).bytes();
}

BOOST_AUTO_TEST_CASE(whatever_can_be_loaded_has_one) {
    const temporary_directory folder;
    std::vector<float> values(100, 0.5f);
    const auto write = [&](const char* name, const std::vector<float>& last) {
        const auto path = folder / name;
        std::filesystem::create_directory(path);
        write_file(path / "config.json", "{}");
        write_file(path / "one.safetensors", one_tensor("a", std::vector<float>(100, 0.5f)));
        write_file(path / "two.safetensors", one_tensor("b", last));
        write_file(path / "model.safetensors.index.json",
                   R"({"weight_map":{"a":"one.safetensors","b":"two.safetensors"}})");
        return io::fingerprint(path);
    };
    const auto first = write("first", values);
    BOOST_TEST(first.size() == 16u);
    BOOST_TEST(io::fingerprint(folder / "first") == first);
    BOOST_TEST(write("copy", values) == first);
    values[57] = 0.25f;
    BOOST_TEST(write("other", values) != first);
    std::filesystem::create_directory(folder / "whole");
    write_file(folder / "whole" / "config.json", "{}");
    write_file(folder / "whole" / "model.safetensors", one_tensor("a", std::vector<float>(100, 0.5f)));
    const auto whole = io::fingerprint(folder / "whole");
    BOOST_TEST(whole != first);
    BOOST_TEST(io::fingerprint(folder / "first" / "one.safetensors") == whole);
    const auto gguf = gguf_writer().tensor("a", {100}, values).write(folder / "a.gguf");
    BOOST_TEST(io::fingerprint(gguf) == io::fingerprint(io::gguf_file(gguf)));
    BOOST_CHECK_EXCEPTION(io::fingerprint(folder / "absent"), error, says({"absent", "No such file"}));
}

BOOST_AUTO_TEST_SUITE_END()
