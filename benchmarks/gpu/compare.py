#!/usr/bin/env python3
"""A table of what bench_device and torch_decode.py wrote about the same shape, context and GPU.

    compare.py --augur device-1.json device-2.json --torch torch-1.json torch-2.json

Several files of a side are runs that took turns: medians over them, and how far they lie apart, (highest - lowest) /
median. A ratio above 1 says that augur is so many times as fast. Exit code 2 for files that cannot be compared.
"""

import argparse
import json
import pathlib
import statistics
import sys

SAME = ("device", "shape", "layers", "context")


class Incomparable(Exception):
    pass


def read(path):
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        {name: found[name] for name in SAME}, found["passes"], found["decoding"]["plain_rate"]
    except (OSError, ValueError) as problem:
        raise Incomparable(f"{path}: {problem}") from problem
    except (KeyError, TypeError) as problem:
        raise Incomparable(f"{path} has no {problem}") from problem
    return found


def check(runs):
    first = next(iter(runs))
    for path, run in runs.items():
        for name in SAME:
            if run[name] != runs[first][name]:
                raise Incomparable(f"{name} is {runs[first][name]} in {first} and {run[name]} in {path}")


def times_of(runs, key):
    """By rows: the figures of all runs, for those numbers of rows that every run has."""
    found = [{each["rows"]: each[key] for each in run["passes"]} for run in runs]
    return {rows: [run[rows] for run in found] for rows in found[0] if all(rows in run for run in found)}


def spread(figures):
    return (max(figures) - min(figures)) / statistics.median(figures)


def table(ours, theirs):
    """Lines of markdown. A pass has a line where both sides measured its number of rows."""
    kinds = [f"augur, {kind} ms|PyTorch, {kind} ms|times as fast" for kind in ("device", "wall")]
    yield f"|rows|{'|'.join(kinds)}|spread|"
    yield "|-|-|-|-|-|-|-|-|"
    kinds = [(times_of(ours, key), times_of(theirs, key)) for key in ("device_seconds", "wall_seconds")]
    for rows in kinds[0][0]:
        if rows not in kinds[0][1]:
            continue
        cells = []
        for mine, its in kinds:
            a, b = statistics.median(mine[rows]), statistics.median(its[rows])
            cells += [f"{a * 1e3:.3f}", f"{b * 1e3:.3f}", f"**{b / a:.2f}**"]
        apart = max(spread(side[rows]) for kind in kinds for side in kind)
        yield f"|{rows}|{'|'.join(cells)}|{apart:.1%}|"
    yield ""
    yield "|decoding|tokens/s|over PyTorch|spread|"
    yield "|-|-|-|-|"
    base = [run["decoding"]["plain_rate"] for run in theirs]
    kinds = [("PyTorch", base), ("augur, plain", [run["decoding"]["plain_rate"] for run in ours])]
    if all("rate" in run["decoding"] for run in ours):
        length, acceptance = (
            statistics.median(run["decoding"][key] for run in ours) for key in ("length", "acceptance")
        )
        ahead = [run["decoding"]["rate"] for run in ours]
        kinds.append((f"augur, ahead by {length:g}, acceptance {acceptance:.2f}", ahead))
    for name, rates in kinds:
        rate = statistics.median(rates)
        yield f"|{name}|{rate:.1f}|{rate / statistics.median(base):.2f}|{spread(rates):.1%}|"
    failed = sorted({f"{way}: {why}" for run in theirs for way, why in run.get("failed", {}).items()})
    yield from (f"PyTorch failed at {each}" for each in failed)


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for side in ("augur", "torch"):
        parser.add_argument(f"--{side}", type=pathlib.Path, nargs="+", required=True, metavar="FILE")
    chosen = parser.parse_args(arguments)
    try:
        ours, theirs = ({path: read(path) for path in side} for side in (chosen.augur, chosen.torch))
        check(ours | theirs)
        if missing := [path for path, run in theirs.items() if not run["decoding"]["plain_rate"]]:
            raise Incomparable(f"{missing[0]} has no decoding: its ways were passes only")
    except Incomparable as problem:
        print(f"compare: {problem}", file=sys.stderr)
        return 2
    first = next(iter(ours.values()))
    print(f"{first['device']}: {first['shape']}, {first['layers']} layers, context {first['context']}\n")
    print(*table(list(ours.values()), list(theirs.values())), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
