#pragma once
// What --tree says: which trees are drafted.

#include <string>

#include "scheme.hpp"

namespace augur::program {

/// "auto"; "dynamic", after it limits as ",depth=6,width=10,nodes=59"; or the file of a tree, a JSON array of paths of
/// child ranks, as [[0], [1], [0, 0]]. Forgets what was chosen before. Throws with the values, and the file's name.
void choose_tree(scheme_options& into, const std::string& text);

/// As --tree has it.
std::string shown(const draft::dynamic_tree& limits);

/// The trees that --tree asks for, for people: "as they pay", "6 nodes of depth 3", or shown(limits). Empty where it
/// asks for none.
std::string trees_of(const scheme_options& chosen);

}  // namespace augur::program
