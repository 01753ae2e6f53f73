// The other translation unit of main.cpp.
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

std::size_t rows_of(const augur::scores& scores) {
    return scores.size();
}
