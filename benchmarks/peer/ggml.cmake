# CMAKE_PROJECT_ggml_INCLUDE of the build that run.py makes.
add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:SHELL:-include ${CMAKE_CURRENT_LIST_DIR}/tile_config.h>")
