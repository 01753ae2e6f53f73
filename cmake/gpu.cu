// The Llama on a GPU, for programs that nvcc does not compile.
#include "augur/llama/device/gpu.inc"
