# Everything that is not the library itself is off unless augur is the project being built.
option(augur_TESTS "Build the tests" ${PROJECT_IS_TOP_LEVEL})
option(augur_EXAMPLES "Build the examples, the program `augur` among them" ${PROJECT_IS_TOP_LEVEL})
option(augur_BENCHMARKS "Build the benchmarks" ${PROJECT_IS_TOP_LEVEL})
option(augur_INSTALL "Generate the install target" ${PROJECT_IS_TOP_LEVEL})
option(augur_FUZZERS "Build the fuzzers (clang only)" OFF)
option(augur_WERROR "Treat warnings in augur's own tests and examples as errors" OFF)
set(augur_SANITIZERS "" CACHE STRING "Sanitizers for tests and examples, e.g. address,undefined")
set(augur_MODEL_DIRECTORY "" CACHE PATH "The cache of examples/fetch.py; tests that need models show as disabled without")
set(augur_SANITIZED_BUILD "" CACHE PATH "A build of the preset asan, whose tests and fuzzers are then tests of this build too")

if(PROJECT_IS_TOP_LEVEL AND NOT DEFINED CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()
