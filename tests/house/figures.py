#!/usr/bin/env python3
"""Headline figures of the pages, each taken from a JSON that is kept: docs/measurements/figures.json says which.

    figures.py                                          says which figures differ from what is kept
    figures.py keep PAGE COLUMN NAME --command TEXT --measured TEXT [--heading TEXT]
                                                        keeps the page's table whose header begins with COLUMN (of several the
                                                        first one behind --heading) as docs/measurements/data/NAME.json

figures.json:
    whole     pages of which every figure must have its source
    names     expressions with numbers that are no figures, as `capability 8.0`
    figures   page; `says`, a text of the page with {} for each number, however its lines are broken; `are`, a value for each {}
    tables    page; `table`, how its header begins; `in`, the JSON that it must be equal to, row by row

A value is read from `in`, a JSON below docs: a chart's (series with y over groups, x or labels) or a table's (rows over columns).
    row       a series, or a row by its first cell or cells; `panel` that of a chart. Without them all are read
    at, but   columns that are taken, or that are not; `column` is one by its place; `best` the largest of those that begin so
    item      one of several numbers of a cell; `of` is "x" for where a point of a chart lies
    each      a source by whose numbers these are divided, one by one
    as        what is made of them: only (the default: there is one), least, most, geometric mean, count, or how many are {"at least": x}
    over      a value to divide by; `times` multiplies, as by 100 for shares in percent
    keys      in place of all these: keys of any JSON, one after the other
A number on a page is right if the value, rounded to its places, is that number.
"""

import argparse
import functools
import json
import math
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
NUMBER = r"\d+(?:,\d{3})*(?:\.\d+)?"
MADE = {
    "least": min,
    "most": max,
    "count": len,
    "geometric mean": lambda numbers: math.prod(numbers) ** (1 / len(numbers)),
}


class Wrong(Exception):
    """A source that cannot be read."""


@functools.cache
def kept(path):
    return json.loads(path.read_text(encoding="utf-8"))


def listed(of):
    return of if isinstance(of, list) else [of]


def rows_of(data, source):
    """The rows of a table, or the series of a chart, that a source names: for each its (column, cell) pairs."""
    row = source.get("row")
    if "rows" in data:
        found = [each for each in data["rows"] if row is None or each[: len(listed(row))] == listed(row)]
        out = [list(zip(data["columns"], each)) for each in found]
    else:
        panels = [each for each in data.get("panels", [data]) if source.get("panel") in (None, each.get("title"))]
        found = [each for panel in panels for each in panel["series"] if row in (None, each["name"])]
        out = [list(zip(data.get("groups") or each.get("labels") or each["x"], each[source.get("of", "y")])) for each in found]
    if row is not None and len(found) != 1:
        raise Wrong(f"{len(found)} rows are {row}")
    return out


def picked_of(row, source):
    """The cells of a row that a source takes."""
    if "best" in source:
        return [max(cell for column, cell in row if str(column).startswith(source["best"]))]
    if "column" in source:
        row = row[source["column"] : source["column"] + 1]
    if "at" in source:
        row = [pair for at in listed(source["at"]) for pair in row if pair[0] == at]
    return [cell for column, cell in row if column not in listed(source.get("but", [])) and cell is not None]


def numbers_of(docs, source):
    """Those that a source picks, before anything is made of them."""
    data = kept(docs / source["in"])
    if "keys" in source:
        return listed(functools.reduce(lambda of, key: of[key], source["keys"], data))
    cells = [cell for row in rows_of(data, source) for cell in picked_of(row, source)]
    picked = [listed(cell)[source["item"]] if "item" in source else cell for cell in cells]
    return [number for cell in picked for number in listed(cell) if not isinstance(number, str)]


def value_of(docs, source):
    picked = numbers_of(docs, source)
    if "each" in source:
        picked = [a / b for a, b in zip(picked, numbers_of(docs, source["each"]), strict=True)]
    made = source.get("as", "only")
    if not picked or (made == "only" and len(picked) != 1):
        raise Wrong(f"{len(picked)} numbers are picked by {source}")
    if made == "only":
        value = picked[0]
    elif isinstance(made, dict):
        value = sum(number >= made["at least"] for number in picked)
    else:
        value = MADE[made](picked)
    return value / (value_of(docs, source["over"]) if "over" in source else 1) * source.get("times", 1)


def is_rounded(printed, value):
    places = len(printed.partition(".")[2])
    return abs(float(printed.replace(",", "")) - value) <= 0.5 * 10**-places + 1e-9


def expression(says):
    """Finds a text of a page, whose lines may break anywhere, and its numbers."""
    words = [re.escape(word).replace(r"\{\}", f"({NUMBER})") for word in says.split()]
    return re.compile(r"\s+".join(words))


def places_of(page, figure):
    return list(expression(figure["says"]).finditer(page))


def wrong_figures(page, figure, docs):
    """What is wrong with a figure of a page's text."""
    found = places_of(page, figure)
    if len(found) != 1:
        return [f'"{figure["says"]}" is there {len(found)} times']
    printed = found[0].groups()
    if len(printed) != len(figure["are"]):
        return [f'"{figure["says"]}" has {len(printed)} numbers and {len(figure["are"])} sources']
    out = []
    for number, source in zip(printed, figure["are"]):
        try:
            value = value_of(docs, source)
        except (KeyError, IndexError, OSError, Wrong, ValueError) as error:
            out.append(f'"{figure["says"]}": {type(error).__name__} {error} of {source}')
            continue
        if not is_rounded(number, value):
            out.append(f'"{figure["says"]}" says {number}, and {source["in"]} {value:.6g}')
    return out


def split_row(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def table_of(page, column, heading=""):
    """The first table whose header begins so: its columns and rows, as text."""
    start = page.find(heading)
    lines = page[start:].splitlines() if start >= 0 else []
    at = next((i for i, line in enumerate(lines) if line.startswith(f"|{column}|")), None)
    if at is None:
        raise Wrong(f"no table begins with |{column}|")
    rows = []
    for line in lines[at + 2 :]:
        if not line.startswith("|"):
            break
        rows.append(split_row(line))
    return split_row(lines[at]), rows


def cell_of(text):
    """The numbers in a cell, its text where there is none, or nothing."""
    found = [json.loads(number.replace(",", "")) for number in re.findall(NUMBER, text)]
    return (found if len(found) > 1 else found[0]) if found else text.replace("**", "") or None


def row_of(texts):
    """The first cell is the row's name, with or without numbers."""
    return [texts[0].replace("**", ""), *map(cell_of, texts[1:])]


def wrong_table(page, table, docs):
    try:
        columns, rows = table_of(page, table["table"], table.get("heading", ""))
        data = kept(docs / table["in"])
    except (OSError, Wrong) as error:
        return [str(error)]
    if columns != data["columns"]:
        return [f"the columns of |{table['table']}| are not those of {table['in']}"]
    wanted = [json.dumps(row) for row in data["rows"]]
    have = [json.dumps(row_of(row)) for row in rows]
    out = [f"{table['in']} has no row {row}" for row in have if row not in wanted]
    return out + [f"|{table['table']}| has no row {row}, which {table['in']} has" for row in wanted if row not in have]


def without_source(text, figures, names):
    """Figures of a page that no text with a source has: numbers with places or units, outside code, addresses and names."""
    found = {place.span(i) for figure in figures for place in places_of(text, figure) for i in range(1, len(place.groups()) + 1)}
    blank = lambda match: " " * len(match[0])
    prose = re.sub(r"^```.*?^```|`[^`]*`|\]\([^)]*\)", blank, text, flags=re.MULTILINE | re.DOTALL)
    no_figures = [*map(re.escape, names), rf"\b[A-Z]\w*[ -]{NUMBER}(?!\s+times)", rf"{NUMBER}\s+[mb]illion"]
    prose = re.sub("|".join(no_figures), blank, prose)
    unit = r"\s*(?:%|(?:times|ms|tokens|nats|bits|seconds|invariants|MB|GB)\b)"
    figure = re.compile(rf"(?<![\w.])(?:\d+(?:,\d{{3}})*\.\d+|{NUMBER}(?={unit}))(?![\w.]*\w)")
    return [found_at[0] for found_at in figure.finditer(prose) if found_at.span() not in found]


def check(root=ROOT):
    docs = root / "docs"
    plan = json.loads((docs / "measurements" / "figures.json").read_text(encoding="utf-8"))
    text = functools.cache(lambda page: (root / page).read_text(encoding="utf-8"))
    out = []
    for page in plan["whole"]:
        own = [figure for figure in plan["figures"] if figure["page"] == page]
        out += [f"{page}: {number} has no source" for number in without_source(text(page), own, plan["names"])]
    for figure in plan["figures"]:
        out += [f"{figure['page']}: {wrong}" for wrong in wrong_figures(text(figure["page"]), figure, docs)]
    for table in plan["tables"]:
        out += [f"{table['page']}: {wrong}" for wrong in wrong_table(text(table["page"]), table, docs)]
    return out


def keep(chosen):
    page = (ROOT / chosen.page).read_text(encoding="utf-8")
    columns, rows = table_of(page, chosen.column, chosen.heading)
    lines = ",\n".join("  " + json.dumps(row_of(row), ensure_ascii=False) for row in rows)
    head = [("measured", chosen.measured), ("command", chosen.command), ("columns", columns)]
    said = "".join(f' "{name}": {json.dumps(value, ensure_ascii=False)},\n' for name, value in head)
    path = ROOT / "docs" / "measurements" / "data" / f"{chosen.name}.json"
    path.write_text(f'{{\n{said} "rows": [\n{lines}\n ]\n}}\n', encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_subparsers().add_parser("keep").add_argument
    for name in ("page", "column", "name"):
        add(name)
    add("--command", required=True, help="that gave the table")
    add("--measured", required=True, help="machine, date and commit")
    add("--heading", default="")
    chosen = parser.parse_args()
    if "page" in chosen:
        return keep(chosen)
    wrong = check()
    print("\n".join(wrong))
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
