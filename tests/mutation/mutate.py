#!/usr/bin/env python3
"""Would the tests notice? Breaks one line of the headers at a time, as mutants.txt says, and runs the tests against it.

    mutate.py               every mutant; most of them together (together.py), the others one by one
    mutate.py --new         those not judged yet, and those that survived
    mutate.py --stale       those not judged yet, those that survived, and those whose header or killing test has changed since
    mutate.py --sample      the first of each folder; records nothing
    mutate.py --only block  those in headers whose path contains this (with any of the above)
    mutate.py --not device  those in headers whose path does not contain this; may be said several times
    mutate.py --minutes 20  begins no other mutant after so long; --stale goes on from there
    mutate.py --check       whether every mutant fits the headers, and the page states what was recorded; compiles nothing
    mutate.py --state       adapts the record to the list of mutants, and the page to the record; compiles nothing

Prints killed or survived for each, and the difference that each survivor makes; verdicts.txt keeps each verdict, with the test
that killed and the date (record.py), and docs/contributing.md states the sums. build/mutation/results.json, which is not tracked,
says more of what was judged here: how, and at which commit. Exits 1 when fewer than 95% are killed, 2 when something does not fit.
The headers are copied first; only the record and the page change.
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
from together import Together

HERE = pathlib.Path(__file__).resolve().parent
PAGES = [ROOT / "docs" / "contributing.md"]
# Of tests, the cheapest first: the last ones compile and run for as long as all others together.
FOLDERS = ["emulated", "commit", "decode", "accept", "draft", "policy", "scheme", "round", "switching", "transform", "random", "tree", "types", "measure", "model"]
FOLDERS += ["detail", "io/files", "io/text", "tune", "encoder", "train", "testing", "conformance", "backend/host", "backend/device", "decode/device"]
FOLDERS += ["llama", "llama/device", "benchmarks", "program"]
# What no test is without and no mutant changes; compiled once.
COMMON = ["algorithm", "array", "boost/test/unit_test.hpp", "cmath", "functional", "map", "memory", "optional", "random"]
COMMON += ["span", "sstream", "string", "unordered_map", "vector"]
REQUIRED = 0.95
RUN_BYTES = 4 << 30  # a mutant may never stop allocating
LEAST_SECONDS = 5  # or never end: it has so much processor time,
PATIENCE = 3  # and so many times what the test takes without it;
CLOCK = 30  # on a clock, beside other work, so many times that
BLOCKED = 60  # one that used no processor time at all for so long on a clock does not end either
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
        source = unread.pop()
        included = re.findall(r'^#include [<"]([^>"]+)[>"]', source.read_text(encoding="utf-8"), re.MULTILINE)
        for path in [(root / name).resolve() for name in included for root in (ROOT / "include", ROOT / "tests", source.parent)]:
            if path.is_file() and path not in found:
                found.add(path)
                unread.append(path)
    own = ROOT / "include" / "augur"
    return {path.relative_to(own).as_posix() for path in found if own in path.parents}


class Workshop:
    """A copy of the headers in which one is broken at a time, and the tests that include it."""

    def __init__(self, folder, compiler):
        self.folder = pathlib.Path(folder)
        self.include = self.copy_of_headers("include")
        self.compiler = [*compiler.split(), "-std=c++20", "-w", "-pthread", "-ferror-limit=0" if "clang" in compiler else "-fmax-errors=0"]
        self.compiler += [f"-I{ROOT / 'tests'}", "-DBOOST_TEST_DYN_LINK", f'-DAUGUR_TEST_DATA="{ROOT / "tests" / "data"}"']
        self.compiler += ['-DAUGUR_MODEL_DIRECTORY=""']
        self.linked = ["-lboost_unit_test_framework", "-lpcre2-8", *(["-fuse-ld=lld"] if shutil.which("ld.lld") else [])]
        self.compiler += subprocess.run(
            ["pkg-config", "--cflags", "eigen3"], stdout=subprocess.PIPE, text=True, check=True
        ).stdout.split()
        self.main = self.folder / "main.o"
        subprocess.run([*self.compiler, f"-I{self.include}", "-c", ROOT / "tests" / "main.cpp", "-o", self.main], check=True)
        for level in ("-O0", "-O1"):
            common = self.folder / f"common{level}.hpp"
            common.write_text("".join(f"#include <{name}>\n" for name in COMMON), encoding="utf-8")
            subprocess.run([*self.compiler, level, "-x", "c++-header", common, "-o", f"{common}.gch"], check=True)
        tests = [test for name in FOLDERS for test in sorted((ROOT / "tests" / name).glob("*.cpp"))]
        self.tests = {test: headers_of(test) for test in tests}
        self.sound = {}  # seconds of processor time of the tests that are known to pass without any mutant
        self.levels = {}  # how tests are compiled, -O0 where it is not said
        self.kills = collections.Counter()  # by header and test

    def copy_of_headers(self, name):
        shutil.copytree(ROOT / "include", self.folder / name)
        return self.folder / name

    @staticmethod
    def home_of(header):
        """Where the tests of the header's folder are."""
        return (ROOT / "tests" / header).parent

    def is_near(self, test, header, killer=None):
        """The last killer, or of the header's folder."""
        return test == killer or test.parent == self.home_of(header)

    def tests_of(self, header, killer=None):
        """The most probable killer first: the last one, the header's own test, its folder's, those that killed others of it; those
        that are slow, and killed none of it, behind all others."""
        home, stem = self.home_of(header), pathlib.Path(header).stem

        def distance(test):
            kills, slow = self.kills[header, test], self.levels.get(test, "-O0") != "-O0"
            return (test != killer, slow and kills == 0, test.parent != home, test.stem != stem, -kills)

        return sorted((test for test, headers in self.tests.items() if header in headers), key=distance)

    def verdict(self, mutant, killer=None, near=None):
        """Which test kills the mutant, and how; None, "passes" if all pass. Of the tests that are near, or those that are not, where
        that is said: see is_near."""
        for test in self.tests_of(mutant.header, killer):
            if near is not None and self.is_near(test, mutant.header, killer) != near:
                continue
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
            return self.outcome(test)

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
        program = self.folder / "test"
        how = "slow"
        while how == "slow":
            how = self.settle(test, program) if not self.errors_of(test, program, self.include) else "does not compile"
        if how != "passes":
            raise Misfit(f"{record.name_of(test)} {how} without any mutant")

    def settle(self, test, program):
        """How it ends without a mutant, and how long that takes; "slow", once, where it is to be compiled again."""
        fast = test not in self.levels
        how = self.run(program, test, seconds=FAST_SECONDS if fast else SOUND_SECONDS)
        if fast:
            self.levels[test] = "-O1" if how == "does not end" else "-O0"
        if how == "passes":
            self.sound[test] = self.took
        return "slow" if fast and how == "does not end" else how

    def check_header(self, mutant):
        alone = self.folder / "alone.cpp"
        alone.write_text(f'#include "augur/{mutant.header}"\n', encoding="utf-8")
        with self.broken(mutant):
            if mutant.header.endswith(".hpp") and self.errors("-O0", self.include, "-fsyntax-only", alone):
                raise Misfit(f"{mutant}: the header alone does not compile")

    def errors(self, level, include, *arguments):
        """What the compiler says where it fails."""
        command = [*self.compiler, level, f"-I{include}", "-include", self.folder / f"common{level}.hpp", *arguments]
        run = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
        return (run.stderr or "the compiler failed") if run.returncode else ""

    def errors_of(self, test, program, include):
        switch = include / "augur_mutant.hpp"
        sources = [*(["-include", switch] if switch.exists() else []), test, self.main]
        return self.errors(self.levels.get(test, "-O0"), include, *sources, "-o", program, *self.linked)

    def outcome(self, test):
        program = self.folder / "test"
        return "does not compile" if self.errors_of(test, program, self.include) else self.run(program, test)

    def run(self, program, test, number=0, seconds=None):
        """With the mutant of that number, where the program has it."""
        seconds = seconds or LEAST_SECONDS + PATIENCE * self.sound[test]
        began = processor_seconds()
        with subprocess.Popen(
            [program], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=lambda: bound(int(seconds)),
            env=os.environ | {"AUGUR_MUTANT": str(number)},
        ) as run:
            ended = waited_for(run, CLOCK * seconds)
        self.took = processor_seconds() - began
        if not ended or run.returncode == -signal.SIGXCPU or run.returncode == -signal.SIGKILL:
            return "does not end"
        return "fails" if run.returncode not in (0, SKIPPED) else "passes"


def waited_for(run, seconds):
    """Whether it ended by itself. One that waits for what never comes, and so uses no processor time, is not waited for long."""
    end = time.monotonic() + seconds
    used = -1
    while time.monotonic() < end:
        try:
            run.wait(min(BLOCKED, end - time.monotonic()))
            return True
        except subprocess.TimeoutExpired:
            before, used = used, ticks_of(run.pid)
            if used == before:
                break
    run.kill()
    return False


def ticks_of(process):
    """Processor time it has used, in the system's ticks: fields 14 and 15, of which the second is a name in brackets."""
    fields = pathlib.Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def processor_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def bound(seconds):
    resource.setrlimit(resource.RLIMIT_AS, (RUN_BYTES, RUN_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


class Court:
    """Who was judged, and how that ended; `results`, where given, keeps each verdict."""

    def __init__(self, mutants, results, minutes):
        self.left, self.all = dict(enumerate(mutants, 1)), len(mutants)
        self.results = results
        self.at, self.end = record.commit(), time.monotonic() + 60 * minutes
        self.survivors, self.misfits = [], []

    def last_killer(self, mutant):
        last = self.results and self.results.killer(mutant)
        return last and ROOT / last

    def enter(self, number, killer, how):
        mutant = self.left.pop(number)
        said = f"killed by {record.name_of(killer)}, which {how}" if killer else "SURVIVED"
        print(f"[{number}/{self.all}] {said}: {mutant}", flush=True)
        if self.results:
            self.results.enter(mutant, killer, how, self.at)
        if not killer:
            self.survivors.append(mutant)

    def hold(self, shop):
        """All are shown to the tests of their folder before any is shown to those of others: what is left then is shown to every test
        there is. Those that run together are judged alone at last only, for what a compiler decides seldom fits beside the original."""
        crowd = Together(shop, dict(self.left), {mutant.header: header_text(mutant) for mutant in self.left.values()})
        self.together(crowd, True)
        apart = self.left.keys() - set(crowd.numbers())
        self.one_by_one(shop, {number: True for number in apart})
        self.together(crowd, False)
        self.one_by_one(shop, {number: False if number in apart else None for number in self.left})

    def together(self, crowd, near):
        """Most of them: one layer, its tests compiled once."""
        for number in crowd.numbers():
            if number not in self.left:
                continue
            if time.monotonic() > self.end:
                return
            killer, how = crowd.killer(number, near, self.last_killer(self.left[number]))
            if killer:
                self.enter(number, killer, how)

    def one_by_one(self, shop, near):
        """The others: what is seen when a test is compiled, what does not fit beside the original, and, where no other test is left to
        show them to, survivors. `near` has, by number, which tests those are that a mutant is shown to: see Workshop.verdict."""
        for number in sorted(near.keys() & self.left.keys()):
            mutant = self.left[number]
            if time.monotonic() > self.end:
                return
            try:
                killer, how = shop.verdict(mutant, self.last_killer(mutant), near[number])
                if killer or not near[number]:
                    self.enter(number, killer, how)
            except Misfit as misfit:
                self.misfits.append(misfit)
                del self.left[number]
                print(f"[{number}/{self.all}] NOT JUDGED: {misfit}", flush=True)

    def close(self):
        for mutant in self.survivors:
            print(f"\nsurvived:\n{mutant.difference(header_text(mutant))}")
        judged = self.all - len(self.left) - len(self.misfits)
        if self.left:
            print(f"{len(self.left)} are left: no time")
        print(f"\n{judged - len(self.survivors)} of {judged} mutants killed")
        if self.misfits:
            return 2
        return 0 if judged - len(self.survivors) >= REQUIRED * judged else 1


def default_compiler():
    """clang takes little more than half of the time that g++ takes."""
    return shutil.which("clang++") or os.environ.get("CXX", "c++")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for flag in ("--check", "--state", "--sample", "--new", "--stale"):
        parser.add_argument(flag, action="store_true")
    parser.add_argument("--only", default="", metavar="PART")
    parser.add_argument("--not", dest="without", action="append", default=[], metavar="PART")
    parser.add_argument("--minutes", type=float, default=float("inf"))
    parser.add_argument("--compiler", default=default_compiler())
    arguments = parser.parse_args()
    mutants = parse((HERE / "mutants.txt").read_text(encoding="utf-8"))
    for mutant in mutants:
        mutant.apply(header_text(mutant))
    results = record.Record(HERE / "verdicts.txt", mutants, ROOT / "build" / "mutation" / "results.json")
    if arguments.check:
        record.check(results, PAGES)
    visible = [mutant for mutant in mutants if not mutant.equivalent and arguments.only in mutant.header]
    visible = [mutant for mutant in visible if not any(part in mutant.header for part in arguments.without)]
    if arguments.new:
        visible = [mutant for mutant in visible if results.open(mutant)]
    if arguments.stale:
        visible = [mutant for mutant in visible if results.stale(mutant)]
    if arguments.sample:
        visible = [*{mutant.header.split("/")[0]: mutant for mutant in reversed(visible)}.values()]
    if not arguments.check:
        try:
            if visible and not arguments.state:
                with tempfile.TemporaryDirectory(prefix="augur_mutation_") as folder:
                    kept = None if arguments.sample else results
                    shop, court = Workshop(folder, arguments.compiler), Court(visible, kept, arguments.minutes)
                    if arguments.sample:
                        court.one_by_one(shop, dict.fromkeys(court.left))
                    else:
                        court.hold(shop)
                    return court.close()
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
