#!/usr/bin/env python3
"""Compiles what is meant for GPUs, with nvcc from the PATH or from CUDA_HOME. Nothing runs.

    compiles.py              all sources for GPUs as one, which takes a fraction of the time that each alone takes together
    compiles.py --each       each alone, as tests/gpu.sh does

For the oldest architecture that augur is for, since no source asks for more and later ones have all that it has;
AUGUR_GPU_ARCHITECTURES="80 90" names others, as for tests/gpu.sh. Optimized little, for it is the messages that count."""

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
INCLUDE = re.compile(r'\s*#\s*include\s*[<"]([^>"]+)[>"]')


def grouped(sources):
    """One source of all of them: what they include, then each in a namespace of its own, so that none meets another's names."""
    included, bodies = {}, []
    for number, source in enumerate(sources):
        body = [f"namespace source_{number} {{", f'#line 1 "{source}"']
        for line in source.read_text(encoding="utf-8").splitlines():
            found = INCLUDE.match(line)
            if found:
                beside = source.parent / found[1]
                included[f'#include "{beside}"' if beside.is_file() else line] = None
            body.append("" if found else line)
        bodies += [*body, "}"]
    return "\n".join([*included, *bodies]) + "\n"


def main(*arguments):
    toolkit = os.path.join(os.environ.get("CUDA_HOME", "/usr/local/cuda"), "bin")
    nvcc = shutil.which("nvcc") or shutil.which("nvcc", path=toolkit)
    if nvcc is None:
        print("skipped: there is no nvcc on the PATH, nor in CUDA_HOME")
        return SKIPPED
    architectures = re.split(r"[ ;,]+", os.environ.get("AUGUR_GPU_ARCHITECTURES", OLDEST).strip())
    flags = ["-std=c++20", *(f"-gencode=arch=compute_{number},code=sm_{number}" for number in architectures)]
    flags += ["--expt-relaxed-constexpr", "--fmad=false", "-Xcicc=-O1", "-Xptxas=-O1"]
    flags += ["-Werror=all-warnings", "-Xcompiler=-Wall", f"-I{ROOT / 'include'}", f"-I{ROOT / 'tests'}"]
    sources = [ROOT / "cmake" / "gpu.cu"]
    for folder in ("tests", "benchmarks", "examples"):
        sources += sorted((ROOT / folder / "gpu").glob("*.cu")) + sorted((ROOT / folder / "gpu").glob("*.cpp"))
    failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        if "--each" not in arguments:
            together = pathlib.Path(scratch) / "together.cu"
            together.write_text(grouped([source for source in sources if source.suffix == ".cu"]), encoding="utf-8")
            sources = [together, *(source for source in sources if source.suffix != ".cu")]
        for source in sources:
            print(source.relative_to(ROOT) if ROOT in source.parents else source.name, flush=True)
            failed |= subprocess.run([nvcc, *flags, "-c", source, "-o", f"{scratch}/{source.stem}.o"], check=False).returncode
    return failed


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
