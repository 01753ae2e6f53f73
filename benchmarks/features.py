#!/usr/bin/env python3
"""EntMTP's figures: what tells the next accepted length, the frontiers of trees, and what its schedulers make of them.

    cmake --build build/dev --target bench_features
    benchmarks/features.py --benchmark build/dev/benchmarks/bench_features --model model.gguf --output DIR [--tasks code maths conversation]

bench_features decodes the prompts of each task and writes DIR/TASK.json, unless that is there. Correlations are of the rounds that the published
tree makes, AUROC of prompts that were left out. Speeds are modelled, of prompts that no tree was grown on (docs/measurements/trees.md). Into
DIR go results.md and *.json, *.svg, the charts. Needs numpy; nothing is timed, so other work may run meanwhile.
"""

import argparse
import json
import pathlib
import subprocess
import sys

import numpy as np
import runs
import trees
from runs import HERE, cell, report, svg

LAST = 4  # rounds of which the accepted lengths are a feature
ALPHA = {"entropy": 0.3, "accepted": 0.1}  # weight of the newest round, as policy::tree_feature_options
POLICIES = {"plain": "plain", "published": "published tree", "static": "EntMTP*", "threshold": "EntMTP", "cost_aware": "cost_aware"}


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--benchmark", required=True, type=pathlib.Path, help="bench_features")
    add("--model", required=True, type=pathlib.Path, help="the target")
    add("--heads", type=pathlib.Path, default=HERE.parent / "examples" / "family" / "smollm2-135m" / "hydra.gguf")
    add("--prompts", type=pathlib.Path, default=HERE / "prompts" / "prompts.jsonl", help="JSON lines: task, prompt")
    add("--tasks", nargs="+", default=["code", "maths", "conversation"], help="classes of prompts (%(default)s)")
    add("--seeds", type=int, default=2, help="texts at the temperature of each prompt (%(default)s)")
    add("--max-tokens", type=int, default=128)
    add("--output", required=True, type=pathlib.Path)
    add("--measured", default="", help="machine, date and commit, for the charts")
    return parser.parse_args()


# What a scheduler can know before a round, and what came of it.


def smoothed(values, alpha):
    average = values[0]
    for value in values[1:]:
        average += alpha * (value - average)
    return average


def features_at(places, at, entropies, lengths):
    """Of a round at this place, after rounds with these accepted lengths; `entropies` are the rounds' with this one's."""
    here, before = places[at], places[at - 1]
    path = here["top1"] * np.cumprod(here["confidences"])
    last = lengths[-LAST:]
    agree = [mine == earlier for mine, earlier in zip(here["chain"], before["chain"][1:])]
    found = {"entropy": here["entropy"], "running entropy": smoothed(entropies, ALPHA["entropy"]), "target's top-1": here["top1"]}
    found |= {"path value": path[-1], "path values, sum": path.sum()}
    found |= {f"head {i + 1}": value for i, value in enumerate(here["confidences"])}
    found |= {"heads agree": np.mean(agree), "last length": last[-1], f"last {LAST}, mean": np.mean(last)}
    found |= {f"last {LAST}, least": min(last), f"last {LAST}, most": max(last), "average length": smoothed(lengths, ALPHA["accepted"])}
    return found


def rows_of(text, policy="published"):
    """(features, accepted length) of each round but the first, of which the target's row is not known."""
    rows, entropies, lengths = [], [], []
    for place, _, accepted, _ in text["rounds"][policy]:
        if place > 0:
            entropies.append(text["places"][place]["entropy"])
            rows.append((features_at(text["places"], place, entropies, lengths), accepted + 1))
        lengths.append(accepted + 1)
    return rows


# How much a feature tells.


def ranks(values):
    """From 1 on; equal values share the mean of their ranks."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts - 1) / 2)[inverse]


def pearson(x, y):
    """0 where one of them is constant."""
    x, y = np.asarray(x, float) - np.mean(x), np.asarray(y, float) - np.mean(y)
    scale = np.sqrt((x @ x) * (y @ y))
    return float(x @ y / scale) if scale > 0 else 0.0


def spearman(x, y):
    return pearson(ranks(x), ranks(y))


def auroc(scores, labels):
    """The probability that one that is true has the larger score, equal ones counted half; None where all are alike."""
    labels = np.asarray(labels, bool)
    true, false = labels.sum(), (~labels).sum()
    if true == 0 or false == 0:
        return None
    return float((ranks(scores)[labels].sum() - true * (true + 1) / 2) / (true * false))


class Perceptron:
    """One hidden layer of rectified units, trained with Adam on the logistic loss of all rows at once."""

    def __init__(self, x, labels, hidden=16, steps=200, rate=0.01, decay=0.1, seed=0):
        self.mean, self.scale = x.mean(0), x.std(0) + 1e-9
        draws = np.random.default_rng(seed)
        shapes = ((x.shape[1], hidden), (hidden,), (hidden,), ())
        self.weights = [draws.normal(0, np.sqrt(2 / x.shape[1]), shapes[0]), np.zeros(shapes[1]), draws.normal(0, 0.3, shapes[2]), np.zeros(())]
        first, second = [np.zeros(shape) for shape in shapes], [np.zeros(shape) for shape in shapes]
        for step in range(1, steps + 1):
            for i, gradient in enumerate(self.gradients((x - self.mean) / self.scale, np.asarray(labels, float))):
                first[i] = 0.9 * first[i] + 0.1 * gradient
                second[i] = 0.999 * second[i] + 0.001 * gradient**2
                move = first[i] / (1 - 0.9**step) / (np.sqrt(second[i] / (1 - 0.999**step)) + 1e-8)
                self.weights[i] = self.weights[i] - rate * (move + decay * self.weights[i])

    def gradients(self, x, labels):
        into, bias, out, offset = self.weights
        units = np.maximum(x @ into + bias, 0)
        wrong = (1 / (1 + np.exp(-(units @ out + offset))) - labels) / len(x)
        back = np.outer(wrong, out) * (units > 0)
        return x.T @ back, back.sum(0), units.T @ wrong, wrong.sum()

    def scores(self, x):
        into, bias, out, offset = self.weights
        return np.maximum((x - self.mean) / self.scale @ into + bias, 0) @ out + offset


def left_out(x, labels, prompts, score):
    """The mean AUROC over prompts, each scored by `score(x, labels of the others, x of this one)`: no round of a prompt is on both sides."""
    found = []
    for prompt in np.unique(prompts):
        mine = prompts == prompt
        if len(set(labels[~mine])) == 2:
            found.append(auroc(score(x[~mine], labels[~mine], x[mine]), labels[mine]))
    found = [each for each in found if each is not None]
    return float(np.mean(found)) if found else None


def told(texts):
    """Of rounds of several texts: by feature Pearson, Spearman and AUROC; of the perceptron on all of them AUROC."""
    rows = [(text["prompt"], *row) for text in texts for row in rows_of(text)]
    names = list(rows[0][1])
    prompts, lengths = np.array([row[0] for row in rows]), np.array([row[2] for row in rows])
    x = np.array([[row[1][name] for name in names] for row in rows], float)
    labels = lengths > np.median(lengths)
    found = {}
    for i, name in enumerate(names):
        by_sign = lambda seen, known, new: new[:, 0] * (pearson(seen[:, 0], known) or 1)
        found[name] = {"pearson": pearson(x[:, i], lengths), "spearman": spearman(x[:, i], lengths)}
        found[name]["auroc"] = left_out(x[:, [i]], labels, prompts, by_sign)
    perceptron = left_out(x, labels, prompts, lambda seen, known, new: Perceptron(seen, known).scores(new))
    return {"rounds": len(rows), "above": float(labels.mean()), "features": found, "perceptron": perceptron}


# Schedulers beside what could have been known afterwards.


def accepted_by(paths, ranks_here):
    """Tokens that a tree accepts, by the ranks of those that follow."""
    depth = 0
    while depth < len(ranks_here) and tuple(ranks_here[: depth + 1]) in paths:
        depth += 1
    return depth


class Costs:
    def __init__(self, found):
        self.rows, self.milliseconds, self.head_row = found["rows"], found["verify_ms"], found["row_ms"]

    def of(self, paths):
        """A round with this tree: the time of the pass, between measured points and beyond them on a line, and of the heads' rows."""
        n, i = len(paths) + 1, 1
        while i + 1 < len(self.rows) and self.rows[i] < n:
            i += 1
        (low, high), (least, most) = self.rows[i - 1 : i + 1], self.milliseconds[i - 1 : i + 1]
        return least + (n - low) / (high - low) * (most - least) + self.head_row * len({path[:-1] for path in paths})


def oracle(text, bank, costs):
    """(tokens, milliseconds) of the trees that write the text soonest, chosen when it is known: no scheduler of the bank is faster."""
    choices = [({tuple(path) for path in tree["paths"]}) for tree in bank]
    prices = [costs.of(paths) for paths in choices]
    places, heads = text["places"], len(text["places"][0]["confidences"])
    best = [(0, 0)] * (len(places) + 1)  # milliseconds from there on, tokens
    for place in range(len(places) - heads - 1, -1, -1):
        options_here = []
        for paths, price in zip(choices, prices):
            tokens = accepted_by(paths, places[place]["ranks"]) + 1
            later = best[place + tokens]
            options_here.append((price + later[0], tokens + later[1]))
        best[place] = min(options_here)
    return best[0][1], best[0][0]


def schedule_of(texts, of_task, costs):
    """Of each policy: tokens a pass, milliseconds a round, tokens a second, its share of the oracle's."""
    best = np.array([oracle(text, of_task["bank"], costs) for text in texts]).sum(0)
    found = {}
    for policy in (name for name in POLICIES if name in texts[0]["rounds"]):
        rounds = [each for text in texts for each in text["rounds"][policy]]
        tokens, milliseconds = sum(each[2] + 1 for each in rounds), sum(each[3] for each in rounds)
        found[policy] = {"length": tokens / len(rounds), "milliseconds": milliseconds / len(rounds), "nodes": np.mean([each[1] for each in rounds])}
        found[policy] |= {"speed": 1000 * tokens / milliseconds, "share": tokens / milliseconds * best[1] / best[0]}
        found[policy]["switches"] = sum(a[1] != b[1] for text in texts for a, b in zip(text["rounds"][policy], text["rounds"][policy][1:]))
    return {"policies": found, "oracle": 1000 * best[0] / best[1]}


def taken_apart(policies):
    """Factors whose product is the whole gain over the published tree: a shorter round, a longer acceptance, the scheduler."""
    default, own = policies["published"], policies["static"]
    scheduled = policies.get("threshold", own)
    return {
        "smaller tree": default["milliseconds"] / own["milliseconds"],
        "longer acceptance": own["length"] / default["length"],
        "scheduler": scheduled["speed"] / own["speed"],
        "all": scheduled["speed"] / default["speed"],
    }


# Tables and charts.


def tables(by_name):
    names = list(by_name)
    header = ["feature", *(f"{name} ({of['told']['rounds']} rounds)" for name, of in by_name.items())]
    rows = []
    for feature in by_name[names[0]]["told"]["features"]:
        of = [by_name[name]["told"]["features"][feature] for name in names]
        rows.append([feature, *(f"{cell(each['pearson'])}, {cell(each['spearman'])}, {cell(each['auroc'])}" for each in of)])
    rows.append(["MLP on all", *(f"-, -, {cell(by_name[name]['told']['perceptron'])}" for name in names)])
    parts = ["Pearson, Spearman, AUROC\n" + report.table(header, rows)]
    rows = []
    for name, of in by_name.items():
        policies, plain = of["schedule"]["policies"], of["schedule"]["policies"]["plain"]["speed"]
        figures = lambda each: f"{cell(each['nodes'], 1)}, {cell(each['length'])}, {cell(each['speed'] / plain)}, {cell(each['share'])}"
        changes = policies["threshold"]["switches"] if "threshold" in policies else "-"
        rows.append([name, *(figures(policies[policy]) if policy in policies else "-" for policy in POLICIES), cell(of["schedule"]["oracle"] / plain), changes])
    header = ["texts", *POLICIES.values(), "oracle: times plain", "switches of EntMTP"]
    parts.append("Nodes a round, tokens a pass, times plain, share of the oracle's speed\n" + report.table(header, rows))
    apart = {name: taken_apart(of["schedule"]["policies"]) for name, of in by_name.items()}
    rows = [[name, *(cell(factor) for factor in of.values())] for name, of in apart.items()]
    parts.append(report.table(["texts", *next(iter(apart.values()))], rows))
    rows = [[name, len(tree["paths"]), cell(tree["scored_length"], 3), cell(tree["accepted_length"], 3), cell(tree["tokens_per_second"], 1)]
            for name, of in by_name.items() for tree in of["bank"]]  # fmt: skip
    parts.append(report.table(["texts", "nodes", "biased", "own", "tokens/s, modelled"], rows))
    return "\n".join(parts)


def frontier(of_task, figure):
    """A line for each depth, from few nodes to many."""
    by_depth = {}
    for tree in of_task["grown"]:
        if tree["paths"]:
            by_depth.setdefault(max(map(len, tree["paths"])), []).append((len(tree["paths"]), round(tree[figure], 3)))
    return [{"name": f"depth {depth}", "x": [x for x, _ in line], "y": [y for _, y in line]} for depth, line in sorted(by_depth.items())]


def shown_rounds(text, of_task, most=40):
    """Path value, share of the depth that was accepted, and the tree, round by round."""
    rounds = [each for each in text["rounds"]["threshold"] if each[0] > 0][:most]
    depth, aggressive = of_task["depth"], len(of_task["bank"][of_task["aggressive"]]["paths"])
    value = lambda place: place["top1"] * float(np.prod(place["confidences"][:depth]))
    lines = {
        "path value": [round(value(text["places"][each[0]]), 3) for each in rounds],
        f"accepted tokens, of {depth}": [round(each[2] / depth, 3) for each in rounds],
        "tree (the strip above: up is aggressive)": [1.15 if each[1] == aggressive else 1.05 for each in rounds],
    }
    return [{"name": name, "x": list(range(len(rounds))), "y": y} for name, y in lines.items()]


def bars_of(by_name, figure):
    greedy = {name: of["told"] for name, of in by_name.items() if of["temperature"] == 0}
    features = list(next(iter(greedy.values()))["features"])
    series = [{"name": name, "y": [of["features"][each][figure] for each in features]} for name, of in greedy.items()]
    for each, of in zip(series, greedy.values()):
        each["y"] = [value if value is None else round(abs(value), 3) for value in each["y"] + ([of["perceptron"]] if figure == "auroc" else [])]
    return features + (["MLP on all"] if figure == "auroc" else []), series


def draw(chosen, by_name, texts):
    about = {"command": runs.command_line()} | ({"measured": chosen.measured} if chosen.measured else {})
    save = lambda chart, name: svg.save(chart | about, chosen.output, name)
    greedy = {name: of for name, of in by_name.items() if of["temperature"] == 0}
    for figure, title, y in (("accepted_length", "Accepted length of grown trees, by depth", "tokens a pass"),
                             ("tokens_per_second", "Modelled speed of grown trees, by depth", "tokens a second, modelled")):  # fmt: skip
        panels = [{"title": name, "series": frontier(of, figure)} for name, of in greedy.items()]
        chart = {"kind": "lines", "title": title, "y": y, "x": "nodes", "panels": panels}
        if figure == "tokens_per_second":
            chart["reference"] = [round(1000 / Costs(chosen.found).of([]), 1), "plain"]
        save(chart, f"entmtp_{figure}")
    for figure, title, y in (("pearson", "What tells the next accepted length", "Pearson's correlation, without its sign"),
                             ("auroc", "Whether the next accepted length is above its median", "AUROC of prompts left out; 0.5 is chance")):  # fmt: skip
        groups, series = bars_of(by_name, figure)
        chart = {"kind": "bars", "title": title, "y": y, "groups": groups, "series": series}
        save(chart | ({"y_range": [0, 1], "reference": [0.5, ""]} if figure == "auroc" else {}), f"entmtp_{figure}")
    held_back = [text for text in texts if text["temperature"] == 0 and text["prompt"] >= chosen.found["grow"] and "threshold" in text["rounds"]]
    if held_back:
        text = max(held_back, key=lambda each: len(each["rounds"]["threshold"]))
        of = next(each for each in greedy.values() if each["task"] == text["task"])
        title = f"Path value, acceptance and switches, round by round: {of['task']}, threshold {of['threshold']:.2f}"
        save({"kind": "steps", "title": title, "y": "share", "x": "round", "series": shown_rounds(text, of), "y_range": [0, 1.2],
              "reference": [round(of["threshold"], 4), "threshold"]}, "entmtp_rounds")  # fmt: skip


def decoded(chosen, task):
    """What bench_features found of a task, kept in the output folder."""
    result = chosen.output / f"{task}.json"
    if not result.exists():
        tree = chosen.output / "published.json"
        tree.write_text(json.dumps([list(node) for node in trees.published_tree()]), encoding="utf-8")
        command = [chosen.benchmark, "--model", chosen.model, "--heads", chosen.heads, "--prompts", chosen.prompts, "--published", tree]
        command += ["--tasks", task, "--seeds", chosen.seeds, "--max-tokens", chosen.max_tokens, "--json", result]
        subprocess.run([str(part) for part in command], check=True)
    return json.loads(result.read_text(encoding="utf-8"))


def main():
    chosen = options()
    chosen.output.mkdir(parents=True, exist_ok=True)
    chosen.found = {"texts": [], "tasks": []}
    for task in chosen.tasks:
        of = decoded(chosen, task)
        chosen.found |= of | {each: chosen.found[each] + of[each] for each in ("texts", "tasks")}
    texts, by_name = chosen.found["texts"], {}
    for of_task in chosen.found["tasks"]:
        of = [text for text in texts if (text["task"], text["temperature"]) == (of_task["task"], of_task["temperature"])]
        name = f"{of_task['task']}, {'greedy' if of_task['temperature'] == 0 else 'T = ' + format(of_task['temperature'], '.2g')}"
        held_back = [text for text in of if text["prompt"] >= chosen.found["grow"]]
        by_name[name] = of_task | {"told": told(of), "schedule": schedule_of(held_back, of_task, Costs(chosen.found))}
    (chosen.output / "results.md").write_text(tables(by_name), encoding="utf-8")
    draw(chosen, by_name, texts)


if __name__ == "__main__":
    sys.exit(main())
