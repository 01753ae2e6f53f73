#!/usr/bin/env python3
"""The table of letters, numbers and marks beside Hugging Face's tokenizers, for all code points. Skipped where they are not installed."""

import pathlib
import re
import unittest

try:
    import tokenizers
except ImportError:
    tokenizers = None

HEADER = pathlib.Path(__file__).resolve().parents[2] / "include/augur/io/text/unicode_classes.hpp"
END = 0x110000
LETTER, NUMBER, MARK, LATER_NUMBER, UPPER, LOWER = 1, 2, 3, 5, 6, 7
EVEN_IS_UPPER, ODD_IS_UPPER = 8, 9


def table():
    """The kind of each code point."""
    listed = HEADER.read_text().split("unicode_runs = {{")[1].split("}};")[0]
    runs = [int(run, 16) for run in re.findall(r"0x[0-9A-F]+", listed)]
    kinds = {}
    for run, behind in zip(runs, [*runs[1:], END << 4]):
        for point in range(run >> 4, behind >> 4):
            kinds[point] = run & 15
            if run & 15 in (EVEN_IS_UPPER, ODD_IS_UPPER):
                kinds[point] = LOWER if (point + run) % 2 else UPPER
    return kinds


def chunks():
    for begin in range(0, END, 0x1000):
        yield [point for point in range(begin, begin + 0x1000) if not 0xD800 <= point <= 0xDFFF and point != 1]


@unittest.skipUnless(tokenizers, "the package tokenizers is not installed")
class Tables(unittest.TestCase):
    def test_classes(self):
        kinds = table()
        letters = {"L": (LETTER, UPPER, LOWER), "Lu}\\p{Lt": (UPPER,), "Ll": (LOWER,), "Lm}\\p{Lo": (LETTER,)}
        for name, wanted in {**letters, "N": (NUMBER,), "M": (MARK,)}.items():
            remove = tokenizers.pre_tokenizers.Split(tokenizers.Regex(rf"[\p{{{name}}}]"), "removed")
            for points in chunks():
                left = {letter for piece, _ in remove.pre_tokenize_str("\x01".join(map(chr, points))) for letter in piece}
                theirs = {point for point in points if chr(point) not in left}
                self.assertEqual(theirs, {point for point in points if kinds[point] in wanted}, name)

    def test_digits(self):
        kinds = table()
        digits = tokenizers.pre_tokenizers.Digits(individual_digits=True)
        for points in chunks():
            alone = {piece for piece, _ in digits.pre_tokenize_str("".join(f"{chr(point)}a{chr(point)}" for point in points)) if piece != "a"}
            theirs = {point for point in points if chr(point) in alone}
            ours = {point for point in points if kinds[point] in (NUMBER, LATER_NUMBER)}
            self.assertEqual(theirs, ours)


if __name__ == "__main__":
    unittest.main()
