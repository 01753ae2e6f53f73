#!/usr/bin/env python3
"""benchmarks/learning.py on a tiny model: what it runs, how often, and what it refuses to report."""

import json
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from program import FOLDER, PROGRAM, TARGET, environment  # noqa: E402

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "benchmarks" / "learning.py"
TEXTS = [("maths", "one two one two"), ("code", "the cat the cat"), ("maths", "0123456789"), ("maths", "a b a b")]
TWO = ("--switch", "unified, as by default", "anchor alone")


def program(name, then=""):
    """The program, that leaves a line for each call; `then` filters what it prints."""
    path, calls = FOLDER / name, FOLDER / f"{name}.calls"
    path.write_text(f'#!/bin/bash\nset -o pipefail\necho "$*" >> "{calls}"\n"{PROGRAM}" "$@" {then}\n', encoding="utf-8")
    path.chmod(0o755)
    return path, calls


class LearningScript(unittest.TestCase):
    def run_parts(self, by, output, *arguments):
        prompts = FOLDER / "learning.prompts"
        prompts.write_text("".join(json.dumps({"task": task, "prompt": text}) + "\n" for task, text in TEXTS), encoding="utf-8")
        command = [sys.executable, "-B", SCRIPT, "--program", by, "--model", TARGET, "--output", output, "--prompts", prompts]
        command += ["--layers", 1, "--max-tokens", 160, "--windows", 2, "--threads", 1, *arguments]
        return subprocess.run([str(part) for part in command], capture_output=True, text=True, env=environment(), check=False)

    def test_texts_are_decoded_plainly_once_and_runs_are_kept(self):
        by, calls = program("counted")
        output = FOLDER / "learned"
        done = self.run_parts(by, output, "curves", "ablations", *TWO)
        self.assertEqual((0, ""), (done.returncode, done.stderr))
        commands = calls.read_text(encoding="utf-8").splitlines()
        self.assertEqual([True, False, False], ["--compare" in call for call in commands])  # the exit; n-grams; the anchor alone
        found = json.loads((output / "ablations.json").read_text(encoding="utf-8"))["found"]
        self.assertEqual(list(TWO[1:]), list(found))
        for of in found.values():
            self.assertEqual(sum(text["tokens"] for text in of["texts"]), of["served"])
            self.assertEqual(of["drafted"], sum(text["drafted"] for text in of["texts"]))
            self.assertAlmostEqual(of["acceptance"] * of["drafted"], sum(text["accepted"] for text in of["texts"]))
        self.assertIn("|anchor alone|", (output / "ablations.md").read_text(encoding="utf-8"))
        self.assertEqual(done.stdout, self.run_parts(by, output, "curves", "ablations", *TWO).stdout)
        self.assertEqual(commands, calls.read_text(encoding="utf-8").splitlines())

    def test_what_was_learned_of_one_kind_goes_on_with_the_next_and_is_frozen_beside(self):
        by, calls = program("shifted")
        output = FOLDER / "shifted.out"
        done = self.run_parts(by, output, "shift")
        self.assertEqual((0, ""), (done.returncode, done.stderr))
        found = json.loads((output / "shift.json").read_text(encoding="utf-8"))["found"]
        self.assertEqual(["maths", "then code, frozen", "then code", "maths again, frozen", "maths again"], list(found))
        updates = [of["updates"] for of in found.values()]
        self.assertEqual((updates[0], updates[2]), (updates[1], updates[3]))  # frozen: those of before
        self.assertLess(updates[0], updates[2])
        self.assertLess(updates[2], updates[4])
        count = len(calls.read_text(encoding="utf-8").splitlines())
        self.assertEqual(5, count)
        self.run_parts(by, output, "shift")
        self.assertEqual(count, len(calls.read_text(encoding="utf-8").splitlines()))

    def test_untaught_heads_learn_through_a_shift(self):
        by, calls = program("heads")
        done = self.run_parts(by, FOLDER / "heads.out", "shift", "--scheme", "hydra", "--length", 2)
        self.assertEqual((0, ""), (done.returncode, done.stderr))
        found = json.loads((FOLDER / "heads.out" / "shift.json").read_text(encoding="utf-8"))["found"]
        self.assertLess(found["then code, frozen"]["updates"], found["then code"]["updates"])
        commands = calls.read_text(encoding="utf-8").splitlines()
        self.assertEqual(5 * [True], ["--scheme hydra --head-count 2" in call for call in commands])

    def test_a_verifier_that_learns_is_compared_with_itself_and_scored(self):
        by, calls = program("slow")
        output, scored = FOLDER / "slow.out", FOLDER / "scored.prompts"
        scored.write_text(json.dumps({"prompt": "the cat"}) + "\n", encoding="utf-8")
        done = self.run_parts(by, output, "slow", "--slow-period", 8, "--score", scored)
        self.assertEqual((0, ""), (done.returncode, done.stderr))
        self.assertEqual(3 * [True], ["--compare" in call for call in calls.read_text(encoding="utf-8").splitlines()])
        found = json.loads((output / "slow.json").read_text(encoding="utf-8"))["found"]
        self.assertEqual(["the model", "slow updates, committed", "slow updates, soft"], list(found))
        for name, of in found.items():
            self.assertEqual(name != "the model", "verifier" in of)
            if "verifier" in of:
                self.assertEqual(len(TEXTS), of["verifier"]["kept"] + of["verifier"]["rolled_back"])
                self.assertIn(f"|{name}|{of['verifier']['kept']}|{of['verifier']['rolled_back']}|", done.stdout)
                self.assertGreater(of["verifier"]["score"]["model_perplexity"], 1)

    def test_another_text_than_plain_decodings_is_an_error(self):
        by, _ = program("other", then="""| sed 's/"ids":\\[[0-9]*,/"ids":[77777,/'""")
        output = FOLDER / "other.out"
        by_itself, _ = program("itself")
        self.assertEqual(0, self.run_parts(by_itself, output, "ablations", *TWO[:2]).returncode)
        done = self.run_parts(by, output, "ablations", *TWO)
        self.assertEqual(1, done.returncode)
        self.assertIn("not plain decoding's", done.stderr)


if __name__ == "__main__":
    unittest.main()
