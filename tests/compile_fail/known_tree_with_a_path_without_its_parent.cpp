// A tree that is known at compile time is checked there: a path needs its parent.
// expected-error {{augur::tree::known}}
// expected-error {{has no parent, }}
#include "augur/tree/known.hpp"

constexpr auto tree = augur::tree::known({{0}, {1, 0}});

int main() {
    return static_cast<int>(tree.size());
}
