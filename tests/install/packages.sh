#!/bin/sh
# What a first-time user types, without Boost; the installed files by pkg-config; and packages.
# Arguments: source folder, work folder, C++ compiler.
set -eu
source=$1 work=$2 compiler=$3
rm -rf "$work"
mkdir -p "$work"
said=$(cmake -S "$source" -B "$work/build" -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_DISABLE_FIND_PACKAGE_Boost=ON \
  -DCMAKE_DISABLE_FIND_PACKAGE_CLI11=ON -DCMAKE_DISABLE_FIND_PACKAGE_Eigen3=ON -Daugur_EXAMPLES=OFF)
echo "$said" | grep -q "The tests are left out: there is no Boost, Eigen3 (they need" # and what else is left out, with why
echo "$said" | grep -q "The benchmarks are left out: they need"
cmake --build "$work/build" >/dev/null
cmake --install "$work/build" --prefix "$work/prefix" >/dev/null

cat >"$work/main.cpp" <<'END'
#include <augur/accept/exact.hpp>
#include <augur/version.hpp>
int main() { return augur::version[0] == '0' ? 0 : 1; }
END
export PKG_CONFIG_PATH="$work/prefix/share/pkgconfig"
"$compiler" -std=c++20 "$work/main.cpp" -o "$work/main" $(pkg-config --cflags --libs augur)
"$work/main"
test "$(pkg-config --modversion augur-llama)" = "$(pkg-config --modversion augur)"
pkg-config --libs augur-llama | grep -q -e -lpcre2-8

cd "$work/build"
cpack -G TGZ >/dev/null
tar -tzf augur-*.tar.gz | grep /usr/include/augur/augur.hpp >/dev/null
if command -v dpkg-deb >/dev/null; then
  cpack -G DEB >/dev/null 2>&1
  dpkg-deb --contents augur_*.deb | grep ./usr/share/cmake/augur/augur-config.cmake >/dev/null
fi
