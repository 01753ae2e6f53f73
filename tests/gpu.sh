#!/usr/bin/env bash
# On a machine with a GPU, nvcc and CMake, without a network: builds the tests that need a GPU and the benchmarks, runs them, the
# tests also under compute-sanitizer, and writes what they say into a folder.
#   tests/gpu.sh [FOLDER]                     results: FOLDER/tests.xml, sanitizer-*.txt, device.json, loop*.json (build/gpu/results)
#   BOOST_HEADERS=FOLDER tests/gpu.sh         where Boost's headers are, unless the compiler finds them
#   AUGUR_GPU_ARCHITECTURES=90 tests/gpu.sh   for this GPU alone, which builds faster
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
results=$(mkdir -p "${1:-build/gpu/results}" && cd "${1:-build/gpu/results}" && pwd)
cmake -S tests/gpu -B build/gpu -G Ninja -Daugur_GPU_HEADERS="${BOOST_HEADERS:-}" \
  -DCMAKE_CUDA_ARCHITECTURES="${AUGUR_GPU_ARCHITECTURES:-80;90}"
cmake --build build/gpu
if build/gpu/test_gpu --list_content >/dev/null 2>&1; [ $? -eq 77 ]; then
  echo "gpu.sh: there is no GPU here" >&2
  exit 77
fi
ctest --test-dir build/gpu -L gpu --no-tests=error --output-on-failure --output-junit "$results/tests.xml"
if command -v compute-sanitizer >/dev/null; then
  for tool in memcheck racecheck; do
    compute-sanitizer --tool "$tool" --error-exitcode 1 --log-file "$results/sanitizer-$tool.txt" \
      build/gpu/test_gpu --run_test=gpu_laws --color_output=no
  done
else
  echo "gpu.sh: no compute-sanitizer, so it was not run" >&2
fi
build/gpu/bench_device --json "$results/device.json"
build/gpu/bench_loop --json "$results/loop.json"
build/gpu/bench_loop --shape 135m --context 256 --json "$results/loop-135m.json"
echo "gpu.sh: results are in $results"
