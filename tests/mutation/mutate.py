#!/usr/bin/env python3
"""Would the tests notice? Breaks one line of the headers at a time, as mutants.txt says, and runs the tests against it.

    mutate.py               every mutant; a few seconds each, minutes for one that survives
    mutate.py --stale       those not judged yet, those that survived, and those whose header or killing test has changed since
    mutate.py --sample      the first of each folder; records nothing
    mutate.py --only block  those in headers whose path contains this (with any of the above)
    mutate.py --minutes 20  begins no other mutant after so long; --stale goes on from there
    mutate.py --check       whether every mutant fits the headers, and the pages state what was recorded; compiles nothing
    mutate.py --state       adapts the record to the list of mutants, and the pages to the record; compiles nothing

Prints killed or survived for each, and the difference that each survivor makes; results.json keeps each verdict, with the test
that killed, date and commit (record.py), and README.md and docs/contributing.md state the sums. Exits 1 when fewer than 95% are
killed, 2 when something does not fit. The headers are copied first; only the record and the pages change.
"""

import argparse
import collections
import contextlib
import dataclasses
import difflib
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import record
from record import ROOT, Misfit

HERE = pathlib.Path(__file__).resolve().parent
PAGES = [ROOT / "README.md", ROOT / "docs" / "contributing.md"]
# Of tests, the cheapest first: the last ones compile and run for as long as all others together.
FOLDERS = ["commit", "decode", "accept", "draft", "policy", "cascade", "verify", "transform", "random", "tree", "types", "measure", "model"]
FOLDERS += ["detail", "io", "tune", "encoder", "train", "testing", "conformance", "backend/host", "backend/device", "decode/device"]
FOLDERS += ["llama", "llama/device"]
# What no test is without and no mutant changes; compiled once.
COMMON = ["algorithm", "array", "boost/test/unit_test.hpp", "cmath", "functional", "map", "memory", "optional", "random"]
COMMON += ["span", "sstream", "string", "unordered_map", "vector"]
REQUIRED = 0.95
RUN_BYTES = 4 << 30  # a mutant may never stop allocating
LEAST_SECONDS = 5  # or never end: it has so much processor time,
PATIENCE = 3  # and so many times what the test takes without it;
CLOCK = 30  # on a clock, beside other work, so many times that
FAST_SECONDS = 2  # a test that takes longer without a mutant is optimised, and runs after the others
SOUND_SECONDS = 600
SKIPPED = 77


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
        self.compiler = [*compiler.split(), "-std=c++20", "-w", "-pthread", f"-I{self.include}", f"-I{ROOT / 'tests'}"]
        self.compiler += ["-DBOOST_TEST_DYN_LINK", f'-DAUGUR_TEST_DATA="{ROOT / "tests" / "data"}"', '-DAUGUR_MODEL_DIRECTORY=""']
        self.linked = ["-lboost_unit_test_framework", "-lpcre2-8", *(["-fuse-ld=lld"] if shutil.which("ld.lld") else [])]
        self.compiler += subprocess.run(
            ["pkg-config", "--cflags", "eigen3"], stdout=subprocess.PIPE, text=True, check=True
        ).stdout.split()
        self.main = self.folder / "main.o"
        subprocess.run([*self.compiler, "-c", ROOT / "tests" / "main.cpp", "-o", self.main], check=True)
        for level in ("-O0", "-O1"):
            common = self.folder / f"common{level}.hpp"
            common.write_text("".join(f"#include <{name}>\n" for name in COMMON), encoding="utf-8")
            subprocess.run([*self.compiler, level, "-x", "c++-header", common, "-o", f"{common}.gch"], check=True)
        tests = [test for name in FOLDERS for test in sorted((ROOT / "tests" / name).glob("*.cpp"))]
        self.tests = {test: headers_of(test) for test in tests}
        self.sound = {}  # seconds of processor time of the tests that are known to pass without any mutant
        self.levels = collections.defaultdict(lambda: "-O0")  # how tests are compiled
        self.kills = collections.Counter()  # by header and test

    def tests_of(self, header, killer=None):
        """The most probable killer first: the last one, the header's own test, its folder's, those that killed others of it;
        those that are slow behind all others."""
        path = ROOT / "tests" / header

        def distance(test):
            return (test != killer, self.levels[test] != "-O0", test.parent != path.parent, test.stem != path.stem, -self.kills[header, test])

        return sorted((test for test, headers in self.tests.items() if header in headers), key=distance)

    def verdict(self, mutant, killer=None):
        """Which test kills the mutant, and how; None, "passes" if all pass."""
        for test in self.tests_of(mutant.header, killer):
            self.check_sound(test)
            how = self.outcome_with(mutant, test)
            if how == "passes":
                continue
            if how == "does not compile":  # a static_assert may find a mistake, but the mutant has to be C++
                self.check_header(mutant)
            self.kills[mutant.header, test] += 1
            return test, how
        return None, "passes"

    def outcome_with(self, mutant, test):
        with self.broken(mutant):
            return self.outcome(test, LEAST_SECONDS + PATIENCE * self.sound[test])

    @contextlib.contextmanager
    def broken(self, mutant):
        target = self.include / "augur" / mutant.header
        sound = target.read_text(encoding="utf-8")
        target.write_text(mutant.apply(sound), encoding="utf-8")
        try:
            yield
        finally:
            target.write_text(sound, encoding="utf-8")

    def check_sound(self, test):
        """A test that does not pass without a mutant would kill all of them."""
        if test in self.sound:
            return
        how = self.outcome(test, FAST_SECONDS)
        if how == "does not end":
            self.levels[test] = "-O1"
            how = self.outcome(test, SOUND_SECONDS)
        if how != "passes":
            raise Misfit(f"{record.name_of(test)} {how} without any mutant")
        self.sound[test] = self.took

    def check_header(self, mutant):
        alone = self.folder / "alone.cpp"
        alone.write_text(f'#include "augur/{mutant.header}"\n', encoding="utf-8")
        with self.broken(mutant):
            if mutant.header.endswith(".hpp") and not self.compiles("-O0", "-fsyntax-only", alone):
                raise Misfit(f"{mutant}: the header alone does not compile")

    def compiles(self, level, *arguments):
        command = [*self.compiler, level, "-include", self.folder / f"common{level}.hpp", *arguments]
        run = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        return run.returncode == 0

    def outcome(self, test, seconds):
        program = self.folder / "test"
        if not self.compiles(self.levels[test], test, self.main, "-o", program, *self.linked):
            return "does not compile"
        began = processor_seconds()
        try:
            run = subprocess.run(
                [program], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=CLOCK * seconds,
                preexec_fn=lambda: bound(int(seconds)), check=False,
            )
        except subprocess.TimeoutExpired:
            return "does not end"
        self.took = processor_seconds() - began
        if run.returncode == -signal.SIGXCPU or run.returncode == -signal.SIGKILL:
            return "does not end"
        return "fails" if run.returncode not in (0, SKIPPED) else "passes"


def processor_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def bound(seconds):
    resource.setrlimit(resource.RLIMIT_AS, (RUN_BYTES, RUN_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def judge(shop, mutants, results, minutes):
    """Judges one after the other. `results`, where given, keeps each verdict."""
    at, end = record.commit(), time.monotonic() + 60 * minutes
    judged, survivors, misfits = 0, [], []
    for number, mutant in enumerate(mutants, 1):
        if time.monotonic() > end:
            print(f"{len(mutants) - number + 1} are left: no time")
            break
        try:
            last = results and results.killer(mutant)
            killer, how = shop.verdict(mutant, last and ROOT / last)
        except Misfit as misfit:
            misfits.append(misfit)
            print(f"[{number}/{len(mutants)}] NOT JUDGED: {misfit}", flush=True)
            continue
        judged += 1
        said = f"killed by {record.name_of(killer)}, which {how}" if killer else "SURVIVED"
        print(f"[{number}/{len(mutants)}] {said}: {mutant}", flush=True)
        if results:
            results.enter(mutant, killer, how, at)
        if not killer:
            survivors.append(mutant)
    for mutant in survivors:
        print(f"\nsurvived:\n{mutant.difference(header_text(mutant))}")
    print(f"\n{judged - len(survivors)} of {judged} mutants killed")
    if misfits:
        return 2
    return 0 if judged - len(survivors) >= REQUIRED * judged else 1


def default_compiler():
    """clang takes little more than half of the time that g++ takes."""
    return shutil.which("clang++") or os.environ.get("CXX", "c++")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for flag in ("--check", "--state", "--sample", "--stale"):
        parser.add_argument(flag, action="store_true")
    parser.add_argument("--only", default="", metavar="PART")
    parser.add_argument("--minutes", type=float, default=float("inf"))
    parser.add_argument("--compiler", default=default_compiler())
    arguments = parser.parse_args()
    mutants = parse((HERE / "mutants.txt").read_text(encoding="utf-8"))
    for mutant in mutants:
        mutant.apply(header_text(mutant))
    results = record.Record(HERE / "results.json", mutants)
    if arguments.check:
        record.check(results, PAGES)
    visible = [mutant for mutant in mutants if not mutant.equivalent and arguments.only in mutant.header]
    if arguments.stale:
        visible = [mutant for mutant in visible if results.stale(mutant)]
    if arguments.sample:
        visible = [*{mutant.header.split("/")[0]: mutant for mutant in reversed(visible)}.values()]
    if not arguments.check:
        try:
            if visible and not arguments.state:
                with tempfile.TemporaryDirectory(prefix="augur_mutation_") as folder:
                    kept = None if arguments.sample else results
                    return judge(Workshop(folder, arguments.compiler), visible, kept, arguments.minutes)
        finally:
            if not arguments.sample:
                results.save()
                record.state(results, PAGES)
    print(results.sentence())
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Misfit as misfit:
        print(misfit, file=sys.stderr)
        sys.exit(2)
