// What the blocks of docs/tutorial.md need around them. What they print has to stand on the page.
#include <augur/augur.hpp>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

using namespace augur;

namespace {

std::string shown;
bool holds = true;

void show(const std::string& name, const auto& decoded) {
    char line[96];
    std::snprintf(line, sizeof line, "%-28s %zu tokens, %zu passes, %.2f tokens a pass\n", name.c_str(),
                  decoded.tokens.size(), decoded.counts.rounds(), decoded.counts.accepted_length());
    shown += line;
}

void same_text(const auto& got, const auto& expected) {
    if (got.tokens == expected.tokens) return;
    std::cout << "another text than plain decoding's after:\n" << shown;
    holds = false;
}

/// Each line, in this order.
bool stands_on(const std::string& page) {
    std::size_t from = 0, at = 0;
    for (std::size_t end = 0; (end = shown.find('\n', from)) != std::string::npos; from = end + 1) {
        const std::string line = shown.substr(from, end - from + 1);
        at = page.find("\n" + line, at);
        if (at == std::string::npos) {
            std::cout << "this is not on the page, or not in its place: " << line;
            return false;
        }
    }
    return !shown.empty();
}

}  // namespace

int main() {
    const std::string family = AUGUR_FAMILY_DIRECTORY;
    // block 1
    // block 2
    // block 3
    // block 4
    // block 5
    // block 6
    // block 7
    // block 8
    std::ifstream opened(AUGUR_PAGE);
    const std::string page{std::istreambuf_iterator<char>(opened), {}};
    std::cout << shown;
    return holds && stands_on(page) ? 0 : 1;
}
