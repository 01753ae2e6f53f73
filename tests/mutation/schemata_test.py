#!/usr/bin/env python3
"""What stands beside the original in one text, and what cannot; and that the text then is what each mutant alone makes of it."""

import pathlib
import subprocess
import tempfile
import unittest

import mutate
import schemata

HEADER = """#pragma once
#include <vector>
struct counter {
    using number = int;
    explicit counter(int first) : count_(first + 1) {}
    int next(int step) {
        std::vector<int> more(step > 0 ? step : 0, 1);
        if (step < 0) return -1;  // never back
        const int before = count_;
        count_ += step;
        for (int i = 0; i < 2; ++i) {
            if (i == 1) ++count_;
        }
        return count_ > 100 ? more.size() : before + [&] { return step * 2; }();
    }
    int count_;
};
"""
MUTANTS = [
    ("first + 1", "first + 2"),
    ("if (step < 0", "if (step <= 0"),
    ("return -1;", "return -2;"),
    ("const int before = count_;", "const int before = count_ + 1;"),
    ("count_ += step;", ""),
    ("i < 2;", "i < 1;"),
    ("if (i == 1) ++count_;", "++count_;"),
    ("before + [&] { return step * 2; }()", "before - [&] { return step * 2; }()"),
    ("step * 2;", "step * 3;"),
    ("count_ > 100", "count_ >= 100"),
    ("more(step > 0 ? step : 0", "more(step >= 0 ? step + 1 : 0"),
]
PROGRAM = """#include <cstdio>
#include "header.hpp"
int main() {
    for (int first : {0, 7, 98}) {
        for (int step : {-1, 0, 1, 5}) {
            counter c(first);
            const int then = c.next(step);
            std::printf("%d %d\\n", then, c.count_);
        }
    }
}
"""


def mutants():
    return {number: mutate.Mutant("header.hpp", *texts) for number, texts in enumerate(MUTANTS, 1)}


class Fitting(unittest.TestCase):
    def test_statements_conditions_values_and_initialisers_fit(self):
        fit, unfit = schemata.fitting(HEADER, mutants())
        self.assertEqual({}, unfit)
        kinds = [fit[number][0].kind for number in sorted(fit)]
        self.assertEqual(["value", "condition", "statement", "value", "statement", "condition", "statement"], kinds[:7])

    def test_what_is_decided_when_it_is_compiled_does_not_fit(self):
        text = "void f() {\n    if constexpr (A) g();\n    constexpr int x = 1;\n}\n"
        for before, after in (("using number = int;", "using number = long;"), ("constexpr (A)", "constexpr (B)"), ("x = 1;", "x = 2;")):
            whole = HEADER + text
            fit, unfit = schemata.fitting(whole, {1: mutate.Mutant("header.hpp", before, after)})
            self.assertEqual(({}, [1]), (fit, [*unfit]), before)

    def test_places_that_overlap_are_in_different_layers(self):
        fit, _ = schemata.fitting(HEADER, mutants())
        layers = schemata.layers(fit)
        self.assertEqual(sorted(fit), sorted(number for layer in layers for number in layer))
        self.assertNotIn(8, next(layer for layer in layers if 9 in layer))  # a lambda in the statement that changes

    def test_lines_stay_what_they_were(self):
        fit, _ = schemata.fitting(HEADER, mutants())
        text, lines = schemata.combined(HEADER, fit, schemata.layers(fit)[0])
        self.assertEqual(HEADER.count("\n"), text.count("\n"))
        for number, line in lines.items():
            self.assertIn(f"augur_mutant({number})", text.splitlines()[line - 1])


class Equal(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "program.cpp").write_text(PROGRAM, encoding="utf-8")
        (self.folder / "switch.hpp").write_text(schemata.SWITCH, encoding="utf-8")

    def compiled(self, header):
        (self.folder / "header.hpp").write_text(header, encoding="utf-8")
        compiler = mutate.default_compiler().split()
        switch = ["-include", self.folder / "switch.hpp"]
        subprocess.run([*compiler, "-std=c++20", "-w", *switch, self.folder / "program.cpp", "-o", self.folder / "program"], check=True)

    def said(self, number):
        environment = {"AUGUR_MUTANT": str(number), "PATH": ""}
        return subprocess.run([self.folder / "program"], env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout

    def test_each_runs_as_it_would_alone(self):
        numbered = mutants()
        fit, _ = schemata.fitting(HEADER, numbered)
        together = {}
        for layer in schemata.layers(fit):
            self.compiled(schemata.combined(HEADER, fit, layer)[0])
            together |= {number: self.said(number) for number in [0, *layer]}
        self.compiled(HEADER)
        self.assertEqual(self.said(0), together.pop(0))
        for number, said in together.items():
            self.compiled(numbered[number].apply(HEADER))
            self.assertEqual(self.said(0), said, numbered[number])
        self.assertGreater(len(set(together.values())), len(together) // 2)


if __name__ == "__main__":
    unittest.main()
