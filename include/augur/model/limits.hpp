#pragma once
// What a model's passes are bound by: what one pass can be, and how much a round may draft for it.

#include <algorithm>
#include <cstddef>

#include "augur/model/concepts.hpp"
#include "augur/model/pass.hpp"
#include "augur/types/topology.hpp"

namespace augur::model {

/// What the model says; nothing, and known when it is compiled, where it says nothing.
template <Model M>
constexpr pass_limits limits_of([[maybe_unused]] const M& model) {
    if constexpr (HasPassLimits<M>) {
        return model.limits();
    } else {
        return {};
    }
}

/// Whether its run does these by itself: its type says so, and it has them.
template <Model M>
constexpr bool supports(const M& model, pass_features some) {
    return includes(pass_features_of<M>, some) && (!HasPassLimits<M> || includes(limits_of(model).features, some));
}

/// Whether its run can be asked for this pass: by its features, tokens, nodes and leaves. A tree's nodes then wait for
/// keep.
template <Model M>
bool runs_itself(const M& model, const pass<sequence_t<M>>& asked) {
    if (!includes(pass_features_of<M>, asked.needs())) return false;
    if constexpr (HasPassLimits<M>) {
        const pass_limits most = model.limits();
        const std::size_t tokens = asked.tokens.size();
        if (!includes(most.features, asked.needs()) || tokens > most.most_tokens_of_a_pass) return false;
        return asked.parents.empty() ||
               parents::fitting(asked.parents, tokens, most.most_tree_nodes, most.most_leaves) == tokens;
    }
    return true;
}
template <Model M>
bool runs_tree(const M& model, const pass<sequence_t<M>>& asked) {
    if constexpr (TreeModel<M>) {
        return !asked.parents.empty() && runs_itself(model, asked);
    } else {
        return false;
    }
}

/// Of so many tokens that could be drafted as a chain, how many one pass verifies beside the token before them.
template <Model M>
std::size_t most_drafted(const M& model, std::size_t tokens) {
    if constexpr (HasPassLimits<M>) {
        const std::size_t most = model.limits().most_tokens_of_a_pass;
        return most == no_limit ? tokens : std::min(tokens, std::max<std::size_t>(most, 1) - 1);
    }
    return tokens;
}

/// Nodes and leaves of a tree.
struct tree_room {
    std::size_t nodes = no_limit, leaves = no_limit;
};

/// What one pass verifies of a tree beside `chain` tokens before it. No bound where the model runs no trees: they go
/// path by path.
template <Model M>
tree_room room_for_tree([[maybe_unused]] const M& model, [[maybe_unused]] std::size_t chain = 1) {
    if constexpr (TreeModel<M> && HasPassLimits<M>) {
        const pass_limits most = model.limits();
        const std::size_t nodes = std::min(most.most_tree_nodes, most.most_tokens_of_a_pass);
        if (!includes(most.features, pass_features::trees)) return {};
        return {nodes == no_limit ? no_limit : nodes - std::min(nodes, chain), most.most_leaves};
    } else {
        return {};
    }
}

}  // namespace augur::model
