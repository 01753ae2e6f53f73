#include "tree_choice.hpp"

#include <augur/io/files/json.hpp>
#include <augur/io/files/quote.hpp>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "limits.hpp"
#include "options.hpp"
#include "tree_rules.hpp"

namespace augur::program {
namespace {

topology read_tree(const std::string& path) {
    try {
        const auto paths = io::read_json<nlohmann::json>(path, most::line);
        for (const auto& each : paths) {
            for (const auto& rank : each) {
                if (rank.is_number_unsigned() && rank.get<std::uint64_t>() < most::length) continue;
                detail::fail(rank.dump(), " is no rank; it must be an integer from 0 to ", most::length - 1);
            }
            if (!each.is_array()) detail::fail(each.dump(), " is no path of child ranks, as [0, 1]");
        }
        if (!paths.is_array()) detail::fail("there is no array of paths, as [[0], [1], [0, 0]]");
        return topology::of_paths(paths.get<std::vector<std::vector<std::size_t>>>());
    } catch (const error& problem) {
        detail::fail("--tree ", path, ": ", problem.what());
    }
}

/// `rest`: what follows "dynamic", empty or from a comma on.
draft::dynamic_tree parse_dynamic(const std::string& text, std::string_view rest) {
    draft::dynamic_tree limits;
    std::map<std::string, std::string> given;
    const auto take = [&](const std::string& name, const std::string& value) {
        std::size_t* const into = name == "depth"   ? &limits.depth
                                  : name == "width" ? &limits.top_k
                                  : name == "nodes" ? &limits.nodes
                                                    : nullptr;
        if (into == nullptr) {
            detail::fail("--tree ", io::quote(text), ": ", io::quote(name), " is not one of depth, width, nodes");
        }
        if (const auto [before, is_new] = given.emplace(name, value); !is_new) {
            detail::fail("--tree ", io::quote(text), ": ", name, " is given twice, as ", io::quote(before->second),
                         " and as ", io::quote(value));
        }
        const std::string option = "--tree dynamic: " + name;
        *into = parse_number(option, value, name == "nodes" ? topology::most_nodes : most::dynamic);
        if (*into == 0) detail::fail(option, " is 0; it must be at least 1");
    };
    while (!rest.empty()) {
        rest.remove_prefix(1);
        const std::string_view part = rest.substr(0, rest.find(','));
        rest.remove_prefix(part.size());
        const std::size_t equals = part.find('=');
        if (equals == std::string_view::npos) {
            detail::fail("--tree ", io::quote(text), ": ", io::quote(std::string(part)), " has no '='");
        }
        take(std::string(part.substr(0, equals)), std::string(part.substr(equals + 1)));
    }
    return limits;
}

}  // namespace

void choose_tree(scheme_options& into, const std::string& text) {
    constexpr std::string_view name = "dynamic";
    into.automatic_tree = text == "auto";
    into.tree.reset();
    into.dynamic.reset();
    if (text == name || text.starts_with(std::string(name) + ",")) {
        into.dynamic = parse_dynamic(text, std::string_view(text).substr(name.size()));
    } else if (!into.automatic_tree) {
        into.tree = read_tree(text);
    }
}

std::string shown(const draft::dynamic_tree& limits) {
    return detail::message("dynamic,depth=", limits.depth, ",width=", limits.top_k, ",nodes=", limits.nodes);
}

std::string trees_of(const scheme_options& chosen) {
    if (chosen.scheme == "entmtp" && chosen.bank) {
        const io::bank_file& bank = *chosen.bank;
        const auto nodes = [&](std::size_t place) { return bank.trees.shape(place).size(); };
        if (by_ladder(chosen)) return detail::message("all ", bank.trees.size(), " of the bank");
        if (one_tree_is_best(chosen)) return detail::message(nodes(bank.aggressive), " nodes, always");
        return detail::message(nodes(bank.conservative), " or ", nodes(bank.aggressive), " nodes");
    }
    if (chosen.dynamic) return shown(*chosen.dynamic);
    if (chosen.tree) return detail::message(chosen.tree->size(), " nodes of depth ", chosen.tree->depth());
    return chosen.automatic_tree ? "as they pay" : "";
}

}  // namespace augur::program
