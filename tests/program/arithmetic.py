#!/usr/bin/env python3
"""The arithmetic models that ship: what it gets right, and schemes over it."""

import itertools
import pathlib
import random
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
sys.path.insert(0, str(ROOT / "examples" / "train"))
import arithmetic_problems as tasks  # noqa: E402
from program import ProgramTest  # noqa: E402

PAIR = ROOT / "examples" / "family" / "arithmetic"
LARGE, MEDIUM, SMALL = (PAIR / f"arithmetic-{size}.gguf" for size in ("large", "medium", "small"))
PROBLEMS = list(itertools.islice(tasks.problems(random.Random("program"), tests=True), 40))


class Pair(ProgramTest):
    def solved(self, problem, model, *arguments):
        asked = tasks.text(problem)[0]
        return self.generated("--prompt", asked, "--threads", 1, *(arguments or ("--scheme", "plain")), model=model)

    def right(self, model):
        return sum(tasks.answer_of(self.solved(each, model)["text"]) == each[2] for each in PROBLEMS) / len(PROBLEMS)

    def test_how_often_each_is_right(self):
        self.assertGreater(self.right(LARGE), 0.85)
        self.assertTrue(0.3 < self.right(SMALL) < 0.85)
        self.assertTrue(0.6 < self.right(MEDIUM) < 0.98)

    def test_a_cascade_of_the_three_runs_each(self):
        for scheme, thresholds in (("psd_a", "0.4"), ("psd_f", "0.4,0.5"), ("psd_f_as_published", "0.4,0.5")):
            for problem in PROBLEMS[:5]:
                drawn = ("--scheme", scheme, "--draft", SMALL, "--draft", MEDIUM, "--temperature", 1, "--lengths", "2,4")
                result = self.solved(problem, LARGE, *drawn, "--thresholds", thresholds)
                self.assertEqual(2, len(result["stages"]))
                for stage in result["stages"]:
                    self.assertGreater(stage["drafted"], 0, scheme)
                    self.assertGreater(stage["accepted"], 0, scheme)

    def test_the_ends_of_switching_are_the_models(self):
        for problem in PROBLEMS[:10]:
            alone = {model: self.solved(problem, model)["ids"] for model in (SMALL, LARGE)}
            ead = ("--draft", SMALL, "--scheme", "ead")
            never = self.solved(problem, LARGE, *ead, "--thresholds", 99)
            self.assertEqual(alone[SMALL], never["ids"])
            self.assertEqual(0, never["models"][1]["written"])
            soon = self.solved(problem, LARGE, *ead, "--thresholds", 0, "--dwell", 1)
            self.assertEqual(1, soon["models"][0]["written"])  # the small one begins

    def test_sampled_the_ends_are_the_models_too(self):
        """Temperature changes what is drawn, not what is compared with the threshold."""
        for problem in PROBLEMS[:5]:
            drawn = ("--temperature", 0.7, "--seed", 3)
            alone = {model: self.solved(problem, model, "--scheme", "plain", *drawn)["ids"] for model in (SMALL, LARGE)}
            ead = ("--draft", SMALL, "--scheme", "ead", *drawn)
            never = self.solved(problem, LARGE, *ead, "--thresholds", 99)
            self.assertEqual((alone[SMALL], 1), (never["ids"], never["models"][0]["share"]))
            often = self.solved(problem, LARGE, *ead, "--thresholds", 0, "--dwell", 1)
            self.assertEqual(len(often["ids"]), sum(model["written"] for model in often["models"]))
            small, large = (model["parameters"] for model in often["models"])
            shares = [model["share"] for model in often["models"]]
            self.assertAlmostEqual((shares[0] * small + shares[1] * large) / large, often["parameter_ratio"], places=12)

    def test_drafts_of_the_small_one_change_nothing(self):
        for problem in PROBLEMS[:10]:
            alone = self.solved(problem, LARGE)["ids"]
            drafted = self.solved(problem, LARGE, "--draft", SMALL, "--scheme", "sd")
            self.assertEqual(alone, drafted["ids"])
            self.assertGreater(drafted["acceptance"], 0.5)


if __name__ == "__main__":
    unittest.main()
