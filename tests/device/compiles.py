#!/usr/bin/env python3
"""Compiles what is meant for GPUs, with nvcc from the PATH or from CUDA_HOME, and its own Thrust. Nothing runs."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SKIPPED = 77


def main():
    toolkit = os.path.join(os.environ.get("CUDA_HOME", "/usr/local/cuda"), "bin")
    nvcc = shutil.which("nvcc") or shutil.which("nvcc", path=toolkit)
    if nvcc is None:
        print("skipped: there is no nvcc on the PATH, nor in CUDA_HOME")
        return SKIPPED
    flags = ["-std=c++20", "-gencode=arch=compute_80,code=sm_80", "-gencode=arch=compute_90,code=sm_90"]
    flags += ["--expt-relaxed-constexpr", "--fmad=false", "-Werror=all-warnings", "-Xcompiler=-Wall"]
    flags += [f"-I{ROOT / 'include'}", f"-I{ROOT / 'tests'}"]
    sources = [HERE / "everything.cu", ROOT / "cmake" / "gpu.cu"]
    for folder in ("tests", "benchmarks", "examples"):
        sources += sorted((ROOT / folder / "gpu").glob("*.cu"))
    failed = 0
    with tempfile.TemporaryDirectory() as made:
        for source in sources:
            print(source.relative_to(ROOT), flush=True)
            failed |= subprocess.run([nvcc, *flags, "-c", source, "-o", f"{made}/{source.stem}.o"], check=False).returncode
    return failed


if __name__ == "__main__":
    sys.exit(main())
