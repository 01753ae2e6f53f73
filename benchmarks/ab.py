#!/usr/bin/env python3
"""Compares two programs that print lines of JSON: A B A B ..., in one run.

    ab.py A B [--turns N] [--of nanoseconds] [ARGUMENT ...]

Lines are matched by everything in them that is not a measured number. Prints the median of each side and the median of the
ratios B / A of neighbouring turns, with their quartiles.
"""
import argparse
import json
import statistics
import subprocess
import sys


def lines_of(program, arguments, measured):
    """By what a line says of what was measured: the number."""
    run = subprocess.run([program, *arguments], stdout=subprocess.PIPE, text=True, check=True)
    found = {}
    for line in run.stdout.splitlines():
        said = json.loads(line)
        name = ", ".join(str(value) for value in said.values() if isinstance(value, str))
        name += "".join(f", {key} {said[key]}" for key in ("vocabulary", "temperature") if key in said)
        found[name] = said[measured]
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("a")
    parser.add_argument("b")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--of", default="nanoseconds")
    parser.add_argument("arguments", nargs="*")
    asked = parser.parse_args()
    turns = [(lines_of(asked.a, asked.arguments, asked.of), lines_of(asked.b, asked.arguments, asked.of)) for _ in range(asked.turns)]
    if any(a.keys() != b.keys() for a, b in turns):
        sys.exit(f"the programs measured different things: {sorted(turns[0][0])} and {sorted(turns[0][1])}")
    print("|what|A|B|B / A|quartiles|\n|-|-|-|-|-|")
    for name in turns[0][0]:
        first, second = ([side[name] for side in sides] for sides in zip(*turns))
        ratios = sorted(b / a for a, b in zip(first, second))
        low, middle, high = statistics.quantiles(ratios, n=4) if len(ratios) > 1 else [ratios[0]] * 3
        print(f"|{name}|{statistics.median(first):.0f}|{statistics.median(second):.0f}|{middle:.2f}|{low:.2f} to {high:.2f}|")


if __name__ == "__main__":
    main()
