#!/usr/bin/env bash
# Tests and figures that need a GPU, in steps of at most eight minutes, for a machine that has one for half an hour, without a
# network, a compiler or Boost.
#   tests/gpu.sh prepare       on a machine with nvcc and Boost's headers: builds the programs for sm_90 and packs what must
#                              travel beside the tree: build/gpu/pack.tar.gz
#   tests/gpu.sh STEP...       there: 1 the machine and the tests, 2 figures, 3 PyTorch beside them, 4 compute-sanitizer and
#                              Nsight Compute, 5 exact integers and 10^5 tokens; `all` for all of them
#   tests/gpu.sh rehearse      anywhere: every step with stand-ins that fail, hang or are missing (tests/gpu/rehearse.py)
# A step is made of parts. Each is bounded, none stops the others, and what it says is in the results when it ends: at most eight
# files in build/gpu/results, copied to $OUT where that is set. The same command again runs what has not run yet, then what failed.
# Exit code 0, 1 where a part failed or had no time left, 77 where there is no GPU.
#   AUGUR_GPU_ARCHITECTURES=90-real what `prepare` compiles for
#   BOOST_HEADERS=FOLDER           where Boost's headers are, unless the compiler finds them
#   AUGUR_GPU_PROGRAMS=FOLDER      programs that are there already, instead of the pack's
#   AUGUR_GPU_STEP_SECONDS=480     of a step; AUGUR_GPU_PART_SECONDS=N bounds each part by N, too
#   AUGUR_GPU_FOLDER=build/gpu     where all of this is kept
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
folder=${AUGUR_GPU_FOLDER:-build/gpu}
most_megabytes=66 # that may travel

say() { echo "gpu.sh: $*" >&2; }

# ---- before: programs that need nothing of the machine that they run on

build() { # FOLDER ARCHITECTURES
  cmake -S tests/gpu -B "$1" -G Ninja -Daugur_GPU_HEADERS="${BOOST_HEADERS:-}" -DCMAKE_CUDA_ARCHITECTURES="$2" &&
    cmake --build "$1" -- -k 0
}

# Libraries other than the C library's, which every machine has, and cuBLASLt where the name says so.
foreign_libraries() { # PROGRAM
  readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' |
    grep -Ev '^(lib(c|m|dl|rt|pthread)\.so\.[0-9]+|ld-linux-x86-64\.so\.2)$' |
    { case $1 in *wide | *prompts) grep -Ev '^libcublasLt\.so\.' ;; *) cat ;; esac }
}

prepare() {
  build "$folder" "${AUGUR_GPU_ARCHITECTURES:-90-real}" || return 1
  rm -rf "$folder/packed" && mkdir -p "$folder/packed" || return 1
  local program foreign
  for program in "$folder"/test_gpu* "$folder"/bench_*; do
    [ -f "$program" ] && [ -x "$program" ] || continue
    strip -o "$folder/packed/${program##*/}" "$program" || return 1
    if foreign=$(foreign_libraries "$program"); then
      say "${program##*/} needs libraries that may not be there:" $foreign
      return 1
    fi
  done
  tar -C "$folder/packed" -czf "$folder/pack.tar.gz" . || return 1
  local pack tree
  pack=$(stat -c %s "$folder/pack.tar.gz")
  tree=$(git ls-files -z | xargs -0 stat -c %s | awk '{ sum += $1 } END { print sum }') || return 1
  say "$folder/pack.tar.gz has $((pack / 1000000)) MB, the tree $((tree / 1000000)) MB; at most $most_megabytes MB travel"
  [ $(((pack + tree) / 1000000)) -lt $most_megabytes ]
}

# ---- there: parts and what is kept of them

results=$folder/results
state=$results/state.txt # a line for each part that ended: its name, exit code and seconds

keep() { if [ -n "${OUT:-}" ]; then mkdir -p "$OUT" && cp "$results"/* "$OUT"/; fi; }

# The exit code with which a part ended last; nothing if it has not.
ended() { awk -v part="$1" '$1 == part { code = $2 } END { if (code != "") print code }' "$state"; }

left() { echo $((started + ${AUGUR_GPU_STEP_SECONDS:-480} - SECONDS)); }

# Runs a command for so many seconds at most and appends to a file of the results what it says, but no more than 500 kB of it.
part() { # NAME SECONDS FILE COMMAND...
  local name=$1 bound=$2 file=$results/$3 before code since=$SECONDS
  shift 3
  before=$(ended "$name")
  if [ "$turn" = new ]; then
    [ -z "$before" ] || return 0
  else # what failed before this call
    case $before in '' | 0) return 0 ;; esac
    grep -qxF "$name" <<<"$tried" && return 0
  fi
  if [ "$(left)" -lt 1 ]; then
    say "$name has no time left: the same command again runs it"
    unfinished=1
    return 0
  fi
  tried+=$'\n'$name
  [ "$bound" -le "${AUGUR_GPU_PART_SECONDS:-$bound}" ] || bound=$AUGUR_GPU_PART_SECONDS
  [ "$bound" -le "$(left)" ] || bound=$(left)
  say "$name, for $bound s at most"
  echo "==== $name: $*" >>"$file"
  timeout --kill-after=2 "$bound" "$@" 2>&1 | { head -c 500000; cat >/dev/null; } >>"$file"
  code=${PIPESTATUS[0]}
  echo "$name $code $((SECONDS - since))" >>"$state"
  echo "==== $name: exit code $code$([ "$code" -ne 124 ] && [ "$code" -ne 137 ] || echo ", it ran past $bound s")" >>"$file"
  if [ "$code" -ne 0 ]; then say "$name ended with $code"; fi
  keep
}

# The same for what writes figures as JSON, whole or as far as it came: they become a line of `JSONL`.
figures() { # NAME SECONDS JSONL COMMAND...
  local name=$1 bound=$2 lines=$3 json=$folder/json/$1.json
  shift 3
  rm -f "$json"
  part "$name" "$bound" log.txt "$@" --json "$json"
  if [ -s "$json" ]; then
    tr -d '\n' <"$json" >>"$results/$lines"
    echo >>"$results/$lines"
    keep
  fi
}

# ---- there: programs that start

starts() { # FOLDER
  [ -x "$1/test_gpu" ] || return 1
  timeout 30 "$1/test_gpu" --list_content >/dev/null 2>&1
  case $? in 0 | 77) return 0 ;; *) return 1 ;; esac
}

# cuBLASLt, which a toolkit or PyTorch brings along, is not where programs look for it.
library_folders() {
  local each
  for each in /usr/local/cuda*/lib64 /usr/local/cuda*/targets/*/lib \
    "$(timeout 60 python3 -c 'import sysconfig; print(sysconfig.get_path("purelib"))' 2>/dev/null)"/nvidia/*/lib; do
    if compgen -G "$each/libcublasLt.so.*" >/dev/null; then printf ':%s' "$each"; fi
  done
}

find_programs() {
  programs=${AUGUR_GPU_PROGRAMS:-$folder/there}
  if [ -z "${AUGUR_GPU_PROGRAMS:-}" ] && [ -f "$folder/pack.tar.gz" ]; then
    mkdir -p "$programs" && tar -C "$programs" -xzf "$folder/pack.tar.gz" || say "the pack cannot be unpacked"
  fi
  if ! starts "$programs"; then
    say "the programs of $programs do not start: they are built here"
    for turn in new again; do
      part build 420 log.txt bash -c "$(declare -f build); build '$folder/built' '${AUGUR_GPU_ARCHITECTURES:-90-real}'"
    done
    if starts "$folder/built"; then programs=$folder/built; else say "nor do those that were built"; fi
  fi
  library_path=${LD_LIBRARY_PATH:-}$(library_folders)
  library_path=${library_path#:}
}

has_gpu() {
  timeout 30 "$programs/test_gpu" --list_content >/dev/null 2>&1
  [ $? -ne 77 ]
}

# ---- the steps

tests_except() { # a pattern of names
  local source stem
  for source in tests/gpu/*.cu tests/gpu/*.cpp; do
    stem=${source##*/}
    stem=${stem%.*}
    [[ $stem == main || $stem =~ ^($1)$ ]] || echo "$stem"
  done
}
test_part() { # NAME SECONDS FILE
  if [ "$1" = wide ]; then
    part "test.$1" "$2" "$3" env LD_LIBRARY_PATH="$library_path" "$programs/test_gpu_wide" --run_test=gpu_wide --color_output=no
  else
    part "test.$1" "$2" "$3" "$programs/test_gpu" --run_test="gpu_$1" --color_output=no
  fi
}

step_1() {
  part nvidia-smi 30 log.txt nvidia-smi
  part nvidia-smi.clocks 30 log.txt nvidia-smi -q -d CLOCK,POWER,PERFORMANCE
  local stem
  for stem in $(tests_except 'products|decoding'); do test_part "$stem" 120 tests.txt; done
}

family=examples/family/arithmetic
step_2() {
  local device=$programs/bench_device loop=$programs/bench_loop
  figures device.8b 150 figures.jsonl "$device" --shape 8b --context 4096 --contexts 256,1024 --repeat 5
  figures loop.8b 90 figures.jsonl "$loop" --shape 8b --context 1024 --tokens 128 --repeat 3
  figures schemes.8b 90 figures.jsonl "$programs/bench_schemes" --family $family --shape 8b --draft-shape 1b
  figures parts.8b 60 figures.jsonl "$programs/bench_parts" --shape 8b --contexts 256,4096 --rows 1,8,16,64
  figures device.1b 60 figures.jsonl "$device" --shape 1b --context 4096 --contexts 256,1024
  figures device.135m 60 figures.jsonl "$device" --shape 135m --context 4096 --contexts 256,1024
  figures schemes.1b 60 figures.jsonl "$programs/bench_schemes" --family $family --shape 1b
  figures loop.1b 60 figures.jsonl "$loop" --shape 1b --context 256 --tokens 128 --repeat 5
  figures loop.135m 60 figures.jsonl "$loop" --shape 135m --context 256
  figures prompts.8b 90 figures.jsonl env LD_LIBRARY_PATH="$library_path" "$programs/bench_prompts" --shape 8b --repeat 5
}

step_3() {
  local theirs=(python3 -B benchmarks/gpu/torch_decode.py) eager=eager-sliced,eager-masked
  figures torch.8b.eager 120 torch.jsonl "${theirs[@]}" --shape 8b --ways $eager --repeat 5
  figures device.8b.again 90 figures.jsonl "$programs/bench_device" --shape 8b --contexts "" --repeat 5
  figures torch.1b.eager 60 torch.jsonl "${theirs[@]}" --shape 1b --ways $eager --repeat 5
  figures torch.135m.eager 60 torch.jsonl "${theirs[@]}" --shape 135m --ways $eager --repeat 5
  figures torch.8b.compiled 240 torch.jsonl "${theirs[@]}" --shape 8b --ways compiled-masked,compiled-sliced --rows 1,8 --repeat 5
  part compared 30 compared.md python3 -B benchmarks/gpu/compare.py --shape 8b --augur "$results/figures.jsonl" \
    --torch "$results/torch.jsonl"
}

step_4() {
  local tool small=(env AUGUR_GPU_CASES=2 "$programs/test_gpu" --color_output=no) profile
  for tool in memcheck racecheck; do
    part $tool.laws 120 tools.txt compute-sanitizer --tool $tool --error-exitcode 1 "${small[@]}" --run_test=gpu_laws
    part $tool.loop 90 tools.txt compute-sanitizer --tool $tool --error-exitcode 1 "${small[@]}" --run_test=gpu_loop
    part $tool.rounds 60 tools.txt compute-sanitizer --tool $tool --error-exitcode 1 "${small[@]}" --run_test=gpu_rounds
  done
  profile=(ncu --clock-control none --kernel-name-base demangled --graph-profiling node --section SpeedOfLight --section Occupancy
    --section LaunchStats --section MemoryWorkloadAnalysis)
  part ncu.each 90 tools.txt "${profile[@]}" --kernel-id '::regex:.*:2' \
    "$programs/bench_device" --shape 8b --layers 2 --context 256 --contexts "" --chain 2 --tokens 4 --repeat 1
  part ncu.first 60 tools.txt "${profile[@]}" --launch-count 60 --kill yes \
    "$programs/bench_loop" --shape 8b --layers 2 --context 64 --tokens 4 --repeat 1
}

step_5() {
  test_part products 150 integers.txt
  test_part decoding 300 integers.txt
}

run_step() {
  for turn in new again; do "step_$1"; done
  say "step $1 took $((SECONDS - started)) s; results are in $results"
  started=$SECONDS
}

run_steps() {
  local step unfinished=0 failed started=$SECONDS tried='' turn=new
  mkdir -p "$results" "$folder/json" && touch "$state" || return 1
  find_programs
  for step in "$@"; do run_step "$step"; done
  keep
  failed=$(awk '{ code[$1] = $2 } END { for (part in code) if (code[part] != 0) print part " (" code[part] ")" }' "$state" | sort)
  if [ -n "$failed" ]; then say "not well:" $failed; fi
  has_gpu || { say "there is no GPU here" && return 77; }
  [ -z "$failed" ] && [ "$unfinished" = 0 ]
}

case ${1:-} in
  prepare) prepare ;;
  rehearse) exec python3 -B tests/gpu/rehearse.py ;;
  all) run_steps 1 2 3 4 5 ;;
  *)
    for step in "${@:-none}"; do
      case $step in [1-5]) ;; *) say "there is no step $step; there are prepare, 1 to 5, all and rehearse" && exit 2 ;; esac
    done
    run_steps "$@"
    ;;
esac
