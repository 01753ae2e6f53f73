"""benchmarks/at_scale.py: what it measures again, what it keeps, and what it says where a point cannot be measured."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Stands for the program: notes that it ran, and says what it was asked.
PROGRAM = """#!/usr/bin/env python3
import json, os, pathlib, sys
with (pathlib.Path(__file__).parent / "runs").open("a") as runs:
    runs.write(" ".join(sys.argv[1:]) + (f" family {os.environ['AUGUR_FAMILY']}" if "AUGUR_FAMILY" in os.environ else "") + "\\n")
if "broken" in sys.argv:
    print("note: trying\\nerror: there is no scheme 'broken'", file=sys.stderr)
    sys.exit(1)
names = ["plain"] + [sys.argv[i + 1] for i, word in enumerate(sys.argv) if word == "--scheme"]
of = [{"scheme": name, "tokens_per_second": 9, "speedup": 1.5, "predicted": 1.4, "accepted_length": 2,
       "identical": "other" not in sys.argv, "guarantee": "same_text"} for name in names]
tasks = [{"task": "all", "prompts": 1, "schemes": of}]
print(json.dumps({"tasks": tasks, "temperature": 0, "prompts": [{"line": 3, "schemes": of}]}))
"""


class AtScale(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.program = self.folder / "augur"
        self.program.write_text(PROGRAM)
        self.program.chmod(0o755)

    def run_it(self, *more, points=("135m:bf16",)):
        command = [sys.executable, "-B", ROOT / "benchmarks" / "at_scale.py", "--program", self.program, "--model", "m.gguf",
                   "--output", self.folder / "out", "--points", *points, *more]  # fmt: skip
        return subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)

    def runs(self):
        return (self.folder / "runs").read_text().splitlines()

    def point(self):
        return self.folder / "out" / "135m-bf16.json"

    def test_the_same_question_is_measured_once_and_another_again(self):
        for _ in range(2):
            self.assertEqual(0, self.run_it("--schemes", "lookup").returncode)
        self.assertEqual(1, len(self.runs()))
        for count, more in enumerate((("--schemes", "sd"), ("--schemes", "sd", "--max-tokens", "7")), 2):
            done = self.run_it(*more)
            self.assertEqual((0, count), (done.returncode, len(self.runs())))
            self.assertIn("asked for something else", done.stderr)
        self.assertIn("--max-tokens 7", self.runs()[-1])
        self.assertEqual(["plain", "sd"], [of["scheme"] for of in json.loads(self.point().read_text())["tasks"][0]["schemes"]])
        self.assertIn("|sd|", (self.folder / "out" / "results.md").read_text())

    def test_a_damaged_file_is_measured_again(self):
        self.run_it("--schemes", "lookup")
        self.point().write_text(self.point().read_text()[:20])
        done = self.run_it("--schemes", "lookup")
        self.assertEqual((0, 2), (done.returncode, len(self.runs())))
        self.assertIn("cannot be read", done.stderr)
        self.assertFalse(self.point().with_suffix(".part").exists())

    def test_a_point_that_fails_is_one_line_and_the_others_stay(self):
        self.run_it("--schemes", "lookup")
        before = self.point().read_text()
        done = self.run_it("--schemes", "broken", points=("1b:bf16",))
        self.assertEqual(1, done.returncode)
        self.assertIn("at_scale.py: error: 1b:bf16: error: there is no scheme 'broken'", done.stderr)
        self.assertNotIn("Traceback", done.stderr)
        self.assertEqual((before, ["135m-bf16.json"]), (self.point().read_text(), [p.name for p in (self.folder / "out").glob("*-*.json")]))

    def test_a_larger_shape_is_measured_from_a_file_that_is_written_once(self):
        for scheme in ("lookup", "sd"):
            self.assertEqual(0, self.run_it("--schemes", scheme, points=("1b:q4_0",)).returncode)
        wide = self.folder / "out" / "m-1b-q4_0" / "wide.gguf"
        written, *measured = self.runs()
        self.assertRegex(written, r"^widen --model m.gguf --shape 1b --weights q4_0 --output \S*/wide.gguf --draft all$")
        self.assertEqual(2, len(measured))
        for line in measured:
            self.assertIn(f"bench schemes --model {wide} --weights q4_0", line)
            self.assertIn(f"family {wide.parent}", line)

    def test_another_text_is_an_error(self):
        done = self.run_it("--schemes", "other")
        self.assertEqual(1, done.returncode)
        self.assertIn("135m:bf16, prompt of line 3, plain: the text is not plain decoding's", done.stderr)


if __name__ == "__main__":
    unittest.main()
