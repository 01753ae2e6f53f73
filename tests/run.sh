#!/usr/bin/env bash
# Runs every test there is: installs what is missing (Debian, as root or with sudo), fetches the models, builds everything
# twice, warnings being errors (with g++, optimized; the tests also with clang and its sanitizers), and runs it all in one ctest.
# Arguments go to ctest:  tests/run.sh -R accept
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. cmake/setup.sh

setup build fetch test
model=$(python3 examples/fetch.py smollm2)
python3 examples/fetch.py vectors >/dev/null
cccl=$(python3 examples/fetch.py cccl)

step "Configuring (log: $setup_log)" cmake --preset asan -Daugur_WERROR=ON -Daugur_CCCL="$cccl"
step "Configuring the optimized build" cmake --preset dev -Daugur_WERROR=ON \
  -Daugur_CCCL="$cccl" -Daugur_MODEL_DIRECTORY="$(dirname "$model")" -Daugur_SANITIZED_BUILD="$PWD/build/asan"
echo "== Building with clang and its sanitizers"
cmake --build --preset asan
echo "== Building with g++, optimized"
cmake --build --preset dev
echo "== Testing"
exec ctest --preset dev --no-tests=error -j "$CMAKE_BUILD_PARALLEL_LEVEL" "$@"
