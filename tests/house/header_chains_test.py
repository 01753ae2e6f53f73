#!/usr/bin/env python3
"""header_chains.py: every header is in one chain, each includes the one before it, and a header that lacks an include is found."""

import contextlib
import io
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import header_chains

ROOT = pathlib.Path(__file__).resolve().parents[2]


def written(tree):
    """{unit: its headers} for a folder of headers."""
    with tempfile.TemporaryDirectory() as folder:
        headers = sorted(str(path) for path in pathlib.Path(tree).rglob("*.hpp"))
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            header_chains.main(tree, folder, *headers)
        return {name: re.findall(r'"(.*)"', pathlib.Path(name).read_text(encoding="utf-8")) for name in printed.getvalue().splitlines()}


def compiles(compiler, root, chain):
    """As the build compiles it."""
    text = "".join(f'#include "{header}"\n' for header in chain)
    command = [compiler, "-std=c++20", "-fsyntax-only", f"-I{root}", "-x", "c++", "-"]
    return subprocess.run(command, input=text, text=True, stderr=subprocess.DEVNULL, check=False).returncode == 0


class Chains(unittest.TestCase):
    def test_an_include_within_a_condition_does_not_count(self):
        text = '#pragma once\n#include "augur/a.hpp"\n#if X\n# include <augur/b.hpp>\n#ifdef Y\n#endif\n#include "augur/c.hpp"\n#else\n#endif\n#include <augur/d.hpp>\n#include <vector>\n'
        self.assertEqual(header_chains.included_by(text), ["augur/a.hpp", "augur/d.hpp"])

    def test_the_chains_are_the_fewest(self):
        below = header_chains.all_included({"a": [], "b": ["a"], "c": ["a"], "d": ["b", "c"], "e": ["c", "x"]})
        self.assertEqual(below["d"], {"a", "b", "c"})
        found = header_chains.chains(["a", "b", "c", "d", "e"], below)
        self.assertEqual(len(found), 2)
        self.assertEqual(sorted(sum(found, [])), ["a", "b", "c", "d", "e"])

    def test_every_header_of_the_library_is_in_one_chain_and_includes_the_one_before_it(self):
        include = ROOT / "include"
        headers = sorted(path.relative_to(include).as_posix() for path in include.rglob("*.hpp"))
        below = header_chains.all_included(
            {header: header_chains.included_by((include / header).read_text(encoding="utf-8")) for header in headers}
        )
        units = written(include)
        self.assertEqual(sorted(sum(units.values(), [])), sorted(2 * headers))
        self.assertLess(len(units), len(headers) / 2)
        for twice in units.values():
            self.assertEqual(twice[::2], twice[1::2])
            for first, second in zip(twice[::2], twice[2::2]):
                self.assertIn(first, below[second])

    def test_a_header_that_includes_too_little_is_found_wherever_it_lies(self):
        compiler = shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")
        texts = {
            "base": "struct base {};\n",
            "next": '#include "augur/base.hpp"\nstruct next : base {};\n',
            "other": '#include "augur/base.hpp"\nstruct other : base {};\n',
            "last": '#include "augur/next.hpp"\n#include "augur/other.hpp"\nstruct last { next n; other o; };\n',
        }
        for broken in (None, "next", "other", "last"):
            with tempfile.TemporaryDirectory() as tree, self.subTest(broken=broken):
                for name, text in texts.items():
                    lines = text.splitlines(keepends=True)
                    kept = [line for line in lines if name != broken or "#include" not in line]
                    path = pathlib.Path(tree) / "augur" / f"{name}.hpp"
                    path.parent.mkdir(exist_ok=True)
                    path.write_text("#pragma once\n" + "".join(kept), encoding="utf-8")
                sound = [compiles(compiler, tree, chain) for chain in written(tree).values()]
                self.assertEqual(all(sound), broken is None)


if __name__ == "__main__":
    unittest.main()
