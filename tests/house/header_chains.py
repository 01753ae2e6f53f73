#!/usr/bin/env python3
"""Which headers can be shown to compile alone by one compilation: chains, of which each header includes the one before it.

    header_chains.py INCLUDE FOLDER HEADER...    writes FOLDER/chain_N.cpp for headers below INCLUDE; prints the files, one a line

That a header compiles alone means that it includes what it needs. Let b include a, by however many others. Below `#include a`,
`#include b` the text of b finds what b includes, and nothing else: what a includes, b includes too. So one compilation shows both,
and what lies between them is shown by chains of its own. Each header stands there twice: it is guarded against that.
"""

import functools
import pathlib
import re
import sys


def included_by(text):
    """What a text includes of augur whatever the circumstances: `#include` within an `#if` does not count."""
    found, depth = [], 0
    for line in text.splitlines():
        directive = re.match(r"\s*#\s*(if|endif|include)", line)
        if directive is None:
            continue
        if directive[1] == "include" and depth == 0:
            name = re.match(r'\s*#\s*include\s*[<"](augur/[^>"]+)[>"]', line)
            found += [name[1]] if name else []
        depth += {"if": 1, "endif": -1, "include": 0}[directive[1]]
    return found


def all_included(includes):
    """By header: all that it includes, by however many others."""

    @functools.cache
    def below(header):
        direct = includes.get(header, [])
        return frozenset(direct).union(*map(below, direct))

    return {header: below(header) for header in includes}


def chains(headers, below):
    """The fewest chains that hold each header once: a maximum matching of headers with those that include them."""
    above = {header: [other for other in headers if header in below[other]] for header in headers}
    before = {}  # by header: the one that stands before it

    def place(header, tried):
        for other in above[header]:
            if other not in tried:
                tried.add(other)
                if other not in before or place(before[other], tried):
                    before[other] = header
                    return True
        return False

    for header in headers:
        place(header, set())
    after = {first: second for second, first in before.items()}
    found = []
    for header in headers:
        if header not in before:
            chain = [header]
            while chain[-1] in after:
                chain.append(after[chain[-1]])
            found.append(chain)
    return found


def unit(chain):
    return "".join(f'#include "{header}"\n' for header in chain for _ in range(2))


def main(root, folder, *headers):
    root, folder = pathlib.Path(root), pathlib.Path(folder)
    sys.setrecursionlimit(10000)
    includes = {path.relative_to(root).as_posix(): included_by(path.read_text(encoding="utf-8")) for path in root.rglob("*.hpp")}
    names = sorted(pathlib.Path(header).relative_to(root).as_posix() for header in headers)
    folder.mkdir(parents=True, exist_ok=True)
    for number, chain in enumerate(chains(names, all_included(includes))):
        path = folder / f"chain_{number}.cpp"
        if not path.is_file() or path.read_text(encoding="utf-8") != unit(chain):
            path.write_text(unit(chain), encoding="utf-8")
        print(path.as_posix())
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
