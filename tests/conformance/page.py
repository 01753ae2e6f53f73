#!/usr/bin/env python3
"""The page of the conformance tests, made of invariants.json.

    page.py              writes docs/conformance.md
    page.py --check      fails unless the page is fresh and entries and test cases belong together
    page.py --pending N  says why invariant N is not tested yet, and exits 77 (skipped); fails if it is active
"""

import argparse
import collections
import json
import pathlib
import re
import sys
import textwrap

HERE = pathlib.Path(__file__).resolve().parent
PAGE = HERE.parents[1] / "docs" / "conformance.md"
NUMBERS = range(1, 80)
FIELDS = {"number", "section", "wrong", "links", "invariant", "test", "state", "reason"}
SKIPPED = 77
COLUMNS = 120

INTRODUCTION = """# Conformance: what this field has got wrong, and the test that would see it

{summary}

Made from `tests/conformance/invariants.json` by `tests/conformance/page.py`; the tests are `tests/conformance/*.cpp`,
or the case that is named with its `folder.file` in `tests`.
"""
SUMMARY = """Bugs that systems for speculative decoding have shipped, collected from their issue threads (some are fixed
since), and the invariant here that each of them breaks. A test runs over every criterion, drafter and policy that it can
apply to, on mock models by exact enumeration and on small Llamas bit for bit; where it is cheap, the wrong variant is
written out, and the same check must catch it. {active} are tested, {pending} wait for the part of the library that they
are about, and `ctest` shows these as skipped, with the reason."""


def load():
    return json.loads((HERE / "invariants.json").read_text(encoding="utf-8"))


def cases(sources):
    """The test cases of {stem: text}, as 'stem/name'."""
    declared = re.compile(r"(?:\bBOOST_(?:AUTO|FIXTURE)_TEST_CASE(?:_TEMPLATE)?\(\s*|^ +def (?=test_))(\w+)", re.MULTILINE)
    return [f"{stem}/{name}" for stem, text in sorted(sources.items()) for name in declared.findall(text)]


def is_elsewhere(test):
    """Whether a test is named 'folder.stem/case': one of another folder of tests."""
    return "." in test.split("/")[0]


def cases_elsewhere(entries):
    """Those of the sources that such tests name, as 'folder.stem/case'."""
    sources = {}
    for test in (entry.get("test") for entry in entries):
        if not test or not is_elsewhere(test):
            continue
        name = test.split("/")[0]
        folder, stem = name.split(".")
        paths = [path for ending in (".cpp", ".py") for path in sorted((HERE.parent / folder).rglob(stem + ending))]
        sources[name] = "".join(path.read_text(encoding="utf-8") for path in paths)
    return cases(sources)


def link(url):
    owner_and_name, number = re.fullmatch(r"https://github\.com/([^/]+/[^/]+)/issues/(\d+)", url).groups()
    return f"[{owner_and_name}#{number}]({url})"


def row(entry):
    seen = " ".join([entry["wrong"], ", ".join(map(link, entry["links"]))]).strip()
    if entry["state"] == "active":
        tested = f"`{entry['test'] if is_elsewhere(entry['test']) else entry['test'].split('/')[1]}`" + (f" {entry['reason']}" if entry["reason"] else "")
    else:
        tested = f"pending: {entry['reason']}"
    return f"|{entry['number']}|{seen}|{entry['invariant']}|{tested}|\n"


def page(entries):
    states = collections.Counter(entry["state"] for entry in entries)
    summary = " ".join(SUMMARY.split()).format(active=states["active"], pending=states["pending"])
    text = INTRODUCTION.format(summary=textwrap.fill(summary, COLUMNS))
    section = None
    for entry in entries:
        if entry["section"] != section:
            section = entry["section"]
            text += f"\n## {section}\n|#|what went wrong|our invariant|test|\n|-|-|-|-|\n"
        text += row(entry)
    return text


def problems(entries, found, committed, elsewhere=()):
    """Everything that does not hold between the entries, the test cases found in the sources (`elsewhere`: of other
    folders, which need not be in the entries), and the committed page."""
    out = []
    if [entry["number"] for entry in entries] != list(NUMBERS):
        out.append(f"the entries are not numbered {NUMBERS[0]} to {NUMBERS[-1]}, each once and in order")
    for entry in entries:
        name = f"invariant {entry['number']}"
        if set(entry) != FIELDS:
            out.append(f"{name} has the fields {sorted(entry)} instead of {sorted(FIELDS)}")
        elif entry["state"] == "active":
            if entry["test"] not in found and entry["test"] not in elsewhere:
                out.append(f"{name} is active, but there is no test case {entry['test']}")
            elif not is_elsewhere(entry["test"]) and not entry["test"].split("/")[1].startswith(f"invariant_{entry['number']:02}_"):
                out.append(f"{name} has the test of another: {entry['test']}")
        elif entry["state"] != "pending" or entry["test"] is not None or not entry["reason"]:
            out.append(f"{name} is neither active nor pending with a reason and without a test")
    known = {entry.get("test") for entry in entries}
    out += [f"the test case {name} is not in invariants.json" for name in found if name not in known]
    out += [f"there are {n} test cases {name}" for name, n in collections.Counter(found).items() if n > 1]
    if not out and committed != page(entries):
        out.append("docs/conformance.md is not what tests/conformance/page.py writes; run it")
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--pending", type=int, metavar="N")
    arguments = parser.parse_args()
    entries = load()
    if arguments.pending:
        entry = next(entry for entry in entries if entry["number"] == arguments.pending)
        print(f"invariant {entry['number']}: {entry['invariant']} {entry['state']}: {entry['reason']}")
        return SKIPPED if entry["state"] == "pending" else 1
    if arguments.check:
        sources = {path.stem: path.read_text(encoding="utf-8") for path in HERE.glob("*.cpp")}
        committed = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
        found = problems(entries, cases(sources), committed, cases_elsewhere(entries))
        print("\n".join(found) or f"{len(entries)} invariants, every one accounted for")
        return 1 if found else 0
    PAGE.write_text(page(entries), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
