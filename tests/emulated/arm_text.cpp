// Greedy text of a model, and a digest of the bits of its logits, for arm.py --text: compiled for two processors, it
// has to say the same. Arguments: a model, an instruction set, how many tokens, the prompt's ids.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "augur/llama/host_model.hpp"

namespace {

using namespace augur;

backend::host::instruction_set set_called(std::string_view name) {
    for (const auto set : backend::host::all_instruction_sets) {
        if (name_of(set) == name) return set;
    }
    detail::fail("no instruction set is called ", name);
}

void print_text(const char* path, std::string_view set, int count, std::vector<token> next) {
    const auto model = llama::host_model::load(
        path, {.weights = llama::weight_format::f32, .threads = 1, .instruction_set = set_called(set)});
    auto sequence = model.make_sequence();
    std::uint64_t digest = 0xcbf29ce484222325u;  // FNV-1a, of words
    for (int i = 0; i < count; ++i) {
        const auto row = model.extend(sequence, next, 1)[0];
        for (std::size_t at = 0; at < row.size(); ++at) {
            digest = (digest ^ std::bit_cast<std::uint32_t>(row[at])) * 0x100000001b3u;
        }
        next = {static_cast<token>(std::max_element(row.begin(), row.end()) - row.begin())};
        std::printf("%d ", static_cast<int>(next[0]));
    }
    std::printf("%016llx\n", static_cast<unsigned long long>(digest));
}

}  // namespace

int main(int count, char** arguments) {
    if (count < 5) return 2;
    std::vector<token> prompt;
    for (int i = 4; i < count; ++i) prompt.push_back(static_cast<token>(std::atoi(arguments[i])));
    print_text(arguments[1], arguments[2], std::atoi(arguments[3]), prompt);
}
