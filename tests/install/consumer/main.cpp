// A program of somebody else's: one translation unit asks, the other answers, both with all of augur.
#include <iostream>

#include "augur/augur.hpp"
#include "augur/testing.hpp"
#ifdef consumer_has_encoder
#include "augur/encoder/gate.hpp"
#endif
#ifdef consumer_has_train
#include "augur/train/trainer.hpp"
#endif
#ifdef consumer_has_llama
#include "augur/io/files/gguf.hpp"
#endif
#ifdef consumer_has_llama_cpp
#include "augur/engines/llama_cpp.hpp"
#endif

std::size_t rows_of(const augur::scores& scores);

int main() {
    const float logits[] = {0.5F, 1.5F, 1.0F, 2.0F};
    const augur::scores scores(logits, 2, 2);
    std::cout << rows_of(scores) << " rows, the last ends in " << scores.back()[1] << '\n';
    return rows_of(scores) == 2 && scores.back()[1] == 2.0F ? 0 : 1;
}
