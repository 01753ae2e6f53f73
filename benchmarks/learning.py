#!/usr/bin/env python3
"""What drafters learn while they serve: acceptance against tokens served, by `augur learn`.

    benchmarks/learning.py --program build/dev/bin/augur --model model.gguf --output DIR PART...

    curves      untrained exits after --layers, beside n-grams that count and heads of --heads that go on learning
    ablations   the exit after the middle one of --layers, one switch changed at a time
    shift       what --scheme names, by default that exit, on prompts of one class, then of another, then of the first again; beside it
                frozen at each change
    slow        that exit while the verifier is the model, and while it learns, too, a period of --slow-period tokens each, by committed tokens
                and by its own earlier rows; with --score both verifiers' perplexity on texts that neither wrote

Acceptance is accepted over drafted tokens; drafts have --length of them, 1 by default: then it is how often the draft's first choice is
the target's. Updates come after every --every tokens however long they take, so that figures are those of the prompts and not of the
machine's speed. Every greedy text is compared with plain decoding's, which is decoded once, and an error where it differs. Into --output go
PART.json and PART.md, and as each run ends what it said: called again with the same arguments, only what is missing is run.
"""

import argparse
import hashlib
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
    "anchor alone": ("--policy", "none", "--lambda", "constant", "--floor", "0"),
    "REINFORCE": ("--policy", "reinforce", "--newest", "64", "--accept", "rejection_sampling", "--temperature", "1"),
    "raw probability": ("--policy", "probability"),
    "margin": ("--policy", "margin"),
    "reward-masked": ("--policy", "reward_masked"),
    "reverse KL": ("--kl", "reverse"),
    "no residual KL": ("--floor", "0"),
    "no anchor": ("--anchor", "0"),
    "anchor that decays": ("--anchor", "0.5,0,200"),
    "without norm": ("--norm", "none"),
    "without alpha": ("--scale", "none"),
    "accepted positions alone": ("--accepted-only",),
    "... above 20 % acceptance": ("--accepted-only", "--accepted-from", "acceptance"),
    "lambda by acceptance": ("--lambda", "acceptance"),
    "the last layer, too": ("--layer-rank", "16"),
    "... and its attention": ("--layer-rank", "16", "--attention-rank", "16"),
}


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    runs.add_options(parser)
    add = parser.add_argument
    add("parts", nargs="+", choices=("curves", "ablations", "shift", "slow"))
    add("--layers", type=int, nargs="+", default=[6, 10, 15, 20])
    add("--heads", type=pathlib.Path, help="a folder with hydra.gguf and eagle.gguf of the model's family")
    add("--scheme", default="dvi", choices=("dvi", "medusa", "hydra"), help="of the shift: an exit, or heads without --heads untrained")
    add("--limit", type=int, help="prompts of each class")
    add("--tasks", nargs=2, default=["maths", "code"], help="classes of the shift (%(default)s)")
    add("--length", type=int, default=1)
    add("--every", type=int, default=8)
    add("--windows", type=int, default=4, help="parts of a run whose acceptance is shown (%(default)s)")
    add("--threads", type=int, help="of the program")
    add("--tau", type=float, help="of the ablations: tokens until KL's weight has decayed to 37 %% (the program's)")
    add("--slow-period", type=int, default=512, help="tokens between two periods of the verifier's updates (%(default)s)")
    add("--score", type=pathlib.Path, help="JSON lines: prompts that the verifiers are scored on")
    add("--switch", nargs="*", choices=sorted(ABLATIONS), help="only these ablations")
    return parser.parse_args()


class Plain:
    """Texts of plain decoding, by what makes them; kept in a file."""

    def __init__(self, chosen):
        self.of = [str(chosen.model), chosen.weights, chosen.shape, chosen.max_tokens]
        self.path = chosen.output / "plain.json"
        self.texts = json.loads(self.path.read_text(encoding="utf-8")) if self.path.exists() else {}

    def key(self, prompt):
        return json.dumps([*self.of, prompt])

    def knows(self, prompts):
        return all(self.key(prompt) in self.texts for _, prompt in prompts)

    def compare(self, prompts, said):
        """Ends where a text is another than plain decoding's; keeps those that were not known, which the program compared."""
        for (_, prompt), text in zip(prompts, said, strict=True):
            if self.texts.setdefault(self.key(prompt), text["ids"]) != text["ids"]:
                sys.exit(f"line {text['line']}: the text is not plain decoding's")
        self.path.write_text(json.dumps(self.texts), encoding="utf-8")


def learn(chosen, prompts, arguments, adapter=None, before=None):
    """What `augur learn` says after each of the prompts (task, prompt). An adapter begins as a copy of the one `before`."""
    lines = "".join(json.dumps({"task": task, "prompt": prompt}) + "\n" for task, prompt in prompts)
    command = [chosen.program, "learn", "--model", chosen.model, "--weights", chosen.weights, "--chat", "--json"]
    command += ["--threads", chosen.threads] if chosen.threads else []
    command += ["--max-tokens", chosen.max_tokens, "--threshold", "0", "--length", chosen.length]
    command += ["--output", adapter] if adapter else []
    command = [str(part) for part in [*command, *arguments]]
    name = hashlib.sha256(json.dumps([command, lines, str(before)]).encode()).hexdigest()[:16]
    kept, texts, plain = chosen.output / f"{name}.jsonl", chosen.output / f"{name}.prompts", Plain(chosen)
    drawn = "rejection_sampling" in command  # another text of the same distribution
    own = "--slow-updates" in command  # plain decoding's by a verifier of its own, with which the program compares
    if not kept.exists():
        texts.write_text(lines, encoding="utf-8")
        if adapter:
            adapter.unlink(missing_ok=True)
        if before:
            shutil.copy(before, adapter)
        command += ["--prompts", str(texts)] + ([] if drawn or (plain.knows(prompts) and not own) else ["--compare"])
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"{' '.join(map(str, arguments))}: {done.stderr.strip()}")
        if not drawn and not own:
            plain.compare(prompts, [json.loads(line) for line in done.stdout.splitlines()])
        kept.write_text(done.stdout, encoding="utf-8")
    return [json.loads(line) for line in kept.read_text(encoding="utf-8").splitlines()]


def by_tokens(chosen, *who, every=None):
    """Who learns, by updates that no clock delays."""
    return (*who, "--share", "inf", "--every", every or chosen.every)


def exit_after(chosen, layer, *more, every=None):
    return by_tokens(chosen, "--exit-layer", layer, *more, every=every)


def heads_of(chosen, scheme):
    return ("--scheme", scheme, "--heads", chosen.heads / f"{scheme}.gguf")


def taught(chosen, every=None):
    """What learns through a shift."""
    if chosen.scheme == "dvi":
        return exit_after(chosen, chosen.layers[len(chosen.layers) // 2], every=every)
    untaught = ("--scheme", chosen.scheme, "--head-count", chosen.length)
    return by_tokens(chosen, *(heads_of(chosen, chosen.scheme) if chosen.heads else untaught), every=every)


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
    accepted, drafted = (sum(text[what] for text in said) for what in ("accepted", "drafted"))
    whole = accepted / drafted if drafted else None
    figures = {"served": served, "windows": parts, "acceptance": whole, "drafted": drafted, "updates": last["learning"]["updates"]}
    return figures | {"texts": [{name: of for name, of in text.items() if name not in ("ids", "notes")} for text in said]}


def curves(chosen, prompts):
    found = {f"exit after {layer}": summary(learn(chosen, prompts, exit_after(chosen, layer)), chosen.windows) for layer in chosen.layers}
    found["n-grams"] = summary(learn(chosen, prompts, ("--scheme", "ngram")), chosen.windows)
    for scheme in ("hydra", "eagle") if chosen.heads else ():
        heads = by_tokens(chosen, *heads_of(chosen, scheme))
        found[scheme] = summary(learn(chosen, prompts, heads), chosen.windows)
        frozen = (*heads, "--rate", "0")
        found[f"{scheme}, frozen"] = summary(learn(chosen, prompts, frozen), chosen.windows)
    return found


def ablations(chosen, prompts):
    layer = chosen.layers[len(chosen.layers) // 2]
    names = [name for name in ABLATIONS if not chosen.switch or name in chosen.switch]
    tau = ("--tau", chosen.tau) if chosen.tau else ()
    return {name: summary(learn(chosen, prompts, exit_after(chosen, layer, *tau, *ABLATIONS[name])), chosen.windows) for name in names}


def slow(chosen, prompts):
    exit_alone = exit_after(chosen, chosen.layers[len(chosen.layers) // 2])
    score = ("--score", chosen.score) if chosen.score else ()
    found = {"the model": summary(learn(chosen, prompts, exit_alone), chosen.windows)}
    for target in ("committed", "soft"):
        said = learn(chosen, prompts, (*exit_alone, "--slow-updates", target, "--slow-period", chosen.slow_period, *score))
        found[f"slow updates, {target}"] = summary(said, chosen.windows) | {"verifier": said[-1]["verifier"]}
    return found


def shift(chosen, by_task):
    first, second = ([(task, prompt) for prompt in by_task[task]] for task in chosen.tasks)
    half = len(first) // 2
    parts = ((chosen.tasks[0], first[:half]), (f"then {chosen.tasks[1]}", second), (f"{chosen.tasks[0]} again", first[half:]))
    found, before = {}, None
    for number, (name, prompts) in enumerate(parts):
        if before:
            never = taught(chosen, every=10**9)
            found[f"{name}, frozen"] = summary(learn(chosen, prompts, never, chosen.output / "frozen.bin", before), chosen.windows)
        adapter = chosen.output / f"shift-{number}.bin"
        found[name] = summary(learn(chosen, prompts, taught(chosen), adapter, before), chosen.windows)
        before = adapter
    return found


def table(found, count):
    head = "|drafter|tokens served|" + "".join(f"acceptance, part {i + 1}|" for i in range(count)) + "all|drafted|updates|"
    lines = [head, "|" + "-|" * (count + 5)]
    for name, of in found.items():
        parts = [*of["windows"], *[None] * (count - len(of["windows"]))]
        cells = [name, of["served"], *[cell(part) for part in parts], cell(of["acceptance"]), of["drafted"], cell(of["updates"], 0)]
        lines.append("|" + "|".join(map(str, cells)) + "|")
    return "\n".join(lines) + "\n"


def verifiers_table(found):
    """Of the verifiers that learned; what is held back are committed tokens, what is scored are others' texts."""
    lines = ["|verifier|periods kept|undone|nats from the model|perplexity held back|the model's|scored|the model's|first choice|the model's|", "|" + "-|" * 10]
    for name, of in found.items():
        if "verifier" in of:
            told, score = of["verifier"], of["verifier"].get("score", {})
            cells = [name, told["kept"], told["rolled_back"], cell(told["kl_of_model"], 4), cell(told["perplexity"], 3), cell(told["model_perplexity"], 3)]
            cells += [cell(score.get(key), 3) for key in ("perplexity", "model_perplexity", "first_choice", "model_first_choice")]
            lines.append("|" + "|".join(map(str, cells)) + "|")
    return "\n".join(lines) + "\n"


def main():
    chosen = options()
    chosen.output.mkdir(parents=True, exist_ok=True)
    runs.take_shape(chosen, [chosen.heads / f"{kind}.gguf" for kind in ("hydra", "eagle")] if chosen.heads else ())
    if chosen.shape and chosen.heads:
        chosen.heads = chosen.model.with_suffix("")
    by_task = runs.prompts_of(chosen.prompts, limit=chosen.limit)
    for part in chosen.parts:
        prompts = by_task if part == "shift" else in_order(by_task)
        found = {"curves": curves, "ablations": ablations, "shift": shift, "slow": slow}[part](chosen, prompts)
        (chosen.output / f"{part}.json").write_text(json.dumps({"command": runs.command_line(), "found": found}, indent=1) + "\n", encoding="utf-8")
        page = table(found, chosen.windows) + ("\n" + verifiers_table(found) if part == "slow" else "")
        (chosen.output / f"{part}.md").write_text(page, encoding="utf-8")
        print(page)
    return 0


if __name__ == "__main__":
    sys.exit(main())
