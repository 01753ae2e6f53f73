#!/usr/bin/env python3
"""Compiles what is meant for GPUs, with nvcc from the PATH or from CUDA_HOME. Nothing runs.

For the oldest architecture that augur is for, since no source asks for more and later ones have all that it has;
AUGUR_GPU_ARCHITECTURES="80 90" names others, as for tests/gpu.sh."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SKIPPED = 77
OLDEST = "80"


def main():
    toolkit = os.path.join(os.environ.get("CUDA_HOME", "/usr/local/cuda"), "bin")
    nvcc = shutil.which("nvcc") or shutil.which("nvcc", path=toolkit)
    if nvcc is None:
        print("skipped: there is no nvcc on the PATH, nor in CUDA_HOME")
        return SKIPPED
    architectures = re.split(r"[ ;,]+", os.environ.get("AUGUR_GPU_ARCHITECTURES", OLDEST).strip())
    flags = ["-std=c++20", *(f"-gencode=arch=compute_{number},code=sm_{number}" for number in architectures)]
    flags += ["--expt-relaxed-constexpr", "--fmad=false", "-Werror=all-warnings", "-Xcompiler=-Wall"]
    flags += [f"-I{ROOT / 'include'}", f"-I{ROOT / 'tests'}"]
    sources = [ROOT / "cmake" / "gpu.cu"]
    for folder in ("tests", "benchmarks", "examples"):
        sources += sorted((ROOT / folder / "gpu").glob("*.cu")) + sorted((ROOT / folder / "gpu").glob("*.cpp"))
    failed = 0
    with tempfile.TemporaryDirectory() as made:
        for source in sources:
            print(source.relative_to(ROOT), flush=True)
            failed |= subprocess.run([nvcc, *flags, "-c", source, "-o", f"{made}/{source.stem}.o"], check=False).returncode
    return failed


if __name__ == "__main__":
    sys.exit(main())
