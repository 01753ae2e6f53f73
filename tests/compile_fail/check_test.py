"""The checker itself: it has to fail where there is nothing to refuse, nothing to look for, or another message."""

import os
import pathlib
import tempfile
import unittest

import check

COMPILER = os.environ["AUGUR_COMPILER"]


class Checker(unittest.TestCase):
    def complaint_about(self, source):
        with tempfile.TemporaryDirectory() as directory:
            file = pathlib.Path(directory, "case.cpp")
            file.write_text(source, encoding="utf-8")
            return check.complaint(file, COMPILER, ["-std=c++20"])

    def test_the_expected_refusal_passes(self):
        source = '// expected-error {{the reason}}\nstatic_assert(false, "the reason");\n'
        self.assertIsNone(self.complaint_about(source))

    def test_a_file_that_compiles_fails(self):
        source = '// expected-error {{the reason}}\nstatic_assert(true, "the reason");\n'
        self.assertIn("must not compile", self.complaint_about(source))

    def test_a_warning_that_says_so_is_no_refusal(self):
        source = "// expected-error {{the reason}}\n#warning the reason\n"
        self.assertIn("must not compile", self.complaint_about(source))

    def test_another_message_fails(self):
        source = '// expected-error {{the reason}}\nstatic_assert(false, "something else");\n'
        self.assertIn("lacks ['the reason']", self.complaint_about(source))

    def test_every_expectation_counts(self):
        source = '// expected-error {{one}}\n// expected-error {{two}}\nstatic_assert(false, "one");\n'
        self.assertIn("lacks ['two']", self.complaint_about(source))

    def test_a_file_that_expects_nothing_fails(self):
        self.assertIn("holds no", self.complaint_about("static_assert(false);\n"))


if __name__ == "__main__":
    unittest.main()
