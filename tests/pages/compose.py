#!/usr/bin/env python3
"""Makes a program of a page's C++ and of what it needs around it.

    compose.py PAGE AROUND PROGRAM

The n-th ```cpp block of PAGE takes the place of the line `// block n` in AROUND, as it stands; its includes go to the top.
Every block has its place: one that is new on the page, or gone from it, is an error.
"""

import pathlib
import re
import sys


def blocks_of(page):
    """The line that each block begins at, and its lines."""
    blocks = []
    inside = False
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        if not inside and line.strip() == "```cpp":
            inside = True
            blocks.append((number + 1, []))
        elif inside and line.strip() == "```":
            inside = False
        elif inside:
            blocks[-1][1].append(line)
    return blocks


def composed(page, around):
    blocks = blocks_of(page)
    top, program, placed = [], [], []
    for number, line in enumerate(around.read_text(encoding="utf-8").splitlines(), 1):
        place = re.fullmatch(r"\s*// block (\d+)", line)
        if not place:
            program.append(line)
            continue
        placed.append(int(place[1]))
        if placed[-1] > len(blocks):
            sys.exit(f"{around} has a place for block {placed[-1]}, but {page} has {len(blocks)}")
        first, lines = blocks[placed[-1] - 1]
        top += [each for each in lines if each.startswith("#include")]
        program.append(f'#line {first} "{page}"')
        program += ["" if each.startswith("#include") else each for each in lines]
        program.append(f'#line {number + 1} "{around}"')
    if placed != [*range(1, len(blocks) + 1)]:
        sys.exit(f"{page} has {len(blocks)} blocks, but {around} has places for {placed}")
    return "\n".join([*top, f'#line 1 "{around}"', *program, ""])


def main(arguments):
    if len(arguments) != 3:
        sys.exit(__doc__)
    page, around, program = map(pathlib.Path, arguments)
    program.write_text(composed(page, around), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
