# Shared by examples/demo.sh and tests/run.sh, sourced from the root of the repository: installs what is missing, or says
# what is, and runs the noisy steps into a log.

setup_log=build/setup.log
mkdir -p build
: >"$setup_log"
export CMAKE_BUILD_PARALLEL_LEVEL=${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}

# One line per tool: what needs it, the Debian package, and a command that succeeds where it is there.
setup_requirements() {
  cat <<'END'
build g++                  command -v g++
build cmake                command -v cmake
build ninja-build          command -v ninja
build pkg-config           command -v pkg-config
build libeigen3-dev        pkg-config --exists eigen3
build nlohmann-json3-dev   pkg-config --exists nlohmann_json
build libpcre2-dev         pkg-config --exists libpcre2-8
build libcli11-dev         pkg-config --exists CLI11
build libcpp-httplib-dev   pkg-config --exists cpp-httplib
fetch python3-pip          python3 -m pip --version
test  python3              command -v python3
test  libboost-test-dev    setup_compiles g++ boost/test/unit_test.hpp -fsyntax-only
test  clang                command -v clang++
test  libclang-rt-dev      setup_compiles clang++ cstdio -fsanitize=address,undefined,fuzzer-no-link
test  clang-format         command -v clang-format
test  mkdocs-material      command -v mkdocs
test  chromium-headless-shell  command -v chromium-headless-shell || command -v chromium
END
}

# setup_compiles COMPILER HEADER [FLAG]...: a program that includes the header compiles, and links unless a flag says otherwise.
setup_compiles() {
  local compiler=$1 header=$2
  shift 2
  printf '#include <%s>\nint main() {}\n' "$header" | "$compiler" "$@" -x c++ - -o /dev/null
}

# setup_missing NEED...: the packages that are missing for these needs, one per line.
setup_missing() {
  local need package check
  while read -r need package check; do
    if [[ " $* " == *" $need "* ]] && ! eval "$check" >/dev/null 2>&1 </dev/null; then echo "$package"; fi
  done < <(setup_requirements)
}

# step TITLE COMMAND...: runs the command into the log; if it fails, shows the end of the log and ends the script.
step() {
  local title=$1
  shift
  echo "== $title"
  if ! "$@" >>"$setup_log" 2>&1 </dev/null; then
    echo "failed: $*; the end of $setup_log says:" >&2
    tail -n 30 "$setup_log" >&2
    exit 1
  fi
}

# setup NEED...: afterwards everything these needs name is there, or the script has ended and said what is missing.
setup() {
  local missing command become=()
  mapfile -t missing < <(setup_missing "$@")
  if ((${#missing[@]} == 0)); then return; fi
  command=(apt-get install -y -o DPkg::Lock::Timeout=600 --no-install-recommends "${missing[@]}")
  if ! command -v apt-get >/dev/null; then
    echo "Missing here, by their Debian names: ${missing[*]}" >&2
    echo "Please install them with this system's package manager, and run this again." >&2
    exit 1
  elif [[ $(id -u) != 0 ]] && ! sudo -n true 2>/dev/null; then
    echo "Missing here: ${missing[*]}" >&2
    echo "Please run this as root, and then this script again:  ${command[*]}" >&2
    exit 1
  elif [[ $(id -u) != 0 ]]; then
    become=(sudo -n)
  fi
  step "Refreshing the package lists" "${become[@]}" apt-get update
  step "Installing ${missing[*]}" "${become[@]}" env DEBIAN_FRONTEND=noninteractive "${command[@]}"
  mapfile -t missing < <(setup_missing "$@")
  if ((${#missing[@]} > 0)); then
    echo "Still missing after installing them: ${missing[*]} (see $setup_log)" >&2
    exit 1
  fi
}
