#!/usr/bin/env python3
"""Schemes of a real family beside plain decoding, at the cost of several sizes of model.

    benchmarks/at_scale.py --program build/dev/bin/augur --model model.gguf --output DIR [--points 135m:bf16 1b:bf16 ...]
                           [--schemes lookup sd eagle:tree=auto ...] [--limit 1]

A point is a shape and a weight format: the target's text at the cost of a model of that shape, with its drafts at theirs, from files
that `augur widen` writes into --output once. At each point one process (`augur bench schemes`) loads once, and decodes every prompt
by all schemes in turn. Into --output go POINT.json, which is not measured again where it is there and was asked for the
same, results.md and at_scale.svg with its JSON. Nothing else should run meanwhile. Exit code 1 where a point cannot be
measured, or a text that has to be plain decoding's is another.
"""

import argparse
import json
import pathlib
import subprocess
import sys

import runs
from runs import cell, report

POINTS = ("135m:bf16", "135m:keep", "1b:bf16", "1b:q4_0", "3b:q4_0")
SCHEMES = ("lookup", "sd", "eaad", "eagle", "eagle:tree=auto", "hydra", "hybrid", "auto", "fsd", "psd_a", "psd_f", "ead")


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--program", required=True, type=runs.absolute, help="augur")
    add("--model", required=True, type=pathlib.Path, help="the target")
    add("--output", required=True, type=pathlib.Path)
    add("--points", nargs="+", default=list(POINTS), metavar="SHAPE:WEIGHTS", help="%(default)s; 135m: as it is")
    add("--schemes", nargs="+", default=list(SCHEMES), metavar="NAME", help="as for bench schemes (%(default)s)")
    add("--prompts", type=pathlib.Path, default=runs.HERE / "prompts" / "prompts.jsonl", help="JSON lines: task, prompt")
    add("--limit", type=int, default=1, help="prompts of each task (%(default)s)")
    add("--max-tokens", type=int, default=96)
    add("--repeat", type=int, default=2, help="turns of each prompt (%(default)s)")
    add("--temperature", type=float, default=0)
    add("--threads", type=int, default=0, help="0 for one per core")
    return parser.parse_args()


class MeasureError(Exception):
    """Ends the program with one line."""


def command_of(chosen, model, weights):
    command = [chosen.program, "bench", "schemes", "--model", model, "--weights", weights]
    command += ["--prompts", chosen.prompts, "--chat", "--limit", chosen.limit, "--max-tokens", chosen.max_tokens]
    command += ["--repetitions", chosen.repeat, "--temperature", chosen.temperature, "--threads", chosen.threads]
    for scheme in chosen.schemes:
        command += ["--scheme", scheme]
    return [str(part) for part in [*command, "--json"]]


def kept(path, command):
    """What was measured before by the same command; else None."""
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except ValueError as problem:
        print(f"at_scale: {path} is measured again: it cannot be read ({problem})", file=sys.stderr)
        return None
    if stored.get("asked") == command:
        return stored
    print(f"at_scale: {path} is measured again: it was asked for something else", file=sys.stderr)
    return None


def measure(chosen, point):
    shape, _, weights = point.partition(":")
    model, environment = chosen.model, None
    if shape != "135m":
        model = runs.widened(chosen.program, model, shape, weights or "keep", chosen.output)
        environment = runs.family_of(model)
    path, command = chosen.output / f"{point.replace(':', '-')}.json", command_of(chosen, model, weights or "keep")
    if measured := kept(path, command):
        return measured
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False, env=environment)
    if done.returncode != 0:
        said = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        raise MeasureError(f"{point}: {said[-1]}")
    measured = json.loads(done.stdout) | {"asked": command}
    part = path.with_suffix(".part")
    part.write_text(json.dumps(measured) + "\n", encoding="utf-8")
    part.replace(path)
    return measured


def tables(found):
    header = ["cost of", "prompts", "scheme", "tokens/s", "times plain's speed", "predicted", "tokens a pass", "same text"]
    rows = []
    for point, measured in found.items():
        for task in measured["tasks"]:
            for of in task["schemes"]:
                figures = (cell(of[key]) for key in ("tokens_per_second", "speedup", "predicted", "accepted_length"))
                rows.append([point, task["task"], of["scheme"], *figures, f"{of['identical']} of {task['prompts']}"])
    return report.table(header, rows)


def draw(found, folder):
    by_scheme = {}
    for measured in found.values():
        for of in measured["tasks"][-1]["schemes"]:
            by_scheme.setdefault(of["scheme"], []).append(of["speedup"])
    complete = {name: speeds for name, speeds in by_scheme.items() if len(speeds) == len(found)}
    runs.draw_speeds("Schemes at the cost of several sizes of model, median of all prompts", list(found), complete, folder, "at_scale")


def other_texts(found):
    return [
        f"{point}, prompt of line {prompt['line']}, {of['scheme']}"
        for point, measured in found.items()
        for prompt in measured["prompts"]
        for of in prompt["schemes"]
        if not of["identical"] and measured["temperature"] == 0 and of["guarantee"] != "none"
    ]


def main():
    chosen = options()
    chosen.output.mkdir(parents=True, exist_ok=True)
    found = {}
    for point in chosen.points:
        print(f"at_scale: {point}", file=sys.stderr, flush=True)
        try:
            found[point] = measure(chosen, point)
        except (MeasureError, OSError) as problem:
            print(f"at_scale.py: error: {problem}", file=sys.stderr)
            return 1
    (chosen.output / "results.md").write_text(tables(found), encoding="utf-8")
    draw(found, chosen.output)
    for each in (wrong := other_texts(found)):
        print(f"at_scale.py: error: {each}: the text is not plain decoding's", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
