# Headers that include others; they are made, not kept.
#   include/augur/augur.hpp    every core header but the engines' (backend, decode/device), the tests' (testing), and those of encoders
#                              and of training, which rest on Eigen and take seconds to compile
#   include/augur/testing.hpp  every header of testing
#
#   cmake -P cmake/umbrella.cmake             writes them
#   cmake -DCHECK=ON -P cmake/umbrella.cmake  fails if one is not what would be written
get_filename_component(include_directory ${CMAKE_CURRENT_LIST_DIR}/../include ABSOLUTE)

function(augur_umbrella umbrella comment)
  set(headers ${ARGN})
  list(SORT headers)
  set(text "#pragma once\n// ${comment} Made by cmake/umbrella.cmake.\n\n")
  foreach(header IN LISTS headers)
    string(APPEND text "#include \"${header}\"\n")
  endforeach()

  if(NOT CHECK)
    file(WRITE ${include_directory}/${umbrella} "${text}")
    return()
  endif()
  set(committed "")
  if(EXISTS ${include_directory}/${umbrella})
    file(READ ${include_directory}/${umbrella} committed)
  endif()
  if(NOT committed STREQUAL text)
    message(FATAL_ERROR "include/${umbrella} does not list the headers that are there; write it anew: "
                        "cmake -P cmake/umbrella.cmake")
  endif()
endfunction()

file(GLOB_RECURSE headers RELATIVE ${include_directory} ${include_directory}/augur/*.hpp)
list(FILTER headers EXCLUDE REGEX "^augur/(augur|testing)\\.hpp$")
set(testing ${headers})
list(FILTER testing INCLUDE REGEX "^augur/testing/")
augur_umbrella(augur/testing.hpp "Everything to test models, drafters, policies, criteria and schemes with." ${testing})

list(FILTER headers EXCLUDE REGEX "/(backend|detail|decode/device|encoder|engines|io|llama|testing|train)/")
augur_umbrella(augur/augur.hpp "Everything that needs only the standard library." ${headers})
