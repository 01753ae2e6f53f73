#pragma once
// Marks functions as __host__ __device__ where nvcc compiles.

#if defined(__CUDACC__)
#define AUGUR_HOST_DEVICE __host__ __device__
/// Before a template of such a function: its arguments' functions decide where an instance can run.
#define AUGUR_WHERE_ARGUMENTS_CAN _Pragma("nv_exec_check_disable")
#else
#define AUGUR_HOST_DEVICE
#define AUGUR_WHERE_ARGUMENTS_CAN
#endif
