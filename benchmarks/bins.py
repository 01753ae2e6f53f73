#!/usr/bin/env python3
"""EAAD's published bins beside bins that learn while they decode, and bins that `augur tune` calibrated: for all tasks, and by task.

    augur tune --model model.gguf --schemes eaad --per-task --prompts tuned_on.jsonl --chat --work work --output calibration.json
    benchmarks/bins.py --program build/dev/bin/augur --model model.gguf --calibration calibration.json --prompts held_back.jsonl --output DIR

Every prompt is decoded by all in turn, --repeat times; a class's figure is the median over its prompts. Into --output go results.json and
results.md. Nothing else should run meanwhile. Exit code 1 where a greedy text is not plain decoding's.
"""

import argparse
import json
import pathlib
import statistics
import sys

import runs
from runs import PLAIN, cell, report

PUBLISHED, LEARNED, EVERYWHERE, BY_TASK = "published", "learned", "calibrated", "calibrated by task"
BINS = (PUBLISHED, LEARNED, EVERYWHERE, BY_TASK)


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    runs.add_options(parser)
    parser.add_argument("--calibration", required=True, type=pathlib.Path)
    parser.add_argument("--tasks", nargs="+", default=["code", "factual", "creative", "conversation"])
    return parser.parse_args()


def measure(chosen, task, prompt):
    eaad = ("--scheme", "eaad")
    calibrated = (*eaad, "--calibration", chosen.calibration)
    asked = {
        "plain": PLAIN,
        PUBLISHED: eaad,
        LEARNED: (*eaad, "--learn-bins"),
        EVERYWHERE: calibrated,
        BY_TASK: (*calibrated, "--task", task),
    }
    several = runs.in_turns(chosen, asked, prompt)
    plain = runs.milliseconds(several["plain"])
    return {
        name: {
            "speedup": plain / runs.milliseconds(several[name]),
            "accepted_length": statistics.median(run["accepted_length"] for run in several[name]),
            "bins": [(each["below_nats"], each["length"]) for each in several[name][0]["bins"]],
            "identical": all(run["ids"] == several["plain"][0]["ids"] for run in several[name]),
        }
        for name in BINS
    }


def table(found):
    median = lambda measured, name, key: statistics.median(of[name][key] for of in measured)
    everything = [of for measured in found.values() for of in measured]
    rows = []
    for task, measured in [*found.items(), ("all", everything)]:
        speeds = [median(measured, name, "speedup") for name in BINS]
        lengths = [cell(median(measured, name, "accepted_length")) for name in BINS]
        gains = [cell(statistics.median(of[name]["speedup"] / of[PUBLISHED]["speedup"] for of in measured)) for name in BINS]
        rows += [[task, "times plain's speed", *map(cell, speeds)], [task, "times the published", *gains], [task, "tokens a pass", *lengths]]
    return report.table(["prompts", "", *BINS], rows)


def main():
    chosen = options()
    chosen.output.mkdir(parents=True, exist_ok=True)
    runs.take_shape(chosen)
    found = {}
    for task, prompts in runs.prompts_of(chosen.prompts, chosen.tasks).items():
        print(f"bins: {task}", file=sys.stderr, flush=True)
        found[task] = [measure(chosen, task, prompt) for prompt in prompts]
    (chosen.output / "results.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    (chosen.output / "results.md").write_text(table(found), encoding="utf-8")
    return runs.refuse_other_texts("bins.py", found)


if __name__ == "__main__":
    sys.exit(main())
