#!/usr/bin/env python3
"""Draft trees of heads beside chains and plain decoding, by task: EntMTP's table.

    benchmarks/trees.py --program build/dev/bin/augur --model model.gguf --output DIR [--tasks code maths conversation] [--limit 4]
                        [--grow 4] [--temperature 0.7]

For each task `augur grow` makes a bank of Hydra trees from the first --grow of its prompts, where DIR has none yet; then one process
(`augur bench schemes`) decodes the next --limit prompts by all schemes in turn, --repeat times, each with the next seed. The default trees of Medusa and Hydra are their published one of 63 nodes
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
from runs import cell, report

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


def command_of(chosen, name, texts):
    """Of the program, for what decodes texts by the model; with the options that follow, as text."""
    command = [chosen.program, *name, "--model", chosen.model, "--weights", chosen.weights, "--chat", "--max-tokens", chosen.max_tokens]
    return lambda *options: [str(part) for part in [*command, "--prompts", texts, *options]]


def written(chosen, name, task, prompts):
    texts = chosen.output / f"{task}.{name}.jsonl"
    texts.write_text("".join(json.dumps({"task": task, "prompt": prompt}) + "\n" for prompt in prompts), encoding="utf-8")
    return texts


def bank_of(chosen, task, prompts):
    bank = chosen.output / f"{task}.bank.json"
    if not bank.exists():
        command = command_of(chosen, ["grow"], written(chosen, "grown", task, prompts))
        state = chosen.output / f"{task}.state.json"
        subprocess.run(command("--nodes", chosen.nodes, "--state", state, "--output", bank), check=True, stdout=subprocess.DEVNULL)
    return bank


def schemes_of(chosen, bank):
    """By what the table calls them, as `augur bench schemes` does."""
    tree = chosen.output / "published.json"
    tree.write_text(json.dumps([list(node) for node in published_tree() if len(node) <= chosen.heads]), encoding="utf-8")
    schemes = {"plain": "plain"}
    for heads in ("medusa", "hydra"):
        schemes |= {f"{heads}, chain that pays": heads, f"{heads}, published tree": f"{heads}:tree={tree}"}
    schemes |= {f"hydra, chain of {length}": f"hydra:length={length}" for length in (1, 2, 3, 4)}
    return schemes | {"EntMTP*": f"hydra:tree=auto:bank={bank}", "EntMTP": f"entmtp:bank={bank}"}


def measure(chosen, task, schemes, prompts):
    """Of each prompt, by scheme, its figures."""
    command = command_of(chosen, ["bench", "schemes"], written(chosen, "decoded", task, prompts))
    named = [part for scheme in schemes.values() if scheme != "plain" for part in ("--scheme", scheme)]
    asked = command("--repetitions", chosen.repeat, "--temperature", chosen.temperature, "--json", *named)
    done = subprocess.run(asked, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(done.stderr.strip())
    found = []
    for prompt in json.loads(done.stdout)["prompts"]:
        by_scheme = {of["scheme"]: of for of in prompt["schemes"]}
        found.append({name: figures_of(by_scheme[scheme]) for name, scheme in schemes.items()})
    return found


def figures_of(of):
    return {
        "identical": of["identical"],
        "tokens_per_second": 1000 / statistics.median(of["milliseconds_per_token"]),
        "speedup": of["speedup"],
        "accepted_length": of["accepted_length"],
        "nodes": of["drafted"] / of["rounds"],
    }


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
    runs.take_shape(chosen)
    found = {}
    for task, prompts in runs.prompts_of(chosen.prompts, chosen.tasks, chosen.grow + chosen.limit).items():
        print(f"trees: {task}", file=sys.stderr, flush=True)
        schemes = schemes_of(chosen, bank_of(chosen, task, prompts[: chosen.grow]))
        found[task] = measure(chosen, task, schemes, prompts[chosen.grow :])
    (chosen.output / "results.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    (chosen.output / "results.md").write_text(tables(found), encoding="utf-8")
    return runs.refuse_other_texts("trees.py", found)


if __name__ == "__main__":
    sys.exit(main())
