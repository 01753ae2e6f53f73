#!/usr/bin/env python3
"""The charts of docs/charts, each from a JSON beside it that is kept.

    benchmarks/charts.py                                     draws docs/charts/data/*.json as docs/charts/*.svg
    benchmarks/charts.py take KIND RESULTS.json... --name NAME --command TEXT --measured TEXT
                                                             makes docs/charts/data/NAME.json of results, and draws it

Kinds of results, by the program that wrote them:
    at_scale   benchmarks/at_scale.py, a file for each point: times plain decoding's speed by task, a bar for each point
    beta       bench_beta: share of positions at which two models' rows are within a threshold
    entropies  bench_pyramid: how uncertain draft, qualifier and target are about the same text
    switching  bench_switching: score against the large model's share, labelled by threshold
    run        augur generate --record: the text, each token in the colour of the drafter that proposed it
    texts      bench_overhead texts, a file for each run, BUILD_RUN.json: a round's time after long texts, a line for each scheme and build
    text       augur generate --json, and the pieces of its ids (augur tokenize --json): the text, coloured by origin

`--peer NAME=task:figure,...` adds a peer's own figures to `at_scale`.
"""

import argparse
import json
import math
import pathlib
import statistics
import sys

import svg

CHARTS = pathlib.Path(__file__).resolve().parents[1] / "docs" / "charts"
WHO = {
    "accepted": "proposed by a drafter, accepted by the model",
    "correction": "the model's own, in place of a rejected token",
    "bonus": "the model's own, after a draft that was accepted whole",
    "plain": "the model's own, nothing was drafted",
}


def at_scale(results, chosen):
    """Of each point the scheme that was chosen; a task that a point or a peer lacks has no bar there."""
    groups = list(dict.fromkeys(task["task"] for of in results for task in of["tasks"]))
    series = []
    for path, of in zip(chosen.results, results):
        speeds = {task["task"]: each["speedup"] for task in of["tasks"] for each in task["schemes"] if each["scheme"] == chosen.scheme}
        if not speeds:
            sys.exit(f"charts.py: error: {path} has no scheme {chosen.scheme}")
        series.append({"name": path.stem, "y": [speeds.get(group) for group in groups]})
    for peer in chosen.peer:
        name, _, figures = peer.partition("=")
        of = dict(figure.rsplit(":", 1) for figure in figures.split(","))
        series.append({"name": name, "y": [float(of[group]) if group in of else None for group in groups]})
    title = f"Speed over plain decoding, by task: {chosen.scheme}"
    return {"kind": "bars", "title": title, "y": "times plain decoding's speed", "groups": groups, "reference": [1, ""], "series": series}


def beta(results, chosen):
    series = []
    for pair in results[0]["pairs"]:
        of = sorted(pair["divergences"])
        shares = [place / 50 for place in range(1, 51)]
        within = [round(of[math.ceil(share * len(of)) - 1], 4) for share in shares]
        series.append({"name": f"{pair['target']}, {pair['draft']}", "x": within, "y": shares})
    x = f"{results[0]['divergence'].replace('_', ' ')} between two models' rows"
    title = "How near two models' rows are"
    return {"kind": "steps", "title": title, "x": x, "y": "share of positions within it", "x_range": [0, 1], "y_range": [0, 1], "series": series}


def entropies(results, chosen):
    series = []
    for name in ("draft", "qualifier", "target"):
        of = results[0]["entropies"][name]
        counts = [sum(0.25 * i <= entropy < 0.25 * (i + 1) for entropy in of) for i in range(28)]
        mean = sum(of) / len(of)
        series.append({"name": f"{name}, mean {mean:.2f}", "x": [0.25 * i for i in range(28)], "y": counts})
    y = f"positions in each quarter of a nat, of {len(of)}"
    return {"kind": "steps", "title": "Entropy of three models on the same text", "x": "entropy of a row, nats", "y": y, "x_range": [0, 7], "series": series}


def switching(results, chosen):
    """A line for each small model and temperature. Where nothing was scored, perplexity stands for the score."""
    curves, scored = {}, "score" in results[0][0]
    for row in results[0]:
        curves.setdefault(f"{row.get('small', 'small')}, temperature {row.get('temperature', 0):g}", []).append(row)
    series = [
        {
            "name": name,
            "x": [round(100 * row["large_usage"], 2) for row in rows],
            "y": [round(100 * row["score"] if scored else row["perplexity"], 2) for row in rows],
            "labels": [f"{row['threshold_bits']:g}" for row in rows],
        }
        for name, rows in curves.items()
    ]
    x = "tokens by the large model, %; at each point the threshold in bits"
    y = "right answers, %" if scored else "perplexity under the large model"
    return {"kind": "points", "title": "Models that take turns by entropy", "x": x, "y": y, "x_range": [0, 105], "series": series}


def texts(results, chosen):
    """The median of each build's runs."""
    runs = {}
    for path, rows in zip(chosen.results, results):
        for row in rows:
            runs.setdefault((row["scheme"], path.stem.rpartition("_")[0]), {}).setdefault(row["tokens"], []).append(row["round_microseconds"])
    series = [
        {"name": f"{scheme} ({build})", "x": list(times), "y": [round(statistics.median(each), 2) for each in times.values()]}
        for scheme in ("plain", "draft model, 4", "lookup, 4", "EAD")
        for build, times in ((build, times) for (of, build), times in runs.items() if of == scheme)
    ]
    x, ticks = "tokens of text before the round", [1000, 10000, 100000, 1000000]
    y = "microseconds a round, the models' passes costing next to nothing"
    return {"kind": "lines", "title": "A round's own time after long texts", "x": x, "y": y, "log_x": True, "log_y": True, "x_ticks": ticks, "series": series}


def text(results, chosen):
    run, pieces = results[0], results[1]["pieces"]
    if len(pieces) != len(run["origins"]):
        sys.exit(f"charts.py: error: {len(pieces)} pieces for {len(run['origins'])} tokens; decode the ids of the run")
    used = {origin: said for origin, said in WHO.items() if origin in run["origins"]}
    title = f"{run['rounds']} passes of the model wrote {len(pieces)} tokens ({run['scheme']}, {run['guarantee']})"
    return {"kind": "text", "title": title, "who": used, "plain": ["bonus", "plain"], "pieces": [list(both) for both in zip(pieces, run["origins"])]}


def run(results, chosen):
    """As `text`, but proposed tokens have the colour of their drafter."""
    record = results[0]
    who = lambda token: record["drafters"][token["drafter"]] if token["origin"] == "accepted" else token["origin"]
    pieces = [[token["text"], who(token)] for token in record["tokens"]]
    proposed = {name: f"proposed by {name}, accepted" for name in record["drafters"]}
    said = {name: text for name, text in (proposed | WHO).items() if any(name == of for _, of in pieces)}
    title = f"{record['result']['rounds']} passes of the model wrote {len(pieces)} tokens ({record['result']['scheme']})"
    return {"kind": "text", "title": title, "who": said, "plain": ["correction", "bonus", "plain"], "pieces": pieces}


KINDS = {of.__name__: of for of in (at_scale, beta, entropies, switching, run, text, texts)}


def read(path):
    """A JSON value, or a list of one on each line."""
    text = path.read_text(encoding="utf-8")
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return [json.loads(line) for line in text.splitlines()]


def take(chosen):
    results = [read(path) for path in chosen.results]
    chart = KINDS[chosen.kind](results, chosen)
    if chosen.title:
        chart["title"] = chosen.title
    path = chosen.charts / "data" / f"{chosen.name}.json"
    svg.keep(chart | {"measured": chosen.measured, "command": chosen.command}, path)
    svg.draw(path, chosen.charts)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--charts", type=pathlib.Path, default=CHARTS, help="%(default)s")
    taking = parser.add_subparsers().add_parser("take")
    add = taking.add_argument
    add("kind", choices=KINDS)
    add("results", type=pathlib.Path, nargs="+")
    add("--name", required=True)
    add("--command", required=True, help="that gave the results")
    add("--measured", required=True, help="machine, date and commit")
    add("--title")
    add("--scheme", default="auto", help="of at_scale (%(default)s)")
    add("--peer", action="append", default=[], metavar="NAME=TASK:FIGURE,...")
    chosen = parser.parse_args()
    if "kind" in chosen:
        take(chosen)
    else:
        for data in sorted((chosen.charts / "data").glob("*.json")):
            svg.draw(data, chosen.charts)


if __name__ == "__main__":
    main()
