#!/usr/bin/env python3
"""Where the time of tests/run.sh went, by part, beside the budget of 60 minutes of processor time; nothing asserts it.

    tests/house/budget.py [--top N] BUILD...    e.g. build/asan build/dev; with the tests that ctest has run there

Ninja and ctest log how long each command ran, which is its processor time as long as no job waits for a core."""

import argparse
import collections
import pathlib
import re
import sys

BUDGET = 60  # minutes, of both builds and all tests together
PARTS = (  # the first that fits the name of a target
    ("headers alone", r"headers_"),
    ("tests", r"(test_|augur_test$)"),
    ("fuzzers", r"fuzz_"),
    ("benchmarks", r"bench_"),
    ("examples", r"example_"),
    ("the program", r"augur(_program)?$"),
    ("kernels", r"(lib)?augur_kernels"),
)


def commands(log):
    """{output: seconds} of what Ninja ran last for each output; a command of many outputs counts once."""
    lines = log.splitlines()
    if not lines or not re.fullmatch(r"# ninja log v\d+", lines[0]):
        raise ValueError("this is no log of Ninja's")
    last = {}
    for line in lines[1:]:
        start, end, _, output, command = line.split("\t")
        last[output] = (int(start), int(end), command)
    once = {run: output for output, run in reversed(last.items())}
    return {output: (end - start) / 1000 for (start, end, _), output in once.items()}


def part_of(output):
    target = re.search(r"([^/]+)\.dir/", output)
    target = target[1] if target else output.rsplit("/", 1)[-1]
    return next((part for part, pattern in PARTS if re.match(pattern, target)), "the rest")


def by_part(seconds):
    sums = collections.Counter()
    for output, took in seconds.items():
        sums[part_of(output)] += took
    return sums


def tests(costs):
    """{test: seconds} from ctest's CTestCostData.txt: a name, how often it ran, and its mean time on each line, up to a rule."""
    took = {}
    for line in costs.splitlines():
        if line == "---":
            break
        test, _, seconds = line.rsplit(" ", 2)
        took[test] = float(seconds)
    return took


def report(build, top):
    """The lines on one build, and its seconds."""
    built = commands((build / ".ninja_log").read_text())
    rows = [(f"building {part}", seconds) for part, seconds in by_part(built).most_common()]
    dearest = dict(built)
    costs = build / "Testing" / "Temporary" / "CTestCostData.txt"
    if costs.is_file():
        run = tests(costs.read_text())
        rows.append(("running tests", sum(run.values())))
        dearest.update(run)
    lines = [f"{build}:"] + [f"  {seconds / 60:6.1f} min  {name}" for name, seconds in rows]
    lines += [f"  {seconds / 60:6.1f} min    {name}" for name, seconds in collections.Counter(dearest).most_common(top)]
    return lines, sum(seconds for _, seconds in rows)


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--top", type=int, default=0, help="list the N dearest commands and tests, too")
    parser.add_argument("builds", nargs="+", type=pathlib.Path, metavar="BUILD")
    chosen = parser.parse_args(arguments)
    total = 0
    for build in chosen.builds:
        lines, seconds = report(build, chosen.top)
        print(*lines, sep="\n")
        total += seconds
    print(f"{total / 60:.1f} of {BUDGET} minutes")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
