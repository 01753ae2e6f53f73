#include "augur/io/files/read_ngrams.hpp"

#include <boost/test/unit_test.hpp>
#include <functional>
#include <string>
#include <vector>

#include "io/files.hpp"
#include "io/gguf_writer.hpp"

using namespace augur;
using augur::testing::gguf_writer;
using augur::testing::says;
using augur::testing::temporary_directory;

BOOST_AUTO_TEST_SUITE(io_read_ngrams)

constexpr std::uint32_t i32 = 26;

const draft::ngram_table counted =
    draft::ngram_table::count(std::vector<std::vector<token>>{{1, 2, 3, 4, 1, 2, 3, 5, 1, 2, 3, 5}}, {1, 3, 10});

/// A sound member, but for what is changed here.
struct member {
    std::string kind = "ngram";
    std::uint32_t shortest = 1, longest = 3;
    std::uint64_t slots = counted.next().size();
    std::uint32_t type = i32;
    std::vector<std::int32_t> check{counted.check().begin(), counted.check().end()};
    std::vector<token> next{counted.next().begin(), counted.next().end()};

    gguf_writer written() const {
        gguf_writer file;
        file.set("augur.member", kind).set("augur.ngram.order_min", shortest).set("augur.ngram.order_max", longest);
        file.set("augur.ngram.slots", slots);
        file.tensor("augur.ngram.check", {check.size()}, type, std::as_bytes(std::span(check)));
        file.tensor("augur.ngram.next", {next.size()}, type, std::as_bytes(std::span(next)));
        return file;
    }
};

void refuses(const std::vector<std::byte>& image, std::vector<std::string> fragments, std::size_t vocabulary = 10) {
    const io::gguf_view file(image, "member.gguf");
    fragments.insert(fragments.begin(), "member.gguf: ");
    BOOST_CHECK_EXCEPTION(io::read_ngrams(file, vocabulary), error, says(fragments));
}
void refuses(const std::function<void(member&)>& spoil, std::vector<std::string> fragments) {
    member broken;
    spoil(broken);
    refuses(broken.written().bytes(), std::move(fragments));
}

BOOST_AUTO_TEST_CASE(a_file_gives_back_what_was_counted) {
    const temporary_directory folder;
    const io::gguf_file file(member().written().write(folder / "ngram.gguf"));
    const auto table = io::read_ngrams(file, 10);
    BOOST_TEST(table.orders().shortest == 1u);
    BOOST_TEST(table.orders().longest == 3u);
    BOOST_TEST(table.orders().vocabulary_size == 10u);
    BOOST_TEST(table.check() == counted.check(), boost::test_tools::per_element());
    BOOST_TEST(table.next() == counted.next(), boost::test_tools::per_element());
    const auto found = table.find(std::vector<token>{1, 2, 3});
    BOOST_TEST(found.next == 5);
    BOOST_TEST(found.matched == 3u);
}

BOOST_AUTO_TEST_CASE(other_files_are_named) {
    refuses(gguf_writer().bytes(), {"augur.member is '', not 'ngram'"});
    refuses([](member& m) { m.kind = "eagle"; }, {"augur.member is 'eagle', not 'ngram'"});
    refuses(gguf_writer().set("augur.member", "ngram").bytes(), {"'augur.ngram.order_min'"});
}

BOOST_AUTO_TEST_CASE(damaged_tables_are_refused) {
    refuses([](member& m) { m.shortest = 0; }, {"0 tokens"});
    refuses([](member& m) { m.shortest = 4; }, {"4 tokens", "3"});
    refuses([](member& m) { m.longest = 4000000000; }, {"4000000000 tokens, more than 16"});
    refuses([](member& m) { m.slots *= 2; }, {"augur.ngram.check", "{32}", "{64}"});
    refuses([](member& m) { m.next.pop_back(); }, {"augur.ngram.next", "{31}", "{32}"});
    refuses([](member& m) { m.check.pop_back(); }, {"augur.ngram.check", "{31}", "{32}"});
    gguf_writer square;
    square.set("augur.member", "ngram").set("augur.ngram.order_min", 1u).set("augur.ngram.order_max", 3u);
    square.set("augur.ngram.slots", std::uint64_t{32});
    const std::vector<std::int32_t> empty(64, no_token);
    for (const char* name : {"augur.ngram.check", "augur.ngram.next"}) {
        square.tensor(name, {32, 2}, i32, std::as_bytes(std::span(empty)));
    }
    refuses(square.bytes(), {"augur.ngram.check", "{32, 2}", "i32 of {32}"});
    refuses([](member& m) { m.type = 0; }, {"augur.ngram.check' is f32", "i32"});
    refuses([](member& m) { m.next[3] = -2; }, {"slot 3 holds token -2", "10"});
    refuses([](member& m) { m.next[3] = 10; }, {"slot 3 holds token 10", "10"});
    refuses([](member& m) { std::ranges::fill(m.next, 1); }, {"32 of 32 slots are used"});
    const auto odd = [](member& m) {
        m.check.resize(12);
        m.next.resize(12);
        m.slots = 12;
    };
    refuses(odd, {"12 slots are not a power of two"});
    refuses(member().written().bytes(), {"holds token", "but the vocabulary has 5"}, 5);
}

BOOST_AUTO_TEST_SUITE_END()
