"""Runs of learn, tune and grow that are over soon."""

import json

from program import DRAFT, FOLDER, PROMPTS, TARGET, family

HEADS = family("recorded", ["hydra"]) / "tiny" / "hydra.gguf"


def prompts(name, texts):
    path = FOLDER / name
    path.write_text("".join(json.dumps({"task": task, "prompt": text}) + "\n" for task, text in texts), encoding="utf-8")
    return path


def given(command, *more):
    """The command with these options, which go before its own."""
    kept = [word for i in range(1, len(command), 2) if command[i] not in more for word in command[i : i + 2]]
    return (command[0], *kept, *more)


TEXTS = [("a", "the cat the cat the"), ("b", "one two one two"), ("a", "0123456789")]
LEARN = (
    "learn", "--model", TARGET, "--max-tokens", 24, "--share", "inf", "--every", 1, "--rate", 0.02, "--threshold", 0, "--length", 3,
    "--prompts", prompts("learned.jsonl", TEXTS),
)  # fmt: skip
TUNE = (
    "tune", "--model", TARGET, "--draft", DRAFT, "--schemes", "sd,fsd", "--candidates", 6, "--first", 1, "--max-tokens", 6, "--threads", 1,
    "--temperature", 1, "--prompts", prompts("tuned.jsonl", [("a", f"one two {i} one two") for i in range(4)]),
)  # fmt: skip
GROW = (
    "grow", "--model", TARGET, "--heads", HEADS, "--prompts", prompts("grown.jsonl", [("a", each) for each in PROMPTS]),
    "--max-tokens", 40, "--nodes", 5, "--parts", 2, "--thresholds", 2,
)  # fmt: skip
