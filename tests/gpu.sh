#!/usr/bin/env bash
# On a machine with a GPU, nvcc and CMake, without a network: builds the tests that need a GPU and the benchmarks, runs them, the
# tests also under compute-sanitizer, and writes what they say into a folder. Where python3 has PyTorch with CUDA, bench_device
# and PyTorch's side of it (benchmarks/gpu/torch_decode.py) take turns, and a table compares them.
#   tests/gpu.sh [FOLDER]                     results: FOLDER/tests.xml, sanitizer-*.txt, device.json, loop*.json; beside PyTorch device-2.json,
#                                             torch.json, torch-2.json, compared.md (build/gpu/results)
#   BOOST_HEADERS=FOLDER tests/gpu.sh         where Boost's headers are, unless the compiler finds them
#   AUGUR_GPU_ARCHITECTURES=90 tests/gpu.sh   for this GPU alone, which builds faster
#   AUGUR_GPU_SHAPE=1b tests/gpu.sh           the model's shape in the benchmark (8b)
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
build/gpu/bench_loop --shape "${AUGUR_GPU_SHAPE:-8b}" --json "$results/loop.json"
build/gpu/bench_loop --shape 135m --context 256 --json "$results/loop-135m.json"
ours() { build/gpu/bench_device --shape "${AUGUR_GPU_SHAPE:-8b}" --json "$results/$1"; }
theirs() { python3 -B benchmarks/gpu/torch_decode.py --shape "${AUGUR_GPU_SHAPE:-8b}" --json "$results/$1"; }
ours device.json
status=0
theirs torch.json || status=$?
case $status in
  0)
    ours device-2.json
    theirs torch-2.json
    python3 -B benchmarks/gpu/compare.py --augur "$results"/device{,-2}.json --torch "$results"/torch{,-2}.json |
      tee "$results/compared.md"
    ;;
  77 | 127) echo "gpu.sh: no PyTorch with CUDA, so it was not compared" >&2 ;;
  *) exit "$status" ;;
esac
echo "gpu.sh: results are in $results"
