#!/usr/bin/env python3
"""How coverage.py adds up what gcov says. That enough is covered is for coverage.py itself to say."""

import pathlib
import unittest

import coverage


def report(folder, file, *lines):
    numbered = [{"line_number": number, "count": count} for number, count in lines]
    return {"current_working_directory": folder, "files": [{"file": file, "lines": numbered}]}


class AddUp(unittest.TestCase):
    headers = pathlib.Path("/tree/include/augur")

    def test_a_line_that_one_program_or_instance_runs_is_run(self):
        first = report("/tree/build", "../include/augur/accept/a.hpp", (3, 0), (3, 2), (4, 0))
        second = report("/elsewhere", "/tree/include/augur/accept/a.hpp", (3, 0), (4, 1), (5, 0))
        lines = coverage.add_up([first, second], self.headers)
        self.assertEqual(lines, {"accept/a.hpp": {3: 2, 4: 1, 5: 0}})
        self.assertEqual(coverage.shares(lines), {"accept": (2, 3)})

    def test_other_files_do_not_count(self):
        for file in ("tests/a.cpp", "include/augur/types/a.hpp"):
            self.assertEqual(coverage.add_up([report("/tree", file, (1, 1))], self.headers), {})

    def test_shares_are_by_folder(self):
        lines = {"commit/b.hpp": {1: 0}, "accept/a.hpp": {1: 1}, "accept/c.hpp": {1: 0, 2: 1}}
        self.assertEqual(coverage.shares(lines), {"accept": (2, 3), "commit": (0, 1)})


if __name__ == "__main__":
    unittest.main()
