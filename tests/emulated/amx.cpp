// The products in tiles, on a machine that need not have any: what tests/backend/host/product.cpp says of every
// instruction set, with the tile instructions emulated. Without AVX-512 and its bfloat16, which the rest of these
// kernels is made of, nothing is tried but the portable ones.

// clang-format off
#include "emulated/tiles.hpp"  // first, for it stands in for the intrinsics
#include "backend/host/product.cpp"
// clang-format on
