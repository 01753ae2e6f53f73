#!/usr/bin/env python3
"""Which lines of drafters, policies and criteria do their tests run? Reads with gcov what the test programs of a build
of the preset `coverage` have counted, adds it up over them, and prints each folder's share and the lines that did not run.

    coverage.py build/coverage

Exits 1 when a folder has less than 95%, 2 when there is nothing to read. A template that no test uses is not compiled, so
that its lines are not counted; and whether a test looked at what a line did is for tests/mutation to say.
"""

import collections
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADERS = ROOT / "include" / "augur"
FOLDERS = ["accept", "commit", "decode", "draft", "policy"]
REQUIRED = 0.95


def reports(build):
    """What gcov says about each object, as it says it."""
    for counts in sorted(build.rglob("*.gcda")):
        run = subprocess.run(
            ["gcov", "--json-format", "--stdout", counts.resolve()], stdout=subprocess.PIPE, check=True, cwd=build, text=True
        )
        yield from map(json.loads, run.stdout.splitlines())


def add_up(reports_read, headers):
    """How often each line of each header was run, over all reports and instances of templates: {header: {line: count}}."""
    lines = collections.defaultdict(collections.Counter)
    for report in reports_read:
        for file in report["files"]:
            path = pathlib.Path(report["current_working_directory"], file["file"]).resolve()
            if headers in path.parents and path.relative_to(headers).parts[0] in FOLDERS:
                for line in file["lines"]:
                    lines[path.relative_to(headers).as_posix()][line["line_number"]] += line["count"]
    return lines


def shares(lines):
    """{folder: (lines run, lines)}"""
    by_folder = {}
    for header, counts in sorted(lines.items()):
        run, total = by_folder.get(folder := header.split("/")[0], (0, 0))
        by_folder[folder] = (run + sum(count > 0 for count in counts.values()), total + len(counts))
    return by_folder


def main(build):
    lines = add_up(reports(pathlib.Path(build)), HEADERS)
    measured = shares(lines)
    if list(measured) != FOLDERS:
        print(f"{build} has counts of {list(measured)}, not of {FOLDERS}", file=sys.stderr)
        return 2
    for header, counts in sorted(lines.items()):
        text = (HEADERS / header).read_text(encoding="utf-8").splitlines()
        for number in sorted(number for number, count in counts.items() if count == 0):
            print(f"not run: {header}:{number}: {text[number - 1].strip()}")
    for folder, (run, total) in measured.items():
        print(f"{folder:8} {run:4} of {total:4} lines, {run / total:.1%}")
    return 0 if all(run >= REQUIRED * total for run, total in measured.values()) else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
