#!/usr/bin/env python3
"""Compiles a file that must not compile, and reads the compiler's message.

    check.py FILE COMPILER [FLAG]...

The file says in `// expected-error {{regex}}` lines what the message has to contain. Exit status 0 only if the compiler
refuses the file and every regex occurs in what it prints.
"""

import pathlib
import re
import subprocess
import sys


def expectations(source):
    return re.findall(r"//\s*expected-error\s*\{\{(.*?)\}\}", source)


def complaint(file, compiler, flags=()):
    """Why `file` fails the check, or None where it passes."""
    expected = expectations(pathlib.Path(file).read_text(encoding="utf-8"))
    if not expected:
        return f"{file} holds no `// expected-error {{{{regex}}}}` line"
    run = subprocess.run(
        [compiler, *flags, "-fsyntax-only", str(file)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if run.returncode == 0:
        return f"{compiler} accepts {file}, which must not compile"
    missing = [regex for regex in expected if not re.search(regex, run.stdout)]
    if missing:
        return f"{compiler} refuses {file}, but its message lacks {missing}:\n{run.stdout}"
    return None


def main(arguments):
    if len(arguments) < 2:
        sys.exit(__doc__)
    file, compiler, *flags = arguments
    problem = complaint(file, compiler, flags)
    if problem:
        sys.exit(problem)


if __name__ == "__main__":
    main(sys.argv[1:])
