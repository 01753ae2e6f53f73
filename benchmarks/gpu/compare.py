#!/usr/bin/env python3
"""A table of what bench_device and torch_decode.py wrote about the same shape, context and GPU.

    compare.py [--shape 8b] --augur device-1.json device-2.json --torch torch-1.json torch-2.json

Files hold a run each, or are JSON lines (tests/gpu.sh), of which those that bench_device and torch_decode.py wrote count, with
--shape those about that shape. Several runs of a side took turns: medians over them, and how far they lie apart, (highest -
lowest) / median. Of PyTorch's ways the one counts whose median is fastest. A ratio above 1 says that augur is so many times as
fast. Exit code 2 for files that cannot be compared.
"""

import argparse
import json
import pathlib
import statistics
import sys

SAME = ("device", "shape", "layers", "context")


class Incomparable(Exception):
    pass


PROGRAMS = ("bench_device", "torch_decode")


def runs_in(path):
    """By name: what the file says. Lines of JSON lines have numbers."""
    try:
        text = path.read_text(encoding="utf-8")
        if path.suffix != ".jsonl":
            return {str(path): json.loads(text)}
        lines = {f"{path}:{i}": json.loads(line) for i, line in enumerate(text.splitlines(), 1) if line.strip()}
    except (OSError, ValueError) as problem:
        raise Incomparable(f"{path}: {problem}") from problem
    return {name: run for name, run in lines.items() if run.get("program") in PROGRAMS}


def read(paths, shape):
    found = {name: run for path in paths for name, run in runs_in(path).items()}
    if shape:
        found = {name: run for name, run in found.items() if run.get("shape") == shape}
    if not found:
        raise Incomparable(f"{', '.join(map(str, paths))}: no run{f' of the shape {shape}' if shape else ''}")
    for name, run in found.items():
        try:
            {key: run[key] for key in SAME}, run["passes"], run["decoding"]["plain_rate"]
        except (KeyError, TypeError) as problem:
            raise Incomparable(f"{name} has no {problem}") from problem
    return found


def check(runs):
    first = next(iter(runs))
    for path, run in runs.items():
        for name in SAME:
            if run[name] != runs[first][name]:
                raise Incomparable(f"{name} is {runs[first][name]} in {first} and {run[name]} in {path}")


def ways_of(run):
    whole = {"name": "", "passes": run["passes"], "plain_rate": run["decoding"]["plain_rate"]}
    return run.get("ways") or [whole]


def fastest_passes(runs):
    """By rows: the passes of all runs by the way whose median on the device is least."""
    found = {}
    for run in runs:
        for way in ways_of(run):
            for each in way["passes"]:
                found.setdefault(each["rows"], {}).setdefault(way["name"], []).append(each)

    def median(passes):
        return statistics.median(each["device_seconds"] for each in passes)

    return {rows: min(ways.values(), key=median) for rows, ways in sorted(found.items())}


def fastest_rates(runs):
    """Of plain decoding, of all runs by the way whose median is highest; none if none decoded."""
    found = {}
    for run in runs:
        for way in ways_of(run):
            if way["plain_rate"]:
                found.setdefault(way["name"], []).append(way["plain_rate"])
    return max(found.values(), key=statistics.median, default=[])


def spread(figures):
    return (max(figures) - min(figures)) / statistics.median(figures)


def table(ours, theirs):
    """Lines of markdown. A pass has a line where both sides measured its number of rows."""
    kinds = [f"augur, {kind} ms|PyTorch, {kind} ms|times as fast" for kind in ("device", "wall")]
    yield f"|rows|{'|'.join(kinds)}|spread|"
    yield "|-|-|-|-|-|-|-|-|"
    our_passes, their_passes = fastest_passes(ours), fastest_passes(theirs)
    for rows in sorted(set(our_passes) & set(their_passes)):
        kinds = [[[each[key] for each in side[rows]] for side in (our_passes, their_passes)]
                 for key in ("device_seconds", "wall_seconds")]  # fmt: skip
        cells = []
        for mine, its in kinds:
            a, b = statistics.median(mine), statistics.median(its)
            cells += [f"{a * 1e3:.3f}", f"{b * 1e3:.3f}", f"**{b / a:.2f}**"]
        apart = max(spread(side) for kind in kinds for side in kind)
        yield f"|{rows}|{'|'.join(cells)}|{apart:.1%}|"
    yield ""
    yield "|decoding|tokens/s|over PyTorch|spread|"
    yield "|-|-|-|-|"
    base = fastest_rates(theirs)
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
    parser.add_argument("--shape", help="of JSON lines, those about this one")
    chosen = parser.parse_args(arguments)
    try:
        ours, theirs = read(chosen.augur, chosen.shape), read(chosen.torch, chosen.shape)
        check(ours | theirs)
        if not fastest_rates(theirs.values()):
            raise Incomparable(f"{next(iter(theirs))} has no decoding: its ways were passes only")
    except Incomparable as problem:
        print(f"compare: {problem}", file=sys.stderr)
        return 2
    first = next(iter(ours.values()))
    print(f"{first['device']}: {first['shape']}, {first['layers']} layers, context {first['context']}\n")
    print(*table(list(ours.values()), list(theirs.values())), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
