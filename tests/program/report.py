#!/usr/bin/env python3
"""What a run leaves in files: --record, --trace and --report say what --json says."""

import json
import pathlib
import re
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from program import DRAFT, FOLDER, PROMPTS, TARGET, ProgramTest  # noqa: E402
from report_page import Page, check_page  # noqa: E402
from report_runs import HOSTILE, LENGTH, SCHEMES  # noqa: E402
from trace_events import check_trace_events  # noqa: E402


class Files(ProgramTest):
    def run_with(self, name, *arguments):
        """The result and what the files hold."""
        paths = [FOLDER / f"{name}{ending}" for ending in (".record.json", ".html", ".trace.json")]
        result = self.generated(*LENGTH, *arguments, "--record", paths[0], "--report", paths[1], "--trace", paths[2])
        page = paths[1].read_text(encoding="utf-8")
        check_trace_events(self, paths[2].read_text())
        return result, json.loads(paths[0].read_text()), page, json.loads(paths[2].read_text())

    def check_record(self, result, record):
        self.assertEqual(("augur run", 1, "generate"), (record["format"], record["version"], record["command"]))
        self.assertEqual(result, record["result"])
        self.assertEqual(result["ids"], [token["id"] for token in record["tokens"]])
        self.assertEqual(result["origins"], [token["origin"] for token in record["tokens"]])
        self.assertEqual(result["text"], "".join(token["text"] for token in record["tokens"]))
        self.assertEqual(result["ids"], [token for each in record["rounds"] for token in each["committed"]])
        self.assertEqual(result["rounds"], len(record["rounds"]))
        self.assertEqual(result["stages"][-1]["drafted"], sum(len(each["drafted"]) for each in record["rounds"]))
        self.assertEqual("target", record["models"][-1]["role"])
        times = [token["seconds"] for token in record["tokens"]]
        self.assertEqual(sorted(times), times)
        for token in record["tokens"]:
            self.assertTrue(0 <= token["probability"] <= 1 and token["entropy_nats"] >= 0)
            self.assertEqual(token["origin"] == "accepted", "drafter" in token)
            if "drafter" in token:
                self.assertLess(token["drafter"], len(record["drafters"]))

    def check_trace(self, result, trace):
        """Of the run: rounds in order, each with its parts within it."""
        spans = [event for event in trace["traceEvents"] if event["ph"] == "X"]
        rounds = [event for event in spans if event["pid"] == 1 and event["name"].startswith("round ")]
        self.assertEqual(result["ids"], [token for each in rounds for token in each["args"]["committed"]])
        for track in (2, 3, 4, 5):  # draft, verify, accept, commit
            inner = [event for event in spans if (event["pid"], event["tid"]) == (1, track)]
            for outer, each in zip(rounds, inner, strict=True):
                self.assertGreaterEqual(each["ts"], outer["ts"] - 1e-3)
                self.assertLessEqual(each["ts"] + each["dur"], outer["ts"] + outer["dur"] + 1e-3)
        shares = [event["args"]["share"] for event in trace["traceEvents"] if event["ph"] == "C" and event["name"] == "acceptance"]
        self.assertTrue(all(0 <= share <= 1 for share in shares))

    def test_every_scheme_says_the_same_in_every_file(self):
        for scheme, more in SCHEMES.items():
            with self.subTest(scheme):
                temperature = ("--temperature", 1) if scheme in ("fsd", "psd_f") else ()
                result, record, page, trace = self.run_with(scheme, "--prompt", PROMPTS[1], "--scheme", scheme, *more, *temperature)
                self.check_record(result, record)
                self.check_trace(result, trace)
                check_page(self, record, page)
                self.assertEqual(scheme == "plain", record["drafters"] == [])

    def test_models_that_take_turns_and_stages_inside(self):
        _, record, _, trace = self.run_with("turns", "--prompt", "a", "--scheme", "ead", *SCHEMES["ead"])
        written = [sum(token["model"] == model for token in record["tokens"]) for model in (0, 1)]
        self.assertEqual([each["written"] for each in record["result"]["models"]], written)
        self.assertTrue(all(written), written)
        self.assertLess(2, sum(event["ph"] == "X" and event["tid"] == 6 for event in trace["traceEvents"]))
        result, record, _, _ = self.run_with("stages", "--prompt", "a", "--scheme", "psd_f", "--temperature", 1, *SCHEMES["psd_f"])
        self.assertEqual(["draft", "qualifier", "target"], [each["role"] for each in record["models"]])
        self.assertEqual(result["stages"][0]["drafted"], sum(each["inside"][0]["drafted"] for each in record["rounds"]))

    def test_trees_have_parents(self):
        tree = FOLDER / "report_tree.json"
        tree.write_text("[[0], [1], [0, 0], [0, 1]]")
        result, record, page, trace = self.run_with("tree", "--prompt", "a", "--scheme", "sd", "--draft", DRAFT, "--tree", tree)
        self.check_record(result, record)
        self.check_trace(result, trace)
        check_page(self, record, page)
        self.assertIn([-1, -1, 0, 0], [each.get("parents") for each in record["rounds"]])

    def test_compare_brings_the_plain_run(self):
        result, record, page, trace = self.run_with("compared", "--prompt", PROMPTS[1], "--compare")
        self.check_record(result, record)
        check_page(self, record, page)
        self.assertEqual(len(result["plain"]["ids"]), len(record["plain_seconds"]))
        plain = [event for event in trace["traceEvents"] if event["ph"] == "X" and event["pid"] == 2]
        self.assertEqual(len(result["plain"]["ids"]) + 1, len(plain))

    def test_numbers_are_written_as_they_were_given(self):
        given = ("--temperature", 0.7, "--top-p", 0.9, "--min-p", 0.05, "--repetition-penalty", 1.1, "--seed", 2**64 - 1)
        result, record, page, _ = self.run_with("given", "--prompt", "a", *given)
        self.check_record(result, record)
        settings = result["settings"]
        self.assertEqual([0.7, 0.9, 0.05, 1.1], [settings[key] for key in ("temperature", "top_p", "min_p", "repetition_penalty")])
        for text in (json.dumps(result), json.dumps(record), page):
            self.assertNotIn("0.69999", text)
        self.assertIn('"temperature":0.7,', page)

    def test_the_page_reads_seeds_as_text(self):
        """Numbers of JavaScript end at 2^53. What the page does to its JSON is done here to it."""
        lookalike = 'a "seed":12 b'
        _, _, page, _ = self.run_with("seeded", "--prompt", lookalike, "--seed", 2**64 - 1)
        data, script = (text for _, text in Page(page).scripts)
        self.assertIn(r""".textContent.replace(/"seed":(\d+)/g, '"seed":"$1"')""", script)
        read = json.loads(re.sub(r'"seed":(\d+)', r'"seed":"\1"', data))
        self.assertEqual(("18446744073709551615", lookalike), (read["result"]["seed"], read["prompt"]))

    def test_the_page_shows_how_well_a_speedup_is_known(self):
        _, record, page, _ = self.run_with("certain", "--prompt", "a", "--compare", "--compare-seconds", 0)
        self.assertEqual((None, False), (record["result"]["compared"]["low"], record["result"]["compared"]["known"]))
        self.assertRegex(Page(page).scripts[1][1], r'"speedup", [^;]*certainty\(result\.compared\)')

    def test_a_text_is_data(self):
        result, record, page, _ = self.run_with("hostile", "--prompt", HOSTILE)
        check_page(self, record, page)
        self.assertIn("<script>alert(1)</script>", record["prompt"])
        self.assertNotIn("alert(1)</script>", page)
        self.assertNotIn("\u2028", page)

    def test_lines_are_the_records_rounds(self):
        lines, record = FOLDER / "rounds.jsonl", FOLDER / "rounds.json"
        self.generated("--prompt", "a", *LENGTH, "--trace", lines, "--record", record)
        self.assertEqual(json.loads(record.read_text())["rounds"], [json.loads(line) for line in lines.read_text().splitlines()])

    def test_endings_say_what_is_written(self):
        asked = ("generate", "--model", TARGET, "--prompt", "a")
        for flag, path, ending in (("--report", "x.txt", ".html"), ("--record", "x.html", ".json"), ("--trace", "x.csv", ".jsonl"), ("--trace", "x", ".json")):
            self.refuses([flag, path, ending], *asked, flag, FOLDER / path)
            self.assertFalse((FOLDER / path).exists())
        self.refuses(["--trace", "twice"], *asked, "--record", FOLDER / "y.json", "--trace", FOLDER / "y.json")
        self.refuses("No such file", *asked, "--report", FOLDER / "absent" / "x.html")
        self.refuses("No space left", *asked, "--json", "--report", "/dev/full")
        self.assertEqual([], [*FOLDER.glob("*.part"), *FOLDER.glob("y.json")])


if __name__ == "__main__":
    unittest.main()
