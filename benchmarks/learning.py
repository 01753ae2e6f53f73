#!/usr/bin/env python3
"""What drafters learn while they serve: acceptance against tokens served, by `augur learn`.

    benchmarks/learning.py --program build/dev/bin/augur --model model.gguf --output DIR PART...

    curves      untrained exits after --layers, beside n-grams that count and heads of --heads that go on learning
    ablations   the exit after the middle one of --layers, one switch changed at a time
    shift       that exit on prompts of one class, then of another, then of the first again; beside it frozen at each change

Acceptance is accepted over drafted tokens; drafts have --length of them, 1 by default: then it is how often the draft's first choice is
the target's. Updates come after every --every tokens however long they take, so that figures are those of the prompts and not of the
machine's speed. Every text is compared with plain decoding's, and an error where it differs. Into --output go PART.json and PART.md.
"""

import argparse
import json
import pathlib
import shutil
import subprocess
import sys

import runs
from runs import cell, report

# One switch at a time of `augur learn`; the first is the default.
ABLATIONS = {
    "unified, as by default": (),
    "KL alone": ("--lambda", "constant", "--floor", "1", "--anchor", "0"),
    "policy alone": ("--lambda", "constant", "--floor", "0", "--anchor", "0"),
    "REINFORCE": ("--policy", "reinforce", "--newest", "64"),
    "raw probability": ("--policy", "probability"),
    "margin": ("--policy", "margin"),
    "reverse KL": ("--kl", "reverse"),
    "no residual KL": ("--floor", "0"),
    "no anchor": ("--anchor", "0"),
    "anchor that decays": ("--anchor", "0.5,0,200"),
    "without norm": ("--norm", "none"),
    "without alpha": ("--scale", "none"),
    "accepted positions alone": ("--accepted-only",),
}


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    runs.add_options(parser)
    add = parser.add_argument
    add("parts", nargs="+", choices=("curves", "ablations", "shift"))
    add("--layers", type=int, nargs="+", default=[6, 10, 15, 20])
    add("--heads", type=pathlib.Path, help="a folder with hydra.gguf and eagle.gguf of the model's family")
    add("--limit", type=int, help="prompts of each class")
    add("--tasks", nargs=2, default=["maths", "code"], help="classes of the shift (%(default)s)")
    add("--length", type=int, default=1)
    add("--every", type=int, default=8)
    add("--windows", type=int, default=4, help="parts of a run whose acceptance is shown (%(default)s)")
    return parser.parse_args()


def learn(chosen, prompts, arguments, adapter=None):
    """What `augur learn` says after each of the prompts (task, prompt)."""
    texts = chosen.output / "prompts.jsonl"
    texts.write_text("".join(json.dumps({"task": task, "prompt": prompt}) + "\n" for task, prompt in prompts), encoding="utf-8")
    command = [chosen.program, "learn", "--model", chosen.model, "--weights", chosen.weights, "--chat", "--json", "--compare"]
    command += ["--shape", chosen.shape] if chosen.shape else []
    command += ["--prompts", texts, "--max-tokens", chosen.max_tokens, "--threshold", "0", "--length", chosen.length]
    command += ["--output", adapter] if adapter else []
    done = subprocess.run([str(part) for part in [*command, *arguments]], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, arguments))}: {done.stderr.strip()}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def exit_after(chosen, layer, *more):
    return ("--exit-layer", layer, "--share", "inf", "--every", chosen.every, *more)


def windows(said, count):
    """Tokens served, and the acceptance in each of `count` parts of a run, by tokens served when a text begins."""
    served, parts = said[-1]["served"], [[0, 0] for _ in range(count)]
    for text in said:
        part = parts[(text["served"] - text["tokens"]) * count // served]
        part[0] += text["accepted"]
        part[1] += text["drafted"]
    return served, [accepted / drafted if drafted else None for accepted, drafted in parts]


def in_order(prompts):
    """One prompt of each class after the other, so that every part of a run has all classes."""
    longest = max(map(len, prompts.values()))
    return [(task, of[i]) for i in range(longest) for task, of in prompts.items() if i < len(of)]


def summary(said, count):
    served, parts = windows(said, count)
    last = said[-1]
    return {"served": served, "windows": parts, "accepted_length": last["accepted_length"], "updates": last["learning"]["updates"], "texts": said}


def curves(chosen, prompts):
    found = {f"exit after {layer}": summary(learn(chosen, prompts, exit_after(chosen, layer)), chosen.windows) for layer in chosen.layers}
    found["n-grams"] = summary(learn(chosen, prompts, ("--scheme", "ngram")), chosen.windows)
    for scheme in ("hydra", "eagle") if chosen.heads else ():
        heads = ("--scheme", scheme, "--heads", chosen.heads / f"{scheme}.gguf", "--share", "inf", "--every", chosen.every)
        found[scheme] = summary(learn(chosen, prompts, heads), chosen.windows)
        frozen = (*heads, "--rate", "0")
        found[f"{scheme}, frozen"] = summary(learn(chosen, prompts, frozen), chosen.windows)
    return found


def ablations(chosen, prompts):
    layer = chosen.layers[len(chosen.layers) // 2]
    return {name: summary(learn(chosen, prompts, exit_after(chosen, layer, *switch)), chosen.windows) for name, switch in ABLATIONS.items()}


def shift(chosen, by_task):
    layer = chosen.layers[len(chosen.layers) // 2]
    first, second = ([(task, prompt) for prompt in by_task[task]] for task in chosen.tasks)
    half = len(first) // 2
    adapter, before = chosen.output / "shift.bin", chosen.output / "before.bin"
    adapter.unlink(missing_ok=True)
    found = {}
    for name, prompts in ((chosen.tasks[0], first[:half]), (f"then {chosen.tasks[1]}", second), (f"{chosen.tasks[0]} again", first[half:])):
        if adapter.exists():
            shutil.copy(adapter, before)
            frozen = learn(chosen, prompts, exit_after(chosen, layer, "--rate", "0"), before)
            found[f"{name}, frozen"] = summary(frozen, 1)
        found[name] = summary(learn(chosen, prompts, exit_after(chosen, layer), adapter), 1)
    return found


def table(found, count):
    head = "|drafter|tokens served|" + "".join(f"acceptance, part {i + 1}|" for i in range(count)) + "accepted length|updates|"
    lines = [head, "|" + "-|" * (count + 4)]
    for name, of in found.items():
        parts = [*of["windows"], *[None] * (count - len(of["windows"]))]
        cells = [name, of["served"], *[cell(part) for part in parts], cell(of["accepted_length"]), cell(of["updates"], 0)]
        lines.append("|" + "|".join(map(str, cells)) + "|")
    return "\n".join(lines) + "\n"


def main():
    chosen = options()
    chosen.output.mkdir(parents=True, exist_ok=True)
    by_task = runs.prompts_of(chosen.prompts, limit=chosen.limit)
    for part in chosen.parts:
        prompts = by_task if part == "shift" else in_order(by_task)
        found = {"curves": curves, "ablations": ablations, "shift": shift}[part](chosen, prompts)
        (chosen.output / f"{part}.json").write_text(json.dumps({"command": runs.command_line(), "found": found}, indent=1) + "\n", encoding="utf-8")
        page = table(found, 1 if part == "shift" else chosen.windows)
        (chosen.output / f"{part}.md").write_text(page, encoding="utf-8")
        print(page)
    return 0


if __name__ == "__main__":
    sys.exit(main())
