#!/usr/bin/env python3
"""budget.py: what it reads from the logs of Ninja and ctest, and what it prints."""

import contextlib
import io
import pathlib
import tempfile
import unittest

import budget

NINJA = """# ninja log v5
0\t9000\t1\ttests/CMakeFiles/test_accept.dir/Unity/unity_0_cxx.cxx.o\ta
0\t60000\t1\ttests/CMakeFiles/test_accept.dir/Unity/unity_0_cxx.cxx.o\ta
60000\t63000\t1\ttests/test_accept\tb
0\t30000\t1\ttests/house/CMakeFiles/headers_core.dir/headers_core/augur/augur.hpp.cpp.o\tc
5\t1005\t1\tone\td
5\t1005\t1\ttwo\td
0\t4000\t1\tCMakeFiles/augur_kernels.dir/cmake/kernels.cpp.o\te
4000\t4500\t1\tlibaugur_kernels.a\tf
"""
COSTS = "accept.exact 1 1.5\nsanitized.accept 3 58.5\n---\n"


class Budget(unittest.TestCase):
    def test_the_last_run_of_each_command_counts_once(self):
        found = budget.commands(NINJA)
        self.assertEqual(60, found["tests/CMakeFiles/test_accept.dir/Unity/unity_0_cxx.cxx.o"])
        self.assertEqual(6, len(found))
        self.assertEqual(98.5, sum(found.values()))

    def test_commands_belong_to_parts(self):
        found = budget.by_part(budget.commands(NINJA))
        self.assertEqual({"tests": 63, "headers alone": 30, "kernels": 4.5, "the rest": 1}, dict(found))

    def test_each_kind_of_output_has_its_part(self):
        parts = {
            "tests/CMakeFiles/augur_test.dir/main.cpp.o": "tests",
            "tests/gpu/CMakeFiles/test_gpu.dir/decoding.cpp.o": "tests",
            "tests/fuzz/fuzz_gguf": "fuzzers",
            "benchmarks/CMakeFiles/bench_peer.dir/peer/augur.cpp.o": "benchmarks",
            "examples/CMakeFiles/example_gate.dir/gate.cpp.o": "examples",
            "examples/CMakeFiles/augur_program.dir/Unity/unity_0_cxx.cxx.o": "the program",
            "bin/augur": "the program",
        }
        self.assertEqual(parts, {output: budget.part_of(output) for output in parts})

    def test_what_ctest_ran(self):
        self.assertEqual({"accept.exact": 1.5, "sanitized.accept": 58.5}, budget.tests(COSTS))

    def test_another_file_is_refused(self):
        for log in ("", "build.ninja\n", NINJA + "cut of"):
            with self.assertRaises(ValueError):
                budget.commands(log)

    def test_the_report_adds_up(self):
        with tempfile.TemporaryDirectory() as folder:
            build = pathlib.Path(folder)
            (build / ".ninja_log").write_text(NINJA)
            (build / "Testing" / "Temporary").mkdir(parents=True)
            (build / "Testing" / "Temporary" / "CTestCostData.txt").write_text(COSTS)
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                self.assertEqual(0, budget.main(["--top", "1", folder]))
        lines = printed.getvalue().splitlines()
        self.assertIn("     1.1 min  building tests", lines)
        self.assertIn("     1.0 min  running tests", lines)
        self.assertEqual("     1.0 min    tests/CMakeFiles/test_accept.dir/Unity/unity_0_cxx.cxx.o", lines[-2])
        self.assertEqual("2.6 of 60 minutes", lines[-1])


if __name__ == "__main__":
    unittest.main()
