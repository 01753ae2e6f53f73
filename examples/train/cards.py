#!/usr/bin/env python3
"""Writes a family's model cards, DIR/README.md, from its files and what judged them.

    cards.py DIR
"""

import argparse
import json
import pathlib
import textwrap

import gguf

import prompts
import store
from export import field

WHAT = {
    "ngram": (
        "A table of what mostly followed each 1 to 5 tokens in the target's own text. No network.",
        "Counted. Where the table is full the most frequent n-grams stay.",
        "It knows phrases, not the text at hand; beside the text's own n-grams and a network it is one of three voices (`draft::fallback`).",
    ),
    "eagle": (
        "One layer on the target's last hidden state and the token after it, then on its own output.",
        "Begins as the target's last layer. Against the target's probabilities and its states, unrolled three tokens.",
        "Needs the target's hidden states: an engine that hands them out (`HiddenStateModel`).",
    ),
    "draft": (
        "A Llama of two layers that reads tokens alone.",
        "Begins as the target's first and last layer. Against the target's probabilities.",
        "Works with any engine, and guesses worse than what sees hidden states.",
    ),
    "hydra": (
        "Four heads on the target's hidden state; each sees the drafted tokens before its own.",
        "A residual block a head. Against the target's probabilities, where the text is the target's first choice up to there.",
        "Four tokens at most.",
    ),
    "medusa": (
        "Four heads on the target's hidden state that do not see each other's tokens.",
        "As hydra.",
        "As a chain it is weaker than hydra; it is made for trees.",
    ),
    "exit": (
        "Exits after a fifth, a half and four fifths of the target's layers: a norm, a change of rank 128 and a scale each.",
        "Against the target's probabilities. The figures are the deepest exit's.",
        "A starting point for learning online; as a draft it computes layers that verification computes again.",
    ),
    "qualifier": (
        "A third of the target's layers, with changes of rank 32; the target's own matrices are not stored.",
        "Layers were taken away one by one, each time the one that was missed least; the changes heal what that broke. Against the target's probabilities.",
        "A second model in a cascade; as the only draft it is slower than it is good.",
    ),
}  # fmt: skip
LIMITS = (
    "Made for this very target: the fingerprint is checked. It learned from English chats of six kinds that the target wrote itself; elsewhere it guesses worse, and the "
    "text stays the target's, because what it drafts is verified."
)


def table(header, rows):
    lines = ["|" + "|".join(header) + "|", "|" + "-|" * len(header)]
    return "\n".join(lines + ["|" + "|".join(map(str, row)) + "|" for row in rows]) + "\n"


def wrapped(line):
    """Prose in lines of at most 120 columns."""
    if line.startswith("|") or len(line) <= 120:
        return line
    indent = "  " if line.startswith("- ") else ""
    return textwrap.fill(line, 120, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def percent(values):
    return " ".join(f"{value:.2f}" for value in values)


def card(name, figures, reader):
    what, how, limits = WHAT[name]
    training = f"{figures['tokens']:,} tokens ({field(reader, 'augur.trained.data')})"
    if "epochs" in figures:
        epochs = f"{figures['epochs']:g} epoch" + "s" * (figures["epochs"] != 1)
        last = "the last answers in " * (", then " in field(reader, "augur.trained.data"))
        training += f", {last}{epochs}, {figures['seconds'] / 60:.0f} minutes"
    judged = {kind: figures[kind] for kind in prompts.KINDS if kind in figures}
    judged |= {f"sampled at {t}": mean for t, mean in figures.get("sampled", {}).items()}
    rows = [[what, of["roots"], percent(of["agreement"]), f"{of['accepted']:.2f}"] for what, of in judged.items()]
    shown = table(["prompts", "positions", "agreement at offsets 1 to 4", "accepted length"], rows)
    return f"## {name}.gguf\n{what}\n\n- **Made** from {training}. {how}\n- **Limits.** {limits} {LIMITS}\n\n{shown}"


def write(folder):
    found = {name: json.loads((folder / f"{name}.json").read_text()) for name in WHAT if (folder / f"{name}.gguf").exists()}
    readers = {name: gguf.GGUFReader(folder / f"{name}.gguf") for name in found}
    first = next(iter(readers.values()))
    rows = []
    for name, figures in found.items():
        mean = figures["mean"]
        size = (folder / f"{name}.gguf").stat().st_size
        rows.append([f"`{name}.gguf`", f"{size / 1e6:.1f}", percent(mean["agreement"]), f"{mean['accepted']:.2f}"])
    hybrids = {path.stem: json.loads(path.read_text())["mean"] for path in sorted(folder.glob("*_*.json"))}
    for name, mean in hybrids.items():
        rows.append([f"first of: {name.replace('_', ', ')}", "", percent(mean["agreement"]), f"{mean['accepted']:.2f}"])
    if (folder / "context.json").exists():
        mean = json.loads((folder / "context.json").read_text())["mean"]
        rows.append(["n-grams of the text itself", "", percent(mean["agreement"]), f"{mean['accepted']:.2f}"])
    parts = [
        f"# Drafts for {field(first, 'augur.target.name')}",
        f"Licence: {field(first, 'general.license')}. Target's fingerprint: `{field(first, 'augur.target.fingerprint')}`. Made by `examples/train/family.py`; what the words "
        "mean is in `docs/draft_bundle.md`. Judged behind every position of greedy texts whose prompts no member learned from; accepted length is of chains of four, the bonus "
        "token included, on average over kinds of prompts.\n",
        table(["file", "MB", "agreement at offsets 1 to 4", "accepted length"], rows),
        *(card(name, figures, readers[name]) for name, figures in found.items()),
    ]  # fmt: skip
    with store.whole(folder / "README.md") as file:
        file.write("\n".join(wrapped(line) for line in "\n".join(parts).split("\n")).encode())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    write(parser.parse_args().folder)


if __name__ == "__main__":
    main()
