# include/augur/augur.hpp includes every core header but the engines' (backend), the tests' (testing), and those that rest on Eigen,
# which takes seconds to compile; so it is made, not kept.
#   cmake -P cmake/umbrella.cmake             writes it
#   cmake -DCHECK=ON -P cmake/umbrella.cmake  fails if it is not what would be written
get_filename_component(include_directory ${CMAKE_CURRENT_LIST_DIR}/../include ABSOLUTE)
set(umbrella ${include_directory}/augur/augur.hpp)

file(GLOB_RECURSE headers RELATIVE ${include_directory} ${include_directory}/augur/*.hpp)
list(FILTER headers EXCLUDE REGEX "^augur/augur\\.hpp$|/(backend|detail|io|llama|testing)/")
list(FILTER headers EXCLUDE REGEX "/cascade/(alignment|feature_divergence|gate)\\.hpp$")
list(SORT headers)

set(text "#pragma once\n// Everything that needs only the standard library. Made by cmake/umbrella.cmake.\n\n")
foreach(header IN LISTS headers)
  string(APPEND text "#include \"${header}\"\n")
endforeach()

if(NOT CHECK)
  file(WRITE ${umbrella} "${text}")
  return()
endif()
set(committed "")
if(EXISTS ${umbrella})
  file(READ ${umbrella} committed)
endif()
if(NOT committed STREQUAL text)
  message(FATAL_ERROR "include/augur/augur.hpp does not list the headers that are there; write it anew: "
                      "cmake -P cmake/umbrella.cmake")
endif()
