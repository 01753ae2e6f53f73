#!/usr/bin/env python3
"""Charts of what bench_pyramid, bench_beta and bench_switching wrote.

    benchmarks/charts.py entropies pyramid.json chart.svg    how uncertain draft, qualifier and target are about the same text
    benchmarks/charts.py beta beta.json chart.svg            share of positions at which two models' rows are within a threshold
    benchmarks/charts.py switching switching.json chart.svg  score against the large model's share, coloured by threshold
"""

import argparse
import json
import math
import pathlib
import statistics

import runs


def entropies(figures, axes):
    edges = [0.25 * i for i in range(29)]
    for name in ("draft", "qualifier", "target"):
        of = figures["entropies"][name]
        axes.hist(of, edges, histtype="step", linewidth=1.5, density=True, label=f"{name}, mean {statistics.mean(of):.2f}")
    axes.set(xlabel="entropy of a row, nats", ylabel="share of positions per nat")
    axes.legend()


def beta(figures, axes):
    for pair in figures["pairs"]:
        of = sorted(pair["divergences"])
        shares = [place / 200 for place in range(1, 201)]
        within = [of[math.ceil(share * len(of)) - 1] for share in shares]
        axes.step(within, shares, where="post", linewidth=1.5, label=f"{pair['target']}, {pair['draft']}")
    axes.set(xlabel=figures["divergence"].replace("_", " "), ylabel="share of positions within it", ylim=(0, 1))
    axes.legend(loc="lower right")


def switching(figures, axes):
    """A line for each small model and temperature. Where nothing was scored, perplexity stands for the score."""
    curves = {}
    for row in figures:
        curves.setdefault((row.get("small", ""), row.get("temperature", 0)), []).append(row)
    scored = "score" in figures[0]
    for (small, temperature), rows in curves.items():
        usage = [100 * row["large_usage"] for row in rows]
        quality = [100 * row["score"] if scored else row["perplexity"] for row in rows]
        axes.plot(usage, quality, color="lightgrey" if len(curves) == 1 else None, zorder=1, label=f"{small}, temperature {temperature:g}")
        axes.scatter(usage, quality, c=range(len(rows)), cmap="viridis", zorder=2)
        for row, *place in zip(rows, usage, quality):
            axes.annotate(f"{row['threshold_bits']:g}", place, textcoords="offset points", xytext=(5, -10))
    axes.set(xlabel="tokens by the large model, %", ylabel="right answers, %" if scored else "perplexity under the large model")
    axes.set_title("thresholds in bits", fontsize="medium")
    if len(curves) > 1:
        axes.legend()


CHARTS = {"beta": beta, "entropies": entropies, "switching": switching}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("chart", choices=CHARTS)
    parser.add_argument("figures", type=pathlib.Path)
    parser.add_argument("output", type=pathlib.Path)
    chosen = parser.parse_args()
    figure, axes = runs.drawing().subplots(figsize=(6, 3.5), layout="constrained")
    CHARTS[chosen.chart](json.loads(chosen.figures.read_text(encoding="utf-8")), axes)
    figure.savefig(chosen.output, metadata={"Date": None})


if __name__ == "__main__":
    main()
