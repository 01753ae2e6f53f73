// What the block of docs/engines/llama_cpp.md needs around it: a tiny model, and a text of it.
#include <augur/augur.hpp>
#include <string>

#include "engines/tiny_gguf.hpp"

using namespace augur;

int main() {
    const testing::temporary_directory folder;
    testing::tiny_gguf tiny;
    tiny.has_words = true;
    const auto file = tiny.write(folder / "tiny.gguf");
    const std::string prompt = "to be or not to be";
    // block 1
    return result.tokens.empty() || result.text().empty() ? 1 : 0;
}
