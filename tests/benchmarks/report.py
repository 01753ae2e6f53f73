"""benchmarks/run.py: what it makes of measurements and of what other programs print, and the questions that it asks."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benchmarks" / "peer"))
import gguf  # noqa: E402
import make  # noqa: E402
import measure  # noqa: E402
import report  # noqa: E402

TINY = ROOT / "tests" / "data" / "llama" / "stories260K.gguf"
LOG = """encoded    3 tokens in    0.370 seconds, speed:  913.057 t/s
decoded  130 tokens in    1.466 seconds, speed:   88.674 t/s
"""


def constant(milliseconds):
    return report.spread([milliseconds])


def curve(ours, theirs):
    """Figures of both sides for each n."""
    return {str(n): dict(zip(report.SIDES, map(constant, pair))) for n, pair in zip((1, 8), zip(ours, theirs))}


class Figures(unittest.TestCase):
    def test_spread(self):
        self.assertEqual({"median": 3, "low": 2, "high": 4, "count": 5}, report.spread([5, 1, 4, 2, 3]))
        self.assertEqual({"median": 7, "low": 7, "high": 7, "count": 1}, report.spread([7]))
        with self.assertRaises(ValueError):
            report.spread([])

    def test_what_llama_cpp_prints(self):
        parsed = report.parse_decoding("\n\none two three\n\n\n...\n\n", LOG, "one two")
        self.assertEqual((130, 88.674, " three\n\n\n..."), (parsed["tokens"], parsed["rate"], parsed["text"]))
        for missing, log, prompt in (("rate", "encoded 3 tokens", "one"), ("prompt", LOG, "five")):
            with self.assertRaisesRegex(report.Unreadable, f"no {missing} in"):
                report.parse_decoding("\n\none two three\n\n", log, prompt)

    def test_same_text(self):
        self.assertTrue(report.same_text("abcd", "abc"))
        self.assertFalse(report.same_text("abcd", "abd"))
        self.assertFalse(report.same_text("", "abd"), "nothing is no text")

    def test_curve_table(self):
        lines = report.curve_table({"F32": {"curves": {"256": curve((10, 20), (20, 60))}}}, "256").splitlines()
        self.assertEqual("|weights||n = 1|n = 8|", lines[0])
        self.assertEqual("|F32|augur|10.00 (1.00)|20.00 (2.00)|", lines[2])
        self.assertEqual("|F32|llama.cpp|20.00 (1.00)|60.00 (3.00)|", lines[3])
        self.assertEqual("|F32|**times as fast**|**2.00**|**3.00**|", lines[4])

    def test_another_peer_is_called_by_its_name(self):
        found = {"F32": {"curves": {"256": {"1": {side: constant(10) for side in ("augur", "transformers")}}}}}
        with unittest.mock.patch.object(report, "SIDES", ("augur", "transformers")):
            self.assertEqual("|F32|transformers|10.00 (1.00)|", report.curve_table(found, "256").splitlines()[3])
            self.assertIn("transformers", json.dumps(report.speedup_chart({"F32": found["F32"]["curves"]["256"]}, "256")))

    def test_formats_of_two_models_lie_apart(self):
        with tempfile.TemporaryDirectory() as folder:
            cache = pathlib.Path(folder)
            one, other = cache / "one" / "model.gguf", cache / "other" / "model.gguf"
            for path in (one, other):
                path.parent.mkdir()
                path.write_bytes(b"GGUF")
            found = [make.models_folder(cache, source) for source in (None, one, other)]
            one.write_bytes(b"GGUF, another")
            found.append(make.models_folder(cache, one))
            self.assertEqual(4, len(set(found)))
            self.assertEqual(found[-1], make.models_folder(cache, str(one)))

    def test_sides_take_turns_in_going_first(self):
        self.assertEqual(["augur", "llama.cpp", "augur"], [measure.alternating(i)[0] for i in range(3)])

    def test_best_lookup_and_texts(self):
        def one(rate, text):
            return [{"tokens": 3, "rate": rate, "text": text}]

        results = {
            ("augur", "plain"): one(10, [1, 2, 3]),
            ("llama.cpp", "plain"): one(8, "abc"),
            ("augur", "4"): one(30, [1, 2, 3]),
            ("llama.cpp", "4", "lookup"): one(12, "abcd"),
            ("llama.cpp", "4", "ngram-simple"): one(16, "abd"),
        }
        found = measure.summary_of(results, [4])["widths"]["4"]
        self.assertEqual(("ngram-simple", 3, 2, 30 / 16), tuple(found[key] for key in
                         ("theirs_kind", "ours_over_plain", "theirs_over_plain", "ours_over_theirs")))  # fmt: skip
        self.assertTrue(found["ours_identical"])
        self.assertFalse(found["theirs_identical"])
        results["augur", "4"] = one(30, [1, 2])
        self.assertFalse(measure.summary_of(results, [4])["widths"]["4"]["ours_identical"])


class Files(unittest.TestCase):
    def test_formats(self):
        self.assertEqual(["F32"], gguf.formats_of(TINY))

    def test_no_gguf(self):
        with self.assertRaisesRegex(ValueError, "report.py is not a GGUF"):
            gguf.formats_of(pathlib.Path(__file__))


class Options(unittest.TestCase):
    def test_bad_options(self):
        script = ROOT / "benchmarks" / "run.py"
        for option, value, wanted in (
            ("--formats", "F32,F33", "--formats has F33; valid are F32, F16"),
            ("--contexts", "256,0", "--contexts is 256,0; it must be numbers from 1"),
            ("--prefill", "0", "--prefill is 0; it must be at least 1"),
        ):
            run = subprocess.run(
                [sys.executable, "-B", script, option, value], stderr=subprocess.PIPE, text=True, check=False
            )
            self.assertEqual(2, run.returncode)
            self.assertIn(wanted, run.stderr)

    def test_the_longest_text_fits(self):
        plan = {"contexts": [256, 4096], "rows": [1, 32], "decode": 48, "prefill": 512}
        self.assertEqual(4144, measure.longest_text(plan))
        self.assertEqual(8192, measure.longest_text(plan | {"prefill": 8192}))


@unittest.skipUnless(os.environ.get("AUGUR_BENCH_PEER"), "bench_peer was not built")
class Questions(unittest.TestCase):
    def setUp(self):
        self.command = [os.environ["AUGUR_BENCH_PEER"], TINY, 1]

    def test_answers(self):
        side = measure.Side(self.command)
        self.addCleanup(side.kill)
        self.assertEqual([64], side.ask("context 64", "context"))
        for question, count in (("pass 4 3", 3), ("decode 4 2", 2), ("prefill 32 1", 1)):
            times = side.ask(question)
            self.assertEqual(count, len(times), question)
            self.assertGreater(min(times), 0, question)
        self.assertGreater(side.peak_bytes(), side.weight_bytes)
        side.close()

    def test_no_question(self):
        for question in ("pass", "pass 0 1", "sing 4", "context 100000"):
            run = subprocess.run(
                [str(part) for part in self.command], input=question + "\n", capture_output=True, text=True, check=False
            )
            self.assertEqual(1, run.returncode, question)
            self.assertIn("loaded", json.loads(run.stdout), question)
            self.assertRegex(run.stderr, "^bench_peer: .*(question|context)")

    def test_a_side_that_ends_is_an_error(self):
        with tempfile.TemporaryDirectory() as folder, self.assertRaises(make.BenchmarkError):
            measure.Side([*self.command[:1], pathlib.Path(folder) / "none.gguf", 1])


if __name__ == "__main__":
    unittest.main()
