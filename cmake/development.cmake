# What augur's own tests, examples and benchmarks are compiled with. Users never see it.
add_library(augur_development INTERFACE)
target_link_libraries(augur_development INTERFACE augur::augur)
target_compile_options(augur_development INTERFACE -Wall -Wextra -Wpedantic -Wconversion -Wshadow)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # When optimizing, g++ 12 reports overflows inside std::vector and std::string that cannot happen; the sanitizers look
  # for those that can.
  target_compile_options(augur_development INTERFACE -Wno-stringop-overflow -Wno-array-bounds -Wno-restrict)
  if(CMAKE_UNITY_BUILD) # g++ takes every grouped source for a header, where a type of an unnamed namespace would be a mistake
    target_compile_options(augur_development INTERFACE -Wno-subobject-linkage)
  endif()
endif()
if(augur_WERROR)
  target_compile_options(augur_development INTERFACE -Werror)
endif()
if(augur_SANITIZERS)
  target_compile_options(augur_development INTERFACE -fsanitize=${augur_SANITIZERS} -fno-sanitize-recover=all
                         -fno-omit-frame-pointer)
  target_link_options(augur_development INTERFACE -fsanitize=${augur_SANITIZERS})
  # Checks of every pointer's alignment, where a target says that it has none that memory was cast to: a fifth of what
  # compiling takes. The address sanitizer sees null.
  target_compile_options(augur_development INTERFACE
                         $<$<BOOL:$<TARGET_PROPERTY:augur_CASTS_NO_MEMORY>>:-fno-sanitize=alignment,null>)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang") # clang 14 marks coroutines for -fsanitize=function so that they cannot be assembled
    target_compile_options(augur_development INTERFACE -fno-sanitize=function)
  endif()
endif()
find_program(augur_ccache ccache)
if(augur_ccache AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${augur_ccache})
endif()

# The kernels, compiled once for all programs that run the bundled Llama. Sanitized, they are optimized, unlike the tests: what uses
# them would take ten times as long.
add_library(augur_kernels STATIC EXCLUDE_FROM_ALL ${CMAKE_CURRENT_LIST_DIR}/kernels.cpp)
target_compile_definitions(augur_kernels PUBLIC AUGUR_KERNELS_ELSEWHERE)
target_link_libraries(augur_kernels PUBLIC augur_development)
if(augur_SANITIZERS)
  target_compile_options(augur_kernels PRIVATE -O1)
endif()
