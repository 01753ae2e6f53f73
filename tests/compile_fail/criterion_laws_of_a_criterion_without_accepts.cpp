// A criterion whose member has another name is refused in a sentence, by its laws as by speculate.
// expected-error {{it has no `accepts\(target, drafted, draws\) const` for such tokens}}
#include "augur/testing/criterion_laws.hpp"

struct has_accept {
    using guarantee = augur::guarantee::same_distribution;
    bool accept(const auto& target, const auto& drafted, auto&) const { return target.mode() == drafted.id; }
    augur::token draw(const auto& target, auto&) const { return target.mode(); }
};

int main() {
    return augur::testing::criterion_laws(has_accept{}).kept() ? 0 : 1;
}
