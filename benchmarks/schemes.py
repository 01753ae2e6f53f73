#!/usr/bin/env python3
"""Schemes of a real family beside plain decoding: speed, accepted length, and what the throughput model predicts.

    benchmarks/schemes.py --program build/dev/bin/augur --model model.gguf --output DIR [--schemes lookup hybrid ...]

Greedy. Every prompt is decoded by all schemes in turn, --repeat times; a class's figure is the median over its prompts. Into
--output go results.json, results.md and schemes.svg. Nothing else should run meanwhile. Exit code 1 where a text is not plain
decoding's.
"""

import argparse
import json
import statistics
import sys

import runs
from runs import PLAIN, cell, report

SCHEMES = {name: ("--scheme", name) for name in ("lookup", "sd", "eaad", "medusa", "hydra", "eagle", "hybrid")}


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    runs.add_options(parser)
    add = parser.add_argument
    add("--schemes", nargs="+", choices=SCHEMES, default=list(SCHEMES), metavar="NAME", help="of %(choices)s; all")
    add("--tasks", nargs="+", help="classes of prompts; all")
    add("--limit", type=int, help="prompts of each class; all")
    return parser.parse_args()


def at(curve, rows):
    """Seconds of a pass over this many rows, of which there may be a half."""
    low = min(int(rows), len(curve) - 1)
    return curve[low - 1] + (curve[low] - curve[low - 1]) * min(rows - low, 1)


def predicted(run, curve):
    """Tokens of a round over what it costs, in plain passes: Leviathan et al. 2023, theorem 3.8, with measured T(n)."""
    rounds, drafted = run["rounds"], sum(stage["drafted"] for stage in run["stages"])
    pass_over = at(curve, 1 + drafted / rounds)
    return run["accepted_length"] * curve[0] / (pass_over + run["seconds"]["draft"] / rounds)


def measure(chosen, prompt):
    asked = {"plain": PLAIN} | {name: SCHEMES[name] for name in chosen.schemes}
    several = runs.in_turns(chosen, asked, prompt)
    plain = runs.milliseconds(several["plain"])
    curves = [run["settings"]["verify_seconds"] for of in several.values() for run in of if "verify_seconds" in run["settings"]]
    curve = [statistics.median(seconds) for seconds in zip(*curves)]
    found = {}
    for name, of in several.items():
        found[name] = {
            "identical": all(run["ids"] == several["plain"][0]["ids"] for run in of),
            "speedup": plain / runs.milliseconds(of),
            "ms_per_token": runs.milliseconds(of),
            "accepted_length": statistics.median(run["accepted_length"] for run in of),
            "predicted": statistics.median(predicted(run, curve) for run in of) if curve else None,
            "tokens": len(of[0]["ids"]),
        }
    return found


def tables(found, schemes):
    median = lambda measured, name, key: statistics.median(of[name][key] for of in measured if of[name][key] is not None)
    rows = []
    everything = [of for measured in found.values() for of in measured]
    for task, measured in [*found.items(), ("all", everything)]:
        for name in schemes:
            same = sum(of[name]["identical"] for of in measured)
            figures = (median(measured, name, key) for key in ("speedup", "predicted", "accepted_length"))
            rows.append([task, name, *(cell(value) for value in figures), f"{same} of {len(measured)}"])
    header = ["prompts", "scheme", "times plain's speed", "predicted", "tokens a pass", "same text as plain"]
    return report.table(header, rows)


def draw(found, schemes, folder):
    speed = lambda measured, name: statistics.median(of[name]["speedup"] for of in measured)
    by_scheme = {name: [speed(measured, name) for measured in found.values()] for name in schemes}
    runs.draw_speeds(list(found), by_scheme, folder / "schemes.svg")


def main():
    chosen = options()
    chosen.output.mkdir(parents=True, exist_ok=True)
    found = {}
    for task, prompts in runs.prompts_of(chosen.prompts, chosen.tasks, chosen.limit).items():
        print(f"schemes: {task}", file=sys.stderr, flush=True)
        found[task] = [measure(chosen, prompt) for prompt in prompts]
    (chosen.output / "results.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    (chosen.output / "results.md").write_text(tables(found, chosen.schemes), encoding="utf-8")
    draw(found, chosen.schemes, chosen.output)
    return runs.refuse_other_texts("schemes.py", found)


if __name__ == "__main__":
    sys.exit(main())
