// The other translation unit of main.cpp.
#include "augur/augur.hpp"
#include "augur/testing.hpp"
#ifdef CONSUMER_READS_MODELS
#include "augur/io/gguf.hpp"
#endif

std::size_t rows_of(const augur::scores& scores) {
    return scores.size();
}
