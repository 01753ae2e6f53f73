"""Charts and coloured text as SVG, of the standard library alone: equal figures, equal bytes.

A chart is a dict, the JSON that docs/charts/data keeps:

    kind      bars, lines, steps, points or text
    title     what the picture says
    command   what its figures come from, shown under it; `measured` says where and when. `code` in its place: what
              a drawing of a rule shows
    x, y      what the axes count; `y_range`, `log_x`, `log_y`, `reference` (a level that has a name) where they are wanted
    groups    of bars: the names along the x axis
    series    [{name, x, y}]; of bars only y; of points `labels` for each
    panels    [{title, series}] in place of `series`: small charts beside each other with axes of their own
    pieces    of a text: [text, who], with `who`: {name: what it says in the legend}

Colours follow the reader's scheme, light or dark, and a picture has a background of its own: it can be read on any page.
"""

import html
import json
import math

WIDTH = 760
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', Arial, sans-serif"
MONO = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
LIGHT = ("#2563c9", "#c2570c", "#15803d", "#8b3fc7", "#b4233c", "#0f7d8c", "#8a6d00", "#6b7280")
DARK = ("#79b0ff", "#ffa657", "#5fd38d", "#d2a8ff", "#ff9492", "#5fd4e0", "#e3c04d", "#b4bcc6")


def style():
    """One for all pictures: a card with text, axes and eight colours."""
    of = lambda colours: "".join(f".f{i}{{fill:{c}}}.s{i}{{stroke:{c}}}" for i, c in enumerate(colours))
    return (
        f"<style>text{{font-family:{FONT};font-size:12px;fill:#1f2937}}"
        ".card{fill:#fff;stroke:#d8dee6}.title{font-size:15px;font-weight:600}.soft{fill:#5b6472}.small{font-size:11px}"
        f".mono{{font-family:{MONO};font-size:11px}}.text{{font-family:{MONO};font-size:13px}}"
        ".grid{stroke:#e5e9ef}.axis{stroke:#8b95a3}.line{fill:none;stroke-width:2;stroke-linejoin:round}"
        ".base{stroke:#5b6472;stroke-dasharray:5 4}.mark{stroke:#fff}.back{fill-opacity:.17}" + of(LIGHT) +
        "@media(prefers-color-scheme:dark){text{fill:#e6eaf0}.card{fill:#171b22;stroke:#343c48}.soft{fill:#a3adbb}"
        ".grid{stroke:#2a313c}.axis{stroke:#6f7a89}.base{stroke:#a3adbb}.mark{stroke:#171b22}.back{fill-opacity:.3}" + of(DARK) +
        "}</style>"
    )  # fmt: skip


def number(value):
    """As few digits as say it: 0.25, 12, 1.5."""
    return f"{value:.2f}".rstrip("0").rstrip(".") if "." in f"{value:.2f}" else str(value)


def ticks(low, high, wanted=6):
    """Round numbers between both, some `wanted` of them."""
    step = 10 ** math.floor(math.log10((high - low) / wanted))
    step = next(step * by for by in (1, 2, 2.5, 5, 10) if (high - low) / (step * by) <= wanted)
    return [round(i * step, 10) for i in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]


def wrapped(text, columns, indent=""):
    """Lines of at most so many columns; later ones begin with `indent`."""
    lines = [""]
    for word in text.split():
        if lines[-1].strip() and len(lines[-1]) + 1 + len(word) > columns:
            lines.append(indent)
        lines[-1] += (" " if lines[-1].strip() else "") + word
    return lines


class Picture:
    def __init__(self):
        self.parts = []

    def add(self, part):
        self.parts.append(part)

    def text(self, x, y, said, kind="", anchor="start", more=""):
        self.add(f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}" text-anchor="{anchor}"{more}>{html.escape(said)}</text>')

    def line(self, x1, y1, x2, y2, kind):
        self.add(f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{kind}"/>')

    def path(self, points, kind):
        self.add(f'<path d="M{" L".join(f"{x:.1f} {y:.1f}" for x, y in points)}" class="line {kind}"/>')

    def drawn(self, height, title):
        head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" width="{WIDTH}" height="{height:.0f}" role="img">'
        card = f'<rect x=".5" y=".5" width="{WIDTH - 1}" height="{height - 1:.0f}" rx="8" class="card"/>'
        return "\n".join([head, f"<title>{html.escape(title)}</title>", style(), card, *self.parts, "</svg>", ""])


def legend(picture, names, y, draws):
    """Names with their colours in lines from y on; returns where the next thing may begin."""
    x = 24
    for place, name in names:
        width = 26 + 6.7 * len(name)
        if x + width > WIDTH - 16:
            x, y = 24, y + 20
        draws(picture, place, x, y)
        picture.text(x + 18, y + 4, name)
        x += width + 8
    return y + 20


def swatch(picture, place, x, y):
    picture.add(f'<rect x="{x}" y="{y - 5}" width="12" height="10" rx="2" class="f{place}"/>')


def origin_swatch(picture, place, x, y):
    if place is not None:
        picture.add(f'<rect x="{x}" y="{y - 6}" width="13" height="12" rx="2" class="f{place} back"/>')
        picture.line(x, y + 6, x + 13, y + 6, f"s{place} line")
    else:
        picture.line(x, y + 6, x + 13, y + 6, "axis")


def decades(low, high):
    return [10**power for power in range(round(math.log10(low)), round(math.log10(high)) + 1)]


class Axes:
    """A plot's place on the picture, and from figures to places on it."""

    def __init__(self, chart, series, box):
        self.left, self.top, self.right, self.bottom = box
        self.log, self.log_y = chart.get("log_x", False), chart.get("log_y", False)
        ys = [y for each in series for y in each["y"] if y is not None] + chart.get("reference", [])[:1]
        self.y_low, self.y_high = chart.get("y_range") or (min(0, *ys), max(ys) * 1.06)
        if self.log_y:
            self.y_low, self.y_high = 10.0 ** math.floor(math.log10(min(ys))), 10.0 ** math.ceil(math.log10(max(ys)))
        xs = [x for each in series for x in each.get("x", [])] or [0, 1]
        self.x_low, self.x_high = chart.get("x_range") or (min(xs), max(xs))
        self.x_ticks = chart.get("x_ticks") or ticks(self.x_low, self.x_high, 5 if self.right - self.left < 300 else 8)

    def x(self, value):
        of = math.log2 if self.log else float
        return self.left + (of(value) - of(self.x_low)) / (of(self.x_high) - of(self.x_low)) * (self.right - self.left)

    def y(self, value):
        of = math.log10 if self.log_y else float
        return self.bottom - (of(value) - of(self.y_low)) / (of(self.y_high) - of(self.y_low)) * (self.bottom - self.top)

    def draw(self, picture, chart, numbers_along_x=True):
        for tick in decades(self.y_low, self.y_high) if self.log_y else ticks(self.y_low, self.y_high):
            picture.line(self.left, self.y(tick), self.right, self.y(tick), "grid")
            picture.text(self.left - 6, self.y(tick) + 4, number(tick), "soft small", "end")
        picture.line(self.left, self.bottom, self.right, self.bottom, "axis")
        for tick in self.x_ticks if numbers_along_x else []:
            picture.line(self.x(tick), self.bottom, self.x(tick), self.bottom + 4, "axis")
            picture.text(self.x(tick), self.bottom + 17, number(tick), "soft small", "middle")
        if "reference" in chart:
            level, name = chart["reference"]
            picture.line(self.left, self.y(level), self.right, self.y(level), "base")
            picture.text(self.right, self.y(level) - 5, name, "soft small", "end")


def bars(picture, chart, axes, series):
    room = (axes.right - axes.left) / len(chart["groups"])
    width = min(54, 0.8 * room / len(series))
    for place, of in enumerate(series):
        for group, value in enumerate(of["y"]):
            if value is None:
                continue
            x = axes.left + room * (group + 0.5) + width * (place - len(series) / 2)
            picture.add(f'<rect x="{x + 1:.1f}" y="{axes.y(value):.1f}" width="{width - 2:.1f}" '
                        f'height="{axes.y(axes.y_low) - axes.y(value):.1f}" rx="2" class="f{place % 8}"/>')  # fmt: skip
            if width >= 24:
                picture.text(x + width / 2, axes.y(value) - 5, f"{value:.2f}", "small", "middle")
    for group, name in enumerate(chart["groups"]):
        for i, part in enumerate(wrapped(name, max(4, int(room / 6.3)))):
            picture.text(axes.left + room * (group + 0.5), axes.bottom + 17 + 13 * i, part, "small", "middle")


def lines(picture, chart, axes, series):
    for place, of in enumerate(series):
        points = [(axes.x(x), axes.y(y)) for x, y in zip(of["x"], of["y"])]
        picture.path(points, f"s{place % 8}")
        for x, y in points:
            picture.add(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.2" class="f{place % 8} mark"/>')


def steps(picture, chart, axes, series):
    """A value holds from its x on to the next one's."""
    for place, of in enumerate(series):
        points = []
        for i, (x, y) in enumerate(zip(of["x"], of["y"])):
            points += [(axes.x(x), axes.y(of["y"][i - 1]))] * (i > 0) + [(axes.x(x), axes.y(y))]
        picture.path([*points, (axes.x(axes.x_high), points[-1][1])], f"s{place % 8}")


BESIDE = ((9, 14, "start"), (-9, -6, "end"), (9, -8, "start"), (-9, 16, "end"), (0, -12, "middle"), (0, 24, "middle"))


def free(x, y, anchor, said, at):
    """Whether a label there meets none of those that were said, nor a point."""
    left = {"start": x, "end": x - 34, "middle": x - 17}[anchor]
    meets = lambda x2, y2, w, h: left < x2 + w and x2 < left + 34 and y - 10 < y2 + h and y2 < y + 2
    starts = [(x2 - {"start": 0, "end": 34, "middle": 17}[a], y2) for x2, y2, a in said]
    return not (any(meets(x2, y2 - 10, 34, 12) for x2, y2 in starts) or any(meets(x2 - 5, y2 - 5, 10, 10) for x2, y2 in at))


def points(picture, chart, axes, series):
    said = []
    for place, of in enumerate(series):
        at = [(axes.x(x), axes.y(y)) for x, y in zip(of["x"], of["y"])]
        picture.path(at, f"s{place % 8} grid" if len(series) == 1 else f"s{place % 8}")
        for (x, y), label in zip(at, of.get("labels", [""] * len(at))):
            picture.add(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4.5" class="f{place % 8} mark"/>')
            where = next(((x + dx, y + dy, anchor) for dx, dy, anchor in BESIDE if free(x + dx, y + dy, anchor, said, at)), None) or (x + 9, y + 14, "start")
            said.append(where)
            picture.text(*where[:2], label, "small soft", where[2])


KINDS = {"bars": bars, "lines": lines, "steps": steps, "points": points}


def footer(picture, chart, y):
    for part in wrapped(chart.get("measured", ""), 112):
        if part:
            picture.text(24, y, part, "soft small")
            y += 15
    for i, part in enumerate(wrapped(chart.get("command") or chart.get("code", ""), 104, "  ")):
        if part:
            picture.text(24, y, ("$ " if i == 0 else "  ") * ("command" in chart) + part, "soft mono", more=' xml:space="preserve"')
            y += 15
    return y


def plotted(picture, chart, y):
    """All panels of a chart from y on; returns where they end."""
    panels = chart.get("panels") or [{"series": chart["series"]}]
    columns = min(3, len(panels))
    room = (WIDTH - 16) / columns
    tall = chart.get("height", 200 if columns > 1 else 250)
    named_below = 1 + max(len(wrapped(name, max(4, int((room - 80) / len(chart["groups"]) / 6.3)))) for name in chart["groups"]) if "groups" in chart else 1
    each_tall = tall + (30 if columns > 1 else 0) + 8 + 14 * named_below + (20 if chart.get("x") else 0)
    for place, panel in enumerate(panels):
        left, top = 8 + room * (place % columns), y + each_tall * (place // columns)
        if "title" in panel:
            picture.text(left + 48, top + 12, panel["title"], "small", more=' font-weight="600"')
            top += 22
        axes = Axes(chart, panel["series"], (left + 48, top, left + room - 16, top + tall))
        axes.draw(picture, chart, chart["kind"] != "bars")
        KINDS[chart["kind"]](picture, chart, axes, panel["series"])
        if chart.get("x"):
            picture.text((axes.left + axes.right) / 2, axes.bottom + 22 + 13 * named_below, chart["x"], "soft", "middle")
    return y + each_tall * -(-len(panels) // columns) + 6


def wrapped_pieces(pieces, columns):
    """(row, column, text, who) of all parts: a piece is cut at line feeds and where a line is full."""
    row = column = 0
    for piece, who in pieces:
        for i, part in enumerate(piece.split("\n")):
            if i > 0:
                row, column = row + 1, 0
            if column + len(part) > columns and column > 0:
                row, column = row + 1, 0
                part = part.lstrip(" ")
            while part:
                yield row, column, part[: columns - column], who
                part, column = part[columns - column :], column + len(part[: columns - column])
                if part:
                    row, column = row + 1, 0


def coloured(picture, chart, y):
    """The text, each token on the colour of who proposed it; those of the target alone have none."""
    wide, tall, names = 8.1, 23, list(chart["who"])
    colours = {name: i for i, name in enumerate(name for name in names if name not in chart["plain"])}
    y = legend(picture, [(colours.get(name), said) for name, said in chart["who"].items()], y, origin_swatch) + 6
    last = 0
    for row, column, part, who in wrapped_pieces(chart["pieces"], 86):
        x, top, place = 26 + wide * column, y + tall * row, colours.get(who)
        last = row
        if place is not None:
            picture.add(f'<rect x="{x + 0.6:.1f}" y="{top:.1f}" width="{wide * len(part) - 1.2:.1f}" height="19" rx="2.5" class="f{place} back"/>')
        picture.line(x + 0.8, top + 19, x + wide * len(part) - 0.8, top + 19, f"s{place} line" if place is not None else "axis")
        if part.strip():
            picture.text(x, top + 14, part, "text", more=f' xml:space="preserve" textLength="{wide * len(part):.1f}" lengthAdjust="spacingAndGlyphs"')
    return y + tall * (last + 1) + 18


def keep(chart, path):
    """As JSON with a line for each key, so that what changes can be read."""
    lines = [f" {json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}" for key, value in chart.items()]
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def draw(data, folder):
    """The drawing of a kept JSON, in `folder` under its name."""
    picture = drawing(json.loads(data.read_text(encoding="utf-8")))
    (folder / f"{data.stem}.svg").write_text(picture, encoding="utf-8")


def save(chart, folder, name):
    """Both in one folder; the JSON of a chart that is to be shown goes to docs/charts/data."""
    keep(chart, folder / f"{name}.json")
    draw(folder / f"{name}.json", folder)


def drawing(chart):
    """The chart as the text of an SVG file."""
    picture = Picture()
    y = 28
    for part in wrapped(chart["title"], 84):
        picture.text(24, y, part, "title")
        y += 20
    if "subtitle" in chart:
        for part in wrapped(chart["subtitle"], 112):
            picture.text(24, y, part, "soft")
            y += 17
    y += 6
    if chart["kind"] == "text":
        y = coloured(picture, chart, y)
    else:
        series = (chart.get("panels") or [chart])[0]["series"]
        if len(series) > 1:
            y = legend(picture, list((i % 8, of["name"]) for i, of in enumerate(series)), y, swatch)
        picture.text(24, y + 8, chart.get("y", ""), "soft small")
        y = plotted(picture, chart, y + 20)
    return picture.drawn(footer(picture, chart, y + 8) + 6, chart["title"])
