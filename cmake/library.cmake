# augur::augur    the library: the standard library and threads, nothing else below it
# augur::encoder  cascades of encoders: adds Eigen
# augur::train    heads that learn while they draft: adds Eigen
# augur::device   kernels, and what a processor emulates them with: adds nothing
# augur::cuda     the same on a GPU, for sources that nvcc compiles: adds CUDA's runtime; who includes cublas_products.hpp links
#                 CUDA::cublasLt as well
# augur::llama    the bundled reader, tokenizer and Llama: adds nlohmann_json and PCRE2
find_package(Threads REQUIRED)

file(GLOB_RECURSE augur_core_headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/augur/*.hpp
     ${PROJECT_SOURCE_DIR}/include/augur/*.inc)
set(augur_encoder_headers ${augur_core_headers})
set(augur_train_headers ${augur_core_headers})
set(augur_llama_headers ${augur_core_headers})
set(augur_device_headers ${augur_core_headers})
list(FILTER augur_encoder_headers INCLUDE REGEX "/include/augur/encoder/")
list(FILTER augur_train_headers INCLUDE REGEX "/include/augur/(train/|io/files/(fnv_hash|regular_file)\\.hpp$)")
list(FILTER augur_llama_headers INCLUDE REGEX "/include/augur/(io|llama|(backend|decode)/device)/") # made of kernels
list(FILTER augur_device_headers INCLUDE REGEX "/include/augur/(backend|decode)/device/")
list(FILTER augur_device_headers EXCLUDE REGEX "/quantised_tiles\\.hpp$") # reads the blocks of augur::llama's files
list(FILTER augur_core_headers EXCLUDE REGEX "/include/augur/(encoder|train|io|llama|(backend|decode)/device)/")

add_library(augur INTERFACE)
add_library(augur::augur ALIAS augur)
target_sources(augur INTERFACE FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR}/include FILES ${augur_core_headers})
target_compile_features(augur INTERFACE cxx_std_20)
target_link_libraries(augur INTERFACE Threads::Threads)

find_package(Eigen3 3.3 QUIET NO_MODULE)
if(TARGET Eigen3::Eigen)
  set(augur_HAS_EIGEN TRUE)
  foreach(part IN ITEMS encoder train)
    add_library(augur_${part} INTERFACE)
    add_library(augur::${part} ALIAS augur_${part})
    set_target_properties(augur_${part} PROPERTIES EXPORT_NAME ${part})
    target_sources(augur_${part} INTERFACE FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR}/include FILES ${augur_${part}_headers})
    target_link_libraries(augur_${part} INTERFACE augur Eigen3::Eigen)
  endforeach()
else()
  set(augur_HAS_EIGEN FALSE)
  message(STATUS "augur::encoder and augur::train are left out: they need Eigen 3.3")
endif()

find_package(nlohmann_json 3.10 QUIET)
find_package(PkgConfig QUIET)
if(PkgConfig_FOUND)
  pkg_check_modules(augur_pcre2 QUIET IMPORTED_TARGET libpcre2-8)
endif()
if(nlohmann_json_FOUND AND TARGET PkgConfig::augur_pcre2)
  set(augur_HAS_LLAMA TRUE)
  add_library(augur_llama INTERFACE)
  add_library(augur::llama ALIAS augur_llama)
  set_target_properties(augur_llama PROPERTIES EXPORT_NAME llama)
  target_sources(augur_llama INTERFACE FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR}/include FILES ${augur_llama_headers})
  target_link_libraries(augur_llama INTERFACE augur nlohmann_json::nlohmann_json PkgConfig::augur_pcre2)
else()
  set(augur_HAS_LLAMA FALSE)
  message(STATUS "augur::llama is left out: it needs nlohmann_json and libpcre2-8 (with pkg-config)")
endif()

add_library(augur_device INTERFACE)
add_library(augur::device ALIAS augur_device)
set_target_properties(augur_device PROPERTIES EXPORT_NAME device)
target_sources(augur_device INTERFACE FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR}/include FILES ${augur_device_headers})
target_link_libraries(augur_device INTERFACE augur)
# Products and sums apart, as on the host: the same bits, the same decisions.
target_compile_options(augur_device INTERFACE $<$<COMPILE_LANGUAGE:CUDA>:--expt-relaxed-constexpr --fmad=false>)

find_package(CUDAToolkit QUIET)
if(CUDAToolkit_FOUND)
  set(augur_HAS_CUDA TRUE)
  add_library(augur_cuda INTERFACE)
  add_library(augur::cuda ALIAS augur_cuda)
  set_target_properties(augur_cuda PROPERTIES EXPORT_NAME cuda)
  target_link_libraries(augur_cuda INTERFACE augur CUDA::cudart)
  target_compile_options(augur_cuda INTERFACE $<$<COMPILE_LANGUAGE:CUDA>:--expt-relaxed-constexpr --fmad=false>)
else()
  set(augur_HAS_CUDA FALSE)
  message(STATUS "augur::cuda is left out: there is no CUDA toolkit")
endif()
