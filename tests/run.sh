#!/usr/bin/env bash
# Runs every test there is: installs what is missing (Debian, as root or with sudo), fetches the models, builds everything
# twice, warnings being errors (with g++; the tests also with clang and its sanitizers), and runs it all in one ctest.
# Arguments go to ctest:  tests/run.sh -R accept
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. cmake/setup.sh

setup build fetch test
model=$(python3 examples/fetch.py smollm2)
python3 examples/fetch.py vectors >/dev/null
llama_cpp=$(python3 examples/fetch.py llama.cpp) || llama_cpp= # then tests on it are skipped, with a line

# CMAKE_UNITY_BUILD: each program is compiled as one source, so what its sources share is parsed and instantiated once.
shared=(-Daugur_WERROR=ON -Daugur_LLAMA_CPP="$llama_cpp" -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=0)
step "Configuring (log: $setup_log)" cmake --preset asan "${shared[@]}"
step "Configuring the optimized build" cmake --preset dev "${shared[@]}" \
  -Daugur_MODEL_DIRECTORY="$(dirname "$model")" -Daugur_SANITIZED_BUILD="$PWD/build/asan" -Daugur_ONLY_CHECKED=ON
echo "== Building with clang and its sanitizers"
cmake --build --preset asan
echo "== Building with g++, the kernels optimized in full"
cmake --build --preset dev
times >build/times # not by a pipe: it would tell of that process
echo "== Where the time went, of the tests when they last ran (tests/house/budget.py); processor time, user and system:" \
  "$(tail -n 1 build/times)"
python3 -B tests/house/budget.py build/asan build/dev
echo "== Testing"
exec ctest --preset dev --no-tests=error -j "$CMAKE_BUILD_PARALLEL_LEVEL" "$@"
