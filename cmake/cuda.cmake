# augur_CUDA: what nvcc compiles, for augur's own programs and tests. augur_gpu is the bundled Llama on a GPU (llama/device/gpu.hpp).
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES 80 90 CACHE STRING "What GPUs to compile for")
endif()
enable_language(CUDA)
if(CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
  set(CMAKE_CUDA_STANDARD 20)
else() # a CMake that is older than the toolkit does not know that it can
  string(APPEND CMAKE_CUDA_FLAGS " -std=c++20")
endif()
find_package(CUDAToolkit REQUIRED)

add_library(augur_nvcc INTERFACE)
target_link_libraries(augur_nvcc INTERFACE augur::cuda)
if(NOT DEFINED augur_NVCC_WARNINGS)
  set(augur_NVCC_WARNINGS -Werror=all-warnings -Xcompiler=-Wall)
endif()
target_compile_options(augur_nvcc INTERFACE $<$<COMPILE_LANGUAGE:CUDA>:${augur_NVCC_WARNINGS}>)

add_library(augur_gpu STATIC EXCLUDE_FROM_ALL ${CMAKE_CURRENT_LIST_DIR}/gpu.cu)
target_link_libraries(augur_gpu PUBLIC augur_nvcc)
