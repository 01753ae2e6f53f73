#!/usr/bin/env python3
"""How mutate.py reads its list and changes a text. That mutants are killed is for mutate.py itself to say."""

import unittest

import mutate


class Parse(unittest.TestCase):
    def test_blocks(self):
        first, second = mutate.parse("# why\n\na/b.hpp\n- x < y\n+ x <= y\n\n# more\n\nc.hpp\n- two\n- lines\n+\n= for a reason\n= of two lines\n")
        self.assertEqual(first, mutate.Mutant("a/b.hpp", "x < y", "x <= y"))
        self.assertEqual(second, mutate.Mutant("c.hpp", "two\nlines", "", "for a reason of two lines"))

    def test_what_is_not_understood_is_refused(self):
        for text in ("a.hpp\n* x\n", "a.hpp\n-x\n", "a.hpp\n+ x\n"):
            with self.assertRaises(mutate.Misfit):
                mutate.parse(text)


class Apply(unittest.TestCase):
    text = "int f(int x) {\n    return x <\n           1;\n}\nint g();\n"

    def test_white_space_is_any_white_space(self):
        changed = mutate.Mutant("f.hpp", "return x < 1;", "return x > 1;").apply(self.text)
        self.assertEqual(changed, "int f(int x) {\n    return x > 1;\n}\nint g();\n")

    def test_a_fragment_is_there_once(self):
        for fragment in ("int ", "absent"):
            with self.assertRaisesRegex(mutate.Misfit, "times, not once"):
                mutate.Mutant("f.hpp", fragment, "").apply(self.text)

    def test_the_difference_names_the_header(self):
        shown = mutate.Mutant("f.hpp", "int g();", "").difference(self.text)
        self.assertIn("--- f.hpp", shown)
        self.assertIn("-int g();", shown)


class Headers(unittest.TestCase):
    def test_a_test_includes_what_its_headers_and_its_helpers_include(self):
        found = mutate.headers_of(mutate.ROOT / "tests" / "conformance" / "cache.cpp")
        self.assertIn("policy/cost_aware.hpp", found)  # by a helper of these tests
        self.assertIn("model/cached_sequence.hpp", found)  # by another header
        self.assertNotIn("policy/cost_aware.hpp", mutate.headers_of(mutate.ROOT / "tests" / "accept" / "judge.cpp"))


if __name__ == "__main__":
    unittest.main()
