# augur::augur  the library: the standard library, Eigen and threads, nothing else below it
# augur::llama  the bundled reader, tokenizer and Llama: adds nlohmann_json and PCRE2
find_package(Eigen3 3.3 REQUIRED NO_MODULE)
find_package(Threads REQUIRED)

file(GLOB_RECURSE augur_core_headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/augur/*.hpp
     ${PROJECT_SOURCE_DIR}/include/augur/*.inc)
set(augur_llama_headers ${augur_core_headers})
list(FILTER augur_llama_headers INCLUDE REGEX "/include/augur/(io|llama)/")
list(FILTER augur_core_headers EXCLUDE REGEX "/include/augur/(io|llama)/")

add_library(augur INTERFACE)
add_library(augur::augur ALIAS augur)
target_sources(augur INTERFACE FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR}/include FILES ${augur_core_headers})
target_compile_features(augur INTERFACE cxx_std_20)
target_link_libraries(augur INTERFACE Eigen3::Eigen Threads::Threads)

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
