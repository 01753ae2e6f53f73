#include <augur/io/text/merge_symbols.hpp>
#include <boost/test/unit_test.hpp>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

BOOST_AUTO_TEST_SUITE(io_merge_symbols)

using namespace augur;
using namespace augur::io;

namespace {

using rules = std::map<std::pair<token, token>, merge_offer>;

std::vector<token> merge_fast(const rules& table, const std::vector<token>& ids) {
    symbol_merger merger;
    for (std::size_t i = 0; i < ids.size(); ++i) merger.add(i, 1, ids[i]);
    std::vector<token> out;
    merger.merge(
        [&](const symbol& left, const symbol& right) -> std::optional<merge_offer> {
            const auto found = table.find({left.id, right.id});
            if (found == table.end()) return std::nullopt;
            return found->second;
        },
        [&](const symbol& last) { out.push_back(last.id); });
    return out;
}

/// The definition: again and again the best pair, the leftmost of equals.
std::vector<token> merge_slowly(const rules& table, std::vector<token> ids) {
    for (;;) {
        std::optional<std::size_t> best;
        merge_offer chosen{};
        for (std::size_t i = 0; i + 1 < ids.size(); ++i) {
            const auto found = table.find({ids[i], ids[i + 1]});
            if (found == table.end() || (best && found->second.priority <= chosen.priority)) continue;
            best = i;
            chosen = found->second;
        }
        if (!best) return ids;
        ids[*best] = chosen.result;
        ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(*best) + 1);
    }
}

}  // namespace

BOOST_AUTO_TEST_CASE(nothing_and_one) {
    BOOST_TEST(merge_fast({}, {}).empty());
    BOOST_TEST(merge_fast({}, {7}) == std::vector<token>{7});
}

BOOST_AUTO_TEST_CASE(better_offers_go_first_and_ties_go_left) {
    const rules table{{{1, 2}, {-1, 12}}, {{2, 3}, {0, 23}}, {{1, 1}, {-5, 11}}};
    BOOST_TEST((merge_fast(table, {1, 2, 3}) == std::vector<token>{1, 23}));
    BOOST_TEST((merge_fast(table, {1, 1, 1}) == std::vector<token>{11, 1}));
}

BOOST_AUTO_TEST_CASE(random_rules_agree_with_the_definition) {
    for (unsigned seed = 0; seed < 500; ++seed) {
        BOOST_TEST_CONTEXT("seed " << seed) {
            std::mt19937 random(seed);
            rules table;
            for (token result = 4; result < 40; ++result) {
                const auto part = [&] { return static_cast<token>(random() % static_cast<unsigned>(result)); };
                table.insert({{part(), part()}, {-static_cast<double>(random() % 12), result}});
            }
            std::vector<token> ids(random() % 60);
            for (auto& id : ids) id = static_cast<token>(random() % 4);
            BOOST_TEST(merge_fast(table, ids) == merge_slowly(table, ids));
        }
    }
}

BOOST_AUTO_TEST_CASE(a_merger_can_be_used_again) {
    symbol_merger merger;
    const auto none = [](const symbol&, const symbol&) -> std::optional<merge_offer> { return std::nullopt; };
    for (int round = 0; round < 2; ++round) {
        merger.clear();
        merger.add(0, 1, 5);
        std::size_t seen = 0;
        merger.merge(none, [&](const symbol& last) { seen += last.id == 5 ? 1u : 100u; });
        BOOST_TEST(seen == 1u);
    }
}

BOOST_AUTO_TEST_SUITE_END()
