/* Included before every source of ggml. g++ 12's own _tile_loadconfig tells the compiler that only 8 of the 64 bytes are read, so that the
   stores to the others are dropped, and llama.cpp's kernels for quantised weights end in a segmentation fault on CPUs with AMX. */
#if defined(__GNUC__) && !defined(__clang__) && defined(__AMX_TILE__)
#include <immintrin.h>
#define _tile_loadconfig(config) __asm__ volatile("ldtilecfg %0" ::"m"(*(const char(*)[64])(config)))
#endif
