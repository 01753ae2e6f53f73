#!/usr/bin/env bash
# A launcher of compilers (CMake's CXX_COMPILER_LAUNCHER) for what is only asked whether it compiles: templates are
# instantiated, every error and every warning of the front end comes, and the object is an empty file. No code is made.
set -euo pipefail
object=
for ((i = 1; i < $#; ++i)); do
  if [[ ${!i} == -o ]]; then
    next=$((i + 1))
    object=${!next}
  fi
done
"$@" -fsyntax-only
: >"${object:?no -o among the arguments}"
