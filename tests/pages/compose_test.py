#!/usr/bin/env python3
"""Of compose.py: blocks stand where they belong, and none is left out."""

import pathlib
import tempfile
import unittest

import compose

PAGE = "# A page\n```cpp\n#include <one>\nfirst();\n```\n```\nno C++\n```\n```cpp\nsecond();\n```\n"


class Compose(unittest.TestCase):
    def composed(self, around):
        with tempfile.TemporaryDirectory() as folder:
            page, surroundings = pathlib.Path(folder, "page.md"), pathlib.Path(folder, "around.cpp")
            page.write_text(PAGE, encoding="utf-8")
            surroundings.write_text(around, encoding="utf-8")
            return [line for line in compose.composed(page, surroundings).split("\n") if not line.startswith("#line")]

    def test_blocks_take_their_places_and_includes_come_first(self):
        composed = self.composed("int main() {\n    // block 1\n    check();\n    // block 2\n}\n")
        self.assertEqual(["#include <one>", "int main() {", "", "first();", "    check();", "second();", "}", ""], composed)

    def test_a_block_without_a_place_and_a_place_without_a_block_are_errors(self):
        for around in ("// block 1\n", "// block 1\n// block 2\n// block 3\n", "// block 2\n// block 1\n", "int main() {}\n"):
            with self.assertRaises(SystemExit) as refused:
                self.composed(around)
            self.assertIn("block", str(refused.exception))


if __name__ == "__main__":
    unittest.main()
