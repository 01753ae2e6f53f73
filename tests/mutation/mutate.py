#!/usr/bin/env python3
"""Would the tests notice? Breaks one line of the headers at a time, as mutants.txt says, and runs the tests against it.

    mutate.py                     every mutant; some seconds each
    mutate.py --sample 5 --seed 1 a few of them, for continuous integration
    mutate.py --only block        those in headers whose path contains this
    mutate.py --check             only whether every mutant still fits the headers; compiles nothing

Prints killed or survived for each, and the difference that each survivor makes. Exits 1 when fewer than 95% are killed,
2 when the list no longer fits the headers. The headers are copied first; the working tree stays as it is.
"""

import argparse
import dataclasses
import difflib
import os
import pathlib
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ["decode", "conformance", "accept", "commit", "draft", "policy", "verify", "model", "testing"]  # the likeliest first
REQUIRED = 0.95
RUN_SECONDS = 120  # a mutant may never end
RUN_BYTES = 4 << 30  # or never stop allocating


class Misfit(Exception):
    """The list of mutants and the headers do not belong together."""


@dataclasses.dataclass
class Mutant:
    header: str  # below include/augur
    before: str
    after: str
    equivalent: str = ""  # why no test can see it

    def __str__(self):
        return f"{self.header}: {' '.join(self.before.split())}  =>  {' '.join(self.after.split()) or '(nothing)'}"

    def apply(self, text):
        """The mutated text. White space of the fragment stands for any, so that formatting does not matter."""
        pattern = r"\s+".join(map(re.escape, self.before.split()))
        found = list(re.finditer(pattern, text))
        if len(found) != 1:
            raise Misfit(f"{self}: found {len(found)} times, not once")
        return text[: found[0].start()] + self.after + text[found[0].end() :]

    def difference(self, text):
        lines = difflib.unified_diff(text.splitlines(), self.apply(text).splitlines(), self.header, "mutant", "", "", 1, "")
        return "\n".join(lines)


def parse(text):
    """Blocks between empty lines: a header, `- ` lines to replace, `+ ` lines instead, `= ` why no test can see it."""
    mutants = []
    for block in re.split(r"\n\s*\n", re.sub(r"^#.*\n", "", text, flags=re.MULTILINE)):
        lines = block.strip().splitlines()
        if not lines:
            continue
        parts = {"-": [], "+": [], "=": []}
        for line in lines[1:]:
            if line[0] not in parts or line[1:2] not in ("", " "):
                raise Misfit(f"mutants.txt: the line {line!r} begins with none of '- ', '+ ', '= '")
            parts[line[0]].append(line[2:])
        if not parts["-"]:
            raise Misfit(f"mutants.txt: nothing to replace in {lines[0]}")
        mutants.append(Mutant(lines[0], "\n".join(parts["-"]), "\n".join(parts["+"]), " ".join(parts["="])))
    return mutants


def header_text(mutant):
    return (ROOT / "include" / "augur" / mutant.header).read_text(encoding="utf-8")


class Workshop:
    """A copy of the headers in which one is broken at a time, and the tests that include it."""

    def __init__(self, folder, compiler):
        self.folder = pathlib.Path(folder)
        self.include = self.folder / "include"
        shutil.copytree(ROOT / "include", self.include)
        self.compiler = [*compiler.split(), "-std=c++20", "-O0", "-pthread", f"-I{self.include}", f"-I{ROOT / 'tests'}"]
        self.compiler += ["-DBOOST_TEST_DYN_LINK", f'-DAUGUR_TEST_DATA="{ROOT / "tests" / "data"}"']
        self.compiler += subprocess.run(
            ["pkg-config", "--cflags", "eigen3"], stdout=subprocess.PIPE, text=True, check=True
        ).stdout.split()
        self.main = self.folder / "main.o"
        subprocess.run([*self.compiler, "-c", ROOT / "tests" / "main.cpp", "-o", self.main], check=True)
        common = self.folder / "common.hpp"  # what no mutant changes, compiled once
        common.write_text("#include <boost/test/unit_test.hpp>\n", encoding="utf-8")
        subprocess.run([*self.compiler, "-x", "c++-header", common, "-o", f"{common}.gch"], check=True)
        self.tests = {}  # test: the headers that it includes
        for folder_name in FOLDERS:
            for test in sorted((ROOT / "tests" / folder_name).glob("*.cpp")):
                rule = subprocess.run([*self.compiler, "-MM", test], stdout=subprocess.PIPE, text=True, check=True).stdout
                own = self.include / "augur"
                paths = [pathlib.Path(word) for word in rule.replace("\\\n", " ").split()[1:]]
                self.tests[test] = {path.relative_to(own).as_posix() for path in paths if own in path.parents}

    def tests_of(self, header):
        """The nearest first: the header's own test, its folder's, then the others in order."""
        path = pathlib.PurePath(header)

        def distance(test):
            return (test.parent.name != path.parent.name, test.stem != path.stem)

        return sorted((test for test, headers in self.tests.items() if header in headers), key=distance)

    def verdict(self, mutant):
        """Which test kills the mutant; None if all pass."""
        target = self.include / "augur" / mutant.header
        sound = target.read_text(encoding="utf-8")
        target.write_text(mutant.apply(sound), encoding="utf-8")
        try:
            alone = self.folder / "alone.cpp"
            alone.write_text(f'#include "augur/{mutant.header}"\n', encoding="utf-8")
            if not self.compiles("-fsyntax-only", alone):
                raise Misfit(f"{mutant}: the header alone does not compile")
            for test in self.tests_of(mutant.header):
                if not self.passes(test):
                    return f"{test.parent.name}.{test.stem}"
            return None
        finally:
            target.write_text(sound, encoding="utf-8")

    def compiles(self, *arguments):
        command = [*self.compiler, "-include", self.folder / "common.hpp", *arguments]
        run = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        return run.returncode == 0

    def passes(self, test):
        program = self.folder / "test"
        libraries = ["-lboost_unit_test_framework", "-lpcre2-8"]
        if not self.compiles(test, self.main, "-o", program, *libraries):
            return False
        try:
            run = subprocess.run(
                [program], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=RUN_SECONDS, preexec_fn=bound_memory,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return False
        return run.returncode == 0


def bound_memory():
    resource.setrlimit(resource.RLIMIT_AS, (RUN_BYTES, RUN_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def check_tests_pass(shop, mutants):
    """A test that fails without a mutant would kill all of them."""
    for test in sorted({test for mutant in mutants for test in shop.tests_of(mutant.header)[:1]}):
        if not shop.passes(test):
            raise Misfit(f"tests/{test.parent.name}/{test.name} fails without any mutant")


def judge(shop, mutants):
    check_tests_pass(shop, mutants)
    survivors = []
    for number, mutant in enumerate(mutants, 1):
        killer = shop.verdict(mutant)
        print(f"[{number}/{len(mutants)}] {'killed by ' + killer if killer else 'SURVIVED'}: {mutant}", flush=True)
        if not killer:
            survivors.append(mutant)
    for mutant in survivors:
        print(f"\nsurvived:\n{mutant.difference(header_text(mutant))}")
    rate = 1 - len(survivors) / len(mutants)
    print(f"\n{len(mutants) - len(survivors)} of {len(mutants)} mutants killed: {rate:.1%}")
    return 0 if rate >= REQUIRED else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--sample", type=int, metavar="N")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", metavar="PART")
    parser.add_argument("--compiler", default=os.environ.get("CXX", "g++"), help="clang++ takes half of the time")
    arguments = parser.parse_args()
    mutants = parse((pathlib.Path(__file__).parent / "mutants.txt").read_text(encoding="utf-8"))
    for mutant in mutants:
        mutant.apply(header_text(mutant))
    visible = [mutant for mutant in mutants if not mutant.equivalent and arguments.only in mutant.header]
    print(f"{len(mutants)} mutants, {sum(bool(mutant.equivalent) for mutant in mutants)} of them equivalent to what is there")
    if arguments.check or not visible:
        return 0
    if arguments.sample:
        visible = random.Random(arguments.seed).sample(visible, min(arguments.sample, len(visible)))
    with tempfile.TemporaryDirectory(prefix="augur_mutation_") as folder:
        return judge(Workshop(folder, arguments.compiler), visible)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Misfit as misfit:
        print(misfit, file=sys.stderr)
        sys.exit(2)
