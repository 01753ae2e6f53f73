// What drafts in the target's sequence drafts a chain there, not a part of a tree.
// expected-error {{ask one after the other by draft::fallback}}
#include "augur/draft/merged.hpp"
#include "augur/draft/prompt_lookup.hpp"
#include "augur/draft/self_speculation.hpp"

struct head {
    std::size_t layer() const { return 1; }
    std::size_t vocabulary_size() const { return 8; }
    std::size_t hidden_size() const { return 8; }
    void row(std::span<const float>, std::span<float>) const {}
};

int main() {
    augur::draft::merged(augur::draft::self_speculation(head{}, augur::draft::argmax{}), augur::draft::prompt_lookup{});
}
