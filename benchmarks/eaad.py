#!/usr/bin/env python3
"""EAAD on a real model: lengths by the draft's entropy, beside every fixed length, Medusa, Hydra and plain decoding.

    benchmarks/eaad.py --program build/dev/bin/augur --model model.gguf [--draft draft.gguf] --output DIR

Every prompt is decoded by all schemes in turn, --repeat times, and a time is the median of its runs; a class's is the median over
its prompts. Into --output go results.json, results.md (tables) and *.svg. Nothing else should run meanwhile. Exit code 1 where a
greedy text is not plain decoding's.
"""

import argparse
import collections
import json
import pathlib
import statistics
import sys

import runs
from runs import PLAIN, cell, report, svg

CLASSES = ("factual", "code", "creative", "conversation")
PASSES = 50  # of the target, after which texts are compared, as the published run does
GREEDY = {"plain": PLAIN}
GREEDY |= {f"fixed {length}": ("--scheme", "sd", "--length", str(length)) for length in range(1, 7)}
GREEDY["eaad"] = ("--scheme", "eaad")
GREEDY["as published"] = ("--scheme", "eaad_as_published")
# Structured drafts of the model's family, as chains of as many tokens as pay; they have files of their own.
HEADS = {name: ("--scheme", name) for name in ("medusa", "hydra")}
GREEDY |= HEADS
# Of every round one token: what it tells about entropy is not mixed with how long a chain was.
FIRST = "eaad, length 1"
GREEDY[FIRST] = ("--scheme", "eaad", "--bin-lengths", "1,1,1,1")
SAMPLED = {name: GREEDY[name] for name in ("plain", "fixed 4", "eaad", *HEADS, FIRST)}


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    runs.add_options(parser)
    parser.add_argument("--draft", type=pathlib.Path, help="the target's draft; the default is the one that the program finds")
    parser.add_argument(
        "--temperatures", type=float, nargs="*", default=[0.7, 1.0], help="with rejection sampling, besides greedy"
    )
    return parser.parse_args()


def measure(chosen, schemes, prompt, temperature):
    """What the runs of each scheme, which take turns, came to."""
    drawn = ("--temperature", temperature)
    drafting = ("--draft", chosen.draft) if chosen.draft else ()
    accepting = ("--accept", "rejection_sampling") if temperature else ()
    asked = {}
    for name, scheme in schemes.items():
        asked[name] = (*scheme, *drawn)
        if name != "plain":
            asked[name] += accepting if name in HEADS else (*drafting, *accepting)
    return {name: summary(several) for name, several in runs.in_turns(chosen, asked, prompt).items()}


def summary(several):
    first = several[0]
    kept = {key: first[key] for key in ("ids", "accepted_length", "acceptance")} | {"bins": first.get("bins", [])}
    return kept | {"ms_per_token": runs.milliseconds(several)}


def distinct(ids):
    """The share of pairs of neighbouring tokens that are not repetitions."""
    pairs = list(zip(ids, ids[1:]))
    return len(set(pairs)) / max(1, len(pairs))


def bins_of(measured):
    """Acceptance of a round's first token by the entropy of its row, over several prompts."""
    drafted, accepted, names = collections.Counter(), collections.Counter(), {}
    for of_prompt in measured:
        for index, each in enumerate(of_prompt[FIRST]["bins"]):
            drafted[index] += each["drafted"]
            accepted[index] += each["accepted"]
            names[index] = "more" if each["below_nats"] is None else f"below {each['below_nats']:g}"
    return {names[i]: (accepted[i] / drafted[i] if drafted[i] else None, drafted[i]) for i in sorted(names)}


def time_table(found, schemes):
    rows = []
    for task, measured in found.items():
        median = lambda pick: statistics.median(map(pick, measured))
        milliseconds = [cell(median(lambda of: of[name]["ms_per_token"])) for name in schemes]
        gains = [f"**{cell(median(lambda of: of['plain']['ms_per_token'] / of[name]['ms_per_token']))}**" for name in schemes]
        lengths = [cell(median(lambda of: of[name]["accepted_length"])) for name in schemes]
        rows += [[task, "ms a token", *milliseconds], [task, "times plain's speed", *gains], [task, "tokens a pass", *lengths]]
    return report.table(["prompts", "", *schemes], rows)


def bins_table(found):
    by_class = {task: bins_of(measured) for task, measured in found.items()}
    by_class["all"] = bins_of([of for measured in found.values() for of in measured])
    header = ["entropy of the draft, nats", *(f"{task} (drafted)" for task in by_class)]
    names = by_class["all"].keys()
    rows = [[name, *(f"{cell(of[name][0])} ({of[name][1]})" for of in by_class.values())] for name in names]
    return report.table(header, rows), by_class


def diversity_table(found):
    """Texts after as many passes of the target: the longer one, not another one."""
    rows = []
    for task, measured in found.items():
        plain = [of["plain"]["ids"][:PASSES] for of in measured]
        reach = [of["eaad"]["ids"][: round(PASSES * of["eaad"]["accepted_length"])] for of in measured]
        alike = [of["eaad"]["ids"][:PASSES] == first for of, first in zip(measured, plain)]
        mean = statistics.mean
        rows.append([task, cell(mean(map(len, plain)), 0), cell(mean(map(distinct, plain))), cell(mean(map(len, reach)), 0),
                     cell(mean(map(distinct, reach))), f"{sum(alike)} of {len(alike)}"])  # fmt: skip
    return report.table(["prompts", "plain: tokens", "distinct pairs", "eaad: tokens", "distinct pairs", "same first tokens"], rows)


def draw(found, by_class, folder):
    bins = list(by_class["all"])
    series = [{"name": task, "y": [of[name][0] if of[name][1] else None for name in bins]} for task, of in by_class.items()]
    chart = {"kind": "bars", "title": "Acceptance by the draft's entropy", "y": "share of first drafted tokens that are accepted"}
    chart |= {"x": "entropy of the draft's row, nats", "groups": bins, "y_range": [0, 1.08], "series": series}
    svg.save(chart | {"command": runs.command_line()}, folder, "eaad_bins")
    speed = lambda measured, name: statistics.median(of["plain"]["ms_per_token"] / of[name]["ms_per_token"] for of in measured)
    by_task = {task: [speed(measured, name) for name in GREEDY] for task, measured in found.items()}
    runs.draw_speeds("EAAD's entropy bins beside every fixed length", list(GREEDY), by_task, folder, "eaad_speed")


def main():
    chosen = options()
    chosen.output.mkdir(parents=True, exist_ok=True)
    runs.take_shape(chosen)
    prompts = runs.prompts_of(chosen.prompts, CLASSES)
    found = {}
    for temperature in (0.0, *chosen.temperatures):
        schemes = SAMPLED if temperature else GREEDY
        found[temperature] = {}
        for task, texts in prompts.items():
            print(f"eaad: temperature {temperature:g}, {task}", file=sys.stderr, flush=True)
            found[temperature][task] = [measure(chosen, schemes, text, temperature) for text in texts]
    different = [
        (task, name)
        for task, measured in found[0.0].items()
        for of in measured
        for name in GREEDY
        if of[name]["ids"] != of["plain"]["ids"]
    ]
    bins, by_class = bins_table(found[0.0])
    parts = [f"### Greedy\n{time_table(found[0.0], GREEDY)}", f"### Acceptance of a first token by entropy, greedy\n{bins}"]
    parts.append(f"### After {PASSES} passes of the target, greedy\n{diversity_table(found[0.0])}")
    for temperature in chosen.temperatures:
        parts.append(f"### Temperature {temperature:g}, rejection sampling\n{time_table(found[temperature], SAMPLED)}")
        parts.append(bins_table(found[temperature])[0])
    (chosen.output / "results.md").write_text("\n".join(parts), encoding="utf-8")
    (chosen.output / "results.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    draw(found[0.0], by_class, chosen.output)
    for task, name in different:
        print(f"eaad.py: error: a text of {task} by {name} is not plain decoding's", file=sys.stderr)
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
