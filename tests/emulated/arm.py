"""The host kernels for Arm, compiled by a cross compiler and run by QEMU. Skipped where one of the two is missing.

    arm.py [INCLUDE...]                   the kernels' tests; INCLUDE: where Boost and Eigen are
    arm.py --text MODEL [INCLUDE...]      20 greedy tokens in f32, here and there: text and bits of logits must agree

The second takes minutes. Debian: g++-aarch64-linux-gnu, qemu-user.
"""
import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
COMPILER, EMULATOR, LIBRARIES = "aarch64-linux-gnu-g++", "qemu-aarch64", "/usr/aarch64-linux-gnu"


def call(*command):
    return subprocess.run([str(part) for part in command], check=True, stdout=subprocess.PIPE, text=True).stdout


def compiled(compiler, optimized, sources, program, includes):
    """This machine's own headers come last: the cross compiler has a C library of its own."""
    after = [part for folder in includes for part in ("-idirafter", folder)]
    call(compiler, "-std=c++20", optimized, "-Wall", "-Wextra", "-Wshadow", "-Werror", f"-I{ROOT}/include",
         f"-I{ROOT}/tests", *after, *(f"{ROOT}/{source}" for source in sources), "-o", program, "-lpthread")
    return program


def emulated(program, *arguments):
    return call(EMULATOR, "-L", LIBRARIES, program, *arguments)


def kernels(folder, includes):
    program = compiled(COMPILER, "-O2", ["tests/emulated/arm.cpp"], f"{folder}/arm", includes)
    print(emulated(program, "--color_output=no", "--report_level=short"))


def text(folder, includes, model):
    with open(f"{ROOT}/tests/data/reference/evo.json", encoding="utf-8") as file:
        reference = json.load(file)
    source = ["tests/emulated/arm_text.cpp"]
    arguments = [20, *reference["prompt_ids"]]
    here = call(compiled("g++", "-O1", source, f"{folder}/here", includes), model, "automatic", *arguments)
    arm = compiled(COMPILER, "-O1", source, f"{folder}/arm", includes)
    there = {name: emulated(arm, model, name, *arguments) for name in ("neon", "neon_dot")}
    print("here     ", here, *(f"{name:9} {said}" for name, said in there.items()), sep="", end="")
    agree = all(said == here for said in there.values())
    right = [int(token) for token in here.split()[:-1]] == reference["greedy_ids"][:20]
    print(f"the same text and bits: {agree}; the reference's text: {right}")
    return agree and right


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--text", metavar="MODEL", help="a GGUF file")
    parser.add_argument("includes", metavar="INCLUDE", nargs="*", default=[])
    options = parser.parse_args()
    missing = [tool for tool in (COMPILER, EMULATOR) if shutil.which(tool) is None]
    if missing:
        print("skipped: there is no", " and no ".join(missing))
        return 77
    includes = options.includes or ["/usr/include/eigen3", "/usr/include"]
    with tempfile.TemporaryDirectory() as folder:
        if options.text:
            return 0 if text(folder, includes, options.text) else 1
        kernels(folder, includes)
    return 0


if __name__ == "__main__":
    sys.exit(main())
