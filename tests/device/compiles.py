#!/usr/bin/env python3
"""Compiles all of augur/backend/device for a GPU, with nvcc from the PATH or from CUDA_HOME, and its own Thrust. Nothing runs."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
SKIPPED = 77


def main():
    toolkit = os.path.join(os.environ.get("CUDA_HOME", "/usr/local/cuda"), "bin")
    nvcc = shutil.which("nvcc") or shutil.which("nvcc", path=toolkit)
    if nvcc is None:
        print("skipped: there is no nvcc on the PATH, nor in CUDA_HOME")
        return SKIPPED
    flags = ["-std=c++20", "-arch=sm_90", "--expt-relaxed-constexpr", "--fmad=false", "-Werror=all-warnings", "-Xcompiler=-Wall"]
    with tempfile.TemporaryDirectory() as made:
        command = [nvcc, *flags, f"-I{HERE.parents[1] / 'include'}", "-c", HERE / "everything.cu", "-o", f"{made}/everything.o"]
        return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
