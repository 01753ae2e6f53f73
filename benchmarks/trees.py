#!/usr/bin/env python3
"""Draft trees of heads beside chains and plain decoding, by task: EntMTP's table.

    benchmarks/trees.py --program build/dev/bin/augur --model model.gguf --output DIR [--tasks code maths conversation] [--limit 4]
                        [--grow 4] [--temperature 0.7]

For each task `augur grow` makes a bank of Hydra trees from the first --grow of its prompts, where DIR has none yet; the next --limit
prompts are decoded by all schemes in turn, --repeat times. The default trees of Medusa and Hydra are their published one of 63 nodes
(mc_sim_7b_63), as far as the heads reach. Into --output go TASK.bank.json, results.json and results.md. Nothing else should run
meanwhile. Exit code 1 where a greedy text is not plain decoding's.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys

import runs
from runs import PLAIN, cell, report

# Of the published default tree, how many children each node has; those that are not named have none.
CHILDREN = {(): 10, (0,): 10, (1,): 7, (2,): 3, (3,): 2, **{(rank,): 1 for rank in range(4, 10)}}
CHILDREN |= {(0, 0): 10, (0, 1): 3, (0, 2): 2, **{(0, rank): 1 for rank in range(3, 8)}, (1, 0): 2, (2, 0): 1, (0, 0, 0): 2}


def published_tree():
    nodes = [(*parent, rank) for parent, count in CHILDREN.items() for rank in range(count)]
    assert len(nodes) == 63
    return nodes


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    runs.add_options(parser)
    add = parser.add_argument
    add("--tasks", nargs="+", default=["code", "maths", "conversation"], help="classes of prompts (%(default)s)")
    add("--grow", type=int, default=2, help="prompts of each class that its bank is grown on (%(default)s)")
    add("--limit", type=int, default=2, help="prompts of each class after those (%(default)s)")
    add("--nodes", type=int, default=24, help="the largest tree that is grown (%(default)s)")
    add("--heads", type=int, default=4, help="that the published tree is cut to (%(default)s)")
    add("--temperature", type=float, default=0)
    return parser.parse_args()


def bank_of(chosen, task, prompts):
    bank = chosen.output / f"{task}.bank.json"
    if not bank.exists():
        texts = chosen.output / f"{task}.jsonl"
        texts.write_text("".join(json.dumps({"task": task, "prompt": prompt}) + "\n" for prompt in prompts), encoding="utf-8")
        command = [chosen.program, "grow", "--model", chosen.model, "--weights", chosen.weights, "--chat"]
        command += ["--shape", chosen.shape] if chosen.shape else []
        command += ["--prompts", texts, "--max-tokens", chosen.max_tokens, "--nodes", chosen.nodes]
        command += ["--state", chosen.output / f"{task}.state.json", "--output", bank]
        subprocess.run([str(part) for part in command], check=True, stdout=subprocess.DEVNULL)
    return bank


def schemes_of(chosen, bank):
    tree = chosen.output / "published.json"
    tree.write_text(json.dumps([list(node) for node in published_tree() if len(node) <= chosen.heads]), encoding="utf-8")
    schemes = {"plain": PLAIN}
    for heads in ("medusa", "hydra"):
        schemes[f"{heads}, chain that pays"] = ("--scheme", heads)
        schemes[f"{heads}, published tree"] = ("--scheme", heads, "--tree", tree)
    schemes |= {f"hydra, chain of {length}": ("--scheme", "hydra", "--length", length) for length in (1, 2, 3, 4)}
    schemes["EntMTP*"] = ("--scheme", "hydra", "--tree", "auto", "--bank", bank)
    schemes["EntMTP"] = ("--scheme", "entmtp", "--bank", bank)
    return {name: (*scheme, "--temperature", chosen.temperature) for name, scheme in schemes.items()}


def measure(chosen, schemes, prompt):
    several = runs.in_turns(chosen, schemes, prompt)
    plain = runs.milliseconds(several["plain"])
    found = {}
    for name, of in several.items():
        drafted = sum(stage["drafted"] for stage in of[0]["stages"])
        found[name] = {
            "identical": bool(chosen.temperature) or all(run["ids"] == several["plain"][0]["ids"] for run in of),
            "tokens_per_second": 1000 / runs.milliseconds(of),
            "speedup": plain / runs.milliseconds(of),
            "accepted_length": of[0]["accepted_length"],
            "nodes": drafted / of[0]["rounds"],
        }
    return found


def tables(found):
    rows = []
    for task, measured in [*found.items(), ("all", [of for each in found.values() for of in each])]:
        for name in measured[0]:
            middle = lambda key: statistics.median(of[name][key] for of in measured)
            figures = (cell(middle(key)) for key in ("tokens_per_second", "speedup", "accepted_length", "nodes"))
            over = statistics.median(of[name]["speedup"] / of["hydra, published tree"]["speedup"] for of in measured)
            rows.append([task, name, *figures, cell(over)])
    header = ["task", "scheme", "tokens/s", "times plain", "tokens a pass", "nodes a round", "times Hydra's published tree"]
    return report.table(header, rows)


def main():
    chosen = options()
    chosen.output.mkdir(parents=True, exist_ok=True)
    found = {}
    for task, prompts in runs.prompts_of(chosen.prompts, chosen.tasks, chosen.grow + chosen.limit).items():
        print(f"trees: {task}", file=sys.stderr, flush=True)
        schemes = schemes_of(chosen, bank_of(chosen, task, prompts[: chosen.grow]))
        found[task] = [measure(chosen, schemes, prompt) for prompt in prompts[chosen.grow :]]
    (chosen.output / "results.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    (chosen.output / "results.md").write_text(tables(found), encoding="utf-8")
    return runs.refuse_other_texts("trees.py", found)


if __name__ == "__main__":
    sys.exit(main())
