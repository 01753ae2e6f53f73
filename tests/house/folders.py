#!/usr/bin/env python3
"""Draws the folders of include/augur and who includes whom, for newcomers: docs/charts/folders.svg.

    folders.py          draws it anew; house.folders fails where it is stale

An arrow leads from a folder to one that its headers include. One that can be reached through others has no arrow of its own
(transitive reduction). What includes nothing is at the bottom. A new folder gets a line of WHAT.
"""

import html
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import house  # noqa: E402

sys.path.insert(0, str(house.ROOT / "benchmarks"))
from svg import FONT, MONO  # noqa: E402

DRAWING = house.ROOT / "docs" / "charts" / "folders.svg"
WHAT = {
    "accept": "acceptance criteria",
    "backend/device": "kernels for GPUs",
    "backend/host": "kernels for CPUs",
    "commit": "what a round commits",
    "decode": "a text, round by round",
    "decode/device": "whole texts on a GPU",
    "detail": "helpers",
    "draft": "drafters",
    "encoder": "cascades of encoders",
    "engines": "engines of others",
    "engines/llama_cpp": "llama.cpp",
    "flow": "rounds as coroutines",
    "io/files": "GGUF, safetensors, JSON",
    "io/text": "tokenizers, chat templates",
    "llama": "the bundled Llama",
    "llama/device": "the same on a GPU",
    "measure": "entropy, divergence",
    "model": "what an engine offers",
    "policy": "how far to draft",
    "random": "addressed randomness",
    "round": "verification passes",
    "scheme": "schemes, composed",
    "switching": "models by turns (EAD)",
    "testing": "law suites, exact laws",
    "train": "online learning",
    "transform": "temperature, top-p, ...",
    "tree": "draft trees",
    "tune": "tuning, cost models",
    "types": "what parts exchange",
}
WIDE, BOX, TALL, GAP, STEP, TOP, LANE = 960, 146, 42, 10, 84, 62, 16


def edges_of(includes):
    """Of folders, from who includes to who is included. Headers right below include/augur lie in none."""
    pairs = {(os.path.dirname(header), os.path.dirname(other)) for header, others in includes.items() for other in others}
    return {(a, b) for a, b in pairs if a and b and a != b}


def reduced(edges):
    """Those that no way through others replaces."""
    of = {}
    for a, b in edges:
        of.setdefault(a, set()).add(b)

    def reach(start):
        found, unread = set(), [start]
        while unread:
            new = of.get(unread.pop(), set()) - found
            found |= new
            unread += new
        return found

    return {(a, b) for a, b in edges if not any(b in reach(c) for c in of[a] - {b})}


def layers_of(edges):
    """By folder how many arrows lead down from it at most; then as near to its users as makes arrows shorter in sum."""
    nodes = sorted({node for edge in edges for node in edge})
    layer = dict.fromkeys(nodes, 0)
    for _ in nodes:
        for a, b in edges:
            layer[a] = max(layer[a], layer[b] + 1)
    for node in reversed(nodes):
        users = [layer[a] for a, b in edges if b == node]
        if len(users) > sum(a == node for a, _ in edges):
            layer[node] = min(users) - 1
    return layer


def rows_of(edges, layer):
    """Rows from the bottom up, with places (numbers) where a long arrow passes, and steps between neighbouring rows."""
    rows = [[] for _ in range(max(layer.values()) + 1)]
    for node in sorted(layer):
        rows[layer[node]].append(node)
    steps, passing = [], 0
    for a, b in sorted(edges):
        above = a
        for row in range(layer[a] - 1, layer[b], -1):
            rows[row].append(passing)
            steps.append((above, passing))
            above, passing = passing, passing + 1
        steps.append((above, b))
    return rows, steps


def crossings(rows, steps):
    at = {node: (i, j) for i, row in enumerate(rows) for j, node in enumerate(row)}
    pairs = [(at[a], at[b]) for a, b in steps]
    return sum(a[0] == c[0] and (a[1] - c[1]) * (b[1] - d[1]) < 0 for i, (a, b) in enumerate(pairs) for c, d in pairs[:i])


def ordered(rows, steps):
    """Each row by the mean place of its neighbours below, then above, in turns; the best of all."""
    best, fewest = [row[:] for row in rows], crossings(rows, steps)
    for turn in range(40):
        place = {node: j / max(1, len(row) - 1) for row in rows for j, node in enumerate(row)}
        upwards = turn % 2 == 0
        for row in rows if upwards else reversed(rows):

            def mean(node):
                near = [place[b] if upwards else place[a] for a, b in steps if node == (a if upwards else b)]
                return sum(near) / len(near) if near else place[node]

            row.sort(key=lambda node: (round(mean(node), 6), str(node)))
            place.update((node, j / max(1, len(row) - 1)) for j, node in enumerate(row))
        if crossings(rows, steps) < fewest:
            best, fewest = [row[:] for row in rows], crossings(rows, steps)
    return best


def columns_of(rows, steps):
    """The middle of each node: near those of its neighbours, without touching another one."""
    width = lambda node: LANE if isinstance(node, int) else BOX
    x = {}
    for row in rows:
        free = WIDE - 2 * GAP - sum(map(width, row))
        left = GAP
        for node in row:
            left += free / (len(row) + 1)
            x[node] = left + width(node) / 2
            left += width(node)
    for turn in range(60):
        for row in rows if turn % 2 else reversed(rows):
            wanted = []
            for node in row:
                near = [x[b] for a, b in steps if a == node] + [x[a] for a, b in steps if b == node]
                wanted.append(sum(near) / len(near))
            apart = lambda i: (width(row[i - 1]) + width(row[i])) / 2 + GAP
            low, high = wanted[:], wanted[:]
            for i in range(len(row)):
                low[i] = max(low[i], GAP + width(row[i]) / 2 if i == 0 else low[i - 1] + apart(i))
            for i in reversed(range(len(row))):
                high[i] = min(high[i], WIDE - GAP - width(row[i]) / 2 if i == len(row) - 1 else high[i + 1] - apart(i + 1))
            middle = [(a + b) / 2 for a, b in zip(low, high)]
            for i in range(len(row)):
                middle[i] = max(middle[i], GAP + width(row[i]) / 2 if i == 0 else middle[i - 1] + apart(i))
            for i in reversed(range(len(row))):
                middle[i] = min(middle[i], WIDE - GAP - width(row[i]) / 2 if i == len(row) - 1 else middle[i + 1] - apart(i + 1))
            x.update(zip(row, middle))
    return x


def drawn(includes):
    edges = reduced(edges_of(includes))
    layer = layers_of(edges)
    if wrong := sorted(layer.keys() ^ WHAT.keys()):
        raise KeyError(f"tests/house/folders.py: WHAT is not of these folders: {', '.join(wrong)}")
    rows, steps = rows_of(edges, layer)
    rows = ordered(rows, steps)
    x = columns_of(rows, steps)
    y = {node: TOP + (len(rows) - 1 - i) * STEP for i, row in enumerate(rows) for node in row}
    tall = TOP + (len(rows) - 1) * STEP + TALL + 20
    parts = []

    def port(node, other, ends):
        """Arrows at one side of a box lie beside each other, in the order of their other ends."""
        if isinstance(node, int):
            return x[node]
        place = sorted(ends, key=lambda end: (x[end], str(end))).index(other)
        return x[node] + (place + 1 - (len(ends) + 1) / 2) * min(26, (BOX - 20) / len(ends))

    for a, b in steps:
        x1 = port(a, b, [d for c, d in steps if c == a])
        x2 = port(b, a, [c for c, d in steps if d == b])
        tip = 0 if isinstance(b, int) else 6
        y1, y2 = y[a] + TALL, y[b] - tip
        bend = (y2 - y1) / 2
        parts.append(f'<path d="M{x1:.1f} {y1} C{x1:.1f} {y1 + bend:.1f} {x2:.1f} {y2 - bend:.1f} {x2:.1f} {y2}" class="arrow"/>')
        if isinstance(b, int):
            parts.append(f'<path d="M{x2:.1f} {y2} v{TALL}" class="arrow"/>')
        else:
            parts.append(f'<path d="M{x2:.1f} {y[b]} l-4 -7 h8 z" class="tip"/>')
    return head(tall) + "\n".join(parts + boxes(layer, x, y)) + "\n</svg>\n"


def boxes(layer, x, y):
    shapes = []
    for node in sorted(layer):
        kind = "box more" if house.WITH_DEPENDENCIES.match(f"{node}/") else "box"
        shapes.append(f'<rect x="{x[node] - BOX / 2:.1f}" y="{y[node]}" width="{BOX}" height="{TALL}" rx="7" class="{kind}"/>')
        for dy, style, text in ((18, "name", node), (34, "soft", WHAT[node])):
            shapes.append(f'<text x="{x[node]:.1f}" y="{y[node] + dy}" class="{style}" text-anchor="middle">{html.escape(text)}</text>')
    return shapes


def head(tall):
    dark = "@media(prefers-color-scheme:dark){text{fill:#e6eaf0} .card{fill:#171b22;stroke:#343c48} .box{fill:#212833;stroke:#465162} "
    dark += ".more{stroke:#79b0ff} .soft{fill:#a3adbb} .arrow{stroke:#8b95a3} .tip{fill:#8b95a3}}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDE} {tall}" width="{WIDE}" height="{tall}" role="img">\n'
        "<title>The folders of include/augur, and which includes which</title>\n<style>\n"
        f"text{{font-family:{FONT};font-size:13px;fill:#1f2937}} .card{{fill:#fff;stroke:#d8dee6}} .soft{{fill:#5b6472;font-size:11px}}\n"
        f".box{{fill:#f3f6fa;stroke:#b9c3d0}} .more{{stroke:#2563c9;stroke-dasharray:5 3}} .name{{font-family:{MONO};font-weight:600}}\n"
        f".arrow{{fill:none;stroke:#8b95a3;stroke-width:1.3}} .tip{{fill:#8b95a3}}\n{dark}\n</style>\n"
        f'<rect x=".5" y=".5" width="{WIDE - 1}" height="{tall - 1}" rx="8" class="card"/>\n'
        '<text x="16" y="24">An arrow: headers of this folder include headers of that one.</text>\n'
        '<text x="16" y="42" class="soft">What is reached through another folder has no arrow of its own. Dashed: not core.</text>\n'
    )


if __name__ == "__main__":
    DRAWING.write_text(drawn(house.own_includes()), encoding="utf-8")
