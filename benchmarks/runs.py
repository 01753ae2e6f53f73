"""Runs of the program `augur` that take turns, for the scripts that compare schemes."""

import collections
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "peer"))
import report  # noqa: E402
import svg  # noqa: E402

PLAIN = ("--scheme", "plain")


def absolute(path):
    """Which names a program in the present folder, too."""
    return pathlib.Path(path).absolute()


def add_options(parser):
    add = parser.add_argument
    add("--program", required=True, type=absolute, help="augur")
    add("--model", required=True, type=pathlib.Path, help="the target")
    add("--output", required=True, type=pathlib.Path)
    add("--prompts", type=pathlib.Path, default=HERE / "prompts" / "prompts.jsonl", help="JSON lines: task, prompt")
    add("--weights", default="keep", help="of all models (%(default)s)")
    add("--shape", default="", help="that the target and its drafts are widened to, as files in --output: its text at the cost of that size")
    add("--max-tokens", type=int, default=128)
    add("--repeat", type=int, default=3, help="runs of each (%(default)s)")


def widened(program, model, shape, weights, folder, drafts=("all",)):
    """The model in this shape, as a file; beside it, in a folder `wide`, its drafts: `all` of its draft bundles, or these. Written once."""
    home = folder / f"{pathlib.Path(model).stem}-{shape}-{weights}"
    if not home.exists():
        part = pathlib.Path(tempfile.mkdtemp(dir=folder))
        command = [program, "widen", "--model", model, "--shape", shape, "--weights", weights, "--output", part / "wide.gguf"]
        for draft in drafts:
            command += ["--draft", draft]
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(done.stderr.strip())
        part.rename(home)
    return home / "wide.gguf"


def family_of(wide):
    """The environment in which the program finds the drafts of a widened file, and no others."""
    return os.environ | {"AUGUR_FAMILY": str(wide.parent)}


def take_shape(chosen, drafts=("all",)):
    """Has all runs from now on take the widened model, where --shape was given."""
    if chosen.shape:
        chosen.model = widened(chosen.program, chosen.model, chosen.shape, chosen.weights, chosen.output, drafts)
        os.environ.update(family_of(chosen.model))


def prompts_of(path, tasks=None, limit=None):
    """Prompts by task: of these tasks, or of all; the first `limit` of each."""
    entries = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]
    tasks = tasks or dict.fromkeys(entry["task"] for entry in entries)
    found = {task: [entry["prompt"] for entry in entries if entry["task"] == task][:limit] for task in tasks}
    if missing := [task for task, prompts in found.items() if not prompts]:
        sys.exit(f"{path} has no prompts of {', '.join(missing)}")
    return found


def decode(chosen, prompt, arguments):
    command = [chosen.program, "generate", "--model", chosen.model, "--weights", chosen.weights, "--json", "--chat"]
    command += ["--prompt", prompt, "--max-tokens", chosen.max_tokens, *arguments]
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(done.stderr.strip())
    return json.loads(done.stdout)


def in_turns(chosen, schemes, prompt):
    """By scheme its runs: A B C A B C, so that a machine's other work slows all alike."""
    runs = collections.defaultdict(list)
    for _ in range(chosen.repeat):
        for name, arguments in schemes.items():
            runs[name].append(decode(chosen, prompt, arguments))
    return runs


def milliseconds(runs):
    """A token's, without prefill."""
    return statistics.median(1000 / run["tokens_per_second"] for run in runs)


def refuse_other_texts(script, found):
    """The exit code: 1, and a line each, where a greedy text of a task is not plain decoding's."""
    different = [(task, name) for task, measured in found.items() for of in measured for name in of if not of[name]["identical"]]
    for task, name in different:
        print(f"{script}: error: a text of {task} by {name} is not plain decoding's", file=sys.stderr)
    return 1 if different else 0


def cell(value, digits=2):
    return "-" if value is None else report.number(value, digits)


def command_line():
    """What this script was called with, as charts show it."""
    return " ".join([f"benchmarks/{pathlib.Path(sys.argv[0]).name}", *sys.argv[1:]])


def draw_speeds(title, groups, labels, folder, name):
    """Bars beside each other: by label the speeds, one for each of `groups`, as multiples of plain decoding's."""
    series = [{"name": label, "y": [round(speed, 3) for speed in speeds]} for label, speeds in labels.items()]
    chart = {"kind": "bars", "title": title, "y": "times plain decoding's speed", "groups": groups, "reference": [1, ""]}
    svg.save(chart | {"series": series, "command": command_line()}, folder, name)
