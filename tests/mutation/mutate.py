#!/usr/bin/env python3
"""Would the tests notice? Breaks one line of the headers at a time, as mutants.txt says, and runs the tests against it.

    mutate.py               every mutant; a few seconds each, minutes for one that survives
    mutate.py --sample      the first of each folder, for continuous integration
    mutate.py --only block  those in headers whose path contains this
    mutate.py --check       only whether every mutant still fits the headers; compiles nothing

Prints killed or survived for each, and the difference that each survivor makes. Exits 1 when fewer than 95% are killed,
2 when the list no longer fits the headers. The headers are copied first; the working tree stays as it is.
"""

import argparse
import dataclasses
import difflib
import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Of tests, the cheapest first: the last two compile and run for as long as all others together.
FOLDERS = ["commit", "decode", "accept", "draft", "policy", "cascade", "verify", "transform", "random", "types", "measure", "model"]
FOLDERS += ["detail", "tune", "testing", "conformance", "backend/device", "llama/device"]
# What no test is without and no mutant changes; compiled once.
COMMON = ["algorithm", "array", "boost/test/unit_test.hpp", "cmath", "functional", "map", "memory", "optional", "random"]
COMMON += ["span", "sstream", "string", "unordered_map", "vector"]
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


def headers_of(source):
    """The headers below include/augur that a file includes, and those that they include."""
    found = set()
    unread = [source]
    while unread:
        included = re.findall(r'^#include [<"]([^>"]+)[>"]', unread.pop().read_text(encoding="utf-8"), re.MULTILINE)
        for path in [ROOT / root / name for name in included for root in ("include", "tests")]:
            if path.is_file() and path not in found:
                found.add(path)
                unread.append(path)
    own = ROOT / "include" / "augur"
    return {path.relative_to(own).as_posix() for path in found if own in path.parents}


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
        common = self.folder / "common.hpp"
        common.write_text("".join(f"#include <{name}>\n" for name in COMMON), encoding="utf-8")
        subprocess.run([*self.compiler, "-x", "c++-header", common, "-o", f"{common}.gch"], check=True)
        tests = [test for name in FOLDERS for test in sorted((ROOT / "tests" / name).glob("*.cpp"))]
        self.tests = {test: headers_of(test) for test in tests}
        self.sound = set()  # the tests that are known to pass without any mutant

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
            outcomes = ((test, self.outcome(test)) for test in self.tests_of(mutant.header))
            killer, how = next((found for found in outcomes if found[1] != "passes"), (None, "passes"))
            if how == "does not compile":  # a static_assert may find a mistake, but the mutant has to be C++
                self.check_header(mutant)
        finally:
            target.write_text(sound, encoding="utf-8")
        if not killer:
            return None
        self.check_sound(killer)
        return f"{killer.parent.name}.{killer.stem}, which {how}"

    def check_sound(self, test):
        """A test that does not pass without a mutant would kill all of them."""
        if test not in self.sound and (how := self.outcome(test)) != "passes":
            raise Misfit(f"{test.parent.name}.{test.stem} {how} without any mutant")
        self.sound.add(test)

    def check_header(self, mutant):
        alone = self.folder / "alone.cpp"
        alone.write_text(f'#include "augur/{mutant.header}"\n', encoding="utf-8")
        if not self.compiles("-fsyntax-only", alone):
            raise Misfit(f"{mutant}: the header alone does not compile")

    def compiles(self, *arguments):
        command = [*self.compiler, "-include", self.folder / "common.hpp", *arguments]
        run = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        return run.returncode == 0

    def outcome(self, test):
        program = self.folder / "test"
        if not self.compiles(test, self.main, "-o", program, "-lboost_unit_test_framework", "-lpcre2-8"):
            return "does not compile"
        try:
            run = subprocess.run(
                [program], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=RUN_SECONDS, preexec_fn=bound_memory,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return "does not end"
        return "fails" if run.returncode else "passes"


def bound_memory():
    resource.setrlimit(resource.RLIMIT_AS, (RUN_BYTES, RUN_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def judge(shop, mutants):
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


def default_compiler():
    """clang takes little more than half of the time that g++ takes."""
    return shutil.which("clang++") or os.environ.get("CXX", "c++")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--sample", action="store_true")
    parser.add_argument("--only", default="", metavar="PART")
    parser.add_argument("--compiler", default=default_compiler())
    arguments = parser.parse_args()
    mutants = parse((pathlib.Path(__file__).parent / "mutants.txt").read_text(encoding="utf-8"))
    for mutant in mutants:
        mutant.apply(header_text(mutant))
    visible = [mutant for mutant in mutants if not mutant.equivalent and arguments.only in mutant.header]
    print(f"{len(mutants)} mutants, {sum(bool(mutant.equivalent) for mutant in mutants)} of them equivalent to what is there")
    if arguments.check or not visible:
        return 0
    if arguments.sample:
        visible = [*{mutant.header.split("/")[0]: mutant for mutant in reversed(visible)}.values()]
    with tempfile.TemporaryDirectory(prefix="augur_mutation_") as folder:
        return judge(Workshop(folder, arguments.compiler), visible)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Misfit as misfit:
        print(misfit, file=sys.stderr)
        sys.exit(2)
