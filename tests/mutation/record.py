"""What became of each mutant, in verdicts.txt, and the numbers that the pages state from it.

verdicts.txt is tracked: a line for each header, so that two branches collide only where both judge one header's mutants.
    accept/exact.hpp; accept/exact.cpp 64458458 2026-11-23: 721dd715 ed1685b2; survived 2026-11-24: 4570086f
says that the test tests/accept/exact.cpp killed two of them, with the code of header and test that 64458458 stands for. Equivalent
mutants and those that were never judged are not in it: the list says which these are.
"""

import datetime
import hashlib
import json
import os
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
VERDICTS = ["killed", "survived", "equivalent", "not judged"]
DIGITS = 8  # of a hash: identities are compared within one header
GROUP = re.compile(r"(survived|\S+ [0-9a-f]{%d}) (\d{4}-\d\d-\d\d):((?: [0-9a-f]{%d})+)" % (DIGITS, DIGITS))


class Misfit(Exception):
    """The list of mutants, the headers, the record or the pages do not belong together."""


def digest(*texts):
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:DIGITS]


def identity(mutant):
    """The header and what is replaced by what: a mutant keeps its verdict when the list is rearranged."""
    return f"{mutant.header} {digest(*(' '.join(text.split()) for text in (mutant.before, mutant.after)))}"


def name_of(test):
    """As ctest names it."""
    path = test.relative_to(ROOT / "tests")
    return f"{path.parts[0]}.{path.stem}"


def code_of(file):
    """Its text without lines that are comments alone, and with white space made one: what a verdict can depend on."""
    lines = file.read_text(encoding="utf-8").splitlines()
    return " ".join(" ".join(line for line in lines if not line.lstrip().startswith("//")).split())


def what_was_judged(mutant, test=None):
    """Changes with the code of the header or of the test that killed the mutant. (What these include is left out: that would change
    always.)"""
    files = [ROOT / "include" / "augur" / mutant.header, *([test] if test else [])]
    return digest(*map(code_of, files))


def commit():
    """The commit that the headers and tests are of, with a + where they differ from it."""

    def git(*arguments):
        run = subprocess.run(["git", "-C", ROOT, *arguments], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
        return run.stdout.strip()

    changed = git("status", "--porcelain", "--", "include", "tests", ":!tests/mutation")
    return git("rev-parse", "--short=12", "HEAD") + ("+" if changed else "")


def parsed(text):
    """By identity the verdicts of verdicts.txt."""
    entries = {}
    for line in text.splitlines():
        header, *groups = line.split("; ")
        for group in groups:
            found = GROUP.fullmatch(group)
            if not found:
                raise Misfit(f"verdicts.txt: {group!r} of {header} is no group of verdicts")
            killer, date = found[1].split(), {"date": found[2]}
            entry = {"verdict": "survived"} if found[1] == "survived" else {"verdict": "killed", "test": f"tests/{killer[0]}", "judged": killer[1]}
            entries |= {f"{header} {each}": entry | date for each in found[3].split()}
    return entries


def replace(path, text):
    part = path.with_suffix(".part")
    part.write_text(text, encoding="utf-8")
    os.replace(part, path)


class Record:
    """By identity: the verdict; of those judged also the date, and of those killed the test (file) and what was judged."""

    def __init__(self, path, mutants, details=None):
        """What the file says of these mutants; others are dropped, and what it does not know is not judged. `details` is a JSON file
        that is written, never tracked: how and at which commit each mutant was judged, as far as it was judged here."""
        self.path, self.details = path, details
        self.written = parsed(path.read_text(encoding="utf-8")) if path.is_file() else {}
        if details and details.is_file():
            for key, entry in json.loads(details.read_text(encoding="utf-8")).items():
                known = self.written.get(key)
                if known and all(entry.get(name) == value for name, value in known.items()):
                    self.written[key] = entry
        self.of = {identity(mutant): self._entry(mutant) for mutant in mutants}
        if len(self.of) != len(mutants):
            seen = set()
            twice = [str(mutant) for mutant in mutants if identity(mutant) in seen or seen.add(identity(mutant))]
            raise Misfit("mutants.txt: twice in the list:\n" + "\n".join(twice))

    def _entry(self, mutant):
        if mutant.equivalent:
            return {"verdict": "equivalent"}
        known = self.written.get(identity(mutant), {})
        return known if known.get("verdict") in ("killed", "survived") else {"verdict": "not judged"}

    def killer(self, mutant):
        """The test file that killed it when it was last judged."""
        return self.of[identity(mutant)].get("test")

    def open(self, mutant):
        """Never judged, or survived."""
        return self.of[identity(mutant)]["verdict"] not in ("killed", "equivalent")

    def stale(self, mutant):
        """Never judged, survived, or judged with another header or another text of the test that killed it."""
        entry = self.of[identity(mutant)]
        if entry["verdict"] == "equivalent":
            return False
        test = ROOT / entry["test"] if entry["verdict"] == "killed" else None
        return not test or not test.is_file() or entry["judged"] != what_was_judged(mutant, test)

    def enter(self, mutant, test, how, at):
        """`test` killed it, or is None; saved at once, so that a run which is cut off goes on."""
        entry = {"verdict": "killed" if test else "survived"}
        if test:
            entry |= {"test": test.relative_to(ROOT).as_posix(), "how": how, "judged": what_was_judged(mutant, test)}
        self.of[identity(mutant)] = entry | {"date": datetime.date.today().isoformat(), "commit": at}
        self.save()

    def text(self):
        groups = {}
        for key, entry in self.of.items():
            if entry["verdict"] in ("killed", "survived"):
                header, own = key.split()
                killer = f"{entry['test'].removeprefix('tests/')} {entry['judged']}" if entry["verdict"] == "killed" else "survived"
                groups.setdefault(header, {}).setdefault(f"{killer} {entry['date']}", []).append(own)
        line = lambda header, of: "; ".join([header, *(f"{name}: {' '.join(sorted(own))}" for name, own in sorted(of.items()))])
        return "".join(f"{line(header, of)}\n" for header, of in sorted(groups.items()))

    def save(self):
        replace(self.path, self.text())
        if self.details:
            self.details.parent.mkdir(parents=True, exist_ok=True)
            lines = [f"  {json.dumps(key)}: {json.dumps(entry)}" for key, entry in self.of.items()]
            replace(self.details, "{\n" + ",\n".join(lines) + "\n}\n")

    def counts(self):
        """By folder and in all: how many mutants there are of each verdict."""
        table = {}
        for key, entry in self.of.items():
            for row in (key.split("/")[0], "all"):
                table.setdefault(row, dict.fromkeys(VERDICTS, 0))[entry["verdict"]] += 1
        return {name: table[name] for name in [*sorted(table.keys() - {"all"}), *(["all"] if table else [])]}

    def elsewhere(self, folder):
        """How many of a folder's mutants were killed by a test of another folder."""
        killed = [key for key, entry in self.of.items() if entry["verdict"] == "killed" and folder in (key.split("/")[0], "all")]
        return sum(self.of[key]["test"].split("/")[1] != key.split("/")[0] for key in killed)

    def when(self):
        dates = sorted(entry["date"] for entry in self.of.values() if "date" in entry)
        if not dates:
            return "none judged so far"
        return f"judged on {dates[0]}" if dates[0] == dates[-1] else f"judged from {dates[0]} to {dates[-1]}"

    def sentence(self):
        counted = self.counts().get("all", dict.fromkeys(VERDICTS, 0))
        numbers = ", ".join(f"{counted[verdict]} {verdict}" for verdict in VERDICTS)
        return f"{sum(counted.values())} mutants: {numbers} ({self.when()})"

    def table(self):
        lines = ["|folder|mutants|killed|of these by another folder's test|survived|equivalent|not judged|", "|-|-|-|-|-|-|-|"]
        for folder, n in self.counts().items():
            cells = [sum(n.values()), n["killed"], self.elsewhere(folder), n["survived"], n["equivalent"], n["not judged"]]
            lines.append(f"|{folder}|" + "|".join(map(str, cells)) + "|")
        return "\n".join(lines)


def restated(page, record):
    """The page with the record's numbers between its markers."""
    parts = {"mutants": f"\n{record.sentence()}\n", "mutants by folder": f"\n{record.table()}\n"}
    for name, text in parts.items():
        page = re.sub(f"(<!-- {name} -->).*?(<!-- /{name} -->)", lambda found: found[1] + text + found[2], page, flags=re.DOTALL)
    return page


def state(record, pages):
    for page in pages:
        page.write_text(restated(page.read_text(encoding="utf-8"), record), encoding="utf-8")


def check(record, pages):
    """The record is of this list, and every page states its numbers."""
    if not record.path.is_file() or record.text() != record.path.read_text(encoding="utf-8"):
        raise Misfit(f"{record.path.name} is not of this list of mutants; mutate.py --state leaves out what is not in the list")
    for page in pages:
        text = page.read_text(encoding="utf-8")
        if "<!-- mutants" not in text:
            raise Misfit(f"{page.name} has no <!-- mutants --> ... <!-- /mutants --> or <!-- mutants by folder --> ...")
        if restated(text, record) != text:
            raise Misfit(f"{page.name} states other numbers than {record.path.name}; mutate.py --state writes them: {record.sentence()}")
